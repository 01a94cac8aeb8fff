/**
 * The two forms of vectors side by side: pgvector and this library's own search give the same answers; and what happens when the extension
 * is added or removed while stores are open.
 */

import type { Lamport, TenantId } from '@tidemark/core';
import type { RecallQuery, RowStore } from '@tidemark/ports';
import { memoryRow } from '@tidemark/testkit/contracts/projection-store-memories';
import * as rows from '@tidemark/testkit/contracts/projection-store-rows';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { assemblePglite } from './pglite-store.ts';
import { once } from './sql-client.ts';
import { ensureVectorForm, readVectorForm } from './vector-form.ts';
import { VectorSearch } from './vector-search.ts';

const model = 'test-model';
const DIMENSION = 48;
const COUNT = 400;
const TOPICS = ['invoice', 'train', 'garden', 'login', 'coffee', 'thesis', 'roof'];

/** Equal numbers give equal vectors; numbers with the same remainder give close ones. */
const vectorOf = (n: number): Float32Array =>
  Float32Array.from(
    { length: DIMENSION },
    (_, at) => Math.sin((n % 7) * (at + 1)) + 0.4 * Math.sin(n * 12.9898 + at * 78.233),
  );

const query = (n: number, part: Partial<RecallQuery> = {}): RecallQuery => ({
  tenant: 'acme' as TenantId,
  subject: 'user:ana',
  kinds: ['summary'],
  words: `${TOPICS[n % 7]} ${TOPICS[(n * 3) % 7]} number ${n}`,
  embedding: vectorOf(n + 1_000),
  model,
  limit: 20,
  ...part,
});

async function fill(store: RowStore): Promise<void> {
  await store.ensure();
  await store.addPartitions([{ partition: rows.partitionAt(0), start: rows.at(0), rebuildTo: rows.at(0) }]);
  const memories = Array.from({ length: COUNT }, (_, n) =>
    memoryRow(`k${n}`, { words: `${TOPICS[n % 7]}\n${TOPICS[(n * 5) % 7]} number ${n}`, lamport: (n % 50) as Lamport }),
  );
  await store.apply(rows.batch({ partitions: [rows.advance(0, 0, 1)], memories }));
  await embed(store);
}

async function embed(store: RowStore): Promise<number> {
  const found = await store.unembedded(model, COUNT * 2);
  const number = (words: string): number => Number(words.split(' ').at(-1));
  await store.putEmbeddings(found.map(({ id, mark, words }) => ({ id, mark, model, vector: vectorOf(number(words)) })));
  return found.length;
}

const answers = async (store: RowStore, asked: RecallQuery): Promise<readonly string[]> =>
  (await store.recall(asked)).map(({ memory, score }) => `${memory.key} ${score.toFixed(3)}`);

const withPgvector = assemblePglite({ memory: true });
const own = assemblePglite({ memory: true }, { usePgvector: false });
beforeAll(() => Promise.all([fill(withPgvector.store), fill(own.store)]));
afterAll(() => Promise.all([withPgvector.store.close(), own.store.close()]));

describe('pgvector and the own search', () => {
  test('are what the two stores use', async () => {
    expect(await readVectorForm(withPgvector.client)).toBe('pgvector');
    expect(await readVectorForm(own.client)).toBe('bytes');
  });

  test('give the same answers in the same order, by meaning alone and with words', async () => {
    for (let n = 0; n < 20; n += 1) {
      for (const asked of [query(n), query(n, { words: '' }), query(n, { embedding: vectorOf(n) })]) {
        const expected = await answers(withPgvector.store, asked);
        expect(await answers(own.store, asked)).toEqual(expected);
        expect(expected).toHaveLength(20);
      }
    }
  });

  test('the own search finds the same with room to keep no vector at all', async () => {
    const asked = query(3);
    const roomy = await new VectorSearch().nearest(own.client, asked, model, vectorOf(3), 5);
    const cramped = new VectorSearch(0);
    for (const _ of [1, 2]) expect(await cramped.nearest(own.client, asked, model, vectorOf(3), 5)).toEqual(roomy);
    expect(roomy).toHaveLength(5);
  });
});

describe('the extension', () => {
  test('that comes later is taken: stores that are open go on, and the indexer makes the vectors anew', async () => {
    expect(await ensureVectorForm(own.client, true)).toBe('pgvector');
    // This store still assumes bytes.
    expect(await answers(own.store, query(1, { words: '' }))).toEqual([]);
    expect(await embed(own.store)).toBe(COUNT);
    expect(await answers(own.store, query(1))).toEqual(await answers(withPgvector.store, query(1)));
  });

  test('that goes, and the column with it, leaves bytes in its place', async () => {
    await own.client.run([once('drop extension vector cascade')]);
    expect(await ensureVectorForm(own.client, false)).toBe('bytes');
    expect(await embed(own.store)).toBe(COUNT);
    expect(await answers(own.store, query(2))).toEqual(await answers(withPgvector.store, query(2)));
  });
});
