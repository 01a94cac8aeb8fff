/**
 * Owns reading what a process tells at its metrics endpoint: the few series that a load run follows, and what was added since the last look
 * at the same process. A process that was replaced begins at nothing again.
 */

/** Name with labels, as the text has it → value. */
export type Series = ReadonlyMap<string, number>;

export interface BucketCounts {
  /** Upper bounds in seconds, ascending, the last infinite. */
  readonly boundsS: readonly number[];
  /** Values in each, not cumulative. */
  readonly counts: readonly number[];
}

/** Lines of OpenMetrics text; exemplars and comments are passed over. */
export function parseMetrics(text: string): Series {
  const series = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const match = /^([a-zA-Z_:][\w:]*(?:\{[^}]*\})?) (\S+)/.exec(line);
    if (match !== null) series.set(match[1]!, Number(match[2]));
  }
  return series;
}

/** What was added between two looks at one process; all of `now` when `before` is absent or was another process's. */
export function added(now: Series, before: Series | undefined, name: string): number {
  const [after, earlier] = [sumOf(now, name), before === undefined ? 0 : sumOf(before, name)];
  return after >= earlier ? after - earlier : after;
}

/** Sum of all series of that name, whatever their labels. */
export function sumOf(series: Series, name: string): number {
  let sum = 0;
  for (const [key, value] of series) if (key === name || key.startsWith(`${name}{`)) sum += value;
  return sum;
}

/** Values by label of one name: `label` → value. */
export function byLabel(series: Series, name: string, label: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const pattern = new RegExp(`^${name}\\{(?:.*,)?${label}="([^"]*)"`);
  for (const [key, value] of series) {
    const of = pattern.exec(key)?.[1];
    if (of !== undefined) found.set(of, (found.get(of) ?? 0) + value);
  }
  return found;
}

/** The histogram's values that came between two looks. */
export function addedBuckets(now: Series, before: Series | undefined, name: string): BucketCounts {
  const after = cumulative(now, name);
  const earlier = before === undefined ? new Map<number, number>() : cumulative(before, name);
  const isSame = [...after].every(([bound, count]) => count >= (earlier.get(bound) ?? 0));
  const boundsS = [...after.keys()].sort((a, b) => a - b);
  let below = 0;
  const counts = boundsS.map((bound) => {
    const upTo = after.get(bound)! - (isSame ? (earlier.get(bound) ?? 0) : 0);
    const count = upTo - below;
    below = upTo;
    return count;
  });
  return { boundsS, counts };
}

function cumulative(series: Series, name: string): Map<number, number> {
  const found = new Map<number, number>();
  const pattern = new RegExp(`^${name}_bucket\\{(?:.*,)?le="([^"]*)"`);
  for (const [key, value] of series) {
    const bound = pattern.exec(key)?.[1];
    if (bound !== undefined) found.set(bound === '+Inf' ? Number.POSITIVE_INFINITY : Number(bound), value);
  }
  return found;
}

export function mergeBuckets(a: BucketCounts | undefined, b: BucketCounts): BucketCounts {
  if (a === undefined || a.counts.length === 0) return b;
  if (b.counts.length === 0) return a;
  return { boundsS: a.boundsS, counts: a.counts.map((count, at) => count + (b.counts[at] ?? 0)) };
}

/** The quantile in milliseconds, even within its bucket; NaN of nothing, the last finite bound of what lies beyond all. */
export function bucketQuantileMs({ boundsS, counts }: BucketCounts, q: number): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return Number.NaN;
  let below = 0;
  for (const [at, count] of counts.entries()) {
    if (count > 0 && below + count >= total * q) {
      const from = at === 0 ? 0 : boundsS[at - 1]!;
      const to = Number.isFinite(boundsS[at]!) ? boundsS[at]! : from;
      return (from + ((to - from) * (total * q - below)) / count) * 1_000;
    }
    below += count;
  }
  return boundsS.filter(Number.isFinite).at(-1)! * 1_000;
}

/** Share of the values above a bound of the histogram, in seconds; 0..1. */
export function shareAbove({ boundsS, counts }: BucketCounts, boundS: number): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const above = counts.reduce((sum, count, at) => (boundsS[at]! > boundS ? sum + count : sum), 0);
  return total === 0 ? Number.NaN : above / total;
}
