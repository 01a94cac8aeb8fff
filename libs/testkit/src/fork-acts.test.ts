/** Owns the tests of what a fork does to other workflows: one that replays starts, ends and notifies none, whatever its steps declare. */

import { child, defineEffect, defineWorkflow, signal, task } from '@tidemark/sdk';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type TestWorld, testWorld } from './test-world.ts';

const count = defineEffect({
  operation: 'count',
  kind: 'irreversible',
  request: z.object({ n: z.number() }),
  response: z.object({ at: z.number() }),
  call: async () => ({ at: 0 }),
});

/** Squares a number; waits for a word where it is negative, and fails on zero. */
const square = defineWorkflow({
  name: 'square',
  version: 1,
  onFailure: 'fail',
  input: z.object({ n: z.number() }),
  belief: z.object({}),
  output: z.object({ squared: z.number(), at: z.number() }),
  tasks: { work: z.object({}), wait: z.object({ at: z.number() }) },
  flow: { work: ['wait'], wait: [] },
  starts: ['work'],
  signals: { go: z.object({}) },
  effects: [count],
  begin: () => ({ belief: {}, next: [task('work', {})] }),
  steps: {
    work: {
      retry: { attempts: 1 },
      run: async (ctx) => {
        const { n } = ctx.input;
        const { at } = await ctx.effect(count, { n });
        if (n === 0) throw new Error('zero has no business here');
        return n < 0 ? { next: [task('wait', { at }, { when: signal('go') })] } : { done: { squared: n * n, at } };
      },
    },
    wait: ({ input }, { at }) => ({ done: { squared: input.n ** 2, at } }),
  },
});

/** Reports its children's ends, in order. */
const spread = defineWorkflow({
  name: 'spread',
  version: 1,
  input: z.object({}),
  belief: z.object({ numbers: z.array(z.number()), reported: z.array(z.string()) }),
  output: z.array(z.string()),
  tasks: { first: z.object({}), spread: z.object({}), hear: z.object({}), end: z.object({}) },
  flow: { first: ['spread'], spread: ['hear', 'end'], hear: [], end: [] },
  starts: ['first'],
  children: { square },
  begin: () => ({ belief: { numbers: [2, 0], reported: [] }, next: [task('first', {})] }),
  steps: {
    first: () => ({ next: [task('spread', {})] }),
    spread: ({ belief }) => {
      const when = (n: number) => child('square', { n }, { onParentClose: 'terminate', onFailure: 'tell' });
      const added = belief.numbers.map((n) => task('hear', {}, { when: when(n) }));
      return { next: [...added, task('end', {}, { after: added })] };
    },
    hear: ({ cause }) => {
      if (cause?.kind !== 'child') return {};
      const said = cause.outcome === 'completed' ? JSON.stringify(cause.output) : cause.reason;
      return { belief: (b) => ({ ...b, reported: [...b.reported, `${cause.workflow} ${said}`].sort() }) };
    },
    end: ({ belief }) => ({ done: [...belief.reported] }),
  },
});

/** Continues as a new run until its last turn. */
const turns = defineWorkflow({
  name: 'turns',
  version: 1,
  input: z.object({ left: z.number() }),
  belief: z.object({}),
  output: z.object({ left: z.number() }),
  tasks: { turn: z.object({}) },
  flow: { turn: [] },
  starts: ['turn'],
  begin: () => ({ belief: {}, next: [task('turn', {})] }),
  steps: {
    turn: ({ input: { left } }) => (left > 0 ? { continueAsNew: { left: left - 1 } } : { done: { left } }),
  },
});

const definitions = [square, spread, turns];
let world: TestWorld;
beforeEach(async () => {
  world = await testWorld({ workflows: definitions });
});
afterEach(() => world.close());

const statusOf = async (id: string) => (await world.client.run(id).summary())?.status;
const fork = (of: string, id: string, more: object = {}) =>
  world.client.fork(of, { id, at: 1, effects: 'replay', by: 'ana', definitions, ...more });
const outputOf = (id: string) => world.client.run(id).result();
const childrenOf = async (id: string) => (await world.client.children(id, {})).map(({ workflow }) => workflow);

