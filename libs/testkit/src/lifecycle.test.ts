/** Owns the tests of workflows that are cancelled, terminated, paused and resumed: in any state, and over deaths of their holders. */

import { defineEffect, defineWorkflow, signal, task, timer, WorkflowCancelledError } from '@tidemark/sdk';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type TestWorld, testWorld } from './test-world.ts';

const worlds: TestWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
async function open(...args: Parameters<typeof testWorld>): Promise<TestWorld> {
  const world = await testWorld(...args);
  worlds.push(world);
  return world;
}

const ask = { by: 'ana', why: 'the order was withdrawn' };
const compensated: string[] = [];
afterEach(() => void compensated.splice(0));

const book = defineEffect({
  operation: 'hotel.book',
  kind: 'irreversible',
  request: z.object({ room: z.string() }),
  response: z.object({ id: z.string() }),
  call: async ({ room }) => ({ id: `b-${room}` }),
  compensate: async ({ id }) => void compensated.push(id),
});

/** What `hold` waits for; each test sets its own. */
let held: { readonly begun: () => void; readonly work: (signal: AbortSignal) => Promise<void> };
function hold(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  held = { begun: resolve, work };
  return promise;
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }));

/** Books, holds, and waits for a word before it books once more. */
const travel = defineWorkflow({
  name: 'travel',
  version: 1,
  input: z.object({}),
  belief: z.object({ held: z.boolean() }),
  output: z.object({}),
  tasks: { first: z.object({}), hold: z.object({}), last: z.object({}) },
  flow: { first: ['hold', 'last'], hold: [], last: [] },
  signals: { go: z.object({}) },
  effects: [book],
  begin: () => ({ belief: { held: false }, next: [task('first', {})] }),
  steps: {
    first: async (ctx) => {
      await ctx.effect(book, { room: 'sea' });
      const wait = task('hold', {});
      return { next: [wait, task('last', {}, { after: [wait], when: signal('go') })] };
    },
    hold: async (ctx) => {
      held.begun();
      await held.work(ctx.signal);
      return { belief: () => ({ held: true }) };
    },
    last: async (ctx) => {
      await ctx.effect(book, { room: 'hill' });
      return { done: {} };
    },
  },
});

/** May take an hour, and would wait for two. */
const timed = (timeout: string) => defineWorkflow({ ...plainSpec, name: 'timed', timeout });

/** Has nothing to undo. */
const plainSpec = {
  name: 'plain',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  tasks: { wait: z.object({}), end: z.object({}) },
  flow: { wait: ['end'], end: [] } as const,
  begin: () => ({ belief: {}, next: [task('wait', {})] }),
  steps: {
    wait: () => ({ next: [task('end', {}, { when: timer('2h') })] }),
    end: () => ({ done: {} }),
  },
};
const plain = defineWorkflow(plainSpec);

const statusOf = async (world: TestWorld, id: string) => {
  const row = await world.client.run(id).summary();
  return row === undefined ? undefined : [row.status, row.reason, row.pendingCount];
};
/** Waits until its one task waits: time must not pass before that. */
const waiting = (world: TestWorld, id: string) =>
  expect.poll(async () => (await world.tasksOf(id as never)).map(({ when }) => when.length > 0)).toEqual([true]);

