import { pendingTask, taskJson } from '@tidemark/api/shapes';
import { checkpointId, eventId, type TaskState, taskId } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { taskWords } from './frontier.ts';

const NOW_MS = new Date(2026, 2, 1, 12, 0, 0).getTime();
const blank: TaskState = {
  id: taskId(2, 0),
  step: 'credit',
  after: [],
  barrierCount: 0,
  when: [],
  cause: null,
  failureCount: 0,
  failureCode: null,
  sameFailureCount: 0,
  retry: null,
  reserved: null,
  effects: [],
};

function words(change: Partial<TaskState>): string {
  const state = { ...blank, ...change };
  const row = { workflow: 'w', task: state.id, rank: 0, step: state.step, unblocked: true, cause: null };
  const pending = pendingTask({ ...row, state: JSON.stringify(state) } as Parameters<typeof pendingTask>[0]);
  return taskWords(taskJson(pending), new Map([[taskId(1, 0), 'price']]), NOW_MS);
}

describe('what a task is blocked on, and why', () => {
  it('can run', () => {
    expect(words({})).toBe('can run');
    expect(words({ failureCount: 2 })).toBe('can run, attempt 3');
    expect(words({ cause: { kind: 'signal', name: 'approved', event: eventId('e') } })).toBe(
      'can run: signal approved came',
    );
  });

  it('waits for tasks, by the names of their steps where they are known', () => {
    expect(words({ after: [taskId(1, 0), taskId(1, 1)] })).toBe('after 1.0 (price), 1.1');
    expect(words({ barrierCount: 12 })).toBe('after all earlier tasks (12 to go)');
  });

  it('waits for one of several conditions, and for tasks as well', () => {
    const timer = { kind: 'timer', timer: 't', anchorMs: NOW_MS, delayMs: 90_000 } as const;
    const signal = { kind: 'signal', name: 'approved' } as const;
    expect(words({ when: [signal, timer] })).toBe('waits for signal approved or waits until 12:01:30 (in 1 min 30 s)');
    expect(words({ after: [taskId(1, 0)], when: [signal] })).toBe('after 1.0 (price), and waits for signal approved');
    expect(words({ when: [{ ...timer, delayMs: 3 * 86_400_000 }] })).toBe('waits until 2026-03-04 12:00:00 (in 3 d)');
  });

  it('waits for its next attempt', () => {
    const retry = { timer: 'r', anchorMs: NOW_MS - 1_000, delayMs: 4_000 };
    expect(words({ failureCount: 1, retry })).toBe('failed 1 time, tried again in 3.0 s');
    expect(words({ failureCount: 2, retry: { ...retry, delayMs: 0 } })).toBe('failed 2 times, tried again now');
  });

  it('has an effect under way', () => {
    const effect = { key: 'k', operation: 'payments.credit', kind: 'irreversible', status: 'intended', pending: null };
    const change = { effects: [effect], reserved: checkpointId('c') } as unknown as Partial<TaskState>;
    expect(words(change)).toBe('effect payments.credit under way (irreversible)');
  });

  it('says the same to programs', () => {
    const state = { ...blank, after: [taskId(1, 0)], when: [{ kind: 'signal', name: 'go' } as const] };
    const row = { state: JSON.stringify(state) } as Parameters<typeof pendingTask>[0];
    expect(taskJson(pendingTask(row))).toMatchObject({
      task: '2.0',
      step: 'credit',
      state: 'blocked',
      blocked_on: [
        { on: 'tasks', tasks: ['1.0'] },
        { on: 'signal', names: ['go'] },
      ],
    });
  });
});
