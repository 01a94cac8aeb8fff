/**
 * Owns what a task of a fork that replays is told where it waits for a child: how the child of its base ended that waited at the same place
 * and was asked the same. Nothing is started for it. Must not write.
 */

import type { ChildOpening, Children } from '@tidemark/codec';
import { type Fork, isClosed, type Json, type Sequence, type TaskId, taskOrder, type WorkflowId } from '@tidemark/core';
import type { ProjectionStore, WorkflowSummary } from '@tidemark/ports';
import { currentOf, ForkTaskMap, originOf } from '../history/index.ts';
import { childId } from '../run/index.ts';

export interface ReplayedChildReads {
  readonly store: Pick<ProjectionStore, 'workflow' | 'loadStreams' | 'checkpoints'>;
  /** Children that were declared with this checkpoint, by the index of their tasks. */
  readonly childrenOf: (workflow: WorkflowId, sequence: Sequence) => Promise<Children | undefined>;
}

/**
 * The base's child and the last that went on for it, which has ended; `none`: the base had none there that was asked the same and ended;
 * `later`: it may come to one, or that runs still.
 */
export type ReplayedChild = { readonly child: WorkflowId; readonly last: WorkflowSummary } | 'none' | 'later';

/** Throws as the store does. */
export async function replayedChild(
  reads: ReplayedChildReads,
  fork: WorkflowSummary & { readonly fork: Fork },
  task: TaskId,
  wanted: ChildOpening,
): Promise<ReplayedChild> {
  const { store } = reads;
  const base = await store.workflow(fork.fork.workflow);
  const there = await sameTask(store, fork.workflow, task);
  if (base === undefined) return 'none';
  if (there === undefined) return isClosed(base) ? 'none' : 'later';
  const [sequence, index] = taskOrder(there);
  const asked = (await reads.childrenOf(base.workflow, sequence as Sequence))?.[index];
  if (asked === undefined || questionOf(asked) !== questionOf(wanted)) return 'none';
  // A base that replayed itself was told of its own base's.
  if (isReplaying(base)) return replayedChild(reads, base, there, wanted);
  const child = childId(base.workflow, there);
  const last = await currentOf(store, child);
  if (last !== undefined && isClosed(last)) return { child, last };
  return isClosed(base) ? 'none' : 'later';
}

/** Whether nothing may begin on its account. */
export const isReplaying = <T extends Pick<WorkflowSummary, 'fork'>>(row: T): row is T & { readonly fork: Fork } =>
  row.fork?.effects === 'replay';

async function sameTask(
  store: ReplayedChildReads['store'],
  fork: WorkflowId,
  task: TaskId,
): Promise<TaskId | undefined> {
  const pageOf: Parameters<typeof originOf>[0] = (workflow, options) => store.checkpoints(workflow, options);
  const origin = await originOf(pageOf, fork);
  return origin && new ForkTaskMap(fork, origin, { pageOf, newTaskOf: () => undefined }).taskOf(task);
}

function questionOf({ control }: ChildOpening): string {
  const { definition, inputDigest } = control as { readonly definition: Json; readonly inputDigest: Json };
  return `${definition}\0${inputDigest}`;
}
