/**
 * Owns what working memory held right after past checkpoints, and the hand-overs between phases, from the changes that checkpoints recorded.
 * Nothing of it is stored a second time. Must not write.
 */

import type { Sequence, WorkflowId } from '@tidemark/core';
import type { CheckpointRow, ContextStore, ProjectionStore } from '@tidemark/ports';
import { changedScope, emptyScope, type Scope } from '../definition/index.ts';
import { scopeIn } from './context-shapes.ts';
import { originOf, readsOf, shiftOf } from './lineage.ts';

type Reads = Pick<ProjectionStore, 'checkpoints' | 'fragments' | 'texts' | 'trace' | 'scopes'>;

/** The memory of a workflow right after a checkpoint. */
export interface PastScope extends Scope {
  /** Checkpoints in the execution trace; of a fork, with those that it shares. */
  readonly traceLength: number;
}

/**
 * After each of the checkpoints, which follow one another, oldest first; sequence 0 is the opening. `firstPhase`: where nothing was
 * recorded yet. Reads the changes from the last hand-over before the first of them on, and of a fork its opening.
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
  // Before its first checkpoint a workflow that began by itself has changed nothing.
  const isFirst = before === 0 && origin === undefined;
  const changes = isFirst ? [] : await readsOf(reads, workflow, origin).scopes(workflow, before);
  let scope: Scope = changes
    // What was forgotten says nothing.
    .flatMap(({ change }) => scopeIn({ scope: JSON.parse(change) }) ?? [])
    .reduce(changedScope, emptyScope(firstPhase));
  return checkpoints.map(({ sequence, payload }) => {
    const change = sequence === 0 ? undefined : scopeIn(JSON.parse(payload));
    if (change !== undefined) scope = changedScope(scope, change);
    return { ...scope, traceLength: sequence + shared };
  });
}

/** A phase's hand-over to the next one. */
export interface PhaseHandover {
  readonly sequence: Sequence;
  readonly from: string | null;
  readonly to: string;
  /** Keys that the new phase began with, and keys that the old one left behind; sorted. */
  readonly carried: readonly string[];
  readonly left: readonly string[];
  readonly summary: string;
}

/** The workflow's own before a sequence, the newest first, at most `limit`. Each costs a read of its phase's changes. */
export async function phaseHandovers(
  reads: Pick<ContextStore, 'scopes'>,
  workflow: WorkflowId,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<readonly PhaseHandover[]> {
  const found: PhaseHandover[] = [];
  for (let upTo = before - 1; found.length < limit && upTo > 0; ) {
    const [newest] = await reads.scopes(workflow, upTo as Sequence);
    const change = newest?.isWhole === true ? scopeIn({ scope: JSON.parse(newest.change) }) : undefined;
    if (newest === undefined || change === undefined || !('carried' in change)) break;
    const { from, phase, carried, left, summary } = change;
    found.push({
      ...{ sequence: newest.sequence, from, to: phase, summary },
      carried: Object.keys(carried).sort(),
      left: left.toSorted(),
    });
    upTo = newest.sequence - 1;
  }
  return found;
}
