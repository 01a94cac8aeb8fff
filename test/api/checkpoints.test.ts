/** What a checkpoint says of itself over HTTP: what became of it later, and which memory held what right after it. */

import { connect } from '@tidemark/client';
import { defineEffect, defineWorkflow, task, unknown } from '@tidemark/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Served, sayingAuthenticator, serveApi } from './served.ts';

const book = defineEffect({
  operation: 'book',
  kind: 'idempotent',
  request: z.object({ at: z.number() }),
  response: z.object({ at: z.number() }),
  call: async ({ at }) => ({ at }),
  compensate: async () => {},
});
const tell = defineEffect({
  operation: 'tell',
  kind: 'idempotent',
  request: z.object({}),
  response: z.object({}),
  call: async () => ({}),
});

/** Books, corrects its first checkpoint, tells, and fails. */
const trip = defineWorkflow({
  name: 'trip',
  version: 1,
  input: z.object({ ends: z.enum(['well', 'badly']) }),
  belief: z.object({}),
  output: z.object({}),
  tasks: { first: z.object({}), better: z.object({}), inform: z.object({}), end: z.object({}) },
  flow: { first: ['better'], better: ['inform'], inform: ['end'], end: [] },
  effects: [book, tell],
  onFailure: 'compensate',
  begin: () => ({ belief: {}, next: [task('first', {})] }),
  steps: {
    async first(ctx) {
      await ctx.effect(book, { at: 1 });
      return { next: [task('better', {})] };
    },
    async better(ctx) {
      await ctx.effect(book, { at: 2 });
      return { next: [task('inform', {})], supersedes: 1 };
    },
    async inform(ctx) {
      await ctx.effect(tell, {});
      return { next: [task('end', {})] };
    },
    end(ctx) {
      if (ctx.input.ends === 'badly') throw new Error('the ferry is gone');
      return { done: {} };
    },
  },
  retry: { attempts: 1 },
});

/** Three phases, with something left behind at each hand-over. */
const essay = defineWorkflow({
  name: 'essay',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({ keys: z.array(z.string()) }),
  system: 'You write.',
  tasks: { gather: z.object({}), sketch: z.object({}), write: z.object({}), end: z.object({}) },
  flow: { gather: ['sketch'], sketch: ['write'], write: ['end'], end: [] },
  phases: {
    research: { next: ['outline'], budgetTokens: 500 },
    outline: { next: ['text'], budgetTokens: 300 },
    text: {},
  },
  begin: () => ({ belief: {}, next: [task('gather', {})] }),
  steps: {
    gather: () => ({ memory: { notes: 'moon', scratch: 'a dead end' }, next: [task('sketch', {})] }),
    sketch: () => ({
      handOver: { to: 'outline', carry: ['notes'], with: { style: 'short' }, summary: 'Two causes.' },
      next: [task('write', {})],
    }),
    write: () => ({
      memory: { title: 'Tides' },
      next: [task('end', {})],
      handOver: { to: 'text', carry: ['title', 'style'], summary: 'A title.' },
    }),
    end: (ctx) => ({ done: { keys: [...ctx.memory.keys] } }),
  },
});

const wire = (operation: string) =>
  defineEffect({
    operation,
    kind: 'irreversible',
    request: z.object({}),
    response: z.object({}),
    call: async () => ({}),
    probe: () => unknown(),
  });
const [pay, post] = [wire('pay'), wire('post')];

/** Two effects that can't be taken back, in one step or in two. */
const hasty = defineWorkflow({
  name: 'hasty',
  version: 1,
  input: z.object({ together: z.boolean() }),
  belief: z.object({}),
  output: z.object({}),
  tasks: { pay: z.object({}), post: z.object({}) },
  flow: { pay: ['post'], post: [] },
  effects: [pay, post],
  begin: () => ({ belief: {}, next: [task('pay', {})] }),
  steps: {
    async pay(ctx) {
      await ctx.effect(pay, {});
      if (ctx.input.together) await ctx.effect(post, {});
      return { next: [task('post', {})] };
    },
    async post(ctx) {
      if (!ctx.input.together) await ctx.effect(post, {});
      return { done: {} };
    },
  },
});

let served: Served;
beforeAll(async () => {
  served = await serveApi({ authenticator: sayingAuthenticator, definitions: [trip, essay, hasty] });
});
afterAll(() => served.close());

const as = (token: string) => connect({ url: served.url, token });
const client = () => as('admin');

async function ended(name: string, input: object, id: string): Promise<void> {
  await client().start(name, input, { id });
  await client()
    .run(id)
    .result()
    .catch(() => {});
}

describe('the status of a checkpoint', () => {
  const statusesOf = async (id: string) =>
    (await client().run(id).checkpoints()).checkpoints.map(({ status }) => status);

  it('is superseded where a later one corrects it, in the listing and wherever it is read', async () => {
    await ended('trip', { ends: 'well' }, 'good');
    expect(await statusesOf('good')).toEqual(['superseded', 'committed', 'committed', 'committed']);
    const { checkpoints } = await client().run('good').checkpoints({ limit: 2 });
    expect(checkpoints).toMatchObject([
      { supersedes: null, superseded_by: 2 },
      { supersedes: 1, superseded_by: null },
    ]);
    const [there, now] = [await client().run('good').at(1), await client().run('good').get()];
    expect(there.last_checkpoint).toMatchObject({ status: 'superseded', superseded_by: 2 });
    expect(now.last_checkpoint).toMatchObject({ sequence_number: 4, status: 'committed' });
  });

  it('is compensated where the undo has undone what it did; what stays done is committed', async () => {
    await ended('trip', { ends: 'badly' }, 'bad');
    expect(await client().run('bad').get({ content: false })).toMatchObject({ status: 'compensated' });
    expect(await statusesOf('bad')).toEqual(['compensated', 'compensated', 'committed']);
    expect((await client().run('bad').at(2)).last_checkpoint).toMatchObject({ status: 'compensated' });
    // An undo has checkpoints of its own, and nothing undoes those.
    expect(new Set(await statusesOf('bad~undo'))).toEqual(new Set(['committed']));
  });
});

