/** Owns the comparison of a manifest with the events of its segment. Pure. */

import { canonicalJson, type Json } from '@tidemark/core';
import type { ArchivedWorkflow, SegmentManifest } from '@tidemark/segments';
import { isOtherVersion, sameStreams } from './archived-state.ts';
import { foldedStreams, type SegmentBuilder } from './segment-builder.ts';

/**
 * The first field that differs; undefined: none does. `builder` has the segment's records. It skips what events do not determine: when the
 * manifest was written and where its object is.
 */
export function differingField(manifest: SegmentManifest, builder: SegmentBuilder): string | undefined {
  const { to, rawBytes, firstAtMs, lastAtMs, generation, streams, workflows } = manifest;
  const { state, atMs } = builder;
  if (to !== state.next) return 'to';
  if (rawBytes !== builder.rawBytes) return 'rawBytes';
  if (firstAtMs !== atMs.first) return 'firstAtMs';
  if (lastAtMs !== atMs.last) return 'lastAtMs';
  if (generation !== state.generation) return 'generation';
  if (!sameStreams(streams, foldedStreams(state))) return 'streams';
  const isOther = isOtherVersion(streams);
  if (textOf(workflows, isOther) !== textOf(builder.workflows(), isOther)) return 'workflows';
  return undefined;
}

/** Rows of another version of this code may describe an end differently. Null and absent are the same. */
function textOf(workflows: readonly ArchivedWorkflow[], isOther: boolean): string {
  const reported = workflows.map(({ ended, ...workflow }) => ({
    ...workflow,
    ended: isOther ? ended !== null : ended,
  }));
  return canonicalJson(JSON.parse(JSON.stringify(reported, (_, value: unknown) => value ?? undefined)) as Json);
}
