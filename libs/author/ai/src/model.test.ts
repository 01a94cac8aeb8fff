/** The provider interface through real HTTP: what is sent, what is recorded, how each failure is told. */

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { EffectKey, Json } from '@tidemark/core';
import type { ModelDelta, ModelPrompt } from '@tidemark/runtime';
import { type Behaviour, type ChatAnswer, type ChatServer, startChatServer } from '@tidemark/testkit/chat-server';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  ModelBusyError,
  ModelContentRefusedError,
  ModelRefusedError,
  ModelStreamError,
  ModelUnavailableError,
} from './errors.ts';
import { model } from './model.ts';

const KEY = 'not-a-known-form-of-key';
let server: ChatServer;
let deltas: ModelDelta[] = [];

beforeAll(async () => {
  server = await startChatServer();
});
afterAll(() => server.close());
beforeEach(() => {
  deltas = [];
});

const provider = (url = server.url) =>
  createOpenAICompatible({
    name: 'openai',
    baseURL: url,
    apiKey: KEY,
    headers: { 'x-team': 'the-secret-team' },
    includeUsage: true,
    supportsStructuredOutputs: true,
  });
const chat = (url?: string) => model(provider(url)('gpt-4o-mini'));

const prompt = (over: Partial<ModelPrompt> = {}): ModelPrompt => ({
  messages: [
    { role: 'system', content: 'Be short.' },
    { role: 'user', content: [{ type: 'text', text: 'What is the weather in Rome?' }] },
  ],
  raw: undefined,
  tools: [],
  responseSchema: null,
  settings: null,
  ...over,
});
const context = (signal = new AbortController().signal) => ({
  key: 'w:0.0:model:0' as EffectKey,
  signal,
  onDelta: (delta: ModelDelta) => void deltas.push(delta),
  promptTokens: 7,
});
const ask = (isStreamed: boolean, over: Partial<ModelPrompt> = {}) =>
  chat().answer(prompt(over), context(), isStreamed);
const failure = async (
  isStreamed: boolean,
  behaviour: Behaviour,
): Promise<Error & { code: string; details: Record<string, Json> }> => {
  server.script(behaviour);
  return ask(isStreamed).then(
    () => expect.unreachable('it answered'),
    (error) => error,
  );
};

const FULL: ChatAnswer = {
  reasoning: 'They want Rome. ',
  text: 'It is warm in Rome.',
  toolCalls: [
    { id: 'call-1', name: 'weather', arguments: '{"city":"Rome","days":3}' },
    { id: 'call-2', name: 'now', arguments: '' },
  ],
};

describe('an answer', () => {
  test.each([false, true])(
    'is recorded with text, calls, reason, usage and detail (streamed: %s)',
    async (isStreamed) => {
      server.script({ kind: 'answer', answer: FULL });
      const answer = await ask(isStreamed);
      expect(answer).toMatchObject({
        text: 'It is warm in Rome.',
        toolCalls: [
          { id: 'call-1', name: 'weather', input: { city: 'Rome', days: 3 } },
          { id: 'call-2', name: 'now', input: {} },
        ],
        finishReason: 'tool-calls',
        usage: { inputTokens: 100, outputTokens: 20, cachedInputTokens: 40, reasoningTokens: 5 },
        detail: { response: { id: 'chatcmpl-1', modelId: 'gpt-4o-mini-2024-07-18' } },
      });
      expect(JSON.parse(JSON.stringify(answer))).toEqual(answer);
    },
  );

  test('is the same whether it came whole or streamed', async () => {
    server.script({ kind: 'answer', answer: FULL });
    expect(await ask(true)).toEqual(await ask(false));
  });

  test('is told piece by piece while it comes, and only when it is streamed', async () => {
    server.script({ kind: 'answer', answer: FULL });
    await ask(false);
    expect(deltas).toEqual([]);
    await ask(true);
    expect(deltas.filter(({ kind }) => kind === 'text')).toHaveLength(5);
    expect(deltas.filter(({ kind }) => kind === 'reasoning')).toHaveLength(3);
    expect(deltas.filter(({ kind }) => kind === 'tool-call')).toEqual([
      { kind: 'tool-call', call: { id: 'call-1', name: 'weather', input: { city: 'Rome', days: 3 } } },
      { kind: 'tool-call', call: { id: 'call-2', name: 'now', input: {} } },
    ]);
  });

  test('keeps input that is no JSON as the text that the model wrote', async () => {
    server.script({
      kind: 'answer',
      answer: { toolCalls: [{ id: 'c', name: 'weather', arguments: '{"city": Rome' }] },
    });
    expect((await ask(false)).toolCalls).toEqual([{ id: 'c', name: 'weather', input: '{"city": Rome' }]);
  });

  test.each([
    ['length', 'length'],
    ['content_filter', 'content-filter'],
    ['something_new', 'other'],
  ])('ends for the reason %s', async (finishReason, unified) => {
    server.script({ kind: 'answer', answer: { text: 'So', finishReason } });
    expect((await ask(true)).finishReason).toBe(unified);
  });

  test('costs what the table says, also for tokens that were counted here', async () => {
    server.script({ kind: 'answer', answer: FULL });
    // 60 * 0.15 + 40 * 0.075 + 20 * 0.6
    expect(chat().costMicros((await ask(false)).usage)).toBe(24);
    server.script({ kind: 'answer', answer: { text: 'So', usage: {} } });
    expect((await ask(false)).usage).toEqual({
      ...{ inputTokens: 7, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0, estimatedTokens: 8 },
    });
  });
});

