/** Owns the tests of approvals: people are asked by a form and answer once, even when the workflow's holders die, and in forks. */

import { decodePayload } from '@tidemark/codec';
import { workflowId } from '@tidemark/core';
import { bulkHost } from '@tidemark/runtime';
import { anyOf, approval, defineWorkflow, InvalidError, secret, signal, task, timer } from '@tidemark/sdk';
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

/** Asks how much is refunded; after two days somebody else is asked. */
const refund = defineWorkflow({
  name: 'refund',
  version: 1,
  input: z.object({ cents: z.number() }),
  belief: z.object({}),
  output: z.object({ by: z.string(), cents: z.number().nullable(), why: z.string().nullable() }),
  tasks: { ask: z.object({}), decide: z.object({}) },
  flow: { ask: ['decide'], decide: ['decide'] },
  approvals: { amount: z.object({ cents: z.int().min(1).max(5_000), note: z.string().optional() }) },
  begin: () => ({ belief: {}, next: [task('ask', {})] }),
  steps: {
    ask: ({ input }) => {
      const asked = approval('amount', {
        assignee: 'user:ana',
        title: `Refund ${input.cents} cents?`,
        detail: { cents: input.cents },
      });
      return { next: [task('decide', {}, { when: anyOf(asked, timer('2d')) })] };
    },
    decide: ({ cause }) => {
      if (cause?.kind !== 'approval') {
        return { next: [task('decide', {}, { when: approval('amount', { assignee: 'role:lead' }) })] };
      }
      const cents = cause.approved ? cause.value.cents : null;
      return { done: { by: cause.by, cents, why: cause.why } };
    },
  },
});

const asked = async (world: TestWorld, query = {}) => (await world.client.approvals(query)).approvals;
const waiting = (world: TestWorld) => expect.poll(() => asked(world)).toHaveLength(1);

