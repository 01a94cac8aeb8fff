/**
 * Owns the tests of bulk jobs: each workflow that the filter finds gets the request once, even over crashes; refusals are counted; progress
 * is visible.
 */

import type { WorkflowSearch } from '@tidemark/ports';
import { bulkHost } from '@tidemark/runtime';
import { defineWorkflow, signal, task } from '@tidemark/sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { type TestWorld, testWorld } from './test-world.ts';

const patient = defineWorkflow({
  name: 'patient',
  version: 1,
  input: z.object({}),
  belief: z.object({ heard: z.int() }),
  output: z.object({}),
  signals: { go: z.string() },
  tasks: { listen: z.object({}) },
  flow: { listen: ['listen'] },
  starts: ['listen'],
  begin: () => ({ belief: { heard: 0 }, next: [task('listen', {}, { when: signal('go') })] }),
  steps: {
    listen: (ctx) => ({
      belief: () => ({ heard: ctx.belief.heard + 1 }),
      next: [task('listen', {}, { when: signal('go') })],
    }),
  },
});

let world: TestWorld;
beforeEach(async () => {
  world = await testWorld({ workflows: [patient] });
});
afterEach(() => world.close());

const COUNT = 230;
const everything = { by: 'ana', why: 'a test', signal: null } as const;
async function startMany(tags: readonly string[]): Promise<void> {
  await Promise.all(Array.from({ length: COUNT }, (_, n) => world.start(patient, {}, { id: `w-${n}`, tags })));
  await eventually(
    async () => (await world.ports.store.workflows({ definition: 'patient', limit: 500 })).length === COUNT,
  );
}
/** Whether a bulk job asks: others search too, at the same time. */
const isOfJob = ({ openedToMs }: WorkflowSearch) => openedToMs !== undefined;
const ended = async (id: string) => {
  await world.fastForward(
    eventually(async () => (await world.client.bulk.get(id))?.status === 'completed', { timeoutMs: 60_000 }),
  );
  return (await world.client.bulk.get(id))!;
};

describe('a bulk job', () => {
  it('asks each workflow that its filter finds, once, also when its worker dies in the middle', async () => {
    await startMany(['old']);
    await world.start(patient, {}, { id: 'other' });
    world.crash({ after: 'CheckpointCommitted' });
    const filter = { definition: 'patient', tags: ['old'] };
    const go = { ...everything, act: 'signal', filter, signal: { name: 'go', value: 'x' } } as const;
    expect(await world.client.bulk.start({ ...go, id: 'j1' })).toEqual({ id: 'j1', created: true });
    expect(await world.client.bulk.start({ ...go, id: 'j1' })).toEqual({ id: 'j1', created: false });
    expect(await ended('j1')).toMatchObject({ act: 'signal', by: 'ana', doneCount: COUNT, refusedCount: 0 });
    expect(world.crashCount).toBe(1);
    await eventually(async () => {
      const rows = await world.ports.store.workflows({ definition: 'patient', limit: 500 });
      return rows.filter(({ sequence }) => sequence === 1).length === COUNT;
    });
    expect((await world.client.run('other').summary())?.sequence).toBe(0);
  }, 120_000);

  it('counts those that refuse, and says why', async () => {
    for (const id of ['a', 'b', 'c']) await world.start(patient, {}, { id });
    await eventually(async () => (await world.client.run('c').summary()) !== undefined);
    await world.client.terminate('b', { by: 'ana', why: 'a test' });
    await world.client.bulk.start({ ...everything, id: 'j2', act: 'pause', filter: { definition: 'patient' } });
    const job = await ended('j2');
    expect(job).toMatchObject({ doneCount: 2, refusedCount: 1 });
    expect(job.refused).toEqual([expect.objectContaining({ workflow: 'b', code: 'workflow-closed' })]);
    expect((await world.client.bulk.list({ limit: 10 })).map(({ id }) => id)).toEqual(['j2']);
    expect(await world.client.bulk.get('nobody')).toBeUndefined();
  }, 120_000);

  it('is its tenant’s: one of the same id is in nobody’s way', async () => {
    const pause = { ...everything, act: 'pause', filter: { definition: 'patient' } } as const;
    const [acme, globex] = ['acme', 'globex'] as unknown as readonly [never, never];
    const start = (tenant: never) => world.client.bulk.start({ ...pause, id: 'nightly', tenant });
    expect(await start(acme)).toEqual({ id: 'nightly', created: true });
    await eventually(async () => (await world.client.bulk.get('nightly'))?.tenant === acme);
    expect(await start(globex)).toEqual({ id: 'nightly', created: true });
    expect(await start(globex)).toEqual({ id: 'nightly', created: false });
    await eventually(async () => (await world.client.bulk.get('nightly', globex))?.tenant === globex);
    expect(await world.client.bulk.get('nightly', acme)).toMatchObject({ id: 'nightly', tenant: acme });
    expect(await world.client.bulk.get('nightly', 'other' as never)).toBeUndefined();
    await expect(world.client.bulk.get('nightly')).rejects.toMatchObject({ code: 'job-ambiguous' });

    await expect(world.start(patient, {}, { id: 'job:mine' })).rejects.toMatchObject({ code: 'workflow-id-reserved' });
  }, 120_000);

  it('leaves out what is opened after it was asked, and schedules that it does not name', async () => {
    await world.start(patient, {}, { id: 'early' });
    await world.client.schedules.set(patient, {}, { id: 'yearly', cron: '0 0 1 1 *' });
    await eventually(async () => (await world.client.run('yearly').summary()) !== undefined);
    world.advance('1s');
    expect(await world.client.bulk.count({}, 10)).toMatchObject({ count: 1, statuses: { open: 1 }, some: ['early'] });
    const counted = await world.client.bulk.count({ definition: 'patient~schedule' }, 10);
    expect(counted).toMatchObject({ count: 1, hasMore: false, some: ['yearly'] });
    let isLate = false;
    const { store } = world.ports;
    const search = store.search.bind(store);
    store.search = async (query) => {
      if (isOfJob(query)) {
        if (!isLate) await world.start(patient, {}, { id: 'late' });
        isLate = true;
        await eventually(async () => (await world.client.run('late').summary()) !== undefined);
      }
      return search(query);
    };
    await world.client.bulk.start({ ...everything, id: 'j3', act: 'terminate', filter: {}, everything: true });
    expect(await ended('j3')).toMatchObject({ doneCount: 1, refusedCount: 0 });
    expect(await world.client.run('late').summary()).toMatchObject({ status: 'open' });
    expect(await world.client.run('yearly').summary()).toMatchObject({ status: 'open' });
    const named = { definition: 'patient~schedule' };
    await world.client.bulk.start({ ...everything, id: 'j4', act: 'terminate', filter: named });
    expect(await ended('j4')).toMatchObject({ doneCount: 1, refusedCount: 0 });
  }, 120_000);

  it.each([
    ['an unknown act', { act: 'forget' }, 'act-invalid'],
    ['a signal of another act', { signal: { name: 'go', value: 1 } }, 'signal-invalid'],
    ['the system’s own', { filter: { definition: 'tidemark.audit' } }, 'definition-unknown'],
    ['no reason', { why: ' ' }, 'why-invalid'],
    ['no filter', {}, 'filter-missing'],
    ['a tenant alone', { filter: { tenant: 'acme' } }, 'filter-missing'],
    ['no tag', { filter: { tags: [] } }, 'filter-missing'],
    ['a text without words', { filter: { text: ' -!' } }, 'filter-missing'],
    ['nothing but what is absent', { filter: { definition: undefined } }, 'filter-missing'],
  ])('with %s is refused', async (_, fields, code) => {
    const request = { ...everything, id: 'j', act: 'pause', filter: {}, ...fields } as never;
    await expect(world.client.bulk.start(request)).rejects.toMatchObject({ name: 'InvalidError', code });
  });
});

