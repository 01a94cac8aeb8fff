/**
 * Owns the order of facts when there is no room for all: by how well they match the task, and by age. Ages are relative to the newest fact,
 * so no clock is read. Pure.
 */

import { compareWrites, type MemoryRow, type RecalledMemory } from '@tidemark/ports';
import { FACT_AGE_WEIGHT, FACT_HALF_LIFE_MS } from './limits.ts';

/** Each fact once, the most useful first. `newest` adds facts that match no word. */
export function rankFacts(fitting: readonly RecalledMemory[], newest: readonly MemoryRow[]): readonly MemoryRow[] {
  const scores = new Map<string, number>();
  const rows = new Map<string, MemoryRow>();
  const idOf = ({ subject, key }: MemoryRow): string => JSON.stringify([subject, key]);
  for (const row of [...newest, ...fitting.map(({ memory }) => memory)]) rows.set(idOf(row), row);
  for (const { memory, score } of fitting) scores.set(idOf(memory), score);
  // The score of the best match depends more on the length of the question than on the facts.
  const best = Math.max(0, ...scores.values()) || 1;
  const latestMs = Math.max(...[...rows.values()].map(({ atMs }) => atMs));
  const rankOf = (row: MemoryRow): number => {
    const freshness = 0.5 ** ((latestMs - row.atMs) / FACT_HALF_LIFE_MS);
    return (scores.get(idOf(row)) ?? 0) / best + FACT_AGE_WEIGHT * freshness;
  };
  return [...rows.values()].sort((a, b) => rankOf(b) - rankOf(a) || compareWrites(b, a));
}