it('warns in its log of several irreversible effects in one step, and not of one in each', async () => {
  const warningsOf = async (together: boolean, id: string) => {
    await ended('hasty', { together }, id);
    return (await client().run(id).checkpoints()).checkpoints.map(({ log = [] }) =>
      log.flatMap(({ action, detail }) => (action === 'warning' ? (detail as { code: string }).code : [])),
    );
  };
  expect(await warningsOf(true, 'hasty-1')).toEqual([['irreversible-together'], []]);
  expect(await warningsOf(false, 'hasty-2')).toEqual([[], []]);
});

describe('memory_scope_snapshot', () => {
  const scopes = (phase: string, keys: readonly string[], budget: number, length: number) => ({
    system_context: { keys: ['system'] },
    working_memory: { phase, keys, tokens: expect.any(Number), budget_tokens: budget },
    trace: { length },
  });
  const EXPECTED = [
    scopes('research', [], 500, 0),
    scopes('research', ['notes', 'scratch'], 500, 1),
    scopes('outline', ['notes', 'style'], 300, 2),
    scopes('text', ['style', 'title'], 4_000, 3),
    scopes('text', ['style', 'title'], 4_000, 4),
  ];

  it('says at each sequence which scope held what, the same in the listing from wherever it begins', async () => {
    await ended('essay', {}, 'e1');
    const run = client().run('e1');
    const at = await Promise.all(EXPECTED.map(async (_, sequence) => (await run.at(sequence)).memory_scope_snapshot));
    expect(at).toEqual(EXPECTED);
    expect(at.map(({ working_memory: { tokens } }) => tokens! > 0)).toEqual([false, true, true, true, true]);
    for (const from of [1, 2, 3, 4]) {
      const { checkpoints } = await run.checkpoints({ from });
      expect(checkpoints.map(({ memory_scope_snapshot }) => memory_scope_snapshot)).toEqual(at.slice(from));
    }
    const now = await run.get();
    expect(now.memory_scope_snapshot).toEqual(at[4]);
    expect(now.working_memory).toEqual({ title: 'Tides', style: 'short' });
    expect((await run.at(1)).working_memory).toEqual({ notes: 'moon', scratch: 'a dead end' });
  });

  it('of a fork goes on from what it shares', async () => {
    await ended('essay', {}, 'e2');
    await client().ask('POST /v1/workflows/{workflow}/forks', {
      params: { workflow: 'e2' },
      body: { at: 2, effects: 'replay', id: 'e2-fork' },
    });
    await client().run('e2-fork').result();
    const run = client().run('e2-fork');
    expect((await run.at(0)).memory_scope_snapshot).toEqual(EXPECTED[2]);
    const { checkpoints } = await run.checkpoints();
    expect(checkpoints.map(({ memory_scope_snapshot }) => memory_scope_snapshot)).toEqual(EXPECTED.slice(3));
  });

  it('has names for everybody who may read, and contents for who may see them', async () => {
    await ended('essay', {}, 'e3');
    const seen = await as('viewer').run('e3').at(1);
    expect(seen.memory_scope_snapshot).toEqual(EXPECTED[1]);
    expect(seen.working_memory).toBeUndefined();
    expect(JSON.stringify(seen)).not.toMatch(/moon|dead end/);
  });
});

describe('hand-overs between phases', () => {
  const handovers = (query: object = {}, by = client()) =>
    by.ask('GET /v1/workflows/{workflow}/handovers', { params: { workflow: 'e4' }, query });

  it('are listed newest first, page by page, with the keys that came, went and stayed', async () => {
    await ended('essay', {}, 'e4');
    const all = await handovers();
    const made = { at: expect.stringMatching(/Z$/), system_context_version: 1 };
    expect(all).toEqual({
      handovers: [
        {
          ...made,
          ...{ sequence_number: 3, from_phase: 'outline', to_phase: 'text', summary: 'A title.' },
          ...{ carried_keys: ['style', 'title'], left_keys: ['notes'] },
          ...{ against: 2, added_keys: ['title'], removed_keys: ['notes'], kept_keys: ['style'] },
        },
        {
          ...made,
          ...{ sequence_number: 2, from_phase: 'research', to_phase: 'outline', summary: 'Two causes.' },
          ...{ carried_keys: ['notes', 'style'], left_keys: ['scratch'] },
          ...{ against: null, added_keys: ['notes', 'style'], removed_keys: [], kept_keys: [] },
        },
      ],
      next_before: null,
    });
    const first = await handovers({ limit: 1 });
    expect(first).toEqual({ handovers: all.handovers.slice(0, 1), next_before: 3 });
    expect(await handovers({ limit: 1, before: first.next_before })).toEqual({
      handovers: all.handovers.slice(1),
      next_before: null,
    });
  });

  it('are compared with any other; what is no hand-over is refused', async () => {
    const { handovers: found } = await handovers({ before: 3, against: 3 });
    expect(found).toMatchObject([{ against: 3, added_keys: ['notes'], removed_keys: ['title'], kept_keys: ['style'] }]);
    await expect(handovers({ against: 1 })).rejects.toMatchObject({ status: 404, code: 'handover-unknown' });
    const { handovers: shown } = await handovers({}, as('viewer'));
    expect(shown.map(({ summary }) => summary)).toEqual([undefined, undefined]);
  });
});
