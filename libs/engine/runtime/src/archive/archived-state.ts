/**
 * Owns the partition's state at the end of a segment: from its manifest, or, where another version of the code wrote that, from the records
 * before it.
 */

import { entryOf } from '@tidemark/codec';
import {
  CorruptError,
  canonicalJson,
  emptyPartition,
  foldPassing,
  isReadableState,
  type Json,
  type Offset,
  type PartitionState,
  partitionFrom,
  streamFromJson,
} from '@tidemark/core';
import type { FoldedStream } from '@tidemark/ports';
import type { SegmentManifest } from '@tidemark/segments';
import type { Archive } from './archive.ts';

const parsed = (streams: readonly FoldedStream[]): Json =>
  streams.map(({ state, tasks }) => ({ state: JSON.parse(state), tasks: tasks.map((task) => JSON.parse(task)) }));

/** Whether another version of this code wrote the states. */
export const isOtherVersion = (written: readonly FoldedStream[]): boolean =>
  written.some(
    ({ state }) => !isReadableState((JSON.parse(state) as { readonly stateVersion?: unknown }).stateVersion),
  );

/** States of another version can't be compared; the records that they were folded from are checked against the chain. */
export const sameStreams = (written: readonly FoldedStream[], folded: readonly FoldedStream[]): boolean =>
  isOtherVersion(written) || canonicalJson(parsed(written)) === canonicalJson(parsed(folded));

export async function stateAfter(archive: Archive, manifest: SegmentManifest): Promise<PartitionState> {
  const { partition, to, generation, streams } = manifest;
  try {
    const folded = streams.map(({ state, tasks }) => streamFromJson(state, tasks));
    return partitionFrom(partition, to, generation, folded);
  } catch (error) {
    if (!(error instanceof CorruptError) || error.code !== 'state-version') throw error;
    return refolded(archive, manifest);
  }
}

/** Folds from the partition's beginning, because this version can't read states of another one. */
async function refolded(archive: Archive, { partition, to }: SegmentManifest): Promise<PartitionState> {
  let state = emptyPartition(partition, 0 as Offset);
  for await (const manifest of archive.manifests(partition)) {
    const records = await archive.records(manifest);
    for (const record of records) state = foldPassing(state, entryOf(record)).state;
    if (manifest.to >= to) break;
  }
  return state;
}
