/**
 * Forks from every checkpoint of a workflow, with its records, reach its output and call nothing; with another belief they take another
 * way, and stop where nothing was recorded. With live effects the outside is called: the control of each.
 */

import { DEFAULT_TENANT, type Json, type WorkflowId, workflowId } from '@tidemark/core';
import { FORK_PARTITIONS, ForkWorld } from '@tidemark/testkit/engine/fork-fixture';
import { definitionOf } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Definition, EffectDefinition } from '../definition/definition.ts';
import { Starter } from '../inbox/starter.ts';
import { LamportClock } from '../kernel/ports.ts';
import type { ForkOptions } from './fork.ts';

let world: ForkWorld;
let closures: number;
let order: Definition;
const outputOf = (workflow: WorkflowId): Json => world.outputOf(workflow);
const sequenceOf = (workflow: WorkflowId): number => world.streamOf(workflow).sequence;
const fork: ForkWorld['fork'] = (...given) => world.fork(...given);
const ended: ForkWorld['ended'] = (...given) => world.ended(...given);

/** Asks a price, draws a number, does three things in parallel with a payment each, and adds up the results. */
const orders = (price: EffectDefinition, pay: EffectDefinition): Definition =>
  definitionOf({
    name: 'order',
    belief: { cents: 0 },
    effects: [price, pay],
    next: [{ step: 'ask', input: { item: 'tide table' } }],
    steps: {
      async ask(ctx, input) {
        const { said } = (await ctx.effect(price, input)) as { said: string };
        const number = await ctx.run('draw', () => ++closures);
        return {
          belief: (b) => ({ ...(b as object), cents: 500, number, said }),
          next: [{ step: 'split', input: null }],
        };
      },
      split(ctx) {
        const { cents } = ctx.belief as { cents: number };
        const parts = (cents > 1_000 ? [1, 2, 3, 4] : [1, 2, 3]).map((part) => ({ step: 'part', input: { part } }));
        return { next: [...parts, { step: 'join', input: null, after: 'all' }] };
      },
      async part(ctx, input) {
        const paid = await ctx.effect(pay, input);
        const again = await ctx.effect(pay, { always: 'the same' });
        return { output: { paid, again }, belief: (b) => ({ ...(b as object), [JSON.stringify(input)]: paid }) };
      },
      async join(ctx) {
        return { done: { belief: ctx.belief, parts: await ctx.outputs('part') } };
      },
    },
  });

beforeEach(async () => {
  closures = 0;
  world = new ForkWorld(new SimulatedLog(FORK_PARTITIONS));
  order = orders(world.effect('price'), world.effect('pay'));
  await world.coordinator.start();
});
afterEach(() => world.close());

