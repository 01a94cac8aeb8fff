/**
 * Owns what a trial is judged by: its calls, those of both runs together, beside the calls of a run that nobody killed. Pure.
 *
 * A request (method, path, body) that came more often than in the calm run is *repeated*. Each of these that has an `Idempotency-Key` which had
 * come before is deduplicable: a receiver that keeps keys does it once. Any other is doubled. Reads are not judged, and a model's answer that was
 * asked for again is counted apart: it costs money, and where the process died before it had the answer nobody could have avoided it.
 */

import type { Call, Moment } from './receiver.ts';

export interface Outcome {
  readonly calls: readonly Call[];
  readonly code: number | null;
  readonly lastLine: string;
}

export interface Trial extends Outcome {
  /** Of the call at which it was killed, from 1, and when. */
  readonly number: number;
  readonly moment: Moment;
  readonly isKilled: boolean;
  /** It didn't end in its time. */
  readonly isLate: boolean;
  /** From the new start to the first call that had not been made before, in milliseconds; null: there was none. */
  readonly resumeMs: number | null;
}

export interface Verdict {
  /** Each by its method and path, as often as it came too often. */
  readonly doubled: readonly string[];
  readonly deduplicable: readonly string[];
  /** Calls that change something, and which the calm run doesn't make. */
  readonly other: readonly string[];
  /** Calls of the calm run that nobody made, and what else came out differently. */
  readonly lost: readonly string[];
  readonly modelAgainCount: number;
}

export const isBad = ({ doubled, other, lost }: Verdict): boolean => doubled.length + other.length + lost.length > 0;

export function judge(calm: Outcome, trial: Trial): Verdict {
  const [expected, made] = [writesOf(calm), writesOf(trial)];
  const verdict = {
    doubled: [] as string[],
    deduplicable: [] as string[],
    other: [] as string[],
    lost: [] as string[],
  };
  const add = (to: string[], what: string, count: number) => {
    for (let n = 0; n < count; n++) to.push(what);
  };
  for (const [request, { what, count, distinct }] of made) {
    const calmly = expected.get(request);
    if (calmly === undefined) {
      add(verdict.other, what, count);
      continue;
    }
    const doubled = Math.max(0, distinct - calmly.distinct);
    add(verdict.doubled, what, doubled);
    add(verdict.deduplicable, what, count - calmly.count - doubled);
  }
  for (const [request, { what, count }] of expected) add(verdict.lost, what, count - (made.get(request)?.count ?? 0));
  verdict.lost.push(...differences(calm, trial));
  const models = ({ calls }: Outcome): number => calls.filter(({ kind }) => kind === 'model').length;
  return { ...verdict, modelAgainCount: Math.max(0, models(trial) - models(calm)) };
}

function differences(calm: Outcome, { isLate, code, lastLine }: Trial): readonly string[] {
  if (isLate) return ['its end: it ran into the time limit'];
  if (code !== calm.code) return [`its end: exit code ${code ?? 'none'}`];
  return lastLine === calm.lastLine ? [] : ['its end: another last line'];
}

interface Writes {
  readonly what: string;
  count: number;
  /** Different keys, and each time that it came without any. */
  distinct: number;
  readonly keys: Set<string>;
}

function writesOf({ calls }: Outcome): ReadonlyMap<string, Writes> {
  const writes = new Map<string, Writes>();
  for (const { what, request, key, kind } of calls) {
    if (kind !== 'write') continue;
    const one = writes.get(request) ?? { what, count: 0, distinct: 0, keys: new Set() };
    writes.set(request, one);
    one.count++;
    if (key === null || !one.keys.has(key)) one.distinct++;
    if (key !== null) one.keys.add(key);
  }
  return writes;
}

/** How two calm runs differ, in words; undefined: they don't. Calls may come in another order, as parallel ones do. */
export function difference(one: Outcome, other: Outcome): string | undefined {
  if (one.calls.length !== other.calls.length)
    return `the first makes ${one.calls.length} calls, the second ${other.calls.length}`;
  const left = other.calls.map(({ request }) => request);
  for (const [at, { what, request }] of one.calls.entries()) {
    const found = left.indexOf(request);
    if (found === -1)
      return `call ${at + 1} of the first, ${what}, is not made in the second with the same query and body`;
    left.splice(found, 1);
  }
  if (one.code !== other.code) return `the first ends with exit code ${one.code}, the second with ${other.code}`;
  return one.lastLine === other.lastLine ? undefined : 'they print another last line';
}
