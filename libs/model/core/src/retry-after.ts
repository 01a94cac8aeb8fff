/**
 * Owns whether and when a receiver may be called again, as the status and the headers of its answer say. Pure. What they say is never trusted
 * further than `RETRY_AFTER_MAX_MS`; what can't be read says nothing.
 */

import { parseTime } from './time.ts';

/** Longest wait that a receiver can ask for, in milliseconds: a day. Of a longer one so much counts. */
export const RETRY_AFTER_MAX_MS = 24 * 3_600_000;
/** Headers that are looked at, and characters of a value that is read: no sound one is longer. */
const HEADERS_MAX_COUNT = 500;
const VALUE_MAX_CHARS = 64;
/** Numbers from here on are moments since 1970, in seconds and in milliseconds, and smaller ones are seconds from now. */
const EPOCH_S = 1e9;
const EPOCH_MS = 1e12;

/**
 * With these a receiver refuses before it acts, and would again, unless it asks to come back (RFC 9110; 428, 431: RFC 6585; 402: declined).
 * Not among them: 408, since proxies send it for a slow receiver as well; 409, which the draft of Idempotency-Key prescribes while an
 * earlier call of the key is at work, and many receivers send when its result exists; 421, 425 and 429, which pass.
 */
export const REFUSED_STATUSES: ReadonlySet<number> = new Set([
  ...[400, 401, 402, 403, 404, 405, 406, 407, 410, 411, 412, 413, 414, 415, 416, 417, 422, 426, 428, 431, 451],
]);

/**
 * The wait in milliseconds that an answer asks for: by `retry-after-ms`, by `retry-after` in seconds or as a date, or, where it says that
 * a limit is reached (`isLimited`), by the limit's reset (`x-ratelimit-reset-requests: 6m0s`, `anthropic-ratelimit-tokens-reset` as a
 * time, `ratelimit-reset` in seconds). Of several limits the latest of those that are used up counts, else the soonest. 0: a moment that
 * has passed. `headers`: `Headers`, or an object. Never throws, whatever they are.
 */
export function retryAfterMs(headers: unknown, nowMs: number, isLimited: boolean): number | undefined {
  const values = valuesOf(headers);
  for (const name of ['retry-after-ms', 'x-ms-retry-after-ms']) {
    const exact = numberIn(values.get(name) ?? '');
    if (exact !== undefined) return bounded(exact);
  }
  const after = values.get('retry-after') ?? '';
  const asked = bounded((numberIn(after) ?? Number.NaN) * 1_000) ?? bounded(momentIn(after) - nowMs);
  if (asked !== undefined || !isLimited) return asked;
  const resets: number[] = [];
  const usedUp: number[] = [];
  for (const [name, value] of values) {
    if (!name.includes('reset') || !/rate-?limit/.test(name)) continue;
    const ms = resetMs(value, nowMs);
    if (ms === undefined) continue;
    resets.push(ms);
    if (values.get(name.replace('reset', 'remaining')) === '0') usedUp.push(ms);
  }
  if (usedUp.length > 0) return Math.max(...usedUp);
  return resets.length > 0 ? Math.min(...resets) : undefined;
}

function valuesOf(headers: unknown): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  if (typeof headers !== 'object' || headers === null) return values;
  let count = 0;
  try {
    for (const entry of entriesOf(headers)) {
      if (++count > HEADERS_MAX_COUNT) break;
      const [name, value]: readonly unknown[] = Array.isArray(entry) ? entry : [];
      const text: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
      if (typeof name !== 'string' || (typeof text !== 'string' && typeof text !== 'number')) continue;
      const read = String(text).slice(0, VALUE_MAX_CHARS + 1);
      values.set(name.toLowerCase(), read.trim());
    }
  } catch {
    // A getter or an iterator of theirs threw: what was read before it counts.
  }
  return values;
}

/** One by one, since an iterator may never end. */
function* entriesOf(headers: object): Generator<unknown> {
  if (Symbol.iterator in headers) yield* headers as Iterable<unknown>;
  else for (const name of Object.keys(headers)) yield [name, (headers as Record<string, unknown>)[name]];
}

const numberIn = (text: string): number | undefined =>
  text.length <= VALUE_MAX_CHARS && /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;

/** A time as in RFC 3339, or a date of HTTP (RFC 9110, 5.6.7). NaN: it is neither. */
const momentIn = (text: string): number =>
  /^[A-Z][a-z]{2,8}, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/.test(text)
    ? Date.parse(text)
    : parseTime(text);

const DURATION = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?$/;
const DURATION_UNITS_MS = [86_400_000, 3_600_000, 60_000, 1_000, 1];

function resetMs(text: string, nowMs: number): number | undefined {
  const number = numberIn(text);
  if (number !== undefined) {
    if (number >= EPOCH_MS) return bounded(number - nowMs);
    return bounded(number >= EPOCH_S ? number * 1_000 - nowMs : number * 1_000);
  }
  const parts = text.length > 0 && text.length <= VALUE_MAX_CHARS ? DURATION.exec(text) : null;
  if (parts === null) return bounded(momentIn(text) - nowMs);
  return bounded(DURATION_UNITS_MS.reduce((sum, unit, at) => sum + unit * Number(parts[at + 1] ?? 0), 0));
}

const bounded = (ms: number): number | undefined =>
  Number.isNaN(ms) ? undefined : Math.min(RETRY_AFTER_MAX_MS, Math.max(0, Math.ceil(ms)));
