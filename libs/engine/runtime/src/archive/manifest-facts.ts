/** Owns holding what a manifest says of its segment against what the events come to. Pure. */

import { canonicalJson, type Json } from '@tidemark/core';
import type { ArchivedWorkflow, SegmentManifest } from '@tidemark/segments';
import { isOtherVersion, sameStreams } from './archived-state.ts';
import { foldedStreams, type SegmentBuilder } from './segment-builder.ts';

/**
 * The first field that says something else; undefined: all of it is so. `builder` was given the segment's records. What events don't tell
 * is left out: when the manifest was written, and where its object is; so are `blobs` of a writer that didn't look.
 */
export function differingField(manifest: SegmentManifest, builder: SegmentBuilder): string | undefined {
  const { to, rawBytes, firstAtMs, lastAtMs, generation, streams, workflows, blobs } = manifest;
  const { state, atMs } = builder;
  if (to !== state.next) return 'to';
  if (rawBytes !== builder.rawBytes) return 'rawBytes';
  if (firstAtMs !== atMs.first) return 'firstAtMs';
  if (lastAtMs !== atMs.last) return 'lastAtMs';
  if (generation !== state.generation) return 'generation';
  if (!sameStreams(streams, foldedStreams(state))) return 'streams';
  const isOther = isOtherVersion(streams);
  if (textOf(workflows, isOther) !== textOf(builder.workflows(), isOther)) return 'workflows';
  if (blobs !== undefined && blobs.join() !== builder.blobs().join()) return 'blobs';
  return undefined;
}

/** Rows of another version of this code may tell of an end in other words. What is null and what is absent are one. */
function textOf(workflows: readonly ArchivedWorkflow[], isOther: boolean): string {
  const reported = workflows.map(({ ended, ...workflow }) => ({
    ...workflow,
    ended: isOther ? ended !== null : ended,
  }));
  return canonicalJson(JSON.parse(JSON.stringify(reported, (_, value: unknown) => value ?? undefined)) as Json);
}