describe('a task that waits for a person', () => {
  it('is found with its form, and goes on with the answer', async () => {
    const world = await open({ workflows: [refund] });
    const run = await world.start(refund, { cents: 700 });
    await waiting(world);
    const [one] = await asked(world);
    expect(one).toMatchObject({
      workflow: run.id,
      definition: 'refund',
      step: 'decide',
      name: 'amount',
      assignee: 'user:ana',
      title: 'Refund 700 cents?',
      detail: { cents: 700 },
      form: {
        type: 'object',
        properties: { cents: { type: 'integer', minimum: 1, maximum: 5_000 } },
        required: ['cents'],
      },
    });
    const answer = { approved: true, by: 'ana', value: { cents: 500 } };
    expect(await world.client.approve(run.id, one!.task, answer)).toEqual({ changed: true });
    expect(await run.result()).toEqual({ by: 'ana', cents: 500, why: null });
    expect(await asked(world)).toEqual([]);
    expect(await world.client.approve(run.id, one!.task, answer)).toEqual({ changed: false });
    const other = { ...answer, value: { cents: 400 } };
    await expect(world.client.approve(run.id, one!.task, other)).rejects.toMatchObject({ code: 'already-answered' });
    await expect(world.client.approve(run.id, one!.task, { approved: false, by: 'bob' })).rejects.toMatchObject({
      code: 'already-answered',
      details: { by: 'ana', approved: true },
    });
  });

  it('gets the answer also while its holder runs another task', async () => {
    const busy = Promise.withResolvers<void>();
    const both = defineWorkflow({
      ...{ name: 'both', version: 1, input: z.object({}), belief: z.object({ said: z.string() }), output: z.string() },
      tasks: { work: z.object({}), decide: z.object({}), end: z.object({}) },
      flow: { work: [], decide: [], end: [] },
      starts: ['work', 'decide', 'end'],
      approvals: { amount: z.object({ cents: z.int() }) },
      begin: () => {
        const all = [task('work', {}), task('decide', {}, { when: approval('amount') })];
        return { belief: { said: '' }, next: [...all, task('end', {}, { after: all })] };
      },
      steps: {
        work: async () => {
          await busy.promise;
          return {};
        },
        decide: ({ cause }) => {
          const said = cause?.kind === 'approval' && cause.approved ? `${cause.value.cents} by ${cause.by}` : 'nothing';
          return { belief: () => ({ said }) };
        },
        end: ({ belief }) => ({ done: belief.said }),
      },
    });
    const world = await open({ workflows: [both] });
    const run = await world.start(both, {});
    await waiting(world);
    const [one] = await asked(world);
    await world.client.approve(run.id, one!.task, { approved: true, by: 'ana', value: { cents: 5 } });
    await expect.poll(async () => (await run.summary())?.sequence).toBe(1);
    busy.resolve();
    expect(await run.result()).toBe('5 by ana');
  });

  it('is answered with others by a job, with the form’s defaults, unless somebody was first', async () => {
    const asks = defineWorkflow({
      ...{
        name: 'asks',
        version: 1,
        input: z.object({}),
        belief: z.object({}),
        output: z.object({ cents: z.number() }),
      },
      tasks: { ask: z.object({}), decide: z.object({}) },
      flow: { ask: ['decide'], decide: [] },
      approvals: { amount: z.object({ cents: z.int().default(5), note: z.string().optional() }) },
      begin: () => ({ belief: {}, next: [task('ask', {})] }),
      steps: {
        ask: () => ({ next: [task('decide', {}, { when: approval('amount', {}) })] }),
        decide: ({ cause }) => ({
          done: { cents: cause?.kind === 'approval' && cause.approved ? cause.value.cents : 0 },
        }),
      },
    });
    const world = await open({ workflows: [asks] });
    const runs = [];
    for (const id of ['a1', 'a2', 'a3']) runs.push(await world.start(asks, {}, { id }));
    await expect.poll(() => asked(world)).toHaveLength(3);
    await world.client.approve('a2', '1.0', { approved: true, by: 'bob', value: { cents: 7 } });
    const job = { id: 'j', act: 'answer', by: 'ana', why: 'all are fine', signal: null } as const;
    const answer = { approved: true, name: 'amount', names: ['ana'] };
    await world.client.bulk.start({ ...job, filter: { definition: 'asks', status: 'open' }, answer });
    await world.fastForward(expect.poll(async () => (await world.client.bulk.get('j'))?.status).toBe('completed'));
    const results = [];
    for (const run of runs) results.push(await run.result());
    expect(results).toEqual([{ cents: 5 }, { cents: 7 }, { cents: 5 }]);
    const events = await world.ports.store.events('a1' as never, 100);
    const given = events.find(({ type }) => type === 'ApprovalGiven')!;
    expect(decodePayload('ApprovalGiven', given.payload).value).toMatchObject({ value: { cents: 5 } });
    // A worker that died before it could say so does it again.
    const host = bulkHost(world.client, world.ports.store, []);
    const again = { ...job, filter: {}, answer, begunAtMs: 0 };
    await host.act(workflowId('a1'), again, 'k');
    await expect(host.act(workflowId('a1'), { ...again, by: 'bob' }, 'k')).rejects.toMatchObject({ code: 'not-asked' });
    // The same answer is no other one, though it leaves out what the form fills in.
    expect(await world.client.approve('a1', '1.0', { approved: true, by: 'ana' })).toEqual({ changed: false });
    const both = await Promise.allSettled(
      ['ana', 'bob'].map((by) => world.client.approve('a3', '1.0', { approved: false, by })),
    );
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(both[1]).toMatchObject({ reason: { code: 'already-answered', details: { by: 'ana' } } });
  });

  it('takes one of two answers that come at once, and tells the other whose it was', async () => {
    const world = await open({ workflows: [refund] });
    const run = await world.start(refund, { cents: 700 });
    await waiting(world);
    const said = await Promise.allSettled(
      ['ana', 'bob'].map((by) => world.client.approve(run.id, '1.0', { approved: true, by, value: { cents: 5 } })),
    );
    const won = said.findIndex(({ status }) => status === 'fulfilled');
    const { by } = (await run.result()) as { by: string };
    expect(by).toBe(['ana', 'bob'][won]);
    expect(said[1 - won]).toMatchObject({ status: 'rejected', reason: { code: 'already-answered', details: { by } } });
  });

  it('is told why it was rejected', async () => {
    const world = await open({ workflows: [refund] });
    const run = await world.start(refund, { cents: 700 });
    await waiting(world);
    const [one] = await asked(world);
    world.crash({ after: 'LeaseClaimed' });
    await world.client.approve(run.id, one!.task, { approved: false, by: 'ana', why: 'too late' });
    expect(await run.result()).toEqual({ by: 'ana', cents: null, why: 'too late' });
    expect(world.crashCount).toBe(1);
  });

  it('takes no answer that does not fit its form, and none to what is not asked', async () => {
    const world = await open({ workflows: [refund] });
    const run = await world.start(refund, { cents: 700 });
    await waiting(world);
    const [one] = await asked(world);
    const answer = (value: unknown, by = 'ana') =>
      world.client.approve(run.id, one!.task, { approved: true, by, value });
    await expect(answer({ cents: 9_999 })).rejects.toThrow(
      "The value doesn't fit the form: value/cents must be <= 5000.",
    );
    await expect(answer({})).rejects.toThrow("value must have required property 'cents'");
    await expect(answer(undefined)).rejects.toMatchObject({ code: 'approval-unfit' });
    await expect(answer({ cents: 5 }, '')).rejects.toMatchObject({ code: 'by-invalid' });
    const refused = { approved: false, by: 'ana', value: { cents: 5 } };
    await expect(world.client.approve(run.id, one!.task, refused)).rejects.toMatchObject({ code: 'approval-unfit' });
    await expect(world.client.approve(run.id, '9.9', { approved: true, by: 'ana' })).rejects.toMatchObject({
      code: 'not-asked',
    });
    expect(await asked(world)).toHaveLength(1);
  });

  it('is escalated when nobody answers, and found by who is asked, page by page', async () => {
    const world = await open({ workflows: [refund] });
    const runs = [];
    for (const id of ['a', 'b', 'c']) runs.push(await world.start(refund, { cents: 700 }, { id }));
    await expect.poll(() => asked(world)).toHaveLength(3);
    expect(await asked(world, { assignees: ['role:lead'] })).toEqual([]);
    expect(await asked(world, { tenant: 'other' as never })).toEqual([]);
    const first = await world.client.approvals({ assignees: ['user:ana', 'user:bob'], limit: 2 });
    expect(first.approvals).toHaveLength(2);
    const second = await world.client.approvals({ limit: 2, after: first.next! });
    expect([...first.approvals, ...second.approvals].map(({ workflow }) => workflow).sort()).toEqual(['a', 'b', 'c']);
    expect(second.next).toBeNull();
    world.advance('3d');
    await expect.poll(() => asked(world, { assignees: ['role:lead'] })).toHaveLength(3);
    expect(await asked(world, { assignees: ['user:ana'] })).toEqual([]);
  });

  it('asks nobody while its workflow is paused', async () => {
    const world = await open({ workflows: [refund] });
    const run = await world.start(refund, { cents: 700 });
    await waiting(world);
    await world.client.pause(run.id, { by: 'ana', why: 'audit' });
    expect(await asked(world)).toEqual([]);
    await world.client.resume(run.id, { by: 'ana', why: 'over' });
    await waiting(world);
  });

  it('asks the same in a fork', async () => {
    const world = await open({ workflows: [refund] });
    const run = await world.start(refund, { cents: 700 }, { id: 'base' });
    await waiting(world);
    await world.client.fork('base', { at: 1, effects: 'live', by: 'ana', definitions: [refund], id: 'fork' } as never);
    await expect.poll(() => asked(world)).toHaveLength(2);
    const found = (await asked(world)).find(({ workflow }) => workflow === 'fork');
    expect(found).toMatchObject({ title: 'Refund 700 cents?', task: '0.0' });
    await world.client.approve('fork', found!.task, { approved: true, by: 'ana', value: { cents: 5 } });
    expect(await world.client.run('fork').result()).toMatchObject({ cents: 5 });
    expect((await run.summary())?.status).toBe('open');
  });
});

