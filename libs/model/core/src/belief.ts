/**
 * Owns belief as data: the delta between two values, its application, and when a whole snapshot is worth its bytes. Pure.
 * Values are JSON. A step returns a new value that shares the parts it didn't touch. Unchanged parts are skipped by identity, so a delta
 * costs as much as the change, however large belief is.
 *
 * Invariant: `applyDelta(before, diff(before, after))` is deeply equal to `after`, for any two JSON values.
 */

import { CorruptError } from './errors.ts';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * What changed. Keys are short because they are stored with every checkpoint.
 * `v`: this value replaces the old one. `a`: these items are appended to an array. `o`: members of an object that changed. `x`: members
 * that were removed.
 */
export type Delta =
  | { readonly v: Json }
  | { readonly a: readonly Json[] }
  | { readonly o: { readonly [key: string]: Delta }; readonly x?: readonly string[] };

const isObject = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The change from `before` to `after`; undefined when they are deeply equal. */
export function diff(before: Json, after: Json): Delta | undefined {
  if (Object.is(before, after)) return undefined;
  if (Array.isArray(before) && Array.isArray(after)) return diffArrays(before, after);
  if (isObject(before) && isObject(after)) return diffObjects(before, after);
  return before === after ? undefined : { v: after };
}

function diffArrays(before: readonly Json[], after: readonly Json[]): Delta | undefined {
  const kept = before.length <= after.length && before.every((item, at) => diff(item, after[at]!) === undefined);
  if (!kept) return { v: after };
  return before.length === after.length ? undefined : { a: after.slice(before.length) };
}

function diffObjects(
  before: { readonly [key: string]: Json },
  after: { readonly [key: string]: Json },
): Delta | undefined {
  const changed: [string, Delta][] = [];
  for (const key of Object.keys(after)) {
    const value = after[key]!;
    const delta = Object.hasOwn(before, key) ? diff(before[key]!, value) : { v: value };
    if (delta !== undefined) changed.push([key, delta]);
  }
  const gone = Object.keys(before).filter((key) => !Object.hasOwn(after, key));
  if (changed.length === 0 && gone.length === 0) return undefined;
  // `fromEntries` defines a member named `__proto__` as data, where an assignment would not.
  const members = Object.fromEntries(changed);
  return gone.length === 0 ? { o: members } : { o: members, x: gone };
}

/**
 * Applies a change. The result shares with `before` everything that the delta doesn't touch. Throws `CorruptError` (`belief-mismatch`) when
 * the delta was made from a value of another shape: the log contradicts itself, and belief can't be known.
 */
export function applyDelta(before: Json | undefined, delta: Delta): Json {
  if ('v' in delta) return delta.v;
  if ('a' in delta) {
    if (!Array.isArray(before)) mismatch('items are appended to a value that is not an array');
    return [...before, ...delta.a];
  }
  if (before === undefined || !isObject(before) || !('o' in delta))
    mismatch('members are changed of a value that is not an object');
  const result: { [key: string]: Json } = { ...before };
  for (const key of delta.x ?? []) delete result[key];
  for (const [key, change] of Object.entries(delta.o)) {
    const value = applyDelta(Object.hasOwn(before, key) ? before[key] : undefined, change);
    // A plain assignment to this one name would set the prototype instead of a member.
    if (key === '__proto__')
      Object.defineProperty(result, key, { value, enumerable: true, configurable: true, writable: true });
    else result[key] = value;
  }
  return result;
}

function mismatch(problem: string): never {
  throw new CorruptError('belief-mismatch', `A stored change of belief doesn't fit the belief before it: ${problem}.`);
}

/** Deltas are written at least until they add up to this many bytes. */
export const SNAPSHOT_MIN_BYTES = 16_384;

/**
 * Whether the next checkpoint should hold all of belief, because the deltas since the last snapshot would outweigh it. This keeps the bytes
 * written within a constant factor of what changed, and the bytes that a claim reads within the last snapshot, as much again (16 KiB at the
 * least), and one delta.
 */
export const snapshotDue = (deltaBytesSinceSnapshot: number, snapshotBytes: number): boolean =>
  deltaBytesSinceSnapshot > Math.max(SNAPSHOT_MIN_BYTES, snapshotBytes);

/** Belief as views show it: without members that begin with `~`, in which a library keeps what means something to itself alone. */
export function shownBelief(belief: Json): Json {
  if (typeof belief !== 'object' || belief === null || Array.isArray(belief)) return belief;
  return Object.fromEntries(Object.entries(belief).filter(([name]) => !name.startsWith('~')));
}