describe('a bulk job that answers questions', () => {
  const retry = { ...everything, act: 'retry', filter: { definition: 'patient' } } as const;
  const question = async () => (await world.client.run('w').summary())?.question?.id;
  const asksOther = (than: string | undefined) =>
    eventually(async () => {
      const id = await question();
      return id === undefined || id === than ? undefined : id;
    });
  /** Asks about invalid parameters, and again after each retry. */
  async function asking(): Promise<string> {
    await world.start(patient, {}, { id: 'w' });
    await world.client.signal('w', 'go', 7);
    const first = await asksOther(undefined);
    world.advance('1s');
    return first;
  }
  const answers = async () =>
    (await world.ports.store.events('w' as never, 100)).filter(({ type }) => type === 'ApprovalDecided').length;

  it('leaves a question alone that was asked after it was begun', async () => {
    const first = await asking();
    const { store } = world.ports;
    const search = store.search.bind(store);
    store.search = async (query) => {
      if (isOfJob(query) && (await question()) === first) {
        world.advance('1s');
        await world.client.decide('w', { resolution: 'retry', by: 'bo', why: 'once more' });
      }
      if (isOfJob(query)) await asksOther(first);
      return search(query);
    };
    await world.client.bulk.start({ ...retry, id: 'j1' });
    expect(await ended('j1')).toMatchObject({
      doneCount: 0,
      refused: [{ workflow: 'w', code: 'already-decided' }],
    });
    expect(await answers()).toBe(1);

    world.advance('1s');
    await world.client.bulk.start({ ...retry, id: 'j2' });
    expect(await ended('j2')).toMatchObject({ doneCount: 1, refusedCount: 0 });
    expect(await answers()).toBe(2);
  }, 120_000);

  it('would answer that one too, were it not for when it was begun (the control)', async () => {
    const first = await asking();
    const host = bulkHost(world.client, world.ports.store, []);
    await world.client.decide('w', { resolution: 'retry', by: 'bo', why: 'once more' });
    const second = await asksOther(first);
    await host.act('w' as never, { ...retry, begunAtMs: world.ports.clock.nowMs() }, 'k');
    await asksOther(second);
    expect(await answers()).toBe(2);
  });

  it('answers once, also when its worker dies before the page is done', async () => {
    await asking();
    world.crash({ before: 'CheckpointCommitted' });
    await world.client.bulk.start({ ...retry, id: 'j3' });
    expect(await ended('j3')).toMatchObject({ doneCount: 1, refusedCount: 0 });
    expect(world.crashCount).toBe(1);
    expect(await answers()).toBe(1);
  }, 120_000);
});
