/** Limits that calls share: who can't call waits in line without a worker, nothing of the call is recorded, and no step takes it for a failure. */

import { blockedOn, type WorkflowId } from '@tidemark/core';
import { defineEffect, defineWorkflow, task } from '@tidemark/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { testModel } from './test-model.ts';
import { type TestWorld, testWorld } from './test-world.ts';

const HOUR_MS = 3_600_000;
const shape = {
  request: z.object({ to: z.string() }),
  response: z.object({ ok: z.boolean() }),
  call: async () => ({ ok: true }),
};
const HOURLY = { key: 'bank', rate: { count: 1, per: '1h' } };
const charge = defineEffect({
  ...{ operation: 'bank.charge', kind: 'irreversible', ...shape },
  ...{ retry: { attempts: 1 }, limits: [HOURLY] },
});
const notify = defineEffect({
  ...{ operation: 'hooks.notify', kind: 'idempotent', ...shape },
  receiver: ({ to }) => to,
});
const invite = defineEffect({
  ...{ operation: 'hooks.invite', kind: 'idempotent', ...shape },
  receiver: ({ to }) => to,
  limits: [{ rate: { count: 1, per: '1h' } }],
});
const model = { ...testModel(() => 'yes'), limits: [{ rate: { count: 1, per: '1h' } }] };

const tasks = { charge: z.object({}), notify: z.object({}), invite: z.object({}), ask: z.object({}) };
const pay = defineWorkflow({
  ...{ name: 'pay', version: 1, belief: z.object({}), output: z.object({ said: z.string() }) },
  input: z.object({ step: z.enum(['charge', 'notify', 'invite', 'ask']), to: z.string() }),
  tasks,
  flow: { charge: [], notify: [], invite: [], ask: [] },
  starts: ['charge', 'notify', 'invite', 'ask'],
  begin: ({ step }) => ({ belief: {}, next: [task(step, {})] }),
  effects: [charge, notify, invite],
  models: { default: model },
  steps: {
    async charge(ctx) {
      const { ok } = await ctx.effect(charge, { to: ctx.input.to }).catch(() => ({ ok: false }));
      return { done: { said: ok ? 'charged' : 'caught' } };
    },
    async notify(ctx) {
      await ctx.effect(notify, { to: ctx.input.to });
      return { done: { said: 'notified' } };
    },
    async invite(ctx) {
      await ctx.effect(invite, { to: ctx.input.to });
      return { done: { said: 'invited' } };
    },
    async ask(ctx) {
      return { done: { said: (await ctx.model({ prompt: ctx.input.to })).text } };
    },
  },
});

describe('a limit of calls', () => {
  let world: TestWorld;
  beforeAll(async () => {
    world = await testWorld({ workflows: [pay] });
  });
  afterAll(() => world.close());

  const begun = async (step: 'charge' | 'notify' | 'invite' | 'ask', to = 'a') => world.start(pay, { step, to });
  const typesOf = async (id: WorkflowId) => (await world.ports.store.events(id, 1_000)).map(({ type }) => type);
  /** What the run waits for; undefined: it does not. */
  const waitOf = async (run: Awaited<ReturnType<typeof begun>>) => {
    let outage: { readonly of: string; readonly why: string } | undefined;
    await eventually(async () => {
      const [blocked] = (await world.tasksOf(run.id)).flatMap((each) => blockedOn(each));
      outage = blocked?.on === 'retry' ? blocked.outage : undefined;
      return outage !== undefined || !['open', undefined].includes((await run.summary())?.status);
    });
    return outage;
  };

  it('is kept by runs that wait for their turn off the worker, whatever their step catches and however often it may fail', async () => {
    expect(await (await begun('charge')).result()).toEqual({ said: 'charged' });
    const second = await begun('charge');
    expect(await waitOf(second)).toMatchObject({ of: 'bank.charge', why: 'its turn (bank: 1 per 3600 s)' });
    // Nothing was sent, and nothing says that it might have been.
    expect(await typesOf(second.id)).not.toContain('EffectIntended');
    world.advance(HOUR_MS);
    expect(await second.result()).toEqual({ said: 'charged' });
    expect(world.calls(charge)).toHaveLength(2);
  });

  it('is of models as well', async () => {
    expect(await (await begun('ask')).result()).toEqual({ said: 'yes' });
    const second = await begun('ask');
    expect((await waitOf(second))?.why).toMatch(/^its turn \(model /);
    world.advance(HOUR_MS);
    expect(await second.result()).toEqual({ said: 'yes' });
  });

  it('of one receiver names the effect alone: who it calls may be nobody else to know', async () => {
    const [first, other] = [await begun('invite', 'https://a.example'), await begun('invite', 'https://b.example')];
    expect([await first.result(), await other.result()]).toEqual([{ said: 'invited' }, { said: 'invited' }]);
    const second = await begun('invite', 'https://a.example');
    expect((await waitOf(second))?.why).toBe('its turn (effect hooks.invite: 1 per 3600 s)');
    world.advance(HOUR_MS);
    expect(await second.result()).toEqual({ said: 'invited' });
  });

  it('is learned from faults: once a receiver is down others wait for it without a call, and those of another receiver do not', async () => {
    let isDown = true;
    world.stub(notify, async ({ to }) => {
      if (to === 'down' && isDown) throw Object.assign(new Error('status 503'), { status: 503 });
      return { ok: true };
    });
    const first = await begun('notify', 'down');
    await eventually(async () => {
      world.advance(10);
      return world.calls(notify).length >= 5;
    });
    const callCount = world.calls(notify).length;
    const second = await begun('notify', 'down');
    expect(await waitOf(second)).toMatchObject({ of: 'hooks.notify', why: '503' });
    expect(world.calls(notify)).toHaveLength(callCount);
    const third = await begun('notify', 'up');
    expect(await third.result()).toEqual({ said: 'notified' });
    expect(await typesOf(third.id)).not.toContain('StepFailed');
    isDown = false;
    const both = Promise.all([first.result(), second.result()]);
    let isOver = false;
    void both.finally(() => {
      isOver = true;
    });
    await eventually(async () => {
      world.advance(HOUR_MS / 60);
      return isOver;
    });
    expect(await both).toEqual([{ said: 'notified' }, { said: 'notified' }]);
  });
});