describe('a workflow that is cancelled', () => {
  it('ends at once when it waits, and has nothing to undo', async () => {
    const world = await open({ workflows: [plain] });
    const run = await world.start(plain, {});
    await waiting(world, run.id);
    expect(await world.client.cancel(run.id, ask)).toEqual({ workflow: run.id, changed: true });
    await expect(run.result()).rejects.toThrow('failed (cancelled): It was cancelled (cancelled) by ana.');
    expect(await statusOf(world, run.id)).toEqual(['failed', 'cancelled', 0]);
    expect(await world.client.cancel(run.id, ask)).toEqual({ workflow: run.id, changed: false });
  });

  it('has what it did compensated, after the step under way has finished', async () => {
    const world = await open({ workflows: [travel] });
    const gate = Promise.withResolvers<void>();
    const begun = hold(() => gate.promise);
    const run = await world.start(travel, {});
    await begun;
    await world.client.cancel(run.id, ask);
    expect(await world.client.cancel(run.id, { by: 'bob', why: 'me too' })).toMatchObject({ changed: false });
    expect(await statusOf(world, run.id)).toEqual(['open', 'cancelling', 2]);
    gate.resolve();
    await expect(run.result()).rejects.toThrow('was compensated (cancelled)');
    expect(compensated).toEqual(['b-sea']);
    expect((await run.checkpoints()).map(({ step }) => step)).toEqual(['first', 'hold']);
  });

  it('tells a step that runs for long, by its signal', async () => {
    const world = await open({ workflows: [travel] });
    const reported = Promise.withResolvers<unknown>();
    const begun = hold(async (signal) => {
      await untilAborted(signal).catch((error: unknown) => {
        reported.resolve(error);
        throw error;
      });
    });
    const run = await world.start(travel, {});
    await begun;
    await world.client.cancel(run.id, ask);
    expect(await reported.promise).toBeInstanceOf(WorkflowCancelledError);
    await expect(run.result()).rejects.toThrow('was compensated (cancelled)');
    expect((await run.checkpoints()).map(({ step }) => step)).toEqual(['first']);
  });

  it('abandons a step that ignores it, once its grace is over', async () => {
    const world = await open({ workflows: [travel] });
    const begun = hold(() => new Promise(() => {}));
    const run = await world.start(travel, {});
    await begun;
    await world.client.cancel(run.id, ask);
    await expect(world.fastForward(run.result())).rejects.toThrow('was compensated (cancelled)');
  });

  it('is cancelled by whoever goes on after a crash', async () => {
    const world = await open({ workflows: [travel] });
    const gate = Promise.withResolvers<void>();
    const begun = hold(() => gate.promise);
    const run = await world.start(travel, {});
    await begun;
    world.crash({ before: 'CheckpointCommitted', step: 'hold' });
    await world.client.cancel(run.id, ask);
    gate.resolve();
    await expect(run.result()).rejects.toThrow('was compensated (cancelled)');
    expect(world.crashCount).toBe(1);
    expect(compensated).toEqual(['b-sea']);
  });

  it('is cancelled while it is paused, or waits for a person', async () => {
    const world = await open({ workflows: [travel] });
    world.stub(book, () => {
      throw new Error('no answer');
    });
    const parked = await world.start(travel, {});
    await expect(world.fastForward(parked.result())).rejects.toThrow('waits for a person');
    await world.client.pause(parked.id, ask);
    await world.client.cancel(parked.id, ask);
    // It is unknown whether the room was booked: a person still decides that.
    await expect.poll(() => statusOf(world, parked.id)).toEqual(['parked', 'effect-unknown', 1]);
    await world.client.decide(parked.id, { resolution: 'not-done', ...ask });
    await expect(parked.result()).rejects.toThrow('was compensated (cancelled)');
    expect(compensated).toEqual([]);
  });

  it('is over when it has ended', async () => {
    const world = await open({ workflows: [plain] });
    const run = await world.start(plain, {});
    await waiting(world, run.id);
    world.advance('3h');
    await run.result();
    await expect(world.client.cancel(run.id, ask)).rejects.toMatchObject({ code: 'workflow-closed' });
    await expect(world.client.pause(run.id, ask)).rejects.toMatchObject({ code: 'workflow-closed' });
    await expect(world.client.cancel(run.id, { by: '', why: 'x' })).rejects.toMatchObject({ code: 'by-invalid' });
    await expect(world.client.cancel('nobody', ask)).rejects.toMatchObject({ code: 'workflow-unknown' });
  });
});

