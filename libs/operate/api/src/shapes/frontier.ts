/** Owns how every entry point shows what remains to be done: each pending task, and what it is blocked on. Pure. */

import { type Blocked, blockedOn, isoTime, isUnblocked, type TaskState } from '@tidemark/core';
import { blockedWords, type StepNames } from '@tidemark/core/timeline';
import type { TaskRow } from '@tidemark/ports';

export const pendingTask = (row: TaskRow) => pendingState(JSON.parse(row.state) as TaskState);

export const pendingState = (state: TaskState) => ({ state, blocked: blockedOn(state), ready: isUnblocked(state) });

/** `isStopped`: the workflow is being compensated or has ended, so its tasks don't run. */
export function tasksJson(tasks: readonly ReturnType<typeof pendingState>[], isStopped = false) {
  const steps = new Map(tasks.map(({ state: { id, step } }) => [id, step]));
  return tasks.map((task) => taskJson(task, steps, isStopped));
}

const taskJson = (
  { state, blocked, ready }: ReturnType<typeof pendingState>,
  steps: StepNames,
  isStopped: boolean,
) => ({
  task: state.id,
  step: state.step,
  state: isStopped ? ('frozen' as const) : ready ? ('ready' as const) : ('blocked' as const),
  why: ready ? null : blockedWords(state, steps),
  blocked_on: blocked.map(blockedJson),
  failure_count: state.failureCount,
  cause: state.cause,
  reserved_checkpoint_id: state.reserved,
  effects: state.effects.map(({ key, operation, kind, status }) => ({
    idempotency_key: key,
    operation,
    kind,
    status,
  })),
});

function blockedJson(blocked: Blocked) {
  switch (blocked.on) {
    case 'tasks':
      return { on: 'tasks' as const, tasks: blocked.tasks };
    case 'all-earlier':
      return { on: 'all_earlier' as const, remaining_count: blocked.remainingCount };
    case 'signal':
      return { on: 'signal' as const, names: blocked.names };
    case 'timer':
      return { on: 'timer' as const, timer: blocked.timer, due_at: isoTime(blocked.dueAtMs) };
    case 'child':
      return { on: 'child' as const, child: blocked.child };
    case 'approval': {
      const { name, assignee, askedAtMs } = blocked;
      return { on: 'approval' as const, name, assignee, asked_at: isoTime(askedAtMs) };
    }
    case 'retry': {
      const { failureCount, dueAtMs, outage } = blocked;
      const retry = { on: 'retry' as const, failure_count: failureCount, due_at: isoTime(dueAtMs) };
      if (outage === undefined) return retry;
      return { ...retry, outage: { of: outage.of, why: outage.why, since: isoTime(outage.sinceMs) } };
    }
    case 'confirmation': {
      const overdueAt = blocked.overdueAtMs === null ? null : isoTime(blocked.overdueAtMs);
      return { on: 'confirmation' as const, idempotency_key: blocked.key, token: blocked.token, overdue_at: overdueAt };
    }
  }
}