describe('what is asked', () => {
  const sent = () => server.requests.at(-1)?.body;

  test('holds an answer to its schema strictly only where the provider can', async () => {
    const { createOpenAI } = await import('@ai-sdk/openai');
    const bodies: { response_format: { json_schema: { strict: boolean } } }[] = [];
    const fetch = async (_: unknown, init?: RequestInit) => {
      bodies.push(JSON.parse(String(init?.body)));
      return Response.json({ choices: [{ message: { content: '{}' }, finish_reason: 'stop', index: 0 }], usage: {} });
    };
    const openai = model(createOpenAI({ apiKey: 'none', fetch }).chat('gpt-4o-mini'));
    const closed = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    };
    const partly = { ...closed, properties: { ...closed.properties, b: { type: 'number' } } };
    const byName = {
      ...closed,
      properties: { a: { type: 'object', properties: {}, additionalProperties: { type: 'string' } } },
    };
    const asked = { key: 'k', signal: new AbortController().signal, onDelta: () => {} } as never;
    for (const responseSchema of [closed, partly, byName])
      await openai.answer({ ...prompt(), responseSchema }, asked, false);
    const settings = { providerOptions: { openai: { strictJsonSchema: true } } };
    await openai.answer({ ...prompt(), responseSchema: partly, settings }, asked, false);
    expect(bodies.map(({ response_format }) => response_format.json_schema.strict)).toEqual([true, false, false, true]);
  });

  test('has messages, tools, schema and settings in the provider’s own spelling', async () => {
    server.script({ kind: 'answer', answer: { text: '{}' } });
    const schema = { type: 'object', properties: { degrees: { type: 'number' } } };
    await ask(false, {
      messages: [
        ...prompt().messages,
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I look.' },
            { type: 'tool-call', id: 'call-1', name: 'weather', input: { city: 'Rome' } },
          ],
        },
        { role: 'tool', content: [{ type: 'tool-result', id: 'call-1', name: 'weather', output: '21 °C' }] },
      ],
      tools: [{ name: 'weather', description: 'The weather', inputSchema: { type: 'object' } }],
      responseSchema: schema,
      settings: {
        temperature: 0.5,
        maxOutputTokens: 50,
        seed: 7,
        stopSequences: ['END'],
        toolChoice: { tool: 'weather' },
        responseName: 'degrees',
        providerOptions: { openai: { user: 'u1' } },
      },
    });
    expect(sent()).toMatchObject({
      model: 'gpt-4o-mini',
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: 'What is the weather in Rome?' },
        {
          role: 'assistant',
          content: 'I look.',
          tool_calls: [{ id: 'call-1', function: { name: 'weather', arguments: '{"city":"Rome"}' } }],
        },
        { role: 'tool', tool_call_id: 'call-1', content: '21 °C' },
      ],
      tools: [
        { type: 'function', function: { name: 'weather', description: 'The weather', parameters: { type: 'object' } } },
      ],
      tool_choice: { type: 'function', function: { name: 'weather' } },
      response_format: { type: 'json_schema', json_schema: { name: 'degrees', schema } },
      temperature: 0.5,
      max_tokens: 50,
      seed: 7,
      stop: ['END'],
      user: 'u1',
    });
  });

  test('is the raw prompt where one is given, as it is', async () => {
    server.script({ kind: 'answer', answer: { text: 'So' } });
    await ask(false, { raw: [{ role: 'user', content: [{ type: 'text', text: 'As it is' }] }] });
    expect(sent()).toMatchObject({ messages: [{ role: 'user', content: 'As it is' }] });
  });

  test('has the model’s cap on answers only where one was given, and the call’s own goes before it', async () => {
    server.script({ kind: 'answer', answer: { text: 'So' } });
    await ask(false);
    expect(sent()).not.toHaveProperty('max_tokens');
    expect(chat().maxOutputTokens).toBe(8_192);
    const capped = model(provider()('gpt-4o-mini'), { maxOutputTokens: 30 });
    expect(capped.maxOutputTokens).toBe(30);
    await capped.answer(prompt(), context(), false);
    expect(sent()).toMatchObject({ max_tokens: 30 });
    await capped.answer(prompt({ settings: { maxOutputTokens: 9 } }), context(), false);
    expect(sent()).toMatchObject({ max_tokens: 9 });
  });

  test.each([
    [{ temprature: 1 }, 'temprature is not known'],
    [{ headers: { authorization: 'Bearer abc' } }, 'headers is not known'],
    [{ temperature: 'hot' }, 'temperature is "hot"'],
    [{ maxOutputTokens: 1.5 }, 'maxOutputTokens is 1.5'],
    [{ stopSequences: 'END' }, 'stopSequences is "END"'],
    [{ toolChoice: { tool: 'rain' } }, 'toolChoice.tool is "rain", which is not a tool of the call'],
    [[], 'the whole is a list'],
  ])('is refused by the name of a wrong setting: %j', async (settings, said) => {
    const before = server.requests.length;
    const error: Error = await ask(false, { settings }).then(
      () => expect.unreachable(),
      (thrown) => thrown,
    );
    expect(error).toMatchObject({ name: 'InvalidError', code: 'model-settings-invalid' });
    expect(error.message).toContain('settings of a call of openai.chat gpt-4o-mini');
    expect(error.message).toContain(said);
    expect(server.requests).toHaveLength(before);
  });
});

