/**
 * Owns how two rankings of the same entries, by words and by meaning, become one: a weighted sum of scores, each relative to
 * the best of its list. Chosen by measuring (test/bench/recall). Pure.
 */

/** What meaning weighs; words weigh the rest. */
export const MEANING_WEIGHT = 0.6;

export interface Ranked<T> {
  readonly item: T;
  readonly score: number;
}

export interface Fused<T> {
  readonly item: T;
  /** In (0, 1]. */
  readonly score: number;
  readonly wordsScore: number | null;
  readonly similarity: number | null;
}

/**
 * Lists are the best of each ranking, best first. Without a list by meaning (null), words decide alone. Ties are settled by
 * `compare`: negative when the first is to come first.
 */
export function fuseRankings<T>(
  words: readonly Ranked<T>[],
  meaning: readonly Ranked<T>[] | null,
  idOf: (item: T) => number | string,
  compare: (a: T, b: T) => number,
): readonly Fused<T>[] {
  const wordsShare = shares(words, 0);
  const meaningShare = meaning === null ? [] : shares(meaning, floorOf(meaning));
  const weight = meaning === null ? 0 : MEANING_WEIGHT;
  const fused = new Map<number | string, Fused<T>>();
  for (const [at, { item, score }] of (meaning ?? []).entries()) {
    fused.set(idOf(item), { item, score: weight * meaningShare[at]!, wordsScore: null, similarity: score });
  }
  for (const [at, { item, score }] of words.entries()) {
    const known = fused.get(idOf(item));
    const total = (known?.score ?? 0) + (1 - weight) * wordsShare[at]!;
    fused.set(idOf(item), { item, score: total, wordsScore: score, similarity: known?.similarity ?? null });
  }
  // Rounded, so that the last bits of two ways to compute a product decide nothing.
  const rounded = [...fused.values()].map((each) => ({ ...each, score: Math.round(each.score * 1e4) / 1e4 }));
  return rounded.sort((a, b) => b.score - a.score || compare(a.item, b.item));
}

/** The score by meaning that counts as nothing: the last of the list, when the list goes on beyond what matters. */
const floorOf = (list: readonly Ranked<unknown>[]): number => Math.min(list.at(-1)?.score ?? 0, list[0]?.score ?? 0, 0);

function shares(list: readonly Ranked<unknown>[], floor: number): number[] {
  const best = (list[0]?.score ?? 0) - floor;
  return list.map(({ score }) => (best <= 0 ? 0 : (score - floor) / best));
}
