/** Embeddings of a real step, in a world where the worker dies: what was answered is never paid twice (I4). */

import type { EmbeddingModelV4 } from '@ai-sdk/provider';
import { defineWorkflow, task } from '@tidemark/sdk';
import { testWorld } from '@tidemark/testkit';
import { cosineSimilarity, embed, embedMany, wrapEmbeddingModel } from 'ai';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { tidemarkEmbeddings } from './embedding-middleware.ts';
import { priceTable } from './price-table.ts';
import { FakeStep } from './step-fixture.ts';

const prices = priceTable({ 'lab/words': { input: 100, output: 0 } });

/** A model that tells words apart, and what it was really asked. */
function words(given: Partial<EmbeddingModelV4> = {}) {
  const asked: (readonly string[])[] = [];
  const model: EmbeddingModelV4 = {
    ...{ specificationVersion: 'v4', provider: 'lab', modelId: 'words', maxEmbeddingsPerCall: 100 },
    supportsParallelCalls: true,
    doEmbed: async ({ values }) => {
      asked.push(values);
      const embeddings = values.map((value) => [value.length / 3, 1 / (1 + value.charCodeAt(0)), -0.1]);
      return {
        embeddings,
        usage: { tokens: values.length * 10 },
        warnings: [],
        providerMetadata: { lab: { id: 'e1' } },
      };
    },
    ...given,
  };
  return { model, asked };
}

test('an embedding is recorded with its cost, and a later attempt gets the record', async () => {
  const step = new FakeStep();
  const { model, asked } = words();
  const attempt = () =>
    embed({
      model: wrapEmbeddingModel({ model, middleware: tidemarkEmbeddings(step.attempt(), { prices }) }),
      value: 'tide',
    });
  const [first, second] = [await attempt(), await attempt()];
  expect(asked).toEqual([['tide']]);
  expect(second.embedding).toEqual(first.embedding);
  expect(first.embedding[0]).toBeCloseTo(4 / 3, 6);
  expect([second.usage, second.providerMetadata]).toEqual([{ tokens: 10 }, { lab: { id: 'e1' } }]);
  const recorded = JSON.parse(step.journal[0]!.answer) as { text: string; costMicros: number };
  expect(recorded).toMatchObject({ text: '1 embeddings of 3 numbers', costMicros: 1_000 });
  // All of it is as the provider says, and it wrote no words.
  expect(recorded).toMatchObject({ usage: { inputTokens: 10, outputTokens: 0 } });
  expect(JSON.stringify(recorded)).not.toContain('estimatedTokens');
  // Other values, or other dimensions, are another question.
  const other = new FakeStep();
  other.journal.push(...step.journal);
  const changed = wrapEmbeddingModel({ model, middleware: tidemarkEmbeddings(other.attempt()) });
  await expect(embed({ model: changed, value: 'ebb' })).rejects.toThrow('request-changed');
});

test('many values are several calls, each of which fits an event', async () => {
  const step = new FakeStep();
  const random = Array.from({ length: 4_096 }, (_, at) => Math.sin(at ** 2));
  const { model, asked } = words({ maxEmbeddingsPerCall: 2_048 });
  const large = {
    ...model,
    doEmbed: async ({ values }: { values: string[] }) => {
      asked.push(values);
      return { embeddings: values.map(() => random), warnings: [] };
    },
  };
  const wrapped = wrapEmbeddingModel({ model: large, middleware: tidemarkEmbeddings(step.attempt()) });
  const { embeddings } = await embedMany({ model: wrapped, values: Array.from({ length: 90 }, (_, at) => `${at}`) });
  expect(asked.map((values) => values.length).sort((a, b) => a - b)).toEqual([10, 40, 40]);
  expect(embeddings).toHaveLength(90);
  expect(cosineSimilarity(embeddings[89]!, random)).toBeCloseTo(1, 6);
  for (const { answer } of step.journal) expect(Buffer.byteLength(answer)).toBeLessThan(1_048_576 - 65_536);
});

test.each([
  [{ statusCode: 401, message: 'no' }, 'model-refused'],
  [new Error('socket hang up'), 'model-unavailable'],
])('a call that fails says what is certain', async (fault, code) => {
  const { APICallError } = await import('@ai-sdk/provider');
  const error = fault instanceof Error ? fault : new APICallError({ ...fault, url: 'x', requestBodyValues: {} });
  const { model } = words({ doEmbed: () => Promise.reject(error) });
  const wrapped = wrapEmbeddingModel({ model, middleware: tidemarkEmbeddings(new FakeStep().attempt()) });
  await expect(embed({ model: wrapped, value: 'a', maxRetries: 0 })).rejects.toMatchObject({ code });
});

