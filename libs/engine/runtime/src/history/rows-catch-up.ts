/**
 * Owns waiting until rows show all that the log had when it began, in every partition: for whoever decides by rows what can't be undone, since a
 * workflow that has just been started may run before rows show it.
 */

import type { Ports } from '../kernel/index.ts';

/** Pause between two looks, in milliseconds. */
const LOOK_PERIOD_MS = 10;

/** Gives up after `maxMs`: a partition whose history is damaged has no rows until a person mends it. */
export async function rowsCatchUp(
  { log, store, clock }: Pick<Ports, 'log' | 'store' | 'clock'>,
  maxMs: number,
): Promise<void> {
  const bounds = await log.bounds();
  const endMs = clock.monotonicMs() + maxMs;
  for (;;) {
    const rows = await store.positions();
    const isBehind = [...bounds].some(([partition, { end }]) => (rows.get(partition) ?? 0) < end);
    if (!isBehind || clock.monotonicMs() >= endMs) return;
    await clock.sleep(LOOK_PERIOD_MS);
  }
}