describe('a fork that replays', () => {
  let base: WorkflowId;
  beforeEach(async () => {
    await world.worker([order]);
    base = await ended(order);
    world.calls.length = 0;
  });

  it('comes to the base’s output from every checkpoint, and calls, draws and probes nothing', async () => {
    for (let at = 0; at < sequenceOf(base); at++) {
      const { workflow, created } = await fork(base, { at });
      expect([created, workflow]).toEqual([true, expect.stringMatching(/^base~fork-[0-9a-f]{10}$/)]);
      await world.until(workflow, 'completed');
      expect(outputOf(workflow)).toEqual(outputOf(base));
      expect(sequenceOf(workflow)).toBe(sequenceOf(base) - at);
    }
    expect([world.calls, world.probed, closures]).toEqual([[], [], 1]);
  });

  it('is a workflow of its own: its chain begins anew, its base is named, and the base stays as it was', async () => {
    const before = JSON.stringify(world.streamOf(base));
    const forked = await fork(base, { at: 2 });
    expect(forked).toMatchObject({
      base: { workflow: base, sequence: 2, effects: 'replay' },
      definition: 'order',
      version: 1,
      tasks: [
        { task: '0.0', base: '2.0', step: 'part' },
        { task: '0.1', base: '2.1', step: 'part' },
        { task: '0.2', base: '2.2', step: 'part' },
        { task: '0.3', base: '2.3', step: 'join' },
      ],
      begun: [],
    });
    await world.until(forked.workflow, 'completed');
    expect(await world.ports.store.workflow(forked.workflow)).toMatchObject({ fork: forked.base, sequence: 4 });
    expect(JSON.stringify(world.streamOf(base))).toBe(before);
    expect(await world.ports.store.forksOf(base, 10)).toEqual([forked.workflow]);
    const [one] = await world.ports.store.effects(forked.workflow);
    expect(JSON.parse(one!.request!)).toMatchObject({ replays: expect.stringMatching(/^base:2\.\d:pay:0$/) });
  });

  it('may be forked itself, from any checkpoint', async () => {
    const first = await fork(base, { at: 1 });
    await world.until(first.workflow, 'completed');
    for (let at = 0; at < sequenceOf(first.workflow); at++) {
      const second = await fork(first.workflow, { at });
      await world.until(second.workflow, 'completed');
      expect(outputOf(second.workflow)).toEqual(outputOf(base));
    }
    expect([world.calls, closures]).toEqual([[], 1]);
  });

  it('answers the same id with the same fork, and refuses it for another', async () => {
    const first = await fork(base, { at: 1, id: 'mine' });
    expect(await fork(base, { at: 1, id: 'mine' })).toEqual({ ...first, created: false });
    await world.until(first.workflow, 'completed');
    await expect(fork(base, { at: 2, id: 'mine' })).rejects.toMatchObject({
      code: 'workflow-differs',
      message: "Workflow id mine is a fork of base at 1 with effects 'replay'. Choose another id.",
    });
    await expect(fork(base, { at: 1, id: 'base' })).rejects.toMatchObject({ code: 'workflow-differs' });
    const other = { belief: { cents: 2_000 }, definitions: [order] };
    await expect(fork(base, { at: 1, id: 'mine', ...other })).rejects.toMatchObject({
      code: 'workflow-differs',
      message: expect.stringContaining('another belief'),
    });
    const given = await fork(base, { at: 1, id: 'other', ...other });
    expect(await fork(base, { at: 1, id: 'other', ...other })).toEqual({ ...given, created: false });
  });

  it('control: with live effects the outside is called, under the fork’s own keys', async () => {
    const { workflow } = await fork(base, { at: 1, effects: 'live' });
    await world.until(workflow, 'completed');
    expect(world.calls).toHaveLength(6);
    expect(outputOf(workflow)).not.toEqual(outputOf(base));
    const effects = await world.ports.store.effects(workflow);
    expect(effects.every(({ key }) => key.startsWith(`${workflow}:`))).toBe(true);
  });

  it('with another belief takes another way, and stops where nothing was recorded, before any call', async () => {
    const { workflow } = await fork(base, { at: 1, belief: { cents: 2_000 }, definitions: [order] });
    await world.until(workflow, 'parked');
    expect([world.streamOf(workflow).reason, world.calls, world.probed]).toEqual(['effect-not-recorded', [], []]);
    const parked = (await world.ports.store.events(workflow, 100)).find(({ type }) => type === 'WorkflowParked')!;
    const { evidence, error } = JSON.parse(parked.payload);
    expect(evidence).toEqual({ operation: 'pay', base: 'base', sequence: 1 });
    expect(error.message).toMatch(/^base recorded no such call of pay after checkpoint 1/);
    expect(parked.payload).not.toMatch(/always the same|"part"/);

    // The control: the same fork with live effects continues, and calls.
    const live = await fork(base, { at: 1, belief: { cents: 2_000 }, definitions: [order], effects: 'live' });
    await world.until(live.workflow, 'completed');
    expect(world.calls).toContain('pay {"part":4}');
    expect((outputOf(live.workflow) as { parts: Json[] }).parts).toHaveLength(4);
  });

  it('goes on with the answer that a person gives; to look again stops again, and compensation is no answer', async () => {
    const { workflow } = await fork(base, { at: 1, belief: { cents: 2_000 }, definitions: [order] });
    await world.until(workflow, 'parked');
    await expect(world.decide(workflow, { resolution: 'compensate' })).rejects.toMatchObject({
      code: 'resolution-unfit',
      message: expect.stringContaining('Fitting: retry, done, fail.'),
    });
    await world.decide(workflow, { resolution: 'retry' });
    await world.until(workflow, 'parked');
    await world.decide(workflow, { resolution: 'done', response: { said: 'by hand' } });
    // The other equal request of the new part has no record left either.
    await world.until(workflow, 'parked');
    await world.decide(workflow, { resolution: 'done', response: { said: 'by hand too' } });
    await world.until(workflow, 'completed');
    expect(JSON.stringify(outputOf(workflow))).toContain('by hand too');
    expect([world.calls, world.probed]).toEqual([[], []]);
  });
});

