/**
 * Owns the tests of schedules, with time under control: each slot begins a run once, overlaps follow the policy, crashes and changes lose
 * and double nothing.
 */

import { defineWorkflow, signal, task } from '@tidemark/sdk';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { type TestWorld, testWorld } from './test-world.ts';

/** One whose runs end at once, and one whose runs wait for a signal. */
const quick = defineWorkflow({
  name: 'quick',
  version: 1,
  input: z.object({ slot: z.string() }),
  belief: z.object({}),
  output: z.object({ slot: z.string() }),
  tasks: { only: z.object({ slot: z.string() }) },
  flow: { only: [] },
  begin: ({ slot }) => ({ belief: {}, next: [task('only', { slot })] }),
  steps: { only: (_, { slot }) => ({ done: { slot } }) },
});
const long = defineWorkflow({
  name: 'long',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  signals: { end: z.null() },
  tasks: { only: z.object({}) },
  flow: { only: [] },
  begin: () => ({ belief: {}, next: [task('only', {}, { when: signal('end') })] }),
  steps: { only: () => ({ done: {} }) },
});

let world: TestWorld;
afterEach(() => world.close());

const minutely = { cron: '* * * * *', slotField: 'slot' } as const;
const runsOf = async (name: string): Promise<string[]> =>
  (await world.ports.store.workflows({ definition: name, limit: 100 })).map((row) => row.workflow as string).sort();
const stateOf = async (id: string) => {
  const all = await world.client.schedules.list({ limit: 100, count: 3 });
  return all.find((state) => state.id === id)!;
};
/** Advances time until the condition holds. */
const until = async (what: () => Promise<boolean>): Promise<void> => {
  await world.fastForward(eventually(what));
};

