/**
 * Owns the working memory right after past checkpoints, and the hand-overs between phases, both computed from the changes that checkpoints
 * recorded. Nothing is stored twice. It never writes.
 */

import { parseContent } from '@tidemark/codec';
import type { Sequence, WorkflowId } from '@tidemark/core';
import type { CheckpointRow, ProjectionStore } from '@tidemark/ports';
import { changedScope, emptyScope, type Scope } from '../definition/index.ts';
import { scopeIn } from './context-shapes.ts';
import { originOf, readsOf, shiftOf } from './lineage.ts';

type Reads = Pick<ProjectionStore, 'checkpoints' | 'fragments' | 'texts' | 'trace' | 'scopes'>;

/** The memory of a workflow right after a checkpoint. */
export interface PastScope extends Scope {
  /** Checkpoints in the execution trace; for a fork, with the shared ones. */
  readonly traceLength: number;
}

/**
 * The working memory after each of the given checkpoints, which must be consecutive, oldest first; sequence 0 is the opening. `firstPhase`
 * applies until something is recorded. Reads the changes from the last hand-over before the first checkpoint on, and a fork's opening.
 */
export async function scopesAfter(
  reads: Reads,
  workflow: WorkflowId,
  checkpoints: readonly Pick<CheckpointRow, 'sequence' | 'payload'>[],
  { isFork, firstPhase = '' }: { readonly isFork: boolean; readonly firstPhase?: string | undefined },
): Promise<readonly PastScope[]> {
  const first = checkpoints[0]?.sequence;
  if (first === undefined) return [];
  const origin = isFork ? await originOf((of, options) => reads.checkpoints(of, options), workflow) : undefined;
  const before = Math.max(first - 1, 0) as Sequence;
  const shared = origin === undefined ? 0 : shiftOf(origin);
  // A workflow that is no fork has changed nothing before its first checkpoint.
  const isFirst = before === 0 && origin === undefined;
  const changes = isFirst ? [] : await readsOf(reads, workflow, origin).scopes(workflow, before);
  let scope: Scope = changes
    // A forgotten change yields nothing.
    .flatMap(({ change }) => scopeIn({ scope: parseContent(change) }) ?? [])
    .reduce(changedScope, emptyScope(firstPhase));
  return checkpoints.map(({ sequence, payload }) => {
    const change = sequence === 0 ? undefined : scopeIn(JSON.parse(payload));
    if (change !== undefined) scope = changedScope(scope, change);
    return { ...scope, traceLength: sequence + shared };
  });
}

/** A hand-over from one phase to the next. */
export interface PhaseHandover {
  readonly sequence: Sequence;
  readonly atMs: number;
  /** Of the definition, and so of the system context, under which it was made. */
  readonly version: number;
  readonly from: string | null;
  readonly to: string;
  /** Keys that the new phase began with, and keys that the old phase left behind; both sorted. */
  readonly carried: readonly string[];
  readonly left: readonly string[];
  readonly summary: string;
}

/** The workflow's own hand-overs before a sequence, newest first, at most `limit`. Each costs one read of its phase's changes, and one of its checkpoint. */
export async function phaseHandovers(
  reads: Pick<Reads, 'scopes' | 'checkpoints'>,
  workflow: WorkflowId,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<readonly PhaseHandover[]> {
  const found: PhaseHandover[] = [];
  for (let upTo = before - 1; found.length < limit && upTo > 0; ) {
    const [newest] = await reads.scopes(workflow, upTo as Sequence);
    const change = newest?.isWhole === true ? scopeIn({ scope: parseContent(newest.change) }) : undefined;
    if (newest === undefined || change === undefined || !('carried' in change)) break;
    const { from, phase, carried, left, summary } = change;
    const [row] = await reads.checkpoints(workflow, { from: newest.sequence, limit: 1 });
    if (row?.sequence !== newest.sequence) break;
    found.push({
      ...{ sequence: newest.sequence, atMs: row.atMs, version: row.stepVersion, from, to: phase, summary },
      carried: Object.keys(carried).sort(),
      left: left.toSorted(),
    });
    upTo = newest.sequence - 1;
  }
  return found;
}