describe('what can’t be forked', () => {
  const stopped = definitionOf({
    name: 'stopped',
    steps: { a: () => ({ next: [{ step: 'b', input: null }] }), b: () => Promise.reject(new Error('no')) },
  });

  it.each([
    ['nobody', 0, 'workflow-unknown', "No workflow has the id 'nobody'."],
    ['base', 7, 'sequence-unknown', 'has checkpoints 1 to 6 (0 is its opening), and none with sequence 7'],
    ['base', -1, 'sequence-unknown', 'a whole number from 0'],
    ['base', 1.5, 'sequence-unknown', 'a whole number from 0'],
    ['base', 6, 'fork-nothing-left', 'no task was pending at checkpoint 6. Choose an earlier one.'],
  ])('%s at %s: %s', async (of, at, code, message) => {
    await world.worker([order]);
    await ended(order);
    await expect(fork(of as WorkflowId, { at })).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message),
    });
  });

  it('a workflow that failed can be, at its last checkpoint too: its task begins anew', async () => {
    await world.worker([stopped]);
    const base = await world.start(stopped, null, { id: 'base' });
    await world.until(base, 'failed');
    const { workflow, tasks } = await fork(base, { at: 1 });
    expect(tasks).toEqual([{ task: '0.0', base: '1.0', step: 'b' }]);
    await world.until(workflow, 'failed');
  });

  it('a stream of memories, an undo, a shadow run: they are not a user’s to run', async () => {
    const fact = { subject: 'user:ana', kind: 'fact', key: 'likes', value: 'tides' } as const;
    const writing = world.client.memory.remember([fact], { tenant: DEFAULT_TENANT });
    await world.ports.clock.run(5_000);
    await writing;
    const opened = [...world.ports.store.rows.values()].map(({ stream }) => stream);
    const memory = opened.find(({ definition }) => definition === 'tidemark.memory');
    await expect(fork(memory!.workflow, { at: 0 })).rejects.toMatchObject({ code: 'fork-of-system' });

    const undone = definitionOf({
      name: 'undone',
      onFailure: 'compensate',
      effects: [world.effect('book', { compensate: async () => {} })],
      steps: {
        a: async (ctx) => {
          await ctx.effect(world.effect('book'), {});
          return { next: [{ step: 'b', input: null }] };
        },
        b: () => Promise.reject(new Error('no')),
      },
    });
    await world.worker([undone]);
    const base = await world.start(undone, null, { id: 'undone' });
    await world.until(base, 'compensated');
    await expect(fork('undone~undo' as WorkflowId, { at: 0 })).rejects.toMatchObject({ code: 'fork-of-undo' });

    const starter = new Starter({ ports: world.ports, lamport: new LamportClock() });
    const shadow = workflowId('seen');
    await starter.start({ definition: order, input: null, workflow: shadow, tenant: DEFAULT_TENANT, shadow: true });
    await world.ports.clock.runUntil(() => world.status(shadow) === 'open', 5_000);
    await expect(fork(shadow, { at: 0 })).rejects.toMatchObject({ code: 'fork-of-shadow' });
  });

  it('names of undos and of streams of memories are not for forks', async () => {
    await world.worker([order]);
    const base = await ended(order);
    for (const id of ['x~undo', '~memory:x', '', 'x'.repeat(201)]) {
      await expect(fork(base, { at: 0, id })).rejects.toHaveProperty('code', expect.stringMatching(/^workflow-id-/));
    }
    await expect(fork(base, { at: 0, by: '' })).rejects.toMatchObject({ code: 'by-invalid' });
  });
});