describe('a provider that refuses', () => {
  test.each([
    [400, 'unknown_parameter', 'There is no such parameter'],
    [404, 'model_not_found', 'There is no such model'],
    [400, 'content_policy_violation', 'This is against the policy'],
  ])('with %i certainly did nothing, and is not asked again', async (status, code, message) => {
    const body = JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code } });
    for (const isStreamed of [false, true]) {
      const error = await failure(isStreamed, { kind: 'status', status, body });
      const isOfContent = code === 'content_policy_violation';
      expect(error).toBeInstanceOf(isOfContent ? ModelContentRefusedError : ModelRefusedError);
      expect(error.message).toContain(`openai.chat gpt-4o-mini: status ${status}, ${code}: ${message}`);
      expect(error.details).toEqual({ provider: 'openai.chat', modelId: 'gpt-4o-mini', status, reason: code });
    }
  });

  test('for too many calls certainly did nothing, and says how long to wait', async () => {
    const error = await failure(false, {
      kind: 'status',
      status: 429,
      headers: { 'retry-after': '7' },
      body: '{"error":{"message":"Slow down","code":"rate_limit_exceeded"}}',
    });
    expect(error).toBeInstanceOf(ModelBusyError);
    expect(error).toMatchObject({
      code: 'model-busy',
      details: { status: 429, retryAfterMs: 7_000, reason: 'rate_limit_exceeded' },
    });
    expect(error.message).toContain('asks to wait 7 s: Slow down');
    expect(chat().retry.nonRetryable).not.toContain(error.code);
  });

  test('for a used-up account is not asked again', async () => {
    const error = await failure(false, {
      kind: 'status',
      status: 429,
      body: '{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}',
    });
    expect(error).toBeInstanceOf(ModelRefusedError);
  });

  test.each([503, 529])('with %i did nothing, and costs nothing', async (status) => {
    const error = await failure(true, { kind: 'status', status, body: '{"error":{"message":"overloaded"}}' });
    expect(error).toMatchObject({ name: 'NotDoneError', code: 'model-busy', details: { status } });
  });

  test('with 403 and a time to wait has not refused for good', async () => {
    const body = '{"error":{"message":"secondary rate limit"}}';
    const error = await failure(false, { kind: 'status', status: 403, headers: { 'retry-after': '60' }, body });
    expect(error).toMatchObject({ code: 'model-busy', details: { retryAfterMs: 60_000 } });
  });

  test('with a plain 503 may have done it, and been paid', async () => {
    const error = await failure(false, { kind: 'status', status: 503, body: '{"error":{"message":"no"}}' });
    expect(error).toMatchObject({ name: 'UnavailableError', code: 'model-unavailable', details: { status: 503 } });
  });

  test.each([500, 502, 504])('with %i may have done it, and is asked again', async (status) => {
    const error = await failure(true, {
      kind: 'status',
      status,
      headers: { 'retry-after-ms': '1500' },
      body: '{"error":{"message":"overloaded"}}',
    });
    expect(error).toBeInstanceOf(ModelUnavailableError);
    expect(error).toMatchObject({ code: 'model-unavailable', details: { status, retryAfterMs: 1_500 } });
    expect(error.message).toContain('Whether it was answered is unknown.');
    expect(chat().retry.nonRetryable).not.toContain(error.code);
  });

  test('because it isn’t there was never asked', async () => {
    const gone = await startChatServer();
    await gone.close();
    await expect(chat(gone.url).answer(prompt(), context(), false)).rejects.toMatchObject({
      name: 'NotDoneError',
      code: 'model-busy',
    });
  });

  test('with a body that is no JSON may have been paid', async () => {
    const error = await failure(false, { kind: 'no-json' });
    expect(error).toBeInstanceOf(ModelUnavailableError);
    expect(error).toMatchObject({ code: 'model-answer-malformed', details: { status: 200 } });
  });
});

