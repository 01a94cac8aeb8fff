/** Owns what rows hold of history that segments have: nothing but the index of those segments, once the log behind them was trimmed. */

import type { Offset, Partition } from '@tidemark/core';
import type { SegmentRow, TierStore } from '@tidemark/ports';
import type { Archive } from './archive.ts';
import { SEGMENTS_PAGE_COUNT } from './limits.ts';
import { recordManifests } from './segment-rows.ts';

type Rows = Pick<TierStore, 'recordedEvents' | 'recordSegments' | 'segments' | 'dropRows'>;

/** The index of the partition's segments up to where its log begins. */
export async function recordArchived(
  archive: Archive,
  store: Pick<TierStore, 'recordedEvents' | 'recordSegments'>,
  partition: Partition,
  start: Offset,
): Promise<void> {
  const recorded = await store.recordedEvents(partition, start);
  if (recorded < start) await recordManifests(archive, store, partition, start);
}

/**
 * Brings rows that were made anew, or those of an older copy, to what a log that begins at `start` leaves them. `next`: how far they are
 * folded; what was dropped comes back up to there. Returns whether nothing is left undone.
 */
export async function settleArchived(
  archive: Archive,
  store: Rows,
  partition: Partition,
  { start, next }: { readonly start: Offset; readonly next: Offset },
): Promise<boolean> {
  if (start === 0) return true;
  await recordArchived(archive, store, partition, start);
  const end = Math.min(start, next);
  const kept = await store.segments({ partition, rowsDropped: false, limit: SEGMENTS_PAGE_COUNT });
  for (const segment of kept) if (segment.to <= end) await dropArchived(store, segment);
  return kept.length < SEGMENTS_PAGE_COUNT && next >= start;
}

/** Of the segment's workflows that ended in it. */
export async function dropArchived(store: Rows, segment: SegmentRow): Promise<void> {
  const ended = segment.workflows.flatMap(({ workflow, closes }) => (closes ? [workflow] : []));
  await store.dropRows(segment, ended);
}
