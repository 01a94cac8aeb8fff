/** A long history over HTTP, page by page: each page is told whole, and brings no more texts from the rows than it tells. */

import { createApi } from '@tidemark/api';
import { connect } from '@tidemark/client';
import type { ProjectionStore } from '@tidemark/ports';
import { defineEffect, defineWorkflow, task, unknown } from '@tidemark/sdk';
import { testModel } from '@tidemark/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Served, sayingAuthenticator, serveApi } from './served.ts';

const STEPS_COUNT = 12;

const look = defineEffect({
  operation: 'look.up',
  kind: 'idempotent',
  request: z.object({ at: z.number() }),
  response: z.object({ found: z.number() }),
  call: async ({ at }) => ({ found: at }),
});

/** Looks something up and asks a model, in each of its steps. */
const walk = defineWorkflow({
  name: 'walk',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  tasks: { go: z.object({ at: z.number() }) },
  flow: { go: ['go'] },
  effects: [look],
  models: { default: testModel(() => 'Go on.') },
  begin: () => ({ belief: {}, next: [task('go', { at: 1 })] }),
  steps: {
    async go(ctx, { at }) {
      await ctx.effect(look, { at });
      await ctx.model({ prompt: `Where from ${at}?` });
      return at === STEPS_COUNT ? { done: {} } : { next: [task('go', { at: at + 1 })] };
    },
  },
});

/** Nobody ever learns whether it happened. */
const wire = defineEffect({
  operation: 'bank.wire',
  kind: 'irreversible',
  request: z.object({}),
  response: z.object({}),
  call: () => {
    throw new Error('the line went dead');
  },
  probe: () => unknown(),
  retry: { attempts: 1 },
});

/** Asks a person, and hears signals that nobody waits for. */
const stuck = defineWorkflow({
  name: 'stuck',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  signals: { note: z.number() },
  tasks: { pay: z.object({}) },
  flow: { pay: [] },
  effects: [wire],
  begin: () => ({ belief: {}, next: [task('pay', {})] }),
  steps: {
    async pay(ctx) {
      await ctx.effect(wire, {});
      return { done: {} };
    },
  },
});

let served: Served;
/** Rows with texts that the API read. */
let textCount = 0;
let app: Awaited<ReturnType<typeof createApi>>;
let url: string;
beforeAll(async () => {
  served = await serveApi({ authenticator: sayingAuthenticator, definitions: [walk, stuck] });
  const { ports, client } = served.host;
  app = await createApi({
    place: { ports: { ...ports, store: counting(ports.store) }, client },
    ...{ definitions: [walk, stuck], authenticator: sayingAuthenticator, checksAnswers: true },
  });
  url = await app.listen({ host: '127.0.0.1', port: 0 });
  await connect({ url, token: 'admin' }).start('walk', {}, { id: 'w' });
  await run().result();
});
afterAll(async () => {
  await app.close();
  await served.close();
});

const run = () => connect({ url, token: 'admin' }).run('w');

function counting(store: ProjectionStore): ProjectionStore {
  const counted = ['effects', 'effectPage', 'checkpoints', 'events'] as const;
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return async (...given: unknown[]) => {
        const found: unknown = await member.apply(target, given);
        if (counted.some((one) => one === name)) textCount += (found as readonly unknown[]).length;
        return found;
      };
    },
  });
}

async function readingAtMost<T>(count: number, read: () => Promise<T>): Promise<T> {
  textCount = 0;
  const found = await read();
  expect(textCount).toBeLessThanOrEqual(count);
  return found;
}

describe('a page of checkpoints', () => {
  it('has the effects of each, and reads no payload of theirs', async () => {
    const all = await run().checkpoints({ limit: 500 });
    expect(all.checkpoints).toHaveLength(STEPS_COUNT);
    for (const { task: of, effect_log } of all.checkpoints) {
      expect(effect_log).toMatchObject([
        { operation: 'look.up', status: 'done', idempotency_key: `w:${of}:look.up:0` },
        { operation: 'model', status: 'done' },
      ]);
    }
    const one = await readingAtMost(1, () => run().checkpoints({ from: 7, limit: 1 }));
    expect(one).toEqual({ uncommitted: [], checkpoints: [all.checkpoints[6]], next_from: 8 });
  });
});

