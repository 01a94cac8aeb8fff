/** The search among vectors gives the exact answer, whatever its cache holds. */

import type { Lamport, TenantId } from '@tidemark/core';
import type { RecallQuery, RowStore } from '@tidemark/ports';
import { memoryRow } from '@tidemark/testkit/contracts/projection-store-memories';
import * as rows from '@tidemark/testkit/contracts/projection-store-rows';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { assemblePglite } from './pglite-store.ts';
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

const store = assemblePglite({ memory: true });
beforeAll(() => fill(store.store));
afterAll(() => store.store.close());

const productOf = (a: Float32Array, b: Float32Array): number => a.reduce((sum, value, at) => sum + value * b[at]!, 0);
const similarityOf = (a: Float32Array, b: Float32Array): number =>
  productOf(a, b) / Math.sqrt(productOf(a, a) * productOf(b, b));
const unit = (vector: Float32Array): Float32Array =>
  vector.map((value) => value / Math.sqrt(productOf(vector, vector)));

test('the nearest of all are found, in order', async () => {
  for (let n = 0; n < 20; n += 1) {
    const asked = vectorOf(n + 1_000);
    const all = Array.from({ length: COUNT }, (_, at) => similarityOf(vectorOf(at), asked));
    const found = await new VectorSearch().nearest(store.client, query(n), model, unit(asked), 20);
    const expected = all.sort((a, b) => b - a).slice(0, 20);
    expect(found.map(({ similarity }) => similarity.toFixed(4))).toEqual(expected.map((each) => each.toFixed(4)));
  }
});

test('with words too, an entry that both rankings find comes before those of one', async () => {
  const asked = query(5, { embedding: vectorOf(5) });
  const [first] = await store.store.recall(asked);
  expect(first).toMatchObject({ memory: { key: 'k5' }, wordsScore: expect.any(Number) });
});

test('the same is found with room to keep no vector at all, and after an embedding changed', async () => {
  const asked = query(3);
  const vector = vectorOf(3);
  const roomy = new VectorSearch();
  const found = await roomy.nearest(store.client, asked, model, vector, 5);
  const cramped = new VectorSearch(0);
  for (const _ of [1, 2]) expect(await cramped.nearest(store.client, asked, model, vector, 5)).toEqual(found);
  expect(found).toHaveLength(5);
  const renewed = [memoryRow('k3', { words: 'said\nanew', lamport: 99 as Lamport })];
  await store.store.apply(rows.batch({ partitions: [rows.advance(0, 1, 2)], memories: renewed }));
  const [unembedded] = await store.store.unembedded(model, 10);
  await store.store.putEmbeddings([{ ...unembedded!, model, vector }]);
  const [best] = await roomy.nearest(store.client, asked, model, vector, 5);
  expect(best).toMatchObject({ id: unembedded!.id, mark: unembedded!.mark });
});
