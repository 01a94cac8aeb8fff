import type { Task } from '@tidemark/client';
import { expect, it } from 'vitest';
import { taskWords } from './frontier.ts';

const NOW_MS = new Date(2026, 2, 1, 12, 0, 0).getTime();
const blank: Task = {
  ...{ task: '2.0', step: 'credit', state: 'ready', why: null, blocked_on: [] },
  ...{ failure_count: 0, cause: null, reserved_checkpoint_id: null, effects: [] },
};
const words = (change: Partial<Task> = {}, isHeld = false): string =>
  taskWords({ ...blank, ...change }, NOW_MS, isHeld);

it('says how far a task is that can run', () => {
  expect(words()).toBe('can run');
  expect(words({}, true)).toBe('running or next');
  expect(words({ failure_count: 2 })).toBe('can run, attempt 3');
  expect(words({ cause: { kind: 'signal', name: 'approved', event: 'e' } })).toBe('can run: signal approved came');
  const effects = [{ idempotency_key: 'k', operation: 'payments.credit', kind: 'irreversible', status: 'intended' }];
  expect(words({ effects })).toBe('effect payments.credit under way (irreversible)');
});

it('says what it is blocked on as the server does, with the reader’s own times', () => {
  const why = `waits for openai: 429 until ${new Date(NOW_MS + 90_000).toISOString()}`;
  expect(words({ state: 'blocked', why })).toBe('waits for openai: 429 until 12:01:30 (in 1 min 30 s)');
  const days = `waits for ${new Date(NOW_MS + 3 * 86_400_000).toISOString()}`;
  expect(words({ state: 'blocked', why: days })).toBe('waits for 2026-03-04 12:00:00 (in 3 d)');
  const past = `failed 1 time (boom), is tried again at ${new Date(NOW_MS - 3_000).toISOString()}`;
  expect(words({ state: 'blocked', why: past })).toMatch(/at 11:59:57 \(3 s ago\)$/);
  expect(words({ state: 'frozen', why })).toBe('stopped');
});