describe('another version', () => {
  const base = definitionOf({
    name: 'greet',
    belief: { count: 0 },
    steps: {
      first: (ctx) => ({
        belief: () => ({ count: 1 }),
        next: [{ step: 'second', input: { name: (ctx.input as { name: string }).name } }],
      }),
      second: (_, input) => ({ done: { v: 1, input } }),
    },
  });
  const parse = (members: readonly string[]) => (value: unknown) => {
    const wrong = members.find((member) => !Object.hasOwn(value as object, member));
    if (wrong !== undefined) throw new Error(`${wrong} is missing`);
    return value as Json;
  };
  const newer = definitionOf({
    name: 'greet',
    version: 2,
    parseBelief: parse(['counted']),
    upcasters: new Map([
      [
        1,
        {
          belief: (belief) => ({ counted: (belief as { count: number }).count }),
          task: (step, input) => ({
            step: step === 'second' ? 'last' : step,
            input: { ...(input as object), up: true },
          }),
        },
      ],
    ]),
    steps: {
      first: () => ({ next: [{ step: 'last', input: null }] }),
      last: (ctx, input) => ({ done: { v: 2, input, belief: ctx.belief } }),
    },
  });

  it('runs with exactly the one that is named; what was stored becomes its', async () => {
    await world.worker([base]);
    const workflow = await ended(base, { name: 'Ada' });
    await world.worker([newer]);
    const forked = await fork(workflow, { at: 1, version: 2, definitions: [base, newer] });
    expect(forked).toMatchObject({ version: 2, tasks: [{ step: 'last', base: '1.0' }] });
    await world.until(forked.workflow, 'completed');
    expect(outputOf(forked.workflow)).toEqual({ v: 2, input: { name: 'Ada', up: true }, belief: { counted: 1 } });
    expect(world.streamOf(forked.workflow).pinned).toBe(true);
    expect(
      JSON.parse((await world.ports.store.checkpoints(forked.workflow, { from: 0 as never, limit: 1 }))[0]!.payload),
    ).toMatchObject({
      fork: { isChanged: true, beliefVersion: 2, by: 'ann' },
    });
  });

  it('goes on with what can go on, where none is named, through its upcasters', async () => {
    const first = await world.worker([base]);
    const workflow = await ended(base, { name: 'Ada' });
    const stopping = first.stop(0);
    await world.ports.clock.run(5_000);
    await stopping;
    await world.worker([newer]);
    const { workflow: forked, version } = await fork(workflow, { at: 1 });
    expect(version).toBe(1);
    await world.until(forked, 'completed');
    expect(outputOf(forked)).toEqual({ v: 2, input: { name: 'Ada', up: true }, belief: { counted: 1 } });
  });

  it('may go back where what was stored fits, and says what doesn’t', async () => {
    await world.worker([newer]);
    const workflow = await ended({
      ...newer,
      begin: () => ({ belief: { counted: 5 }, next: [{ step: 'first', input: null }] }),
    });
    const strict = { ...base, parseBelief: parse(['count']) };
    await expect(fork(workflow, { at: 0, version: 1, definitions: [strict] })).rejects.toMatchObject({
      code: 'version-unfit',
      message: "version: the belief doesn't become one of greet v1: count is missing",
    });
    await expect(fork(workflow, { at: 1, version: 1, definitions: [base] })).rejects.toMatchObject({
      code: 'step-gone',
    });
    const { version } = await fork(workflow, { at: 0, version: 1, definitions: [base] });
    expect(version).toBe(1);
  });

  it('must be known here, as must be what checks a belief; the belief must fit', async () => {
    await world.worker([newer]);
    const workflow = await ended({
      ...newer,
      begin: () => ({ belief: { counted: 5 }, next: [{ step: 'first', input: null }] }),
    });
    const unknown = (options: Partial<ForkOptions>) => fork(workflow, { at: 0, ...options });
    await expect(unknown({ version: 3, definitions: [base, newer] })).rejects.toMatchObject({
      code: 'version-unknown',
      message: 'version: greet v3 must be known here to check it; known: v1, v2. Name its module (--workflows).',
    });
    await expect(unknown({ belief: { counted: 1 } })).rejects.toMatchObject({
      code: 'version-unknown',
      message: expect.stringContaining('belief: greet v2 must be known here to check it; known: none of that name'),
    });
    await expect(unknown({ belief: { other: 1 }, definitions: [newer] })).rejects.toThrow('counted is missing');
    await expect(unknown({ definitions: [base] })).rejects.toMatchObject({ code: 'version-unknown' });
    expect(await unknown({ belief: { counted: 1 }, definitions: [base, newer] })).toMatchObject({ version: 2 });
  });
});
