/** The trace of a workflow's events: a tree without gaps over any deaths, and the same however often it is drawn. */

import { compensationSpan, FatalError, leaseSpan, traceIdOf, workflowSpan } from '@tidemark/runtime';
import { anyOf, defineEffect, defineWorkflow, done, pending, signal, task, timer } from '@tidemark/sdk';
import { type TestWorld, testWorld } from '@tidemark/testkit';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { traceOf } from './history.ts';
import type { TraceSpan } from './span.ts';

const charge = defineEffect({
  operation: 'card.charge',
  kind: 'irreversible',
  request: z.object({ cents: z.number() }),
  response: z.object({ receipt: z.string() }),
  call: async () => ({ receipt: 'r1' }),
  probe: async () => done({ receipt: 'r1' }),
  compensate: async () => {},
  timeoutMs: 100,
});

/** What the step that pays was given. */
let given = '';

const deliver = defineEffect({
  operation: 'shop.deliver',
  kind: 'idempotent',
  request: z.object({}),
  response: z.object({ receipt: z.string() }),
  call: async () => pending('t1'),
});

const parcel = defineWorkflow({
  name: 'parcel',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({ receipt: z.string() }),
  tasks: { send: z.object({}) },
  flow: { send: [] },
  effects: [deliver],
  begin: () => ({ belief: {}, next: [task('send', {})] }),
  steps: { send: async (ctx) => ({ done: await ctx.effect(deliver, {}) }) },
});

const order = defineWorkflow({
  name: 'order',
  version: 1,
  input: z.object({ fail: z.boolean().optional(), undo: z.boolean().optional() }),
  belief: z.object({}),
  output: z.object({ receipt: z.string() }),
  tasks: { price: z.object({}), pay: z.object({ cents: z.number() }), close: z.object({ receipt: z.string() }) },
  signals: { approved: z.object({}) },
  flow: { price: ['pay'], pay: ['close'], close: [] },
  effects: [charge],
  onFailure: 'compensate',
  retry: { firstDelayMs: 1, attempts: 2 },
  begin: () => ({ belief: {}, next: [task('price', {})] }),
  steps: {
    price: {
      plans: true,
      run: async (ctx) => {
        const cents = await ctx.run('count', () => 100);
        if (ctx.input.fail === true && ctx.attempt === 1) throw new Error('not yet: secret words');
        return { next: [task('pay', { cents }, { when: anyOf(signal('approved'), timer('1h')) })] };
      },
    },
    async pay(ctx, { cents }) {
      given = ctx.traceparent;
      const { receipt } = await ctx.effect(charge, { cents });
      return { next: [task('close', { receipt })] };
    },
    async close(ctx, { receipt }) {
      if (ctx.input.undo === true) throw new FatalError('out of stock');
      return { done: { receipt } };
    },
  },
});

let world: TestWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

const named = (spans: readonly TraceSpan[], name: string): TraceSpan => {
  const found = spans.filter((span) => span.name === name);
  expect(found.map((span) => span.name)).toEqual([name]);
  return found[0]!;
};

/** Every span has its parent, ids are used once, and there is one root. */
function expectTree(spans: readonly TraceSpan[]): void {
  const ids = spans.map(({ spanId }) => spanId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { parentSpanId } of spans) if (parentSpanId !== null) expect(ids).toContain(parentSpanId);
  expect(spans.filter(({ parentSpanId }) => parentSpanId === null)).toHaveLength(1);
  for (const span of spans) {
    expect(span.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(span.spanId).toMatch(/^(?!0{16})[0-9a-f]{16}$/);
    expect(span.endMs).toBeGreaterThanOrEqual(span.startMs);
    expect(span.isOpen).toBe(false);
  }
}

async function ended(w: TestWorld, id: string): Promise<readonly TraceSpan[]> {
  const { spans, open } = await traceOf(w.ports, id as never);
  expect(open).toEqual([]);
  expectTree(spans);
  return spans;
}

describe('a workflow that goes well', () => {
  test('is one tree of queue, leases, steps, effects and waits, under ids that follow from its own', async () => {
    world = await testWorld({ workflows: [order] });
    const caller = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;
    const run = await world.start(order, {}, { id: 'o1', trace: caller });
    await world.client.signal('o1', 'approved', {});
    await run.result();
    const spans = await ended(world, 'o1');
    const root = named(spans, 'invoke_workflow order');
    expect(root).toMatchObject({
      traceId: traceIdOf(run.id),
      spanId: workflowSpan(run.id),
      parentSpanId: null,
      error: undefined,
      links: [{ traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8), attributes: { 'tidemark.link': 'caller' } }],
      attributes: { 'gen_ai.operation.name': 'invoke_workflow', 'tidemark.checkpoints': 3 },
    });
    const plan = named(spans, 'plan order');
    expect(plan.attributes).toMatchObject({ 'tidemark.step': 'price', 'tidemark.checkpoint.sequence': 1 });
    expect(plan.parentSpanId).toBe(leaseSpan(run.id, 1 as never));
    expect(named(spans, 'run count').parentSpanId).toBe(plan.spanId);
    expect(named(spans, 'effect card.charge')).toMatchObject({
      kind: 'client',
      parentSpanId: named(spans, 'step pay').spanId,
      attributes: { 'tidemark.effect.outcome': 'done', 'tidemark.effect.kind': 'irreversible' },
    });
    expect(spans.filter(({ name }) => name === 'queue').length).toBeGreaterThan(0);
    expect(root.events.map(({ name }) => name)).toEqual(['SignalReceived']);
    expect(given).toBe(`00-${root.traceId}-${named(spans, 'step pay').spanId}-01`);
  });

  test('says of a checkpoint that it is reserved until its effect is confirmed, and then committed', async () => {
    world = await testWorld({ workflows: [parcel] });
    const run = await world.start(parcel, {}, { id: 'p1' });
    const drawn = async (of: 'spans' | 'open', name: string) =>
      (await traceOf(world!.ports, run.id))[of].find((span) => span.name === name)?.attributes ?? {};
    const status = 'tidemark.checkpoint.status';
    await expect.poll(async () => (await drawn('open', 'wait confirmation'))[status]).toBe('reserved');
    const { 'tidemark.checkpoint.id': id } = await drawn('open', 'wait confirmation');
    await world.client.confirm(run.id, 't1', { response: { receipt: 'r' } });
    await run.result();
    const steps = (await ended(world, 'p1')).filter(({ name }) => name === 'step send');
    expect(steps.at(-1)!.attributes).toMatchObject({ [status]: 'committed', 'tidemark.checkpoint.id': id });
  });

  test('is drawn alike each time, and as far as it is decided while it runs', async () => {
    world = await testWorld({ workflows: [order] });
    const run = await world.start(order, {}, { id: 'o2' });
    await expect.poll(async () => (await world!.tasksOf(run.id))[0]?.step).toBe('pay');
    await expect.poll(async () => (await run.summary())?.holder).toBeNull();
    const first = await traceOf(world.ports, run.id);
    expect(first.open.map(({ name }) => name)).toEqual(['invoke_workflow order', 'wait signal approved or timer']);
    expect(first.open[0]!.attributes).toMatchObject({ 'tidemark.open': true });
    world.advance('2h');
    await run.result();
    const later = await ended(world, 'o2');
    expect(later.slice(0, first.spans.length)).toEqual(first.spans);
    expect(await ended(world, 'o2')).toEqual(later);
    expect(named(later, 'wait signal approved or timer').attributes).toMatchObject({ 'tidemark.cause.kind': 'timer' });
  });
});

