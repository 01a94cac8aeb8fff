/** Owns the tests of the embedders: one by a provider of the AI SDK, and a real sentence model read from a folder. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { EmbeddingModelV2, EmbeddingModelV3, EmbeddingModelV4 } from '@ai-sdk/provider';
import type { MemoryRow } from '@tidemark/ports';
import { SimulatedStore } from '@tidemark/testkit/engine/simulated-store';
import { sentenceModel } from '@tidemark/testkit/servers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aiSdkEmbedder } from './ai-sdk-embedder.ts';
import { memoryIndexer } from './indexer.ts';
import { type LocalEmbedder, localEmbedder } from './local-embedder.ts';
import { recall } from './recall.ts';

const provider = (
  doEmbed: (texts: readonly string[], signal?: AbortSignal) => Promise<number[][]>,
  maxEmbeddingsPerCall?: number,
): EmbeddingModelV4 => ({
  specificationVersion: 'v4',
  provider: 'test',
  modelId: 'embed-1',
  maxEmbeddingsPerCall,
  supportsParallelCalls: false,
  doEmbed: async ({ values, abortSignal }) => ({ embeddings: await doEmbed(values, abortSignal), warnings: [] }),
});

describe('an embedder by the AI SDK', () => {
  test('asks for as many at once as the provider takes, in order, and learns the dimension', async () => {
    const calls: (readonly string[])[] = [];
    const embedder = aiSdkEmbedder(
      provider(async (texts) => {
        calls.push(texts);
        return texts.map((text) => [text.length, 1]);
      }, 2),
    );
    expect(embedder).toMatchObject({ model: 'test/embed-1', dimension: null });
    const vectors = await embedder.embed(['a', 'bb', 'ccc']);
    expect(vectors.map(([length]) => length)).toEqual([1, 2, 3]);
    expect(calls).toEqual([['a', 'bb'], ['ccc']]);
    expect(embedder.dimension).toBe(2);
  });

  test.each([
    ['fails', async () => Promise.reject(new Error('401'))],
    ['answers with too few', async () => []],
  ])('names the model when the provider %s', async (_, doEmbed) => {
    await expect(aiSdkEmbedder(provider(doEmbed)).embed(['a'])).rejects.toMatchObject({
      name: 'UnavailableError',
      code: 'embedding-failed',
      details: { model: 'test/embed-1' },
    });
  });

  test('passes the signal on, and rejects with its reason', async () => {
    const stop = new AbortController();
    const embedder = aiSdkEmbedder(
      provider(async (_texts, signal) => {
        stop.abort(new Error('enough'));
        signal?.throwIfAborted();
        return [];
      }),
    );
    await expect(embedder.embed(['a'], stop.signal)).rejects.toThrow('enough');
  });

  test('takes every version of the provider interface', () => {
    const takes = (model: EmbeddingModelV2<string> | EmbeddingModelV3 | EmbeddingModelV4) => aiSdkEmbedder(model);
    expect(takes(provider(async () => [])).model).toBe('test/embed-1');
  });
});

describe('the local embedder', () => {
  let embedder: LocalEmbedder;
  beforeAll(async () => {
    embedder = localEmbedder(await sentenceModel());
  }, 600_000);
  afterAll(() => embedder?.close());

  test('gives texts of like meaning like vectors, whatever their words', async () => {
    const texts = ['The customer forgot her login', 'How do I reset my password?', 'The cat sat on the mat', ''];
    const vectors = await embedder.embed(texts);
    const cosine = (a: number, b: number): number =>
      vectors[a]!.reduce((sum, value, at) => sum + value * vectors[b]![at]!, 0);
    expect(vectors.map(({ length }) => length)).toEqual([384, 384, 384, 384]);
    expect(embedder).toMatchObject({ dimension: 384, model: 'local/all-MiniLM-L6-v2-q8' });
    expect(cosine(0, 0)).toBeCloseTo(1, 4);
    expect(cosine(0, 1)).toBeGreaterThan(0.3);
    expect(cosine(0, 1)).toBeGreaterThan(cosine(1, 2) + 0.2);
  });

  test('lets recall find a fact that shares no word with the question', async () => {
    const store = new SimulatedStore().memory;
    const facts = ['Ana is allergic to nuts.', 'Ana is from Lisbon.', 'Ana is paying late.', 'Ana is fond of dogs.'];
    const named = { tenant: 'acme', subject: 'user:ana', kind: 'fact', source: '', atMs: 0, workflow: 'w', ordinal: 0 };
    store.put(
      facts.map((text, at) => ({
        ...(named as never as MemoryRow),
        ...{ key: `${at}`, value: JSON.stringify({ text }), words: text, isForgotten: false },
        ...{ position: at as never, lamport: at as never },
      })),
    );
    await memoryIndexer({ store, embedder }).run();
    const asked = { store, tenant: 'acme' as never, subjects: ['user:ana'], kinds: ['fact'], limit: 1 } as const;
    const { entries } = await recall({ ...asked, embedder, query: 'what food is dangerous' });
    expect(entries[0]?.memory.words).toBe(facts[0]);
    const byWords = await recall({ ...asked, embedder: null, query: 'dangerous food' });
    expect(byWords).toMatchObject({ entries: [], by: 'words', warning: { code: 'no-embedder' } });
  });

  test('gives one text the same vector alone and among others, and heeds a stop', async () => {
    const [alone] = await embedder.embed(['The invoice was paid']);
    const among = await embedder.embed([...Array.from({ length: 9 }, (_, n) => `filler ${n}`), 'The invoice was paid']);
    const product = alone!.reduce((sum, value, at) => sum + value * among[9]![at]!, 0);
    expect(product).toBeGreaterThan(0.99);
    await expect(embedder.embed(['a'], AbortSignal.abort(new Error('stop')))).rejects.toThrow('stop');
  });

  test('is loaded again after it was closed', async () => {
    await embedder.close();
    expect(await embedder.embed(['again'])).toHaveLength(1);
  });

  test('says what a folder lacks, at once', () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), 'tidemark-model-'));
    const file = (name: string, text: string): void => writeFileSync(path.join(folder, name), text);
    const lacks = (what: RegExp): void => expect(() => localEmbedder({ folder })).toThrow(what);
    try {
      lacks(/lacks a readable config\.json/);
      file('config.json', '{"hidden_size": 4}');
      file('tokenizer_config.json', '{}');
      lacks(/lacks tokenizer\.json/);
      file('tokenizer.json', '{}');
      lacks(/lacks ONNX weights/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
