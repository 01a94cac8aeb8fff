/**
 * Owns how durations are counted in a process that measures itself: buckets whose bounds grow by a tenth, from 0.1 ms to 100 s, so that any
 * quantile of any merge is known to 10 %. Sparse, so that a note of one second fits a datagram.
 */

const FIRST_MS = 0.1;
const GROWTH = 1.1;
const BUCKETS_MAX = 145;

/** Bucket → count. */
export type Times = Map<number, number>;

export function addTime(times: Times, ms: number): void {
  const bucket = ms <= FIRST_MS ? 0 : Math.ceil(Math.log(ms / FIRST_MS) / Math.log(GROWTH));
  const at = Math.min(bucket, BUCKETS_MAX);
  times.set(at, (times.get(at) ?? 0) + 1);
}

export function mergeTimes(into: Times, from: Iterable<readonly [number, number]>): void {
  for (const [bucket, count] of from) into.set(bucket, (into.get(bucket) ?? 0) + count);
}

export function countOf(times: Times): number {
  let count = 0;
  for (const each of times.values()) count += each;
  return count;
}

/** Upper bound, in milliseconds, of the bucket that holds the quantile `q` (0..1); NaN of nothing. */
export function timeQuantile(times: Times, q: number): number {
  const wanted = countOf(times) * q;
  let seen = 0;
  for (const [bucket, count] of [...times].sort(([a], [b]) => a - b)) {
    seen += count;
    if (seen >= wanted) return FIRST_MS * GROWTH ** bucket;
  }
  return Number.NaN;
}
