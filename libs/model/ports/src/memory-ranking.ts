/**
 * Owns how two rankings of the same entries, by words and by meaning, become one: a weighted sum of two scores in [0, 1]. One is the share
 * of the query's words that the entry has, weighed by rarity; the other is the cosine. So words decide a query of names and numbers, and
 * meaning decides one that is phrased differently than the entry. Chosen by measuring on the labelled set of test/bench/recall: 0.91 of the
 * wanted entries were among the first three; reciprocal ranks (k = 1 … 60, any weight) gave 0.78 to 0.88, scores relative to the best of
 * each list 0.79 to 0.91 with a narrow optimum. Pure.
 */

/** Weight of meaning; words have the rest. Anything from 0.5 to 0.6 is as good. */
const MEANING_WEIGHT = 0.55;

export interface Ranked<T> {
  readonly item: T;
  /** In [-1, 1]; below 0 counts as 0. */
  readonly score: number;
}

export interface Fused<T> {
  readonly item: T;
  /** In [0, 1]. */
  readonly score: number;
  readonly wordsScore: number | null;
  readonly similarity: number | null;
}

/**
 * Each list holds the best of its ranking, best first. Without a list by meaning (null), words decide alone. `compare` breaks ties:
 * negative when the first argument comes first.
 */
export function fuseRankings<T>(
  words: readonly Ranked<T>[],
  meaning: readonly Ranked<T>[] | null,
  idOf: (item: T) => number | string,
  compare: (a: T, b: T) => number,
): readonly Fused<T>[] {
  const weight = meaning === null ? 0 : MEANING_WEIGHT;
  const fused = new Map<number | string, Fused<T>>();
  for (const { item, score } of meaning ?? []) {
    fused.set(idOf(item), { item, score: weight * Math.max(0, score), wordsScore: null, similarity: score });
  }
  for (const { item, score } of words) {
    const known = fused.get(idOf(item));
    const total = (known?.score ?? 0) + (1 - weight) * Math.max(0, score);
    fused.set(idOf(item), { item, score: total, wordsScore: score, similarity: known?.similarity ?? null });
  }
  // Rounded, so that the last bits of two ways to compute a product decide nothing.
  const rounded = [...fused.values()].map((each) => ({ ...each, score: Math.round(each.score * 1e4) / 1e4 }));
  return rounded.sort((a, b) => b.score - a.score || compare(a.item, b.item));
}
