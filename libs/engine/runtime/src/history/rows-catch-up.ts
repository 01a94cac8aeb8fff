/**
 * Owns whether rows show what the log has, in every partition, and waiting for it: for whoever decides by rows what can't be undone, since a
 * workflow that has just been started may run before rows show it.
 */

import type { Partition } from '@tidemark/core';
import type { PartitionBounds } from '@tidemark/ports';
import type { Ports } from '../kernel/index.ts';

/** Pause between two looks, in milliseconds. */
const LOOK_PERIOD_MS = 10;

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
