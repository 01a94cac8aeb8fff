/** Owns the tests of tasks that wait: for signals, timers and moments, over deaths of the workflow's holders. */

import { anyOf, at, defineWorkflow, InvalidError, signal, task, timer } from '@tidemark/sdk';
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

const START_MS = Date.UTC(2026, 0, 1);

/** Asks for an approval and gives up after two hours. */
const order = defineWorkflow({
  name: 'order',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({ by: z.string() }),
  tasks: { ask: z.object({}), decide: z.object({}) },
  flow: { ask: ['decide'], decide: [] },
  signals: { approved: z.object({ by: z.string() }) },
  begin: () => ({ belief: {}, next: [task('ask', {})] }),
  steps: {
    ask: () => ({ next: [task('decide', {}, { when: anyOf(signal('approved'), timer('2h')) })] }),
    decide: ({ cause }) => ({ done: { by: cause?.kind === 'signal' ? cause.value.by : `${cause?.kind}` } }),
  },
});

const waiting = (world: TestWorld, workflow: string) =>
  expect.poll(async () => (await world.tasksOf(workflow as never)).map(({ when }) => when.length)).toEqual([2]);

describe('a task that waits for a signal or a timer', () => {
  it('goes on with the value that came', async () => {
    const world = await open({ workflows: [order] });
    const run = await world.start(order, {});
    await waiting(world, run.id);
    await world.client.signal(run.id, 'approved', { by: 'ana' });
    expect(await run.result()).toEqual({ by: 'ana' });
  });

  it('takes a signal that came before', async () => {
    const world = await open({ workflows: [order] });
    world.crash({ after: 'LeaseClaimed' });
    const run = await world.start(order, {});
    await world.client.signal(run.id, 'approved', { by: 'early' });
    expect(await run.result()).toEqual({ by: 'early' });
  });

  it('goes on when its time has come, and not before', async () => {
    const world = await open({ workflows: [order] });
    const run = await world.start(order, {});
    await waiting(world, run.id);
    world.advance('119m');
    await waiting(world, run.id);
    world.advance('2m');
    expect(await run.result()).toEqual({ by: 'timer' });
  });

  it('keeps what came when its holder dies, and runs once', async () => {
    const world = await open({ workflows: [order] });
    const run = await world.start(order, {});
    await waiting(world, run.id);
    world.crash({ after: 'LeaseClaimed' });
    await world.client.signal(run.id, 'approved', { by: 'ana' }, { key: 'once' });
    await world.client.signal(run.id, 'approved', { by: 'bob' }, { key: 'once' }).catch(() => {});
    expect(await run.result()).toEqual({ by: 'ana' });
    expect(world.crashCount).toBe(1);
    expect(await run.checkpoints()).toHaveLength(2);
  });

  it('asks a person about a value that does not fit', async () => {
    const world = await open({ workflows: [order] });
    const run = await world.start(order, {});
    await waiting(world, run.id);
    await world.client.signal(run.id, 'approved', { by: 7 });
    await expect(run.result()).rejects.toMatchObject({ code: 'workflow-parked', details: { reason: 'signal-unfit' } });
  });
});

it('tasks begin at a moment, and at once where it has passed', async () => {
  const dated = defineWorkflow({
    name: 'dated',
    version: 1,
    input: z.object({ at: z.string() }),
    belief: z.object({}),
    output: z.object({}),
    tasks: { wake: z.object({}) },
    flow: { wake: [] },
    begin: (input) => ({ belief: {}, next: [task('wake', {}, { when: at(input.at) })] }),
    steps: { wake: () => ({ done: {} }) },
  });
  const world = await open({ workflows: [dated] });
  const past = await world.start(dated, { at: new Date(START_MS).toISOString() });
  expect(await past.result()).toEqual({});
  const future = await world.start(dated, { at: new Date(Date.now() + 86_400_000).toISOString() });
  await expect.poll(() => world.tasksOf(future.id)).toHaveLength(1);
  world.advance('25h');
  expect(await future.result()).toEqual({});
});

describe('what a task waits for', () => {
  it.each([
    ['a signal that the definition has not', { anyOf: [{ kind: 'signal', name: 'denied' }] }],
    ['nothing', { anyOf: [] }],
    ['a text', 'approved'],
  ])('is refused where it is %s', async (_, when) => {
    const odd = defineWorkflow({
      name: 'odd',
      version: 1,
      input: z.object({}),
      belief: z.object({}),
      output: z.object({}),
      tasks: { wait: z.object({}) },
      flow: { wait: [] },
      signals: { approved: z.null() },
      begin: () => ({ belief: {}, next: [task('wait', {}, { when: when as never })] }),
      steps: { wait: () => ({ done: {} }) },
    });
    const world = await open({ workflows: [odd] });
    await expect(world.start(odd, {})).rejects.toMatchObject({
      code: 'begin-invalid',
      message: expect.stringContaining('next[0].when'),
    });
  });

  it.each(['2 hours', '-1s', -1, Number.NaN])('is no timer of %s', (duration) => {
    expect(() => timer(duration)).toThrow(InvalidError);
  });

  it('is no date that is none', () => expect(() => at('soon')).toThrow(InvalidError));
});
