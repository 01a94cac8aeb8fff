/** Owns the tests of workflows that continue as a new run: once, over any deaths, with what was unfinished in the previous run. */

import { continuationId, workflowId } from '@tidemark/core';
import { child, defineEffect, defineWorkflow, signal, task } from '@tidemark/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type TestWorld, testWorld } from './test-world.ts';

const ask = { by: 'ana', why: 'a test' };

const compensated: string[] = [];
const note = defineEffect({
  operation: 'note',
  kind: 'idempotent',
  request: z.object({ of: z.string() }),
  response: z.object({ of: z.string() }),
  call: async ({ of }) => ({ of }),
  compensate: async ({ of }) => void compensated.push(of),
});

/** Where a step of `turns` waits until the test releases it. */
let gate: { readonly reached: () => void; readonly open: Promise<void> } | undefined;

/** Counts its turns, each in a run of its own; notes each; then takes one word for each that it is to wait for. */
const turns = defineWorkflow({
  name: 'turns',
  version: 1,
  input: z.object({
    turn: z.number(),
    of: z.number(),
    words: z.number().default(0),
    heard: z.array(z.string()).default([]),
  }),
  belief: z.object({ heard: z.array(z.string()) }),
  output: z.object({ turns: z.number(), heard: z.array(z.string()) }),
  tasks: { turn: z.object({}), hear: z.object({}), end: z.object({}) },
  flow: { turn: ['hear', 'end'], hear: [], end: [] },
  starts: ['turn'],
  signals: { word: z.string() },
  effects: [note],
  begin: ({ heard }) => ({ belief: { heard }, next: [task('turn', {})] }),
  steps: {
    turn: {
      retry: { attempts: 1 },
      run: async (ctx) => {
        const { turn, of, words } = ctx.input;
        await ctx.effect(note, { of: `${ctx.workflow} ${turn}` });
        gate?.reached();
        await gate?.open;
        if (turn < of) return { continueAsNew: { ...ctx.input, turn: turn + 1, heard: [...ctx.belief.heard] } };
        const wait = Array.from({ length: words }, () => task('hear', {}, { when: signal('word') }));
        return { next: [...wait, task('end', {}, { after: wait })] };
      },
    },
    hear: ({ cause }) =>
      cause?.kind === 'signal' ? { belief: ({ heard }) => ({ heard: [...heard, cause.value] }) } : {},
    end: ({ input, belief }) => ({ done: { turns: input.turn, heard: [...belief.heard] } }),
  },
});

/** Waits for a turn's end. */
const parent = defineWorkflow({
  name: 'parent',
  version: 1,
  input: z.object({ of: z.number(), words: z.number().default(0) }),
  belief: z.object({}),
  output: z.object({ turns: z.number() }),
  tasks: { begin: z.object({}), end: z.object({}) },
  flow: { begin: ['end'], end: [] },
  starts: ['begin'],
  children: { turns },
  begin: () => ({ belief: {}, next: [task('begin', {})] }),
  steps: {
    begin: ({ input }) => ({
      next: [task('end', {}, { when: child('turns', { turn: 1, of: input.of, words: input.words }) })],
    }),
    end: ({ cause }) => {
      if (cause?.kind !== 'child' || cause.outcome !== 'completed') return { done: { turns: -1 } };
      return { done: { turns: cause.output.turns } };
    },
  },
});

/** Has a task that a signal has unblocked, and drops it. */
const drops = defineWorkflow({
  name: 'drops',
  version: 1,
  input: z.object({ again: z.boolean() }),
  belief: z.object({}),
  output: z.object({ value: z.string() }),
  tasks: { turn: z.object({}), late: z.object({}) },
  flow: { turn: [], late: [] },
  starts: ['turn', 'late'],
  parallel: 1,
  signals: { word: z.string() },
  timeout: '1h',
  begin: ({ again }) => ({
    belief: {},
    next: again
      ? [task('turn', {}), task('late', {}, { when: signal('word') })]
      : [task('late', {}, { when: signal('word') })],
  }),
  steps: {
    turn: async () => {
      gate?.reached();
      await gate?.open;
      return { continueAsNew: { again: false } };
    },
    late: ({ cause }) => ({ done: { value: cause?.kind === 'signal' ? cause.value : 'nothing' } }),
  },
});

