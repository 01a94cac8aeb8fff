/** Owns finding out that the log lost what rows have folded: it was cut, replaced, or restored from an older copy. Reads only. */

import type { Offset, Partition } from '@tidemark/core';
import type { EventLog, ProjectionStore } from '@tidemark/ports';

/** A partition of which rows know more than the log has. */
export interface LostTail {
  readonly partition: Partition;
  readonly end: Offset;
  /** Where its rows stand. */
  readonly next: Offset;
}

/** The first such partition, which proves that the log lost something; undefined: there is none. */
export async function lostTail(
  log: Pick<EventLog, 'bounds'>,
  rows: Pick<ProjectionStore, 'positions'>,
): Promise<LostTail | undefined> {
  // In this order: both may go on meanwhile.
  const positions = await rows.positions();
  const bounds = await log.bounds();
  for (const [partition, next] of positions) {
    const end = bounds.get(partition)?.end ?? (0 as Offset);
    if (next > end) return { partition, end, next };
  }
  return undefined;
}
