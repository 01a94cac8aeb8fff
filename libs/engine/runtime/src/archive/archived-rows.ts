/** Owns what rows keep of history that segments have: only the index of those segments, once the log before their end was trimmed. */

import type { Offset, Partition } from '@tidemark/core';
import type { EventLog, SegmentRow, TierStore } from '@tidemark/ports';
import type { Archive } from './archive.ts';
import { SEGMENTS_PAGE_COUNT } from './limits.ts';
import { recordManifests } from './segment-rows.ts';

/** Partitions whose manifests a rebuild reads at once, before it folds them. */
const REBUILD_INDEXED_AT_ONCE = 8;

type Rows = Pick<TierStore, 'recordedEvents' | 'recordSegments' | 'segments' | 'dropRows'>;

type Index = Pick<TierStore, 'recordedEvents' | 'recordSegments'>;

/**
 * Records the index of segments up to where the partitions' logs begin, so that the fold knows in advance which workflows end in segments.
 * Returns those offsets. A log that was trimmed beyond `upTo` is skipped.
 */
export async function indexArchived(
  { hot, archive }: { readonly hot: Pick<EventLog, 'bounds'>; readonly archive: Archive },
  store: Index,
  upTo: ReadonlyMap<Partition, Offset>,
): Promise<ReadonlyMap<Partition, Offset>> {
  const bounds = await hot.bounds([...upTo.keys()]);
  const starts = [...bounds].flatMap(([partition, { start }]) =>
    start > 0 && start <= upTo.get(partition)! ? [[partition, start] as const] : [],
  );
  for (let at = 0; at < starts.length; at += REBUILD_INDEXED_AT_ONCE) {
    const some = starts.slice(at, at + REBUILD_INDEXED_AT_ONCE);
    await Promise.all(some.map(([partition, start]) => recordArchived(archive, store, partition, start)));
  }
  return new Map(starts);
}

async function recordArchived(archive: Archive, store: Index, partition: Partition, start: Offset): Promise<void> {
  const recorded = await store.recordedEvents(partition, start);
  if (recorded < start) await recordManifests(archive, store, partition, start);
}

/**
 * Brings rebuilt rows, or those of an older copy, to the state that belongs to a log which begins at `start`. `next`: how far they are
 * folded; dropped rows come back up to there. Returns whether everything is done.
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

/** Drops the rows of workflows that ended in the segment. */
export async function dropArchived(store: Rows, segment: SegmentRow): Promise<void> {
  const ended = segment.workflows.flatMap(({ workflow, closes }) => (closes ? [workflow] : []));
  await store.dropRows(segment, ended);
}
