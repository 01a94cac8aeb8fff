/** Which models are taken, and what their answers and streams may leave out. */

import type { LanguageModelV3StreamPart, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { APICallError, NoSuchModelError } from '@ai-sdk/provider';
import { type EffectKey, LimitError } from '@tidemark/core';
import type { ModelDelta } from '@tidemark/runtime';
import { MockLanguageModelV3, MockLanguageModelV4, simulateReadableStream } from 'ai/test';
import { expect, test } from 'vitest';
import { partsOf } from './answer.ts';
import { ModelRefusedError, ModelStreamError, ModelUnavailableError } from './errors.ts';
import type { SupportedModel } from './language-model.ts';
import { ANSWER_MAX_BYTES } from './limits.ts';
import { model } from './model.ts';

const USAGE = {
  inputTokens: { total: undefined, noCache: 4, cacheRead: 6, cacheWrite: 2 },
  outputTokens: { total: undefined, text: 3, reasoning: 2 },
};
const FINISH = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: USAGE } as const;
const prompt = { messages: [], raw: undefined, tools: [], responseSchema: null, settings: null };
const asked = (languageModel: SupportedModel, isStreamed: boolean, onDelta: (delta: ModelDelta) => void = () => {}) =>
  model(languageModel).answer(
    prompt,
    { key: 'k' as EffectKey, signal: new AbortController().signal, onDelta, promptTokens: 7 },
    isStreamed,
  );
const streaming = (chunks: LanguageModelV4StreamPart[]) =>
  new MockLanguageModelV4({ doStream: async () => ({ stream: simulateReadableStream({ chunks }) }) });

test('a model of the interface v3 answers alike', async () => {
  const chunks: LanguageModelV3StreamPart[] = [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: 'Hi' },
    { type: 'text-end', id: '1' },
    { type: 'file', mediaType: 'image/png', data: Uint8Array.from([1, 2]) },
    FINISH,
  ];
  const languageModel = new MockLanguageModelV3({
    doGenerate: async () => ({
      content: [
        { type: 'text', text: 'Hi' },
        { type: 'file', mediaType: 'image/png', data: 'AQI=' },
      ],
      finishReason: FINISH.finishReason,
      usage: USAGE,
      warnings: [],
    }),
    doStream: async () => ({ stream: simulateReadableStream({ chunks }) }),
  });
  const whole = await asked(languageModel, false);
  expect(whole).toMatchObject({
    text: 'Hi',
    usage: { inputTokens: 12, outputTokens: 5, cachedInputTokens: 6, reasoningTokens: 2, cacheWriteTokens: 2 },
  });
  expect(await asked(languageModel, true)).toEqual(whole);
});

test('a setting that only the newer interface has is refused for v3', async () => {
  const old = model(new MockLanguageModelV3());
  const context = { key: 'k' as EffectKey, signal: new AbortController().signal, onDelta: () => {}, promptTokens: 7 };
  await expect(old.answer({ ...prompt, settings: { reasoning: 'high' } }, context, false)).rejects.toThrow(
    'reasoning is not known to a model of specification v3',
  );
});

test.each([
  [
    { specificationVersion: 'v2', provider: 'p', modelId: 'm', doGenerate: () => {}, doStream: () => {} },
    'p m has the interface v2; v3 and v4 are supported',
  ],
  ['openai/gpt-5.5', "a model's name alone is not enough"],
  [undefined, 'takes a language model'],
])('what is no supported model is refused: %j', (given, said) => {
  expect(() => model(given as never)).toThrow(said);
});

test.each([
  [{ timeoutMs: 0 }, 'timeoutMs is 0'],
  [{ maxOutputTokens: -1 }, 'maxOutputTokens is -1'],
  [{ retry: { attempts: 0 } }, 'retry.attempts is 0'],
  [{ retry: { tries: 3 } }, 'retry.tries is not known'],
  [{ tokenizer: 'o200k' }, 'tokenizer is "o200k": must be a tokenizer'],
  [{ prices: {} }, 'prices is an object: must come from priceTable or loadPrices'],
  [{ apiKey: 'x' }, 'apiKey is not known'],
])('a wrong option is refused by its name: %j', (options, said) => {
  expect(() => model(new MockLanguageModelV4(), options as never)).toThrow(said);
});

test('blocks that a stream interleaves, uses again or leaves open come out in their order', async () => {
  const reported: ModelDelta[] = [];
  const answer = await asked(
    streaming([
      { type: 'stream-start', warnings: [] },
      { type: 'reasoning-start', id: '1' },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'A' },
      { type: 'reasoning-delta', id: '1', delta: 'think' },
      { type: 'text-end', id: '1' },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'B' },
      { type: 'reasoning-end', id: '1', providerMetadata: { p: { signature: 's' } } },
      { type: 'text-start', id: 'empty' },
      { type: 'text-end', id: 'empty' },
      { type: 'text-delta', id: 'never-begun', delta: 'C' },
      { type: 'ping' },
      { type: 'raw', rawValue: {} },
      FINISH,
    ]),
    true,
    (delta) => void reported.push(delta),
  );
  expect(answer.text).toBe('ABC');
  expect(partsOf(answer)).toMatchObject({
    content: [
      { type: 'reasoning', text: 'think', providerMetadata: { p: { signature: 's' } } },
      { type: 'text', text: 'A' },
      { type: 'text', text: 'B' },
      { type: 'text', text: 'C' },
    ],
  });
  expect(reported.map((delta) => delta.kind !== 'tool-call' && delta.text)).toEqual(['A', 'think', 'B', 'C']);
});

