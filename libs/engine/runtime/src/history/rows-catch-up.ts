/**
 * Owns whether rows show what the log has, in every partition, and waiting for it: for whoever decides by rows what can't be undone, since a
 * workflow that has just been started may run before rows show it.
 */

import { type Partition, UnavailableError } from '@tidemark/core';
import type { PartitionBounds } from '@tidemark/ports';
import type { Ports } from '../kernel/index.ts';

/** Pause between two looks, in milliseconds. */
const LOOK_PERIOD_MS = 10;
/** How long rows may be behind the log before a read gives up, in milliseconds. */
export const ROWS_WAIT_MS = 30_000;

/** Whether rows have every event before these ends. */
export async function haveRows(
  store: Pick<Ports['store'], 'positions'>,
  bounds: ReadonlyMap<Partition, PartitionBounds>,
): Promise<boolean> {
  const positions = await store.positions();
  for (const [partition, { end }] of bounds) if ((positions.get(partition) ?? 0) < end) return false;
  return true;
}

/**
 * Resolves once rows show all that the log had when it began. Gives up after `maxMs`: a partition whose history is damaged has no rows until a
 * person mends it.
 */
export async function rowsCatchUp(
  { log, store, clock }: Pick<Ports, 'log' | 'store' | 'clock'>,
  maxMs: number,
): Promise<void> {
  const bounds = await log.bounds();
  const endMs = clock.monotonicMs() + maxMs;
  while (!(await haveRows(store, bounds)) && clock.monotonicMs() < endMs) await clock.sleep(LOOK_PERIOD_MS);
}

/** Gives the work as long as rows may take: then its signal aborts with `UnavailableError` (`rows-behind`). */
export async function whileRowsCatchUp<T>(
  { clock }: Pick<Ports, 'clock'>,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const done = new AbortController();
  void clock.sleep(ROWS_WAIT_MS, done.signal).then(() => {
    late.abort(new UnavailableError('rows-behind', 'The rows did not catch up with the log in time; try again.'));
  });
  try {
    return await work(late.signal);
  } finally {
    done.abort();
  }
}
