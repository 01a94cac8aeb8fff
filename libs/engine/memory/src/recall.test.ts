/**
 * Owns the tests of recall over the simulated store: with an embedder, without one, and with one that fails; also of the indexer,
 * preferences and facts.
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { Lamport, Position, TenantId, WorkflowId } from '@tidemark/core';
import type { MemoryRow } from '@tidemark/ports';
import { SimulatedStore } from '@tidemark/testkit/engine/simulated-store';
import { describe, expect, test } from 'vitest';
import type { Embedder } from './embedder.ts';
import { factsAbout } from './facts.ts';
import { memoryIndexer } from './indexer.ts';
import type { MemoryWrite, MemoryWriter } from './memory-writer.ts';
import { domainSubject, type RecallOptions, rankFacts, recall, tenantSubject, userSubject } from './recall.ts';
import { userState } from './user-state.ts';

const tenant = 'acme' as TenantId;

/** Stands for the log: each write is later than the one before. */
class Backend implements MemoryWriter {
  readonly store = new SimulatedStore().memory;
  #lamport = 0;

  async write(entries: readonly MemoryWrite[]): Promise<void> {
    this.#lamport += 1;
    const at = { workflow: 'w' as WorkflowId, position: 1 as Position, lamport: this.#lamport as Lamport };
    this.store.put(entries.map((entry, ordinal): MemoryRow => ({ ...entry, ...at, ordinal, atMs: this.#lamport })));
  }

  async remember(key: string, words: string, user = 'ana'): Promise<void> {
    const value = JSON.stringify({ words });
    const subject = userSubject(user);
    await this.write([{ tenant, subject, kind: 'summary', key, value, words, source: 's', isForgotten: false }]);
  }
}

/** Two dimensions: how much a text is about money, and about travel. */
const meanings: Embedder = {
  model: 'two-meanings',
  dimension: 2,
  async embed(texts) {
    const count = (text: string, words: RegExp): number => text.match(words)?.length ?? 0;
    return texts.map((text) =>
      Float32Array.of(count(text, /invoice|bill|refund|pay/g) + 0.01, count(text, /trip|train|flight|journey/g)),
    );
  },
};

const failing = (error: unknown): Embedder => ({
  ...meanings,
  async embed() {
    throw error;
  },
});

async function filled(): Promise<Backend> {
  const backend = new Backend();
  await backend.remember('money', 'refund of an invoice');
  await backend.remember('travel', 'a trip by train');
  await backend.remember('bens', 'the journey of ben', 'ben');
  await memoryIndexer({ store: backend.store, embedder: meanings }).run();
  return backend;
}

const asked = (backend: Backend, part: Partial<RecallOptions>): RecallOptions => ({
  store: backend.store,
  embedder: meanings,
  tenant,
  subjects: [userSubject('ana')],
  query: 'journey',
  ...part,
});

const keysOf = async (options: RecallOptions): Promise<readonly string[]> =>
  (await recall(options)).entries.map(({ memory }) => memory.key);

describe('recall', () => {
  test('finds by meaning what shares no word with the query, and says so', async () => {
    const found = await recall(asked(await filled(), {}));
    expect(found.by).toBe('words+meaning');
    expect(found.entries[0]?.memory.key).toBe('travel');
    expect(found).not.toHaveProperty('warning');
  });

  test('without an embedder decides by words alone, and says so', async () => {
    const backend = await filled();
    expect(await recall(asked(backend, { embedder: null }))).toMatchObject({
      ...{ entries: [], by: 'words' },
      warning: { code: 'no-embedder', message: expect.stringContaining('install-embedder') },
    });
    expect(await keysOf(asked(backend, { embedder: null, query: 'an invoice' }))).toContain('money');
  });

  test.each([
    ['throws', failing(new Error('quota used up')), /quota used up/],
    [
      'throws at once',
      {
        ...meanings,
        embed: () => {
          throw new Error('no model');
        },
      },
      /no model/,
    ],
    ['never answers', { ...meanings, embed: () => new Promise<never>(() => {}) }, /no answer within 20 ms/],
    ['answers with nothing', { ...meanings, embed: async () => [] }, /no vector/],
    ['answers with what is no number', { ...meanings, embed: async () => [Float32Array.of(Number.NaN)] }, /no vector/],
  ] as const)('goes on by words when the embedder %s, with a warning', async (_, embedder, message) => {
    const found = await recall(asked(await filled(), { embedder, query: 'train', embedTimeoutMs: 20 }));
    expect(found.by).toBe('words');
    expect(found.warning).toMatchObject({ code: 'embedding-failed', message: expect.stringMatching(message) });
    expect(found.entries.map(({ memory }) => memory.key)).toEqual(['travel']);
  });

  test("rejects with the caller's own reason when that is aborted", async () => {
    const reason = new Error('the step is over');
    await expect(recall(asked(await filled(), { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
  });

  test("answers at most as many as asked for, and nobody else's (I9)", async () => {
    const backend = await filled();
    expect(await keysOf(asked(backend, { limit: 1 }))).toEqual(['travel']);
    expect(await keysOf(asked(backend, { subjects: [userSubject('ben')] }))).toEqual(['bens']);
    expect(await keysOf(asked(backend, { tenant: 'other' as TenantId }))).toEqual([]);
  });
});

describe('facts about several subjects', () => {
  const remember = (backend: Backend, subject: string, text: string) =>
    factsAbout(subject, backend.store, backend, tenant).remember(text, { source: 's' });

  test('are compared with each other, and no other subject is looked at', async () => {
    const backend = new Backend();
    await remember(backend, userSubject('ana'), 'Ana pays by invoice');
    await remember(backend, domainSubject('billing'), 'an invoice is due in 30 days');
    await remember(backend, tenantSubject(tenant), 'every invoice is in euros');
    await remember(backend, userSubject('ben'), 'an invoice of ben');
    const subjects = [userSubject('ana'), domainSubject('billing'), tenantSubject(tenant)];
    const { entries } = await recall(
      asked(backend, { subjects, query: 'an invoice is due', kinds: ['fact'], embedder: null }),
    );
    expect(entries.map(({ memory }) => memory.subject)).toEqual(['domain:billing', 'tenant:acme', 'user:ana']);
  });

  const DAY_MS = 86_400_000;
  const fact = (key: string, atMs: number): MemoryRow =>
    ({ subject: 'user:ana', key, atMs, lamport: atMs, workflow: 'w', position: 1, ordinal: 0 }) as never;
  const fitting = (memory: MemoryRow, score: number) => ({ memory, score, wordsScore: score, similarity: null });

  test('are told by how well they fit, and by age where they fit alike', () => {
    const old = fact('old', 0);
    const rows = [fact('new', 100 * DAY_MS), fact('newer', 101 * DAY_MS)];
    const keys = (...of: Parameters<typeof rankFacts>) => rankFacts(...of).map(({ key }) => key);
    expect(keys([fitting(old, 0.2)], rows)).toEqual(['old', 'newer', 'new']);
    expect(keys([fitting(old, 0.2), fitting(rows[0]!, 0.19)], rows)).toEqual(['new', 'old', 'newer']);
    expect(keys([], [old, ...rows])).toEqual(['newer', 'new', 'old']);
    expect(keys([], [])).toEqual([]);
  });
});

describe('the indexer', () => {
  test('embeds what has no embedding, batch by batch, and finds nothing to do afterwards', async () => {
    const backend = new Backend();
    for (let n = 0; n < 7; n += 1) await backend.remember(`k${n}`, `trip ${n}`);
    const batches: number[] = [];
    const counting: Embedder = {
      ...meanings,
      embed(texts) {
        batches.push(texts.length);
        return meanings.embed(texts);
      },
    };
    const indexer = memoryIndexer({ store: backend.store, embedder: counting, batchSize: 3 });
    expect(await indexer.run()).toEqual({ embeddedCount: 7, refusedCount: 0 });
    expect(await indexer.run()).toEqual({ embeddedCount: 0, refusedCount: 0 });
    expect(batches).toEqual([3, 3, 1]);
    await backend.remember('k0', 'trip by train');
    expect(await indexer.run()).toEqual({ embeddedCount: 1, refusedCount: 0 });
  });

  test('stops between batches when it is aborted, and goes on from there', async () => {
    const backend = new Backend();
    for (let n = 0; n < 6; n += 1) await backend.remember(`k${n}`, `trip ${n}`);
    const stop = new AbortController();
    const stopping: Embedder = {
      ...meanings,
      async embed(texts) {
        stop.abort(new Error('shutting down'));
        await wait(0);
        return meanings.embed(texts);
      },
    };
    await expect(
      memoryIndexer({ store: backend.store, embedder: stopping, batchSize: 2 }).run(stop.signal),
    ).rejects.toThrow('shutting down');
    const rest = await memoryIndexer({ store: backend.store, embedder: meanings, batchSize: 2 }).run();
    expect(rest.embeddedCount).toBe(4);
  });

  test('passes over a text that the embedder refuses; an embedder that takes none is reported', async () => {
    const backend = new Backend();
    await backend.remember('a', 'trip');
    await backend.remember('poison', 'poison');
    await backend.remember('b', 'flight');
    const picky: Embedder = {
      ...meanings,
      async embed(texts) {
        if (texts.includes('poison')) throw new Error('too toxic');
        return meanings.embed(texts);
      },
    };
    const indexer = memoryIndexer({ store: backend.store, embedder: picky });
    expect(await indexer.run()).toEqual({ embeddedCount: 2, refusedCount: 1 });
    expect(await indexer.run()).toEqual({ embeddedCount: 0, refusedCount: 0 });
    const broken = memoryIndexer({ store: backend.store, embedder: failing(new Error('down')) });
    await expect(broken.run()).rejects.toMatchObject({ code: 'embedding-failed' });
  });
});

describe('preferences', () => {
  test('are set, got, listed by prefix, and forgotten', async () => {
    const backend = new Backend();
    const state = userState(backend.store, backend, tenant, 'ana');
    expect(await state.get('language')).toBeUndefined();
    await state.set('language', 'de');
    await state.set('mail.digest', { at: '08:00' }, { source: 'settings page' });
    await state.set('language', 'en');
    expect(await state.get('language')).toBe('en');
    expect(await state.list('mail.')).toMatchObject([{ value: { at: '08:00' }, source: 'settings page' }]);
    await state.forget('language');
    expect((await state.list()).map(({ key }) => key)).toEqual(['mail.digest']);
    expect(await userState(backend.store, backend, tenant, 'ben').list()).toEqual([]);
  });

  test.each([
    ['a secret', 'deploy', { token: `ghp_${'aB3dE5fG7hJ9'.repeat(3)}` }, 'memory-secret'],
    ['no JSON', 'key', undefined, 'state-value'],
    ['too large a value', 'key', 'x'.repeat(20_000), 'state-value'],
    ['an empty key', '', 1, 'state-key'],
  ])('refuse %s, and write nothing', async (_, key, value, code) => {
    const backend = new Backend();
    const state = userState(backend.store, backend, tenant, 'ana');
    const refused = await state.set(key, value).catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: 'InvalidError', code });
    expect(String(refused)).not.toContain('aB3dE5');
    expect(await state.list()).toEqual([]);
  });
});

describe('facts', () => {
  test('are remembered once, listed newest first with source and time, recalled, forgotten', async () => {
    const backend = new Backend();
    const facts = factsAbout(userSubject('ana'), backend.store, backend, tenant);
    const train = await facts.remember('Goes by train', { source: 'session s-1' });
    await facts.remember('Pays by invoice', { source: 'mail' });
    expect(await facts.remember('goes  by TRAIN', { source: 'session s-2' })).toBe(train);
    expect(await facts.list()).toMatchObject([
      { key: train, text: 'goes  by TRAIN', source: 'session s-2', atMs: 3 },
      { text: 'Pays by invoice', source: 'mail', atMs: 2 },
    ]);
    expect(await keysOf(asked(backend, { embedder: null, query: 'train', kinds: ['fact'] }))).toEqual([train]);
    await facts.forget(train);
    expect(await facts.list()).toHaveLength(1);
  });

  test('refuse secrets and empty texts', async () => {
    const backend = new Backend();
    const facts = factsAbout(userSubject('ana'), backend.store, backend, tenant);
    const secret = `The key is ghp_${'aB3dE5fG7hJ9'.repeat(3)}`;
    await expect(facts.remember(secret, { source: 's' })).rejects.toMatchObject({ code: 'memory-secret' });
    await expect(facts.remember('  ', { source: 's' })).rejects.toMatchObject({ code: 'fact-text' });
    expect(await facts.list()).toEqual([]);
  });
});