test('a stream that pays no onControlChanged to an abort is left', async () => {
  const deaf = new ReadableStream<LanguageModelV4StreamPart>({
    start: (controller) => controller.enqueue({ type: 'text-delta', id: '1', delta: 'Half' }),
  });
  const languageModel = new MockLanguageModelV4({ doStream: async () => ({ stream: deaf }) });
  const controller = new AbortController();
  const reason = new Error('The lease is lost.');
  const context = {
    key: 'k' as EffectKey,
    signal: controller.signal,
    onDelta: () => controller.abort(reason),
    promptTokens: 7,
  };
  await expect(model(languageModel).answer(prompt, context, true)).rejects.toBe(reason);
});

test('whole calls that came before a stream broke are certain, a half one is not', async () => {
  const error: ModelStreamError = await asked(
    streaming([
      { type: 'stream-start', warnings: [] },
      { type: 'tool-input-start', id: 'c1', toolName: 'weather' },
      { type: 'tool-input-delta', id: 'c1', delta: '{"city":"Rome"}' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'weather', input: '{"city":"Rome"}' },
      { type: 'tool-input-start', id: 'c2', toolName: 'weather' },
      { type: 'tool-input-delta', id: 'c2', delta: '{"city":' },
      { type: 'error', error: 'the engine died' },
    ]),
    true,
  ).then(
    () => expect.unreachable(),
    (thrown) => thrown,
  );
  expect(error).toBeInstanceOf(ModelStreamError);
  expect(error.received.toolCalls).toEqual([{ id: 'c1', name: 'weather', input: { city: 'Rome' } }]);
  expect(error.message).toContain(
    'the engine died. The answer broke off: 0 characters of text and 1 whole tool calls had come',
  );
});

test.each([
  ['ends without a reason', []],
  ['says that it was interrupted', [{ ...FINISH, finishReason: { unified: 'interrupted', raw: undefined } } as const]],
])('a stream that %s is no answer', async (_, end) => {
  const chunks: LanguageModelV4StreamPart[] = [
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: 'Half' },
    ...end,
  ];
  await expect(asked(streaming(chunks), true)).rejects.toMatchObject({
    code: 'model-stream-broken',
    received: { text: 'Half' },
  });
});

test('a model that runs on is cut off, and not asked again', async () => {
  const piece = 'x'.repeat(12 * 1_024 * 1_024);
  const delta: LanguageModelV4StreamPart = { type: 'text-delta', id: '1', delta: piece };
  const cut = asked(streaming([delta, delta, delta, FINISH]), true);
  await expect(cut).rejects.toMatchObject({
    code: 'model-answer-too-large',
    details: { maxBytes: ANSWER_MAX_BYTES, usage: undefined },
  });
  // No attempt follows one, and a person is asked: it isn't named as what ends the workflow.
  await expect(cut).rejects.toBeInstanceOf(LimitError);
  expect(model(streaming([])).retry.nonRetryable).not.toContain('model-answer-too-large');
});

test('a whole answer that was interrupted is none either', async () => {
  const languageModel = new MockLanguageModelV4({
    doGenerate: async () => ({
      content: [{ type: 'text', text: 'Half' }],
      finishReason: { unified: 'interrupted', raw: undefined },
      usage: USAGE,
      warnings: [],
    }),
  });
  await expect(asked(languageModel, false)).rejects.toMatchObject({
    code: 'model-stream-broken',
    received: { text: 'Half' },
  });
});

test('what the SDK refuses before it sends anything is certainly not done', async () => {
  const languageModel = new MockLanguageModelV4({
    doGenerate: async () => {
      throw new NoSuchModelError({ modelId: 'm', modelType: 'languageModel' });
    },
  });
  await expect(asked(languageModel, false)).rejects.toBeInstanceOf(ModelRefusedError);
});

test('a retry time as a date is told in milliseconds, and a foolish one is cut', async () => {
  const after = (value: string) =>
    asked(
      new MockLanguageModelV4({
        doGenerate: async () => {
          throw new APICallError({
            message: 'no',
            url: 'u',
            requestBodyValues: {},
            statusCode: 503,
            responseHeaders: { 'retry-after': value },
          });
        },
      }),
      false,
    ).then(
      () => expect.unreachable(),
      (error: ModelUnavailableError) => error.details.retryAfterMs,
    );
  expect(await after(new Date(Date.now() + 60_000).toUTCString())).toBeGreaterThan(50_000);
  expect(await after(new Date(0).toUTCString())).toBe(0);
  expect(await after('99999999')).toBe(24 * 3_600_000);
  expect(await after('soon')).toBeUndefined();
});

test('anything that is thrown becomes an error that may be tried again', async () => {
  for (const thrown of [
    undefined,
    null,
    'text',
    { message: 3 },
    Object.create(null),
    new TypeError('x is not a function'),
  ]) {
    const languageModel = new MockLanguageModelV4({
      doGenerate: async () => {
        throw thrown;
      },
    });
    await expect(asked(languageModel, false)).rejects.toBeInstanceOf(ModelUnavailableError);
  }
});