describe('a stream that breaks', () => {
  const received = {
    text: 'It is warm ',
    reasoning: 'They want Rome. ',
    toolCalls: [],
    usage: undefined,
    responseId: 'chatcmpl-1',
  };

  test.each(['reset', 'end'] as const)('in the middle (%s) is no answer, and tells what had come', async (how) => {
    const error = await failure(true, { kind: 'cut', answer: FULL, pieces: 6, how });
    expect(error).toBeInstanceOf(ModelStreamError);
    expect(error).toMatchObject({ code: 'model-stream-broken', received });
    expect(error.message).toContain(
      '11 characters of text, 16 of reasoning and 0 whole tool calls had come, and what they cost is unknown',
    );
    expect(chat().retry.nonRetryable).not.toContain(error.code);
    expect(deltas.filter(({ kind }) => kind === 'text')).toHaveLength(3);
  });

  test('after every piece of the answer but the last reason is no answer either', async () => {
    // 3 of reasoning, 5 of text, 4 of calls; then the reason and the usage.
    for (const pieces of [1, 3, 8, 10, 12]) {
      const error = await failure(true, { kind: 'cut', answer: FULL, pieces, how: 'end' });
      expect(error).toBeInstanceOf(ModelStreamError);
    }
  });

  test('with an error of the provider in it tells the error', async () => {
    const error = await failure(true, {
      kind: 'error-piece',
      answer: FULL,
      pieces: 6,
      error: { message: 'The engine is overloaded', type: 'server_error', code: null },
    });
    expect(error).toMatchObject({ code: 'model-stream-broken', received, details: { reason: 'server_error' } });
    expect(error.message).toContain('The engine is overloaded');
  });

  test('for a policy is not asked again', async () => {
    const error = await failure(true, {
      kind: 'error-piece',
      answer: FULL,
      pieces: 6,
      error: { message: 'Filtered', type: 'content_filter', code: null },
    });
    expect(error).toMatchObject({ name: 'InvalidError', code: 'model-content-refused', received });
  });

  test('with a piece that is no JSON is told', async () => {
    expect(await failure(true, { kind: 'no-json' })).toMatchObject({
      code: 'model-stream-broken',
      received: { text: '' },
    });
  });

  test('that hangs ends when its call is aborted, with the reason of the abort', async () => {
    server.script({ kind: 'hang', answer: FULL, pieces: 5 });
    const controller = new AbortController();
    const reason = new Error('The lease is lost.');
    const asked = chat().answer(
      prompt(),
      { ...context(controller.signal), onDelta: (delta) => delta.kind === 'text' && controller.abort(reason) },
      true,
    );
    await expect(asked).rejects.toBe(reason);
  });
});

describe('a key', () => {
  const texts = (error: Error): string =>
    `${error.message} ${error.stack} ${JSON.stringify(error)} ${JSON.stringify((error as { details?: unknown }).details)} ${String(error.cause)}`;

  test.each([400, 401, 403, 429, 500])('that a provider echoes with status %i is in no error', async (status) => {
    for (const isStreamed of [false, true]) {
      const error = await failure(isStreamed, { kind: 'echo', status });
      expect(texts(error)).not.toContain(KEY);
      expect(texts(error)).not.toContain('the-secret-team');
      expect(error.cause).toBeUndefined();
    }
    // The server did see it: the test would fail if nothing was hidden.
    expect(server.requests.at(-1)?.headers.authorization).toContain(KEY);
  });

  test('that a stream echoes is in no error', async () => {
    const error = await failure(true, {
      kind: 'error-piece',
      answer: { text: `Your key is ${KEY} .` },
      pieces: 4,
      error: { message: `bad key ${KEY}`, type: 'server_error' },
    });
    expect(texts(error)).not.toContain(KEY);
    expect(JSON.stringify((error as ModelStreamError).received)).not.toContain(KEY);
  });
});
