/** A worker that is to run to completion ends once it has had nothing to do for long enough, and not before. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { leaveWhenIdle } from './leave-idle.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const clock = { monotonicMs: () => performance.now() };

test('is told once, after it had nothing in hand for so long', () => {
  let workflowCount = 1;
  const reported: string[] = [];
  leaveWhenIdle({
    ...{ idleMs: 30_000, clock, onIdle: (reason: string) => reported.push(reason) },
    of: () => ({ workflowCount, stepMs: 0 }),
  });
  vi.advanceTimersByTime(120_000);
  expect(reported).toEqual([]);
  workflowCount = 0;
  vi.advanceTimersByTime(29_000);
  // A signal came for a workflow: the time begins anew.
  workflowCount = 1;
  vi.advanceTimersByTime(2_000);
  workflowCount = 0;
  vi.advanceTimersByTime(29_000);
  expect(reported).toEqual([]);
  vi.advanceTimersByTime(60_000);
  expect(reported).toEqual(['nothing to do']);
});

test('never ends where no time is said', () => {
  const onIdle = vi.fn();
  leaveWhenIdle({ idleMs: 0, clock, onIdle, of: () => ({ workflowCount: 0, stepMs: 0 }) });
  vi.advanceTimersByTime(1e9);
  expect(onIdle).not.toHaveBeenCalled();
});