describe('a workflow that is ended from outside', () => {
  it('has failed at once, and nothing is compensated, whoever holds it', async () => {
    const world = await open({ workflows: [travel] });
    const over = Promise.withResolvers<void>();
    const begun = hold((signal) => untilAborted(signal).finally(over.resolve));
    const run = await world.start(travel, {});
    await begun;
    expect(await world.client.terminate(run.id, ask)).toEqual({ workflow: run.id, changed: true });
    await expect(run.result()).rejects.toThrow('failed (terminated): ana ended it: the order was withdrawn');
    expect(await world.client.terminate(run.id, ask)).toEqual({ workflow: run.id, changed: false });
    // Its holder notices, and stops.
    await over.promise;
    expect(compensated).toEqual([]);
    expect(await statusOf(world, run.id)).toEqual(['failed', 'terminated', 0]);
  });

  it('is ended while it waits', async () => {
    const world = await open({ workflows: [plain] });
    const run = await world.start(plain, {});
    await waiting(world, run.id);
    await world.client.terminate(run.id, ask);
    await expect(run.result()).rejects.toThrow('failed (terminated)');
  });
});

describe('a workflow that is paused', () => {
  it('starts nothing until it is resumed, and keeps what comes meanwhile', async () => {
    const world = await open({ workflows: [travel] });
    const gate = Promise.withResolvers<void>();
    const begun = hold(() => gate.promise);
    const run = await world.start(travel, {});
    await begun;
    expect(await world.client.pause(run.id, ask)).toEqual({ workflow: run.id, changed: true });
    expect(await world.client.pause(run.id, ask)).toEqual({ workflow: run.id, changed: false });
    gate.resolve();
    // The running step finishes, and its holder releases the lease.
    await expect.poll(async () => (await run.summary())?.sequence).toBe(2);
    await world.client.signal(run.id, 'go', {});
    await expect.poll(async () => (await run.summary())?.holder).toBeNull();
    const [last] = await world.tasksOf(run.id as never);
    expect(last).toMatchObject({ step: 'last', when: [], cause: { name: 'go' } });
    expect(await run.summary()).toMatchObject({ status: 'open', reason: 'paused', runnable: false });
    expect(await world.client.resume(run.id, ask)).toEqual({ workflow: run.id, changed: true });
    expect(await run.result()).toEqual({});
  });

  it('goes on with a timer that fired meanwhile', async () => {
    const world = await open({ workflows: [plain] });
    const run = await world.start(plain, {});
    await waiting(world, run.id);
    await world.client.pause(run.id, ask);
    world.advance('3h');
    await expect.poll(async () => (await world.tasksOf(run.id as never))[0]?.cause?.kind).toBe('timer');
    expect(await statusOf(world, run.id)).toEqual(['open', 'paused', 1]);
    await world.client.resume(run.id, ask);
    expect(await run.result()).toEqual({});
  });
});

describe('a workflow whose time is up', () => {
  it('is cancelled, whatever it waits for, and paused or not', async () => {
    const hour = timed('1h');
    const world = await open({ workflows: [hour] });
    const run = await world.start(hour, {});
    const paused = await world.start(hour, {});
    const longer = await world.start(hour, {}, { timeout: '3h' });
    for (const { id } of [run, paused, longer]) await waiting(world, id);
    await world.client.pause(paused.id, ask);
    world.advance('30m');
    expect(await statusOf(world, run.id)).toEqual(['open', null, 1]);
    world.advance('31m');
    await expect(run.result()).rejects.toThrow('failed (timed-out)');
    await expect(paused.result()).rejects.toThrow('failed (timed-out)');
    world.advance('1h');
    expect(await longer.result()).toEqual({});
  });

  it('has what it did compensated', async () => {
    const world = await open({ workflows: [travel] });
    const begun = hold(() => Promise.resolve());
    const run = await world.start(travel, {}, { timeout: '1h' });
    await begun;
    await expect.poll(async () => (await run.summary())?.holder).toBeNull();
    world.advance('2h');
    await expect(run.result()).rejects.toThrow('was compensated (timed-out)');
    expect(compensated).toEqual(['b-sea']);
  });

  it('is given a time that is one', async () => {
    const world = await open({ workflows: [plain] });
    await expect(world.start(plain, {}, { timeout: 'soon' })).rejects.toMatchObject({ code: 'duration-invalid' });
    expect(() => timed('-1h')).toThrow(/timeout: give a whole number and a unit/);
  });
});
