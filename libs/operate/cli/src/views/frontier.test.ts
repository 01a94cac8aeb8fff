import type { Task } from '@tidemark/client';
import { describe, expect, it } from 'vitest';
import { taskWords } from './frontier.ts';

const NOW_MS = new Date(2026, 2, 1, 12, 0, 0).getTime();
const after = (ms: number): string => new Date(NOW_MS + ms).toISOString();
const blank: Task = {
  ...{ task: '2.0', step: 'credit', state: 'blocked', blocked_on: [] },
  ...{ failure_count: 0, cause: null, reserved_checkpoint_id: null, effects: [] },
};
const STEPS = new Map([['1.0', 'price']]);

const ready = (change: Partial<Task> = {}): string => taskWords({ ...blank, state: 'ready', ...change }, STEPS, NOW_MS);
const blocked = (...blocked_on: Task['blocked_on']): string => taskWords({ ...blank, blocked_on }, STEPS, NOW_MS);

describe('what a task is blocked on, and why', () => {
  it('can run', () => {
    expect(ready()).toBe('can run');
    expect(ready({ failure_count: 2 })).toBe('can run, attempt 3');
    expect(ready({ cause: { kind: 'signal', name: 'approved', event: 'e' } })).toBe('can run: signal approved came');
    expect(taskWords({ ...blank, state: 'ready' }, STEPS, NOW_MS, true)).toBe('running or next');
  });

  it('waits for tasks, by the names of their steps where they are known', () => {
    expect(blocked({ on: 'tasks', tasks: ['1.0', '1.1'] })).toBe('after 1.0 (price), 1.1');
    expect(blocked({ on: 'all_earlier', remaining_count: 12 })).toBe('after all earlier tasks (12 to go)');
  });

  it('waits for one of several conditions, and for tasks as well', () => {
    const signal = { on: 'signal', names: ['approved'] } as const;
    const timer = (ms: number) => ({ on: 'timer', timer: 't', due_at: after(ms) }) as const;
    expect(blocked(signal, timer(90_000))).toBe('waits for signal approved or waits until 12:01:30 (in 1 min 30 s)');
    expect(blocked({ on: 'tasks', tasks: ['1.0'] }, signal)).toBe('after 1.0 (price), and waits for signal approved');
    expect(blocked(timer(3 * 86_400_000))).toBe('waits until 2026-03-04 12:00:00 (in 3 d)');
  });

  it('waits for its next attempt', () => {
    const retry = (failure_count: number, ms: number) => ({ on: 'retry', failure_count, due_at: after(ms) }) as const;
    expect(blocked(retry(1, 3_000))).toBe('failed 1 time, tried again in 3.0 s');
    expect(blocked(retry(2, -1_000))).toBe('failed 2 times, tried again now');
    const outage = { of: 'openai gpt-5', why: '429', since: after(-60_000) };
    expect(blocked({ ...retry(2, 3_000), outage })).toMatch(
      /^waits for openai gpt-5: 429 until \d\d:\d\d:\d\d \(in 3\.0 s\), since \d\d:\d\d:\d\d$/,
    );
  });

  it('waits for a confirmation, whose token only those are told who may confirm', () => {
    const wait = { on: 'confirmation', idempotency_key: 'k', overdue_at: null } as const;
    expect(blocked({ ...wait, token: 'T1' })).toBe('waits for the confirmation of k (T1)');
    expect(blocked(wait)).toBe('waits for the confirmation of k');
  });

  it('has an effect under way', () => {
    const effects = [{ idempotency_key: 'k', operation: 'payments.credit', kind: 'irreversible', status: 'intended' }];
    expect(ready({ effects })).toBe('effect payments.credit under way (irreversible)');
  });
});