describe('a workflow that fails', () => {
  test('a failed attempt has its code, and no word of its message', async () => {
    world = await testWorld({ workflows: [order] });
    const run = await world.start(order, { fail: true }, { id: 'o3' });
    await world.client.signal('o3', 'approved', {});
    await run.result();
    const spans = await ended(world, 'o3');
    expect(JSON.stringify(spans)).not.toContain('secret words');
    const attempts = spans.filter(({ name }) => name === 'plan order');
    expect(attempts.map(({ attributes }) => attributes['tidemark.step.outcome'])).toEqual(['retried', 'committed']);
    expect(attempts[0]!.error).toBe('Error');
    named(spans, 'wait retry');
  });

  test('its undo is a trace of its own, and the two are linked', async () => {
    world = await testWorld({ workflows: [order] });
    const run = await world.start(order, { undo: true }, { id: 'o4' });
    await world.client.signal('o4', 'approved', {});
    await world.fastForward(expect(run.result()).rejects.toMatchObject({ code: 'workflow-compensated' }));
    const spans = await ended(world, 'o4');
    const undo = await ended(world, 'o4~undo');
    const compensation = named(spans, 'compensation');
    expect(compensation.links[0]).toMatchObject({ traceId: undo[0]!.traceId });
    const root = undo.find(({ parentSpanId }) => parentSpanId === null)!;
    expect(root.links).toMatchObject([{ traceId: spans[0]!.traceId, spanId: compensationSpan(run.id) }]);
    expect(root.traceId).not.toBe(compensation.traceId);
  });
});

describe('a workflow whose worker dies', () => {
  test('while it calls: nothing is open or missing, and the recovery says what became of it', async () => {
    world = await testWorld({ workflows: [order] });
    world.crash({ after: 'EffectIntended', operation: 'card.charge' });
    const run = await world.start(order, {}, { id: 'o5' });
    await world.client.signal('o5', 'approved', {});
    await world.fastForward(run.result());
    const { isNotable } = await traceOf(world.ports, run.id);
    expect(isNotable).toBe(true);
    const spans = await ended(world, 'o5');
    const calls = spans.filter(({ name }) => name === 'effect card.charge');
    expect(calls.map(({ error }) => error)).toEqual(['holder-dead', undefined]);
    expect(calls[1]!.attributes).toMatchObject({ 'tidemark.recovery.action': 'recorded' });
    const attempts = spans.filter(({ name }) => name === 'step pay');
    expect(attempts.map(({ attributes }) => attributes['tidemark.step.outcome'])).toEqual(['lost', 'committed']);
    const recovery = named(spans, 'recovery');
    expect(recovery.links).toMatchObject([
      {
        spanId: named(spans, recovery.attributes['tidemark.recovery.lost_epoch'] === 2 ? 'lease 2' : 'lease 1').spanId,
      },
    ]);
    const [later] = spans.filter(({ links }) => links.some(({ spanId }) => spanId === recovery.spanId));
    expect(later!.name).toMatch(/^lease/);
    expect(recovery.attributes).toMatchObject({
      'tidemark.recovery.action': 'replay',
      'tidemark.recovery.reason': 'holder-dead',
      'tidemark.recovery.open_effects': 1,
    });
  });

  test('before it wrote anything: the attempt that it began with is told as lost', async () => {
    world = await testWorld({ workflows: [order] });
    world.crash({ before: 'CheckpointCommitted' });
    const run = await world.start(order, {}, { id: 'o6' });
    await world.client.signal('o6', 'approved', {});
    await world.fastForward(run.result());
    const spans = await ended(world, 'o6');
    const attempts = spans.filter(({ name }) => name === 'plan order');
    expect(attempts.map(({ error }) => error)).toEqual(['holder-dead', undefined]);
  });
});
