/** Faults that pass by themselves: runs wait for whom they called, for hours and off the worker, and no person is asked. */

import { type Blocked, blockedOn, type Controls, type Retry, type WorkflowId } from '@tidemark/core';
import { defineEffect, defineWorkflow, NotDoneError, task, UnavailableError } from '@tidemark/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { type TestWorld, testWorld } from './test-world.ts';

const AWAY_MS = 600_000;
const RUNS_COUNT = 12;
const STRIDE_MS = 30_000;
const NEAR_MS = 10_000;
const HOUR_MS = 3_600_000;

const shape = {
  request: z.object({ cents: z.int() }),
  response: z.object({ id: z.string() }),
  call: async (): Promise<never> => {
    throw new Error('the real service must not be called in a test');
  },
};
/** So long that a run is seen while it waits. */
const RETRY = { firstDelayMs: 60_000 };
const EFFECTS = {
  credit: defineEffect({ operation: 'payments.credit', kind: 'idempotent', ...shape, retry: RETRY }),
  charge: defineEffect({
    operation: 'payments.charge',
    kind: 'irreversible',
    ...shape,
    retry: RETRY,
    probe: async () => ({ status: 'not-done' }),
    probeFences: true,
  }),
  once: defineEffect({ operation: 'payments.once', kind: 'idempotent', ...shape, retry: { attempts: 1 } }),
  own: defineEffect({
    operation: 'payments.own',
    kind: 'idempotent',
    ...shape,
    retry: { attempts: 2, firstDelayMs: 1_000, passing: ['409'], nonRetryable: ['429'] },
  }),
  asked: defineEffect({ operation: 'payments.asked', kind: 'idempotent', ...shape, retry: RETRY }),
  short: defineEffect({
    operation: 'payments.short',
    kind: 'idempotent',
    ...shape,
    retry: { patienceMs: HOUR_MS, firstDelayMs: 60_000 },
  }),
};
type Name = keyof typeof EFFECTS;

const pay = defineWorkflow({
  name: 'pay',
  version: 1,
  input: z.object({ cents: z.int(), by: z.enum(Object.keys(EFFECTS) as [Name, ...Name[]]) }),
  belief: z.object({}),
  output: z.object({ id: z.string() }),
  tasks: { one: z.object({}) },
  flow: { one: [] },
  begin: () => ({ belief: {}, next: [task('one', {})] }),
  effects: Object.values(EFFECTS),
  steps: {
    async one(ctx) {
      return { done: await ctx.effect(EFFECTS[ctx.input.by], { cents: ctx.input.cents }) };
    },
  },
});

/** What a client of a service throws: an error with the status of the answer, and its headers. */
const answered = (status: number, headers: Record<string, string> = {}): Error =>
  Object.assign(new Error(`status ${status}`), { status, headers: new Headers(headers) });
const FAULTS = [
  () => answered(503),
  () => new TypeError('fetch failed', { cause: Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }) }),
  () => new NotDoneError('busy', { status: 429 }),
  () => new UnavailableError('effect-timeout', 'The call of payments took longer than 30000 ms.'),
];

let world: TestWorld;
beforeAll(async () => {
  world = await testWorld({ workflows: [pay] });
});
afterAll(() => world.close());

const nowMs = (): number => world.ports.clock.nowMs();

interface Started {
  readonly id: WorkflowId;
  result(): Promise<{ id: string }>;
  summary(): Promise<{ readonly status: string } | undefined>;
}

/** Advances time in strides until all runs end; none begins before all wait for a later time: a call that it meets is out of time. */
async function inStrides(runs: readonly Started[], strideMs = STRIDE_MS): Promise<readonly { id: string }[]> {
  let isOver = false;
  const over = Promise.all(runs.map((run) => run.result())).finally(() => {
    isOver = true;
  });
  over.catch(() => {});
  const wait = async (): Promise<boolean> => {
    const waiting = runs.map(async (run) => {
      const tasks = await world.tasksOf(run.id);
      if (tasks.length === 0) return !['open', undefined].includes((await run.summary())?.status);
      return tasks.every(({ retry }) => retry !== null && retry.anchorMs + retry.delayMs > nowMs());
    });
    return isOver || (await Promise.all(waiting)).every(Boolean);
  };
  while (!isOver) {
    await eventually(wait);
    world.advance(strideMs);
  }
  return over;
}

async function retriesOf(workflow: WorkflowId): Promise<readonly Retry[]> {
  const failures = (await world.ports.store.events(workflow, 1_000)).filter(({ type }) => type === 'StepFailed');
  return failures.map(({ control }) => (JSON.parse(control) as Controls['StepFailed']).retry!);
}

/** Starts it, and answers its calls by a function of their number. */
async function paying(by: Name, answer: (call: number) => { id: string }) {
  const before = world.calls(EFFECTS[by]).length;
  const callCount = (): number => world.calls(EFFECTS[by]).length - before;
  world.stub(EFFECTS[by], async () => answer(callCount()));
  const run = await world.start(pay, { cents: 1, by });
  return { run, callCount };
}