test('a provider that answers fewer than it was asked for has not answered', async () => {
  const { model } = words({ doEmbed: async () => ({ embeddings: [[1]], warnings: [] }) });
  const wrapped = wrapEmbeddingModel({ model, middleware: tidemarkEmbeddings(new FakeStep().attempt()) });
  await expect(embedMany({ model: wrapped, values: ['a', 'b'], maxRetries: 0 })).rejects.toMatchObject({
    code: 'model-unavailable',
  });
});

test("a worker that dies after the answer pays once, and its vectors are nobody's secrets", async () => {
  const { model, asked } = words();
  const random = Array.from({ length: 3_072 }, (_, at) => Math.sin(at ** 2));
  const dense = {
    ...model,
    doEmbed: async (options: Parameters<typeof model.doEmbed>[0]) => {
      const found = await model.doEmbed(options);
      return { ...found, embeddings: options.values.map(() => random) };
    },
  };
  const finds = defineWorkflow({
    ...{
      name: 'finds',
      version: 1,
      input: z.object({}),
      belief: z.object({}),
      output: z.object({ all: z.array(z.array(z.number())) }),
    },
    tasks: { look: z.object({}) },
    flow: { look: [] },
    onSecret: 'mask',
    begin: () => ({ belief: {}, next: [task('look', {})] }),
    steps: {
      async look(ctx) {
        const wrapped = wrapEmbeddingModel({ model: dense, middleware: tidemarkEmbeddings(ctx, { prices }) });
        const { embeddings } = await embedMany({ model: wrapped, values: ['tide', 'mark'] });
        return { done: { all: embeddings } };
      },
    },
  });
  const world = await testWorld({ workflows: [finds] });
  onTestFinished(() => world.close());
  world.crash({ before: 'CheckpointCommitted' });
  const run = await world.start(finds, {});
  const { all } = await run.result();
  expect(world.crashCount).toBe(1);
  expect(asked).toEqual([['tide', 'mark']]);
  expect(all).toEqual([random, random].map((vector) => vector.map(Math.fround)));
});

test.each([
  ['is sent as it is recorded', 'call', 0],
  ['asks a person where the count is another', 'call', 1],
  ['asks a person where the count of what is answered is another', 'step', 1],
])('a request that has changed %s', async (_, fails, more) => {
  const { model, asked } = words();
  let attempts = 0;
  const flaky = {
    ...model,
    doEmbed: async (options: Parameters<typeof model.doEmbed>[0]) => {
      const found = await model.doEmbed(options);
      if (fails === 'call' && asked.length === 1) throw new Error('socket hang up');
      return found;
    },
  };
  const finds = defineWorkflow({
    ...{
      name: 'finds',
      version: 1,
      input: z.object({}),
      belief: z.object({}),
      output: z.object({ first: z.number() }),
    },
    tasks: { look: z.object({}) },
    flow: { look: [] },
    retry: { attempts: 3, firstDelayMs: 1 },
    begin: () => ({ belief: {}, next: [task('look', {})] }),
    steps: {
      async look(ctx) {
        const at = attempts++;
        const embeds = wrapEmbeddingModel({
          model: flaky,
          middleware: tidemarkEmbeddings(ctx, { prices, retry: { firstDelayMs: 1 } }),
        });
        const values = [at === 0 ? 'tide' : 'ebb', ...Array.from({ length: at * more }, () => 'more')];
        const { embeddings } = await embedMany({ model: embeds, values, maxRetries: 0 });
        if (fails === 'step' && at === 0) throw new Error('the step fails after its call');
        return { done: { first: embeddings[0]![0]! } };
      },
    },
  });
  const world = await testWorld({ workflows: [finds] });
  onTestFinished(() => world.close());
  const run = await world.start(finds, {});
  const outcome = await world.fastForward(run.result().catch((error: Error) => error.message));
  if (more === 0) expect([outcome, asked]).toEqual([{ first: Math.fround(4 / 3) }, [['tide'], ['tide']]]);
  else {
    expect(outcome).toContain('recorded with 1 values to embed, and this attempt has 2');
    expect(asked).toEqual([['tide']]);
  }
});