/** Asks for more in each run, until an answer; a signal `more` skips the question. */
const raise = defineWorkflow({
  name: 'raise',
  version: 1,
  input: z.object({ cents: z.number() }),
  belief: z.object({}),
  output: z.object({ cents: z.number() }),
  tasks: { ask: z.object({}), decide: z.object({}) },
  flow: { ask: ['decide'], decide: [] },
  starts: ['ask'],
  signals: { more: z.null() },
  approvals: { pay: z.object({}) },
  begin: () => ({ belief: {}, next: [task('ask', {})] }),
  steps: {
    ask: ({ input }) => ({
      next: [
        task('decide', {}, { when: anyOf(approval('pay', { title: `Pay ${input.cents} cents?` }), signal('more')) }),
      ],
    }),
    decide: ({ cause, input }) =>
      cause?.kind === 'approval' ? { done: input } : { continueAsNew: { cents: input.cents * 1_000 } },
  },
});

it('an answer reaches the history that asked, and none that goes on for it', async () => {
  const world = await open({ workflows: [raise] });
  await world.start(raise, { cents: 5 }, { id: 'r' });
  await waiting(world);
  const [first] = await asked(world);
  await world.client.signal('r', 'more', null);
  await expect.poll(async () => (await asked(world))[0]?.title).toBe('Pay 5000 cents?');
  const [second] = await asked(world);
  expect(second!.task).toBe(first!.task);
  const answer = { approved: true, by: 'ana', value: {} };
  const late = world.client.approve(first!.workflow, first!.task, answer);
  await expect(late).rejects.toMatchObject({ code: 'workflow-closed' });
  await expect(late).rejects.toThrow('It continues as r~2.');
  // Nor does a decision that names no question.
  await expect(
    world.client.decide('r', { resolution: 'retry', by: 'ana', why: 'a test' } as never),
  ).rejects.toMatchObject({ code: 'workflow-closed' });
  expect(await asked(world)).toHaveLength(1);
  await world.client.approve(second!.workflow, second!.task, answer);
  expect(await world.client.run('r').result()).toEqual({ cents: 5_000 });
});

it('a form that asks for a secret is refused', () => {
  const define = () =>
    defineWorkflow({
      ...{ name: 'bad', version: 1, input: z.object({}), belief: z.object({}), output: z.object({}) },
      tasks: { ask: z.object({}) },
      flow: { ask: [] },
      approvals: { card: z.object({ number: secret(z.string()) }), when: z.object({ at: z.date() }) },
      begin: () => ({ belief: {}, next: [task('ask', {})] }),
      steps: { ask: () => ({ done: {} }) },
    });
  expect(define).toThrow(InvalidError);
  expect(define).toThrow(/approvals.card has a secret field/);
});
