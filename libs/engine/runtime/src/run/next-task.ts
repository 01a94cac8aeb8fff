/** Owns which task of a leased workflow starts next. It does not start it. */

import { firstUnblocked, isUnblocked, type StreamState, type TaskId, type TaskState } from '@tidemark/core';
import type { Definition } from '../definition/index.ts';
import { canRun } from '../history/index.ts';
import type { LeasedStream } from '../lease/index.ts';
import { isUnwinding } from './ending.ts';
import { isOverBudget } from './takeover.ts';

/**
 * The task that may start next; undefined if none may. W1: while a durable write is under way, only what the log has confirmed may start.
 * What an own event on its way finishes or blocks does not start either, although the confirmed state doesn't know of that event yet.
 * `waived`: tasks that a cancelled run does not let wait for their next attempt.
 */
export function nextTask(
  { confirmed, speculative }: Pick<LeasedStream, 'confirmed' | 'speculative'>,
  definition: Definition,
  running: ReadonlyMap<TaskId, unknown>,
  isWriting: boolean,
  waived: ReadonlySet<TaskId>,
): TaskState | undefined {
  if (!mayBegin(confirmed, definition) || !mayBegin(speculative, definition)) return undefined;
  if (isOverBudget(speculative, definition) || !canRun(definition, speculative)) return undefined;
  const unwinds = isUnwinding(speculative, definition);
  if (!isWriting && !unwinds) return firstUnblocked(speculative.frontier, running as unknown as ReadonlySet<TaskId>);
  const isReady = (task: TaskState): boolean =>
    unwinds ? isReadyToUnwind(task, waived.has(task.id)) : isUnblocked(task);
  for (const task of (isWriting ? confirmed : speculative).frontier.tasks) {
    if (!isReady(task) || running.has(task.id)) continue;
    const now = speculative.frontier.tasks.get(task.id);
    if (now !== undefined && isReady(now)) return now;
  }
  return undefined;
}

/** The task that starts first under a new holder; a cancelled run does not let it wait. */
export const firstToStart = (state: StreamState, definition: Definition): TaskState | undefined =>
  isUnwinding(state, definition)
    ? state.frontier.tasks.find((task) => isReadyToUnwind(task, true))
    : firstUnblocked(state.frontier);

/** What a task waited for comes no more. */
const isReadyToUnwind = (task: TaskState, isWaived: boolean): boolean =>
  isUnblocked({ ...task, when: [], ...(isWaived && { retry: null }) });

/** Whether any task may start: the workflow is open and not paused, and no decision about it waits to be carried out. */
const mayBegin = (state: StreamState, definition: Definition): boolean =>
  state.status === 'open' && state.paused === undefined && (state.ruling === null || isUnwinding(state, definition));
