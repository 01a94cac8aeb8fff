/** Owns what the store's index says of segments: it follows from their manifests, and is made anew from them. */

import type { Offset, Partition } from '@tidemark/core';
import type { SegmentRow, TierStore } from '@tidemark/ports';
import type { SegmentManifest } from '@tidemark/segments';
import type { Archive } from './archive.ts';
import { SEGMENTS_PAGE_COUNT } from './limits.ts';

export const segmentRow = (manifest: SegmentManifest): SegmentRow => ({
  partition: manifest.partition,
  from: manifest.from,
  to: manifest.to,
  object: manifest.object,
  digest: manifest.digest,
  bytes: manifest.bytes,
  rawBytes: manifest.rawBytes,
  eventCount: manifest.to - manifest.from,
  firstAtMs: manifest.firstAtMs,
  lastAtMs: manifest.lastAtMs,
  writtenAtMs: manifest.writtenAtMs,
  tier: 'warm',
  rowsDropped: false,
  workflows: manifest.workflows.map(({ workflow, tenant, eventCount, rawBytes, opens, closes }) => ({
    workflow,
    tenant,
    eventCount,
    rawBytes,
    opens,
    closes,
  })),
});

/** Records every segment of the partition up to there; those that the store knows stay as they are. */
export async function recordManifests(
  archive: Archive,
  store: Pick<TierStore, 'recordSegments'>,
  partition: Partition,
  to = Number.POSITIVE_INFINITY as Offset,
): Promise<void> {
  let rows: SegmentRow[] = [];
  for await (const manifest of archive.manifests(partition)) {
    if (manifest.to > to) break;
    rows.push(segmentRow(manifest));
    if (rows.length < SEGMENTS_PAGE_COUNT) continue;
    await store.recordSegments(rows);
    rows = [];
  }
  await store.recordSegments(rows);
}