let world: TestWorld;
const errors: unknown[] = [];
beforeAll(async () => {
  world = await testWorld({ workflows: [turns, parent, drops], onError: (_, error) => void errors.push(error) });
});
afterAll(() => world.close());

/** Holds steps that come to the gate; resolves once one has. */
function hold(): { readonly reached: Promise<void>; readonly release: () => void } {
  const reached = Promise.withResolvers<void>();
  const open = Promise.withResolvers<void>();
  gate = { reached: reached.resolve, open: open.promise };
  return {
    reached: reached.promise,
    release: () => {
      gate = undefined;
      open.resolve();
    },
  };
}

const row = (id: string) => world.ports.store.workflow(workflowId(id));
const statusOf = async (id: string) => {
  const found = await row(id);
  return found === undefined ? undefined : `${found.status} ${found.reason}`;
};
const notes = (id: string) =>
  world
    .calls(note)
    .map(({ request }) => (request as { of: string }).of)
    .filter((of) => of.startsWith(id));

describe('a workflow that goes on with a fresh history', () => {
  it('ends as the last of them, each with a history of its own', async () => {
    const run = await world.start(turns, { turn: 1, of: 4 }, { id: 'w', tags: ['t'], user: 'ana', priority: 2 });
    expect(await run.result()).toEqual({ turns: 4, heard: [] });
    expect(notes('w')).toEqual(['w 1', 'w~2 2', 'w~3 3', 'w~4 4']);
    expect(await statusOf('w')).toBe('completed continued');
    expect(await statusOf('w~4')).toBe('completed null');
    expect(await row('w~4')).toMatchObject({ user: 'ana', tags: ['t'], tenant: 'default', sequence: 2 });
    expect(await row('w~5')).toBeUndefined();
    // The same id answers the run that it began.
    const again = await world.start(turns, { turn: 1, of: 4 }, { id: 'w' });
    expect(again.created).toBe(false);
    expect(await again.result()).toEqual({ turns: 4, heard: [] });
  });

  it('begins the next one once, whoever dies over it', async () => {
    world.crash({ before: 'CheckpointCommitted', step: 'turn' });
    world.crash({ after: 'CheckpointCommitted', step: 'turn' });
    world.crash({ before: 'WorkflowCompleted' });
    world.crash({ after: 'WorkflowCompleted' });
    const before = world.crashCount;
    const run = await world.start(turns, { turn: 1, of: 3 }, { id: 'dies' });
    expect(await run.result()).toEqual({ turns: 3, heard: [] });
    expect(world.crashCount - before).toBe(4);
    expect(await row('dies~3')).toMatchObject({ sequence: 2 });
    expect(await row('dies~4')).toBeUndefined();
    expect(new Set(notes('dies')).size).toBe(3);
  });

  it('hears the words that nobody has listened to, in order and once', async () => {
    const held = hold();
    const run = await world.start(turns, { turn: 1, of: 2, words: 3 }, { id: 'hears' });
    await held.reached;
    await world.client.signal('hears', 'word', 'a', { key: 'first' });
    await world.client.signal('hears', 'word', 'b');
    held.release();
    await expect.poll(() => statusOf('hears')).toBe('completed continued');
    // The run that took it receives it again under its key: it counts once.
    await world.client.signal('hears', 'word', 'a', { key: 'first' });
    await world.client.signal('hears', 'word', 'c');
    expect(await run.result()).toEqual({ turns: 2, heard: ['a', 'b', 'c'] });
  });

  it('hears what had been given to a task that was dropped, and keeps its time', async () => {
    const held = hold();
    const run = await world.start(drops, { again: true }, { id: 'drops' });
    await held.reached;
    await world.client.signal('drops', 'word', 'kept');
    held.release();
    expect(await run.result()).toEqual({ value: 'kept' });
    const late = await world.start(drops, { again: true }, { id: 'late' });
    await expect.poll(() => statusOf('late~2')).toBe('open null');
    world.advance('59m');
    expect(await statusOf('late~2')).toBe('open null');
    world.advance('2m');
    await expect(late.result()).rejects.toThrow('failed (timed-out)');
  });

  it('is spoken to by its first id', async () => {
    const run = await world.start(turns, { turn: 1, of: 3, words: 1 }, { id: 'spoken' });
    await expect.poll(() => statusOf('spoken~3')).toBe('open null');
    expect(await world.client.pause('spoken', ask)).toEqual({ workflow: 'spoken~3', changed: true });
    expect(await statusOf('spoken~3')).toBe('open paused');
    await world.client.resume('spoken~2', ask);
    await world.client.pin('spoken', { pinned: true, ...ask });
    expect(await row('spoken~3')).toMatchObject({ pinned: true });
    await world.client.cancel('spoken', ask);
    await expect(run.result()).rejects.toThrow('spoken~3');
    // Effects of an earlier run are not compensated.
    expect(compensated.filter((of) => of.startsWith('spoken'))).toEqual(['spoken~3 3']);
    await expect(world.client.signal('spoken', 'word', 'x')).rejects.toMatchObject({ code: 'workflow-closed' });
  });

  it('does not go on once it is cancelled', async () => {
    const held = hold();
    const run = await world.start(turns, { turn: 1, of: 3 }, { id: 'cancelled' });
    await held.reached;
    await world.client.cancel('cancelled', ask);
    held.release();
    await expect(world.fastForward(run.result())).rejects.toThrow('compensated (cancelled)');
    expect(await row('cancelled~2')).toBeUndefined();
    expect(compensated).toContain('cancelled 1');
  });

  it('stays paused, and pinned', async () => {
    const held = hold();
    const run = await world.start(turns, { turn: 1, of: 2 }, { id: 'paused', pinned: true });
    await held.reached;
    await world.client.pause('paused', ask);
    held.release();
    await expect.poll(() => statusOf('paused~2')).toBe('open paused');
    expect(await row('paused~2')).toMatchObject({ pinned: true, sequence: 0 });
    await world.client.resume('paused', ask);
    expect(await run.result()).toEqual({ turns: 2, heard: [] });
  });

  it('is waited for by its parent to the last, and ended with it', async () => {
    const run = await world.start(parent, { of: 3 }, { id: 'p' });
    expect(await run.result()).toEqual({ turns: 3 });
    expect(await statusOf('p~1.0~3')).toBe('completed null');
    await world.start(parent, { of: 2, words: 1 }, { id: 'q' });
    await expect.poll(() => statusOf('q~1.0~2')).toBe('open null');
    await world.client.cancel('q', ask);
    await expect.poll(() => statusOf('q~1.0~2')).toMatch(/parent-closed/);
  });

  it('is replayed to where it went on, and no further', async () => {
    await world.client.fork('drops', { id: 'replayed', at: 0, effects: 'replay', by: 'ana' });
    const run = world.client.run('replayed');
    await expect(run.result()).rejects.toMatchObject({ code: 'workflow-continued' });
    expect(await statusOf('replayed')).toBe('completed continued');
    await world.client.fork('w', { id: 'live', at: 0, effects: 'live', by: 'ana' });
    expect(await world.client.run('live').result()).toEqual({ turns: 4, heard: [] });
    expect(await row('live~4')).toMatchObject({ status: 'completed' });
    expect(await row('replayed~2')).toBeUndefined();
  });

  it('has ids that are nobody else to give', async () => {
    await expect(world.start(turns, { turn: 1, of: 1 }, { id: 'w~2' })).rejects.toMatchObject({
      code: 'workflow-id-reserved',
    });
    expect(continuationId(workflowId('w~9'))).toBe('w~10');
  });
});
