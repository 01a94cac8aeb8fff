/**
 * Owns the detection of a log that has lost records which rows have folded: it was truncated, replaced, or restored from an older copy. It
 * only reads.
 */

import type { Offset, Partition } from '@tidemark/core';
import type { EventLog, ProjectionStore } from '@tidemark/ports';

/** A partition of which rows have folded more than the log has. */
export interface LostTail {
  readonly partition: Partition;
  readonly end: Offset;
  /** The next offset by its rows. */
  readonly next: Offset;
}

/** The first such partition, which proves that the log lost records; undefined: there is none. */
export async function lostTail(
  log: Pick<EventLog, 'bounds'>,
  rows: Pick<ProjectionStore, 'positions'>,
): Promise<LostTail | undefined> {
  // Rows are read first: if both advance in between, the log's end is the later one.
  const positions = await rows.positions();
  const bounds = await log.bounds();
  for (const [partition, next] of positions) {
    const end = bounds.get(partition)?.end ?? (0 as Offset);
    if (next > end) return { partition, end, next };
  }
  return undefined;
}
