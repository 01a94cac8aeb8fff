/** What tokens cost, to the millionth of a dollar, and under which names a model's price is found. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ENCODINGS, tokenizerFor } from '@tidemark/tokenizer';
import { MockLanguageModelV4 } from 'ai/test';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { model } from './model.ts';
import { costMicros, type Price, type PricedUsage } from './price.ts';
import { loadPrices, priceTable } from './price-table.ts';
import shipped from './prices.json' with { type: 'json' };

const usage = (over: Partial<PricedUsage> = {}): PricedUsage => ({
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
  ...over,
});

describe('a cost', () => {
  test('is in millionths of a dollar, with cached and written input at their own prices', () => {
    const price: Price = { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 };
    expect(costMicros(price, usage({ inputTokens: 1_000, outputTokens: 100 }))).toBe(4_500);
    expect(costMicros(price, usage({ inputTokens: 1_000, cachedInputTokens: 900, outputTokens: 100 }))).toBe(2_070);
    expect(costMicros(price, usage({ inputTokens: 1_000, cacheWriteTokens: 400 }))).toBe(3_300);
    expect(costMicros(price, usage())).toBe(0);
  });

  test('is rounded up, never down', () => {
    expect(costMicros({ input: 0.000001, output: 0 }, usage({ inputTokens: 1 }))).toBe(1);
    expect(costMicros({ input: 0.1, output: 0.2 }, usage({ inputTokens: 3, outputTokens: 0 }))).toBe(1);
    expect(costMicros({ input: 0.1, output: 0.2 }, usage({ inputTokens: 10, outputTokens: 5 }))).toBe(2);
  });

  test('does not drift: what floats get wrong is exact here', () => {
    // As floats these are a hair above a whole number, and would be rounded up to the next.
    expect([Math.ceil(0.07 * 100), Math.ceil(0.55 * 100)]).toEqual([8, 56]);
    expect(costMicros({ input: 0.07, output: 0 }, usage({ inputTokens: 100 }))).toBe(7);
    expect(costMicros({ input: 0, output: 0.55 }, usage({ outputTokens: 100 }))).toBe(55);
  });

  test('is that of whole numbers, for any price of up to six decimals', () => {
    const micros = fc.integer({ min: 0, max: 100_000_000 });
    const tokens = fc.integer({ min: 0, max: 2_000_000 });
    fc.assert(
      fc.property(micros, micros, tokens, tokens, (input, output, inputTokens, outputTokens) => {
        const price = { input: input / 1e6, output: output / 1e6 };
        const exact = BigInt(inputTokens) * BigInt(input) + BigInt(outputTokens) * BigInt(output);
        const up = (exact + 999_999n) / 1_000_000n;
        expect(costMicros(price, usage({ inputTokens, outputTokens }))).toBe(Number(up));
      }),
    );
  });

  test('is that of long input for all tokens once the input is longer', () => {
    const price: Price = { input: 2, output: 12, long: { aboveInputTokens: 200_000, input: 4, output: 18 } };
    expect(costMicros(price, usage({ inputTokens: 200_000, outputTokens: 10 }))).toBe(400_120);
    expect(costMicros(price, usage({ inputTokens: 200_001, outputTokens: 10 }))).toBe(800_184);
  });

  test('of input that is all cached has no less than nothing left to pay', () => {
    expect(
      costMicros({ input: 1, cachedInput: 0.5, output: 1 }, usage({ inputTokens: 10, cachedInputTokens: 20 })),
    ).toBe(10);
  });

  test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])('of %d tokens is refused', (inputTokens) => {
    expect(() => costMicros({ input: 1, output: 1 }, usage({ inputTokens }))).toThrow(`inputTokens is ${inputTokens}`);
  });
});

describe('a price', () => {
  const table = priceTable({}, () => {});

  test.each([
    ['openai.responses', 'gpt-4o-mini', 'openai/gpt-4o-mini'],
    ['openai.chat', 'gpt-4o-mini-2024-07-18', 'openai/gpt-4o-mini'],
    ['anthropic.messages', 'claude-sonnet-4-5-20250929', 'anthropic/claude-sonnet-4-5'],
    ['google.vertex.chat', 'claude-sonnet-4-5@20250929', undefined],
    ['vertex.anthropic.messages', 'anthropic/claude-sonnet-4-5@20250929', 'anthropic/claude-sonnet-4-5'],
    ['google.generative-ai', 'gemini-3.1-pro-preview', 'google/gemini-3.1-pro-preview'],
    ['google.generative-ai', 'gemini-2.5-flash-001', 'google/gemini-2.5-flash'],
    ['gateway', 'openai/gpt-5.4-mini', 'openai/gpt-5.4-mini'],
    ['openrouter.chat', 'Anthropic/Claude-Opus-4-5', 'anthropic/claude-opus-4-5'],
    ['mistral.chat', 'codestral-latest', 'mistral/codestral'],
  ])('of %s %s is found', (provider, modelId, key) => {
    const [owner = '', name = ''] = (key ?? '/').split('/');
    const providers = shipped.providers as Record<string, { models: Record<string, Price> }>;
    expect(table.priceOf(provider, modelId)).toEqual(key === undefined ? undefined : providers[owner]?.models[name]);
    if (key !== undefined) expect(table.priceOf(provider, modelId)).toBeDefined();
  });

  test('of a dated model goes before that of its family', () => {
    expect(table.priceOf('openai.chat', 'gpt-4o-2024-05-13')).toMatchObject({ input: 5 });
    expect(table.priceOf('openai.chat', 'gpt-4o-2024-08-06')).toMatchObject({ input: 2.5 });
  });

  test('is never taken from a model of a similar name', () => {
    expect(table.priceOf('openai.chat', 'gpt-5.4-mega')).toBeUndefined();
    expect(table.priceOf('openai.chat', 'gpt-4o-mini-tts')).toBeUndefined();
    expect(table.priceOf('google.generative-ai', 'gemini-2.5-flash-preview')).toBeUndefined();
    expect(table.priceOf('azure.chat', 'gpt-4o-mini')).toBeUndefined();
  });

  test('that is unknown is told once for each model, with what to do, and costs nobody knows what', () => {
    const warnings: string[] = [];
    const own = priceTable({}, (warning) => void warnings.push(warning));
    expect(own.costMicros('acme.chat', 'large', usage({ inputTokens: 10 }))).toBeUndefined();
    expect(own.costMicros('acme.chat', 'large', usage())).toBeUndefined();
    own.priceOf('acme.chat', 'small');
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toContain('No price is known for acme/large');
    expect(warnings[0]).toContain('priceTable({ "acme/large": { input, output } })');
  });

  test('of the user goes before the shipped one', () => {
    const own = priceTable({ 'openai/gpt-4o-mini': { input: 1, output: 2 }, 'acme/large': { input: 0, output: 0 } });
    expect(own.priceOf('openai.chat', 'gpt-4o-mini-2024-07-18')).toEqual({ input: 1, output: 2 });
    expect(own.costMicros('acme.chat', 'large', usage({ inputTokens: 10 }))).toBe(0);
    expect(priceTable().priceOf('openai.chat', 'gpt-4o-mini')).not.toEqual({ input: 1, output: 2 });
  });

  test.each([
    [{ 'openai/x': { input: -1, output: 2 } }, '["openai/x"].input is -1: must not be negative'],
    [
      { 'openai/x': { input: '1', output: 2 } },
      '["openai/x"].input is "1": must be dollars per million tokens, a number',
    ],
    [{ 'openai/x': { input: 0.0000001, output: 2 } }, '["openai/x"].input is 1e-7: must have at most 6 decimals'],
    [{ 'openai/x': { input: 1e6, output: 2 } }, '["openai/x"].input is 1000000: must be at most 100000 dollars'],
    [{ 'openai/x': { input: 1 } }, '["openai/x"].output is missing'],
    [{ 'openai/x': { input: 1, output: 2, cached: 1 } }, '["openai/x"].cached is not known'],
    [{ x: { input: 1, output: 2 } }, '"x" does not name a provider and a model'],
  ])('that is wrong is refused with field and value: %j', (overrides, said) => {
    expect(() => priceTable(overrides as never)).toThrow(`priceTable: ${said}`);
  });
});

describe('a file of prices', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'prices-'));
  });
  afterAll(() => rm(folder, { recursive: true }));
  const written = async (text: string): Promise<string> => {
    const file = path.join(folder, 'prices.json');
    await writeFile(file, text);
    return file;
  };
  const head = { currency: 'USD', unit: 'per million tokens' };

  test('in the form of the shipped one goes over it', async () => {
    const models = { large: { input: 1, cachedInput: 0.1, output: 2 } };
    const file = await written(
      JSON.stringify({ ...head, providers: { acme: { source: 'the contract', asOf: '2026-11', models } } }),
    );
    const table = await loadPrices(file);
    expect(table.priceOf('acme.chat', 'large-2026-01-01')).toEqual(models.large);
    expect(table.priceOf('openai.chat', 'gpt-4o-mini')).toBeDefined();
  });

  test('that is a copy of the shipped one gives the same prices', async () => {
    const table = await loadPrices(await written(JSON.stringify(shipped)));
    expect(table.priceOf('openai.chat', 'gpt-5.5')).toEqual(priceTable().priceOf('openai.chat', 'gpt-5.5'));
  });

  test.each([
    ['{', 'it is not JSON'],
    ['[]', 'the whole is a list'],
    [JSON.stringify({ ...head, currency: 'EUR', providers: {} }), 'currency is "EUR"'],
    [
      JSON.stringify({ ...head, providers: { acme: { asOf: 'today', models: {} } } }),
      'providers.acme.asOf is "today": must be a date',
    ],
    [
      JSON.stringify({ ...head, providers: { acme: { models: { 'large-1': { input: 'x', output: 1 } } } } }),
      'providers.acme.models["large-1"].input is "x"',
    ],
  ])('that is wrong is refused with place, field and value: %s', async (text, said) => {
    const file = await written(text);
    await expect(loadPrices(file)).rejects.toThrow(`prices of ${file}: ${said}`);
  });

  test('that isn’t there is refused', async () => {
    await expect(loadPrices(path.join(folder, 'none.json'))).rejects.toThrow('there is no such file');
  });
});

describe('what is shipped says where it is from, and when', () => {
  const A_DATE = /^\d{4}-\d{2}(-\d{2})?$/;

  test.each(Object.entries(shipped.providers))('prices and limits of %s', (_, { source, asOf, limits, models }) => {
    for (const from of [{ source, asOf }, limits]) {
      expect(from.source).toMatch(/^https:\/\//);
      expect(from.asOf).toMatch(A_DATE);
    }
    const rows = Object.values(models as Record<string, Price>);
    expect(rows.some(({ contextTokens }) => contextTokens !== undefined)).toBe(true);
    for (const { contextTokens, maxOutputTokens = 0 } of rows) {
      if (contextTokens !== undefined) expect(contextTokens).toBeGreaterThanOrEqual(maxOutputTokens);
      else expect(maxOutputTokens).toBe(0);
    }
  });

  test.each(Object.entries(ENCODINGS))('the encoding %s', (id, { source, asOf, models }) => {
    expect(source).toMatch(/^https:\/\//);
    expect(asOf).toMatch(A_DATE);
    for (const model of ['gpt-4', 'gpt-4o', 'gpt-5.5', 'o3'].filter((name) => models.test(name)))
      expect(tokenizerFor(model).id).toBe(id);
  });

  test('and a model takes its room from it, or from its definition', () => {
    const mock = (provider: string, modelId: string) => new MockLanguageModelV4({ provider, modelId });
    expect(model(mock('openai.chat', 'gpt-4o-2024-08-06')).contextTokens).toBe(128_000);
    expect(model(mock('lab.chat', 'tiny')).contextTokens).toBeUndefined();
    const price = { input: 1, output: 2, contextTokens: 4_000 };
    const own = model(mock('lab.chat', 'tiny'), { price });
    expect(own.contextTokens).toBe(4_000);
    expect(own.costMicros(usage({ inputTokens: 10, outputTokens: 5 }))).toBe(20);
    expect(model(mock('lab.chat', 'tiny'), { price, contextTokens: 8_000 }).contextTokens).toBe(8_000);
    expect(() => model(mock('lab.chat', 'tiny'), { price: { input: -1, output: 2 } })).toThrow(/price\.input/);
  });
});