describe('a fork of a parent', () => {
  it("is told how its base's children ended where it replays, and starts none; with live effects it has its own", async () => {
    world.stub(count, () => ({ at: world.calls(count).length }));
    const run = await world.start(spread, {}, { id: 'base' });
    const reported = await run.result();
    expect(reported).toEqual([expect.stringMatching(/^base~2\.0 \{"squared":4,/), 'base~2.1 Error']);
    await fork('base', 'replayed');
    expect(await outputOf('replayed')).toEqual(reported);
    await fork('replayed', 'again', { at: 0 });
    expect(await outputOf('again')).toEqual(reported);
    expect([await childrenOf('replayed'), await childrenOf('again'), world.calls(count).length]).toEqual([[], [], 2]);
    // The control.
    await fork('base', 'live', { effects: 'live' });
    expect(await outputOf('live')).toEqual([expect.stringMatching(/^live~1\.0 /), 'live~1.1 Error'].sort());
    expect([await childrenOf('live'), world.calls(count).length]).toEqual([['live~1.0', 'live~1.1'], 4]);
  });

  it('is told so where its base had no such child', async () => {
    const run = await world.start(spread, {}, { id: 'base' });
    await run.result();
    await fork('base', 'other', { belief: { numbers: [2, 3, 4], reported: [] } });
    const none = (task: string) => `other~${task} child-not-recorded`;
    expect(await outputOf('other')).toEqual([expect.stringMatching(/^base~2\.0 /), none('1.1'), none('1.2')]);
    expect([await childrenOf('other'), world.calls(count).length]).toEqual([[], 2]);
  });

  it('waits for a child of its base that is under way, and ends none of it', async () => {
    await (await world.start(spread, {}, { id: 'base' })).result();
    const begun = { numbers: [-1], reported: [] };
    await fork('base', 'live', { effects: 'live', belief: begun });
    await expect.poll(() => statusOf('live~1.0')).toBe('open');
    await fork('live', 'replayed', { at: 0 });
    await fork('live', 'ended', { at: 0 });
    for (const id of ['replayed', 'ended']) {
      await expect.poll(async () => (await world.client.run(id).summary())?.sequence).toBe(1);
    }
    await world.client.terminate('ended', { by: 'ana', why: 'enough' });
    await expect.poll(() => statusOf('ended')).toBe('failed');
    expect([await statusOf('live~1.0'), await statusOf('replayed')]).toEqual(['open', 'open']);
    await world.client.signal('live~1.0', 'go', {});
    expect(await outputOf('replayed')).toEqual(await outputOf('live'));
    expect([await childrenOf('replayed'), await childrenOf('ended')]).toEqual([[], []]);
  });
});

describe('a fork of one that goes on with a fresh history', () => {
  it('begins nothing where it replays', async () => {
    const run = await world.start(turns, { left: 1 }, { id: 'base' });
    expect(await run.result()).toEqual({ left: 0 });
    await fork('base', 'replayed', { at: 0 });
    await expect(outputOf('replayed')).rejects.toMatchObject({ code: 'workflow-continued' });
    await fork('base', 'live', { at: 0, effects: 'live' });
    expect(await outputOf('live')).toEqual({ left: 0 });
    expect([await statusOf('replayed~2'), await statusOf('live~2')]).toEqual([undefined, 'completed']);
  });
});

describe('a run that is only observed', () => {
  const eager = defineWorkflow({
    name: 'eager',
    version: 1,
    input: z.object({}),
    belief: z.object({}),
    output: z.object({}),
    tasks: { hear: z.object({}) },
    flow: { hear: ['hear'] },
    children: { square },
    begin: () => ({ belief: {}, next: [task('hear', {}, { when: child('square', { n: 3 }) })] }),
    steps: { hear: () => ({ next: [task('hear', {}, { when: child('square', { n: 4 }) })] }) },
  });

  it('starts none, whatever its definition declares', async () => {
    await world.client.shadows.promote('eager', { to: 100, by: 'ana' });
    const observed = world.client.shadow(eager, {
      id: 'seen',
      input: {},
      belief: {},
      next: [{ step: 'hear', input: {} }],
    });
    observed.step({ key: '1', step: 'hear', next: [{ step: 'hear', input: {} }] });
    const begun = world.client.shadow(eager, { id: 'begun', input: {} });
    begun.step({ key: '1', step: 'hear' });
    await Promise.all([observed.flushed(), begun.flushed()]);
    expect([observed.counts.written, begun.counts.written]).toEqual([1, 1]);
    // By then children that were due have begun.
    await (await world.start(spread, {}, { id: 'base' })).result();
    expect([await childrenOf('seen'), await childrenOf('begun'), world.calls(count).length]).toEqual([[], [], 2]);
  });
});

describe('a schedule', () => {
  it.each(['replay', 'live'] as const)('is not forked (%s): its run goes on', async (effects) => {
    world.advance(60_000 - (Date.now() % 60_000) + 10_000);
    const [of, by] = [square, 'ana'];
    await world.client.schedules.set(of, { n: -1 }, { id: 'nightly', cron: '* * * * *', overlap: 'terminate' });
    await world.client.schedules.fire('nightly');
    const [state] = await vi.waitFor(async () => {
      const states = await world.client.schedules.list({ limit: 1, count: 0 });
      expect(states[0]?.run).not.toBeNull();
      return states;
    });
    const refused = world.client.fork('nightly', { at: 0, effects, by, id: 'forked' });
    await expect(refused).rejects.toMatchObject({ name: 'InvalidError', code: 'fork-of-schedule' });
    expect([await statusOf('forked'), await statusOf(state!.run!.id)]).toEqual([undefined, 'open']);
  });
});
