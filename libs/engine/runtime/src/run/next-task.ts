/** Owns which task of a leased workflow starts next. It does not start it. */

import { firstUnblocked, isUnblocked, type StreamState, type TaskId, type TaskState } from '@tidemark/core';
import type { Definition } from '../definition/index.ts';
import { canRun } from '../history/index.ts';
import type { LeasedStream } from '../lease/index.ts';
import { isOverBudget } from './takeover.ts';

/**
 * The task that may start next; undefined if none may. W1: while a durable write is under way, only what the log has confirmed may start.
 * What an own event on its way finishes or blocks does not start either, although the confirmed state doesn't know of that event yet.
 */
export function nextTask(
  { confirmed, speculative }: Pick<LeasedStream, 'confirmed' | 'speculative'>,
  definition: Definition,
  running: ReadonlyMap<TaskId, unknown>,
  isWriting: boolean,
): TaskState | undefined {
  if (!mayBegin(confirmed) || !mayBegin(speculative)) return undefined;
  if (isOverBudget(speculative, definition) || !canRun(definition, speculative)) return undefined;
  if (!isWriting) return firstUnblocked(speculative.frontier, running as unknown as ReadonlySet<TaskId>);
  for (const task of confirmed.frontier.tasks) {
    if (!isUnblocked(task) || running.has(task.id)) continue;
    const now = speculative.frontier.tasks.get(task.id);
    if (now !== undefined && isUnblocked(now)) return now;
  }
  return undefined;
}

/** Whether any task may start: the workflow is open and not paused, and no decision about it waits to be carried out. */
const mayBegin = ({ status, paused, ruling }: StreamState): boolean =>
  status === 'open' && paused === undefined && ruling === null;