describe('effects', () => {
  const keysOf = ({ effects }: { readonly effects: readonly { readonly idempotency_key: string }[] }) =>
    effects.map(({ idempotency_key }) => idempotency_key);

  it('are told page by page, each once, in the order of their tasks', async () => {
    const all = keysOf(await run().effects({ limit: 500 }));
    expect(all).toHaveLength(2 * STEPS_COUNT);
    expect(all.slice(0, 3)).toEqual(['w:0.0:look.up:0', 'w:0.0:model:0', 'w:1.0:look.up:0']);
    expect(all.at(-1)).toBe(`w:${STEPS_COUNT - 1}.0:model:0`);
    const found: string[] = [];
    for (let after: string | null = null; ; ) {
      const page: Awaited<ReturnType<ReturnType<typeof run>['effects']>> = await readingAtMost(6, () =>
        run().effects({ limit: 5, ...(after !== null && { after }) }),
      );
      found.push(...keysOf(page));
      after = page.next_after;
      if (after === null) break;
    }
    expect(found).toEqual(all);
  });

  it('are those of a task, or one by its key, where that is asked for', async () => {
    expect(keysOf(await run().effects({ task: '10.0' }))).toEqual(['w:10.0:look.up:0', 'w:10.0:model:0']);
    const one = await readingAtMost(1, () => run().effects({ key: 'w:10.0:look.up:0' }));
    expect(one).toMatchObject({ effects: [{ response: { found: 11 } }], next_after: null });
    expect(keysOf(await run().effects({ key: 'w:10.0:look.up:1' }))).toEqual([]);
  });

  it('after one that is not there are refused, and the field is named', async () => {
    const asked = await fetch(`${url}/v1/workflows/w/effects?after=w%3A0.0%3Alook.up%3A9`, {
      headers: { authorization: 'Bearer admin' },
    });
    expect(asked.status).toBe(400);
    expect(await asked.json()).toMatchObject({ code: 'request-invalid', fields: [{ field: 'query.after' }] });
  });
});

it('the places of model calls are told page by page, and no text is read for them', async () => {
  const ask = (query: { readonly limit: number; readonly cursor?: string }) =>
    readingAtMost(0, () =>
      connect({ url, token: 'admin' }).ask('GET /v1/workflows/{workflow}/calls', { params: { workflow: 'w' }, query }),
    );
  const places: { readonly at: number; readonly task: string }[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: Awaited<ReturnType<typeof ask>> = await ask({ limit: 5, ...(cursor !== null && { cursor }) });
    places.push(...page.calls);
    cursor = page.next_cursor;
    if (cursor === null) break;
  }
  expect(places.map(({ at, task: of }) => [at, of])).toEqual(
    Array.from({ length: STEPS_COUNT }, (_, n) => [n + 1, `${n}.0`]),
  );
  await expect(ask({ limit: 5, cursor: 'bm8' })).rejects.toMatchObject({ status: 400, code: 'cursor-invalid' });
});

it('what a workflow asks is told from the one event that asks it, however much came since', async () => {
  const client = connect({ url, token: 'admin' });
  const asks = await client.start('stuck', {}, { id: 'asks' });
  await expect.poll(async () => (await asks.get()).status).toBe('parked');
  for (let note = 0; note < 8; note++) await asks.signal('note', note);
  await expect.poll(async () => (await asks.notes()).events.length).toBeGreaterThan(8);
  const question = { code: 'effect-unknown', message: expect.stringContaining('bank.wire') };
  const { questions } = await readingAtMost(1, () => client.ask('GET /v1/questions', { query: {} }));
  expect(questions).toMatchObject([{ workflow: { workflow: 'asks' }, question }]);
  expect(await asks.get()).toMatchObject({ question });
});