describe('a fault that passes by itself', () => {
  it('is waited out by all runs, off the worker, with their keys, and all do not come back at once', async () => {
    const backMs = nowMs() + AWAY_MS;
    const keys = new Map<number, Set<string>>();
    const answer = async ({ cents }: { cents: number }, { key }: { key: string }): Promise<{ id: string }> => {
      keys.set(cents, (keys.get(cents) ?? new Set()).add(key));
      if (nowMs() < backMs) throw FAULTS[cents % FAULTS.length]!();
      return { id: `c${cents}` };
    };
    world.stub(EFFECTS.credit, answer);
    world.stub(EFFECTS.charge, answer);
    const runs = await Promise.all(
      Array.from({ length: RUNS_COUNT }, (_, cents) =>
        world.start(pay, { cents, by: cents % 2 === 0 ? 'credit' : 'charge' }),
      ),
    );
    let blocked: readonly (readonly Blocked[])[] = [];
    await eventually(async () => {
      const rows = await Promise.all(runs.map((run) => run.summary()));
      const tasks = (await Promise.all(runs.map((run) => world.tasksOf(run.id)))).flat();
      blocked = tasks.map((each) => blockedOn(each));
      return rows.every((row) => row?.holder === null) && blocked.every(([on]) => on?.on === 'retry');
    });
    expect(blocked.slice(0, 2)).toMatchObject([
      [{ outage: { of: 'payments.credit', why: '503' } }],
      [{ outage: { of: 'payments.charge', why: 'ECONNREFUSED' } }],
    ]);
    const outputs = await inStrides(runs);
    expect(outputs.map(({ id }) => id)).toEqual(runs.map((_, cents) => `c${cents}`));
    for (const [, its] of keys) expect(its.size).toBe(1);
    const retries = await Promise.all(runs.map((run) => retriesOf(run.id)));
    const arrivals = retries.map((its) => its.at(-1)!.anchorMs + its.at(-1)!.delayMs);
    const near = arrivals.map((at) => arrivals.filter((other) => Math.abs(other - at) <= NEAR_MS).length);
    expect(Math.max(...near)).toBeLessThan(RUNS_COUNT * 0.75);
  });

  it('is waited for as long as the receiver asks, within a day', async () => {
    const asked = ['3600', 'Tue, 24 Nov 2020 10:00:00 GMT', 'soon', '31536000'];
    const { run } = await paying('asked', (call) => {
      const after = asked[call - 1];
      if (after !== undefined) throw answered(429, { 'retry-after': after });
      return { id: 'c' };
    });
    expect(await inStrides([run], HOUR_MS / 4)).toEqual([{ id: 'c' }]);
    const waits = (await retriesOf(run.id)).map(({ delayMs }) => delayMs);
    expect(waits[0]).toBeGreaterThanOrEqual(HOUR_MS);
    expect(waits[0]).toBeLessThan(1.5 * HOUR_MS);
    expect(Math.max(waits[1]!, waits[2]!)).toBeLessThanOrEqual(4 * RETRY.firstDelayMs);
    expect(waits[3]).toBeGreaterThanOrEqual(24 * HOUR_MS);
    expect(waits[3]).toBeLessThan(36 * HOUR_MS);
  });

  it('is asked about once patience is over, and not before', async () => {
    const { run, callCount } = await paying('short', () => {
      throw answered(503);
    });
    const beganMs = nowMs();
    await expect(inStrides([run], 60_000)).rejects.toMatchObject({
      message: expect.stringContaining('step-failed'),
    });
    expect(nowMs() - beganMs).toBeGreaterThan(HOUR_MS);
    expect(callCount()).toBeGreaterThan(5);
  });

  it.each([
    ['once', 503, 1, 'one attempt is all'],
    ['own', 429, 1, 'the effect says that it is final'],
    ['credit', 400, 1, 'it is final'],
    ['credit', 422, 1, 'it is final'],
    ['own', 500, 2, 'it may be either (control)'],
    ['credit', 500, 5, 'it may be either (control)'],
  ] as const)('%s, status %i: %i attempts, as %s', async (by, status, attempts, _why) => {
    const { run, callCount } = await paying(by, () => {
      throw answered(status);
    });
    await expect(inStrides([run], RETRY.firstDelayMs)).rejects.toThrow(`status ${status}`);
    expect(callCount()).toBe(attempts);
  });

  it('is what the effect says, too, and uses up none of its attempts', async () => {
    const { run, callCount } = await paying('own', (call) => {
      if (call === 3) throw answered(500);
      if (call < 9) throw answered(409);
      return { id: 'c' };
    });
    expect(await inStrides([run])).toEqual([{ id: 'c' }]);
    expect(callCount()).toBe(9);
  });
});
