/**
 * Owns the answer to a replaying fork's task that waits for a child: the end of the base's child that waited at the same place with the
 * same input. It starts nothing, and never writes.
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
 * The base's child, and the last run that continued it, which has ended. `none`: the base had no such child with the same input that ended.
 * `later`: the base may still create it, or it is still running.
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
  // A base that replays got the answer of its own base.
  if (isReplaying(base)) return replayedChild(reads, base, there, wanted);
  const child = childId(base.workflow, there);
  const last = await currentOf(store, child);
  if (last === undefined && keeps(base)) return replayedChild(reads, base, there, wanted);
  if (last !== undefined && isClosed(last)) return { child, last };
  return isClosed(base) ? 'none' : 'later';
}

/** Whether the workflow must start nothing outside itself. */
export const isReplaying = <T extends Pick<WorkflowSummary, 'fork'>>(row: T): row is T & { readonly fork: Fork } =>
  row.fork?.effects === 'replay';

/** Whether it is a reset in which what was done before answers. */
export const keeps = <T extends Pick<WorkflowSummary, 'fork'>>(row: T): row is T & { readonly fork: Fork } =>
  row.fork?.effects === 'keep' || row.fork?.effects === 'ask';

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
