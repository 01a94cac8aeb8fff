/**
 * Owns a call whose request differs from what is recorded under its key: where it differs, what follows, and how people are told. What is
 * recorded is sent, or its outcome given, where the effect says so and it is certain which record it is; otherwise a person is asked. The
 * new request is never sent under the key, and never answered in silence.
 */

import { type EffectKey, type EffectState, InvalidError, type Json } from '@tidemark/core';
import { holdsMark } from '@tidemark/secrets';
import { type EffectDefinition, isFinalNote, ParkError, type RecordedAsk } from '../definition/index.ts';
import type { JournalEntry } from '../history/index.ts';
import type { Ports } from '../kernel/index.ts';
import type { AskedCall } from './effect-drafts.ts';
import type { LogDetail, RecordedCalls } from './effect-run.ts';

/** Code: a repeated call has another request than the recorded one. */
export const REQUEST_CHANGED = 'request-changed';

/** Characters of a value in which two requests differ, and of what stands before the difference in a text. */
const VALUE_MAX_CHARS = 200;
const BEFORE_MAX_CHARS = 40;
/** Digits of a digest that people are shown. */
const DIGEST_CHARS = 12;

/** The first field in which two requests differ: `order.lines[2].cents`, and its values; undefined where it is missing. */
export interface Difference {
  readonly field: string;
  readonly before: Json | undefined;
  readonly now: Json | undefined;
}

export interface ChangedCall {
  readonly asked: AskedCall;
  readonly known: EffectState;
  /** Whether no other call of the step can be the one that is recorded. */
  readonly isToldApart: boolean;
  /** Undefined: the rows don't have it. */
  readonly intended: Recorded | undefined;
}

type Recorded = RecordedCalls extends ReadonlyMap<EffectKey, infer Intended> ? Intended : never;

/** The call as it is recorded, and the warning about it. Throws `ParkError` (`request-changed`) where a person must be asked. */
export async function recordedCall(
  changed: ChangedCall,
  telemetry: Pick<Ports['telemetry'], 'count'>,
): Promise<{ readonly effect: EffectDefinition; readonly request: Json; readonly warning: LogDetail }> {
  const { asked, known, isToldApart, intended } = changed;
  const { operation } = asked.effect;
  const outcome = known.status === 'done' ? 'answered' : 'sent';
  try {
    if (!isToldApart) throw new InvalidError('call-not-told-apart', NOT_TOLD_APART);
    if (intended === undefined) throw new InvalidError('request-unknown', 'What is recorded of it could not be read.');
    const { effect, before, now } = await asRecorded(asked, intended, known);
    telemetry.count('requests_changed_total', 1, { operation, outcome });
    const result = `${words(changed, differenceOf(before, now), false)} ${outcome === 'answered' ? 'The recorded outcome was given.' : 'What is recorded was sent.'}`;
    return { effect, request: intended.request, warning: { code: REQUEST_CHANGED, result } };
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    telemetry.count('requests_changed_total', 1, { operation, outcome: 'asked' });
    throw refusal(changed, error.message);
  }
}

/** Whether what is recorded may be sent, or its outcome given, although the step asks something else now. */
export const hasRule = ({ asRecorded, onChanged, kind }: EffectDefinition): boolean =>
  asRecorded !== undefined || (onChanged === 'send-recorded' && kind !== 'irreversible');

/** Counts, and warns of, a call that the record of another request of another run answers. */
export function otherAnswered(
  { key, effect: { operation } }: AskedCall,
  record: EffectKey,
  telemetry: Pick<Ports['telemetry'], 'count'>,
  warn: (about: LogDetail) => void,
): void {
  telemetry.count('requests_changed_total', 1, { operation, outcome: 'answered' });
  const result = `Call ${key} has another request than ${record}, which was made in its place. The recorded outcome was given.`;
  warn({ code: REQUEST_CHANGED, result });
}

/** Counts, and warns of, a call that was to send its recorded prompt again, which was not rebuilt as it was. */
export function otherSent(
  { key, effect: { operation } }: AskedCall,
  telemetry: Pick<Ports['telemetry'], 'count'>,
  warn: (about: LogDetail) => void,
): void {
  telemetry.count('requests_changed_total', 1, { operation, outcome: 'rebuilt' });
  const result = `Call ${key} was to send its recorded prompt again, which can't be rebuilt: the tokenizer of the model, or the code that makes prompts, is another. A prompt of what is known now was sent under its key.`;
  warn({ code: REQUEST_CHANGED, result });
}