describe('a schedule', () => {
  it('begins a run for each slot, once, with the time of its slot, also over crashes', async () => {
    world = await testWorld({ workflows: [quick] });
    world.crash({ after: 'CheckpointCommitted' });
    await world.client.schedules.set(quick, {}, { id: 'nightly', ...minutely });
    await until(async () => (await runsOf('quick')).length >= 3);
    expect(world.crashCount).toBe(1);
    const [first, second] = await runsOf('quick');
    expect(first).toMatch(/^nightly@\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z$/);
    const slots = [first!, second!].map((id) => Date.parse(id.slice('nightly@'.length)));
    expect(slots[1]! - slots[0]!).toBe(60_000);
    expect(await world.client.run(first!).result()).toEqual({ slot: first!.slice('nightly@'.length) });
    const { status, startedCount, missedCount, next } = await stateOf('nightly');
    expect([status, missedCount]).toEqual(['open', 0]);
    expect(startedCount).toBeGreaterThanOrEqual(2);
    expect(next).toHaveLength(3);
  });

  it('begins its slots though another tenant knows their ids beforehand', async () => {
    world = await testWorld({ workflows: [quick] });
    await world.client.schedules.set(quick, {}, { id: 'nightly', ...minutely });
    await until(async () => (await stateOf('nightly')) !== undefined);
    for (const slotMs of (await stateOf('nightly')).next) {
      const slot = new Date(slotMs).toISOString();
      const taking = world.start(quick, { slot }, { id: `nightly@${slot}`, tenant: 'other' as never });
      await expect(taking).rejects.toMatchObject({ code: 'workflow-id-reserved' });
    }
    await until(async () => (await stateOf('nightly')).startedCount >= 2);
    expect(await stateOf('nightly')).toMatchObject({ takenCount: 0, missedCount: 0 });
  });

  it.each([
    ['skip', 1, 'open'],
    ['queue', 1, 'open'],
    ['terminate', 3, 'failed'],
    ['allow', 3, 'open'],
  ] as const)('with overlap %s, while a run goes on', async (overlap, count, status) => {
    world = await testWorld({ workflows: [long] });
    await world.client.schedules.set(long, {}, { id: 's', cron: '* * * * *', overlap });
    await until(async () => {
      const { startedCount, skippedCount } = await stateOf('s');
      return (await runsOf('long')).length >= count && startedCount + skippedCount >= 3;
    });
    const runs = await runsOf('long');
    if (count === 1) expect(runs).toHaveLength(1);
    await until(async () => (await world.client.run(runs[0]!).summary())?.status === status);
    if (overlap !== 'queue') return;
    // When the run has ended, one of the waiting slots begins, and only one.
    expect((await stateOf('s')).heldMs).not.toBeNull();
    await world.client.signal(runs[0]!, 'end', null);
    await until(async () => (await runsOf('long')).length === 2);
  });

  it('with overlap cancel begins the next run once the other has ended', async () => {
    world = await testWorld({ workflows: [long] });
    await world.client.schedules.set(long, {}, { id: 's', cron: '* * * * *', overlap: 'cancel' });
    await until(async () => (await runsOf('long')).length >= 2);
    const [first] = await runsOf('long');
    expect(await world.client.run(first!).summary()).toMatchObject({ status: 'failed', reason: 'cancelled' });
  });

  it('begins one now when it is told to, which is named; the same moment counts once', async () => {
    world = await testWorld({ workflows: [quick] });
    await world.client.schedules.set(quick, {}, { id: 'yearly', cron: '0 0 1 1 *', slotField: 'slot' });
    const { run } = await world.client.schedules.fire('yearly', { atMs: 5 });
    expect(await world.client.schedules.fire('yearly', { atMs: 5 })).toEqual({ run });
    await until(async () => (await stateOf('yearly')).startedCount === 1);
    await eventually(async () => expect(await runsOf('quick')).toEqual([run]));
  });

  it('two runs that are begun in one moment have one id each', async () => {
    world = await testWorld({ workflows: [quick] });
    await world.client.schedules.set(quick, {}, { id: 's', cron: '0 0 1 1 *', slotField: 'slot', overlap: 'allow' });
    const fired = await Promise.all([world.client.schedules.fire('s'), world.client.schedules.fire('s')]);
    await until(async () => (await stateOf('s'))?.startedCount === 2);
    // A run may have begun before rows show it.
    await eventually(async () => expect(await runsOf('quick')).toEqual(fired.map(({ run }) => run).sort()));
  });

  it('set again is changed: slots are those of the new pattern from now on', async () => {
    world = await testWorld({ workflows: [quick] });
    expect(await world.client.schedules.set(quick, {}, { id: 's', cron: '0 0 1 1 *', slotField: 'slot' })).toEqual({
      created: true,
    });
    expect(await world.client.schedules.set(quick, {}, { id: 's', ...minutely })).toEqual({ created: false });
    await until(async () => (await runsOf('quick')).length >= 1);
    expect((await stateOf('s')).spec.cron).toBe('* * * * *');
  });

  it('that is paused begins nothing, and makes up for what it may when it goes on', async () => {
    world = await testWorld({ workflows: [quick] });
    await world.client.schedules.set(quick, {}, { id: 's', ...minutely, overlap: 'allow', catchUp: 2 });
    await world.client.pause('s', { by: 'ana', why: 'maintenance' });
    world.advance('1h');
    await eventually(async () => (await world.client.run('s').summary())?.status !== undefined);
    expect(await runsOf('quick')).toEqual([]);
    await world.client.resume('s', { by: 'ana', why: 'done' });
    await until(async () => (await stateOf('s')).missedCount > 50);
    const { startedCount } = await stateOf('s');
    expect(startedCount).toBeGreaterThanOrEqual(2);
    expect(startedCount).toBeLessThanOrEqual(6);
  });

  it('of an input that the workflow does not take is refused, and leaves nothing', async () => {
    world = await testWorld({ workflows: [quick] });
    await expect(world.client.schedules.set(quick, {}, { id: 's', cron: '* * * * *' })).rejects.toMatchObject({
      code: 'input-invalid',
    });
    await expect(world.client.schedules.set(quick, {}, { id: 's', cron: 'x' })).rejects.toMatchObject({
      code: 'schedule-invalid',
    });
    expect(await world.client.run('s').summary()).toBeUndefined();
  });
});
