/** What follows from a failed attempt: how long it waits, and who is asked when it does not. */

import type { Controls, EffectState, TaskState } from '@tidemark/core';
import { SimulatedLog } from '@tidemark/testkit';
import { effectOf, RETRY_AT_ONCE } from '@tidemark/testkit/engine/simulated-definition';
import { type SimulatedPorts, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { beforeEach, describe, expect, it } from 'vitest';
import { CallWaitError, EffectError } from '../definition/index.ts';
import type { RetryPolicy } from '../kernel/index.ts';
import { failureDrafts, verdictOf } from './attempt-failure.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const OPEN = { key: 'w:0.0:pay:0', kind: 'irreversible', status: 'intended', pending: null } as unknown as EffectState;
const TASK = {
  ...{ id: '0.0', step: 'a', after: [], barrierCount: 0, when: [], cause: null, reserved: null, effects: [] },
  ...{ failureCount: 0, failureCode: null, sameFailureCount: 0, retry: null },
} as unknown as TaskState;

const answered = (status: number, headers: Record<string, string> = {}): Error =>
  Object.assign(new Error(`status ${status}`), { status, headers });
const asking = (seconds: number): Error => answered(503, { 'retry-after': String(seconds) });

let ports: SimulatedPorts;
beforeEach(() => {
  ports = simulatedPorts(new SimulatedLog(1));
});

function failed(error: unknown, retry: RetryPolicy, task = TASK) {
  const step = { name: 'a', retry } as never;
  const attempt = { step, task, error, timerName: 't', startedAtMs: 0, onFailure: 'park', build: 'b' } as const;
  const [draft, ends] = failureDrafts({ ...attempt, input: () => null }, ports);
  return { ...(draft!.control as Controls['StepFailed']), ends: ends?.type };
}
const delayOf = (error: unknown, retry: RetryPolicy, task = TASK) => failed(error, retry, task).retry?.delayMs;

describe('a fault that passes', () => {
  it('is never waited out in a hot loop, whatever the policy', () => {
    const outage = (count: number) => ({ of: 'a', why: '503', sinceMs: ports.clock.nowMs(), count });
    for (const policy of [
      { ...RETRY_AT_ONCE, patienceMs: DAY_MS },
      { ...RETRY_AT_ONCE, firstDelayMs: 200, maxDelayMs: 1, jitter: 1, patienceMs: DAY_MS },
    ]) {
      const [first, later] = [0, 12].map((count) => delayOf(answered(503), policy, { ...TASK, outage: outage(count) }));
      expect(first).toBeGreaterThanOrEqual(50);
      expect(later).toBeGreaterThanOrEqual(15_000);
      expect(later).toBeLessThanOrEqual(30_000);
    }
  });

  it('is asked about at once where the receiver asks for longer than the patience', () => {
    const policy = { ...RETRY_AT_ONCE, jitter: 1, patienceMs: MINUTE_MS };
    expect(failed(asking(86_400), policy)).toMatchObject({ retry: null, ends: 'WorkflowParked' });
    expect(delayOf(asking(60), policy)).toBeGreaterThanOrEqual(MINUTE_MS);
    expect(delayOf(asking(86_400), { ...policy, patienceMs: DAY_MS })).toBeGreaterThanOrEqual(DAY_MS);
  });

  it('is called once more when the patience ends, though the own delay is longer', () => {
    const policy = { ...RETRY_AT_ONCE, firstDelayMs: 2 * MINUTE_MS, maxDelayMs: DAY_MS, patienceMs: MINUTE_MS };
    const outage = { of: 'a', why: '503', sinceMs: ports.clock.nowMs() - 20_000, count: 1 };
    expect(delayOf(answered(503), policy, { ...TASK, outage })).toBe(40_000);
  });

  it('of an irreversible call that nothing can ask about does not delay the question', () => {
    const policy = { ...RETRY_AT_ONCE, patienceMs: DAY_MS };
    const doubtful = { ...TASK, effects: [OPEN] };
    const of = (probe: boolean) =>
      new EffectError(
        effectOf({
          call: async () => null,
          retry: policy,
          ...(probe && { probe: async () => ({ status: 'unknown' }) }),
        }),
        asking(3_600),
      );
    expect(delayOf(of(false), policy, doubtful)).toBeLessThan(MINUTE_MS);
    expect(delayOf(of(true), policy, doubtful)).toBeGreaterThanOrEqual(60 * MINUTE_MS);
    expect(delayOf(of(false), policy)).toBeGreaterThanOrEqual(60 * MINUTE_MS);
  });
});

it('delays take more values than there are agents', () => {
  const policy = { ...RETRY_AT_ONCE, firstDelayMs: DAY_MS, maxDelayMs: DAY_MS, jitter: 1 };
  const delays = Array.from({ length: 1_000 }, () => delayOf(new Error('no'), policy));
  expect(new Set(delays).size).toBeGreaterThan(990);
});

it('whoever asks beforehand is told that the twentieth equal failure is the last', () => {
  const policy = { ...RETRY_AT_ONCE, attempts: 50 };
  const error = Object.assign(new Error('no'), { code: 'e-broken' });
  const after = (count: number) => ({ ...TASK, failureCount: count, failureCode: 'e-broken', sameFailureCount: count });
  expect(verdictOf(after(18), error, policy, 0).isRetried).toBe(true);
  expect(verdictOf(after(19), error, policy, 0).isRetried).toBe(false);
});

describe('a call that waits for its turn', () => {
  const waiting = (turnMs: number) =>
    new EffectError(effectOf({ call: async () => null, retry: ONCE }), new CallWaitError('503', HOUR_MS, turnMs));
  const HOUR_MS = 60 * MINUTE_MS;
  const ONCE = { ...RETRY_AT_ONCE, attempts: 1, patienceMs: 0 };
  const patient = { ...RETRY_AT_ONCE, patienceMs: 2 * HOUR_MS };
  const at = (error: unknown, policy: RetryPolicy, outage: TaskState['outage']) =>
    verdictOf({ ...TASK, outage }, error, policy, ports.clock.nowMs());

  it.each([0, HOUR_MS])('is called once its turn has come, however seldom it may fail (%i ms in line)', (turnMs) => {
    expect(failed(waiting(turnMs), ONCE)).toMatchObject({
      retry: { delayMs: HOUR_MS },
      outage: { of: 'pay', why: '503', count: 1, inLineMs: turnMs },
    });
  });

  it('uses up no patience in line, and makes no longer row of faults', () => {
    const sinceMs = ports.clock.nowMs() - 3 * HOUR_MS;
    const outage = { of: 'pay', why: '503', sinceMs, count: 2, inLineMs: 2 * HOUR_MS };
    expect(at(answered(503), patient, outage)).toMatchObject({
      isRetried: true,
      outage: { count: 3, inLineMs: 2 * HOUR_MS },
    });
    expect(at(answered(503), patient, { ...outage, inLineMs: 0 }).isRetried).toBe(false);
    expect(at(waiting(HOUR_MS), patient, { ...outage, inLineMs: 0 })).toMatchObject({
      isRetried: true,
      outage: { count: 2 },
    });
  });
});