/** A model may have answered a call that failed, and be paid for it, unless it will answer none that asks the same. */
export const mayBeAnswered = ({ asRecorded, retry }: EffectDefinition, entry: JournalEntry | undefined): boolean =>
  asRecorded !== undefined && entry?.status === 'failed' && !isFinalNote(entry.error, retry);

const NOT_TOLD_APART =
  "Which of the calls that the step makes side by side this one is can't be told. Give each a name of its own: { name: … }.";
async function asRecorded(
  { effect, request }: AskedCall,
  intended: Recorded,
  known: EffectState,
): Promise<RecordedAsk> {
  const isAnswered = known.status === 'done';
  const plain = { effect, before: intended.request, now: request };
  if (isAnswered && intended.isDecided === true) return plain;
  if (effect.asRecorded !== undefined) return effect.asRecorded(intended, isAnswered);
  if (!hasRule(effect)) throw new InvalidError(REQUEST_CHANGED, remedyOf(effect, isAnswered));
  if (isAnswered || (effect.asked === undefined && !holdsMark(intended.request))) return plain;
  throw new InvalidError(REQUEST_CHANGED, "Secrets in it are masked in the record, so that can't be sent again.");
}

function remedyOf({ kind }: EffectDefinition, isAnswered: boolean): string {
  const otherwise = isAnswered ? '' : ', not-done to have the step ask what it asks now';
  const declared = kind === 'idempotent' ? "; to have what is recorded sent, declare onChanged: 'send-recorded'" : '';
  return `Answer done with the response that counts${otherwise}, or fail. To keep requests the same, make them of ctx.now, ctx.random and ctx.uuid${declared}.`;
}

function refusal(changed: ChangedCall, why: string): ParkError {
  const { asked, known, intended } = changed;
  const { key, request, recorded } = asked;
  const found = intended && differenceOf(intended.request, request);
  return new ParkError(REQUEST_CHANGED, `${words(changed, found, true)} ${why}`, key, {
    recordedDigest: known.requestDigest,
    requestDigest: recorded.requestDigest,
    ...(found !== undefined && { field: found.field, recorded: found.before ?? null, asked: found.now ?? null }),
    status: known.status,
  });
}

function words({ asked, known }: ChangedCall, found: Difference | undefined, hasValues: boolean): string {
  const { key, recorded } = asked;
  const digests = `${known.requestDigest.slice(0, DIGEST_CHARS)}… is recorded, ${recorded.requestDigest.slice(0, DIGEST_CHARS)}… was asked`;
  const values = (of: Difference): string =>
    hasValues ? `: ${shown(of.before)} is recorded, ${shown(of.now)} was asked` : '';
  const where = found === undefined ? '' : ` It differs first in ${found.field}${values(found)}.`;
  return `Call ${key} has another request than at an earlier attempt (${digests}).${where}`;
}

const shown = (value: Json | undefined): string => (value === undefined ? 'nothing' : JSON.stringify(value));

/** Undefined: they are the same. Long values are cut, texts to where they differ. */
export function differenceOf(before: Json | undefined, now: Json | undefined, field = ''): Difference | undefined {
  if (before === now) return undefined;
  const isArray = Array.isArray(before) && Array.isArray(now);
  if (isArray || (isRecord(before) && isRecord(now))) {
    const [one, other] = [before, now] as unknown as readonly Readonly<Record<string, Json>>[];
    const own = (of: Readonly<Record<string, Json>>, name: string) => (Object.hasOwn(of, name) ? of[name] : undefined);
    for (const name of new Set([...Object.keys(one!), ...Object.keys(other!)].sort(byIndex))) {
      const inner = isArray ? `${field}[${name}]` : `${field}${field === '' ? '' : '.'}${name}`;
      const found = differenceOf(own(one!, name), own(other!, name), inner);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  const at = typeof before === 'string' && typeof now === 'string' ? firstDifference(before, now) : 0;
  return { field: field === '' ? 'the request' : field, before: cut(before, at), now: cut(now, at) };
}

const isRecord = (value: Json | undefined): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Indexes by their number, names by their code units. */
const byIndex = (a: string, b: string): number => Number(a) - Number(b) || (a < b ? -1 : a > b ? 1 : 0);

function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}

function cut(value: Json | undefined, at: number): Json | undefined {
  if (value === undefined) return undefined;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text.length <= VALUE_MAX_CHARS) return value;
  const from = Math.max(0, at - BEFORE_MAX_CHARS);
  const part = text.slice(from, from + VALUE_MAX_CHARS).toWellFormed();
  return `${from > 0 ? '…' : ''}${part}${from + VALUE_MAX_CHARS < text.length ? '…' : ''}`;
}
