/** Owns the store's index of segments. It follows from the manifests and from where their objects are, and can be rebuilt from them. */

import type { Offset, Partition } from '@tidemark/core';
import type { ObjectStore, SegmentRow, SegmentTier, TierStore } from '@tidemark/ports';
import { type SegmentManifest, segmentPrefix } from '@tidemark/segments';
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

/** Records every segment of the partition up to that offset, with its tier; segments that the store knows stay as they are. */
export async function recordManifests(
  archive: Archive,
  store: Pick<TierStore, 'recordSegments'>,
  partition: Partition,
  to = Number.POSITIVE_INFINITY as Offset,
): Promise<void> {
  const tiers = await tiersOf(archive, partition);
  let rows: SegmentRow[] = [];
  for await (const manifest of archive.manifests(partition)) {
    if (manifest.to > to) break;
    rows.push({ ...segmentRow(manifest), tier: await tiers(manifest) });
    if (rows.length < SEGMENTS_PAGE_COUNT) continue;
    await store.recordSegments(rows);
    rows = [];
  }
  await store.recordSegments(rows);
}

/**
 * Uses listings, although they are hints, because a request for each object would recall copies from archive classes. An object that
 * neither store lists, and that has no tombstone, counts as warm, as it was written: the code that moves it on finds out where it is, or
 * that it is missing.
 */
async function tiersOf(
  archive: Archive,
  partition: Partition,
): Promise<(manifest: SegmentManifest) => Promise<SegmentTier>> {
  const [warm, cold] = [await listed(archive.warm, partition), await listed(archive.cold, partition)];
  return async (manifest) => {
    if (warm.has(manifest.object)) return 'warm';
    if (await archive.isDeleted(manifest)) return 'deleted';
    return cold.has(manifest.object) ? 'cold' : 'warm';
  };
}

async function listed(objects: ObjectStore | undefined, partition: Partition): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  if (objects !== undefined) for await (const name of objects.list(segmentPrefix(partition))) names.add(name);
  return names;
}
