/** Code that uses the AI SDK as it is, inside a step: recorded once, and given back to every later attempt. */

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV2, LanguageModelV4Content, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { portableName } from '@tidemark/core';
import { type ChatServer, startChatServer } from '@tidemark/testkit/chat-server';
import { generateObject, generateText, isStepCount, jsonSchema, Output, streamText, tool, wrapLanguageModel } from 'ai';
import { MockLanguageModelV3, MockLanguageModelV4, simulateReadableStream } from 'ai/test';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { ModelStreamError } from './errors.ts';
import { type ModelCaller, tidemark } from './middleware.ts';
import { FakeStep } from './step-fixture.ts';

let server: ChatServer;
beforeAll(async () => {
  globalThis.AI_SDK_LOG_WARNINGS = false;
  server = await startChatServer();
});
afterAll(() => server.close());

const remote = (ctx: ModelCaller) =>
  wrapLanguageModel({
    model: createOpenAICompatible({
      name: 'openai',
      baseURL: server.url,
      apiKey: 'not-a-known-form-of-key',
      includeUsage: true,
      supportsStructuredOutputs: true,
    })('gpt-4o-mini'),
    middleware: tidemark(ctx),
  });

const drained = async (parts: AsyncIterable<unknown>): Promise<void> => {
  for await (const _ of parts);
};

const USAGE = {
  inputTokens: { total: 10, noCache: 4, cacheRead: 6, cacheWrite: undefined },
  outputTokens: { total: 5, text: 3, reasoning: 2 },
  raw: { prompt_tokens: 10 },
};
const PNG = Uint8Array.from([137, 80, 78, 71, 0, 255]);

/** An answer with everything that the interface has. */
const rich = () =>
  new MockLanguageModelV4({
    provider: 'anthropic.messages',
    modelId: 'claude-sonnet-4-5-20250929',
    doGenerate: async () => ({
      content: [
        { type: 'reasoning', text: 'Hm.', providerMetadata: { anthropic: { signature: 'c2lnbmF0dXJl' } } },
        { type: 'text', text: 'See ' },
        { type: 'source', sourceType: 'url', id: 's1', url: 'https://example.com/rome', title: 'Rome' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: PNG } },
        { type: 'text', text: 'this.', providerMetadata: { anthropic: { cited: true } } },
      ],
      finishReason: { unified: 'stop', raw: 'end_turn' },
      usage: USAGE,
      providerMetadata: { anthropic: { cacheCreationInputTokens: 0 } },
      warnings: [{ type: 'other', message: 'topK was ignored' }],
      request: { body: { secret: 'of the request' } },
      response: {
        id: 'msg_1',
        modelId: 'claude-sonnet-4-5-20250929',
        timestamp: new Date('2026-01-02T03:04:05Z'),
        headers: { 'set-cookie': 'session=of-the-response' },
        body: { raw: 'of the response' },
      },
    }),
  });

test('generateText gets the recorded answer on a retry: content, reasoning, files, sources, metadata, usage', async () => {
  const step = new FakeStep();
  const inner = rich();
  const run = () =>
    generateText({
      model: wrapLanguageModel({ model: inner, middleware: tidemark(step.attempt()) }),
      prompt: 'Where?',
      headers: { authorization: 'Bearer of-the-caller' },
    });
  const reported = (result: Awaited<ReturnType<typeof run>>) => ({
    text: result.text,
    reasoning: result.reasoning,
    files: result.files.map((file) => [file.mediaType, file.base64]),
    sources: result.sources,
    usage: result.usage,
    finishReason: [result.finishReason, result.rawFinishReason],
    metadata: result.providerMetadata,
    warnings: result.warnings,
    response: [result.response.id, result.response.modelId, result.response.timestamp],
  });
  const first = reported(await run());
  const second = reported(await run());
  expect(second).toEqual(first);
  expect(inner.doGenerateCalls).toHaveLength(1);
  expect(step.asked).toBe(1);
  expect(first).toMatchObject({
    text: 'See this.',
    reasoning: [{ type: 'reasoning', text: 'Hm.', providerMetadata: { anthropic: { signature: 'c2lnbmF0dXJl' } } }],
    finishReason: ['stop', 'end_turn'],
    metadata: { anthropic: { cacheCreationInputTokens: 0 } },
    warnings: [{ type: 'other', message: 'topK was ignored' }],
    response: ['msg_1', 'claude-sonnet-4-5-20250929', new Date('2026-01-02T03:04:05Z')],
  });
  expect(first.files).toContainEqual(['image/png', Buffer.from(PNG).toString('base64')]);
  expect(JSON.stringify(step.journal)).not.toMatch(/of-the-caller|of the request|of-the-response|of the response/);
});

test('without the middleware a retry asks again', async () => {
  const inner = rich();
  await generateText({ model: inner, prompt: 'Where?' });
  await generateText({ model: inner, prompt: 'Where?' });
  expect(inner.doGenerateCalls).toHaveLength(2);
});

test('a loop of tools goes on where it was: recorded calls are not made again, the next one is', async () => {
  const step = new FakeStep();
  const before = server.requests.length;
  const weather = vi.fn(async ({ city }: { city: string }) => `21 °C in ${city}`);
  const tools = {
    weather: tool({ description: 'The weather', inputSchema: z.object({ city: z.string() }), execute: weather }),
  };
  const run = () =>
    generateText({
      model: remote(step.attempt()),
      tools,
      stopWhen: isStepCount(3),
      prompt: 'Weather in Rome?',
      maxRetries: 0,
    });

  server.script(
    { kind: 'answer', answer: { toolCalls: [{ id: 'call-1', name: 'weather', arguments: '{"city":"Rome"}' }] } },
    { kind: 'status', status: 500, body: '{"error":{"message":"boom"}}' },
    { kind: 'answer', answer: { text: 'It is 21 °C.' } },
  );
  await expect(run()).rejects.toMatchObject({ code: 'model-unavailable' });
  const result = await run();
  expect(result.text).toBe('It is 21 °C.');
  expect(result.steps).toHaveLength(2);
  // One call recorded, one failed, one made by the second attempt.
  expect(server.requests).toHaveLength(before + 3);
  const again = await run();
  expect(again.text).toBe(result.text);
  expect(again.steps.map(({ toolCalls }) => toolCalls)).toEqual(result.steps.map(({ toolCalls }) => toolCalls));
  expect(server.requests).toHaveLength(before + 3);
});

test('generateObject gets the same object on a retry', async () => {
  const step = new FakeStep();
  const schema = z.object({ city: z.string(), degrees: z.number() });
  server.script({ kind: 'answer', answer: { text: '{"city":"Rome","degrees":21}' } }, { kind: 'status', status: 500 });
  const run = () =>
    generateObject({ model: remote(step.attempt()), schema, prompt: 'Weather in Rome?', maxRetries: 0 });
  expect((await run()).object).toEqual({ city: 'Rome', degrees: 21 });
  expect((await run()).object).toEqual({ city: 'Rome', degrees: 21 });
  expect(step.asked).toBe(1);
  expect(step.journal[0]?.request).toMatchObject({ responseSchema: { type: 'object', required: ['city', 'degrees'] } });
});

test('generateText gets the same structured output on a retry', async () => {
  const step = new FakeStep();
  const output = Output.object({ schema: z.object({ degrees: z.number() }) });
  server.script({ kind: 'answer', answer: { text: '{"degrees":21}' } }, { kind: 'status', status: 500 });
  const run = () => generateText({ model: remote(step.attempt()), output, prompt: 'How warm?', maxRetries: 0 });
  expect((await run()).output).toEqual({ degrees: 21 });
  expect((await run()).output).toEqual({ degrees: 21 });
  expect(step.asked).toBe(1);
});

test('streamText shows pieces as they come, and on a retry the same answer from the record', async () => {
  const step = new FakeStep();
  server.script(
    { kind: 'answer', answer: { reasoning: 'Rome, then. ', text: 'It is warm in Rome.' } },
    { kind: 'status', status: 500 },
  );
  const run = async () => {
    const result = streamText({ model: remote(step.attempt()), prompt: 'Weather in Rome?', maxRetries: 0 });
    const pieces: string[] = [];
    for await (const piece of result.textStream) pieces.push(piece);
    return {
      pieces,
      text: await result.text,
      reasoning: await result.reasoningText,
      usage: await result.usage,
      reason: await result.finishReason,
    };
  };
  const first = await run();
  expect(first.pieces).toEqual(['It ', 'is ', 'warm ', 'in ', 'Rome.']);
  expect(step.deltas.filter(({ kind }) => kind === 'text')).toHaveLength(5);
  const second = await run();
  expect(second).toEqual({ ...first, pieces: ['It is warm in Rome.'] });
  expect(step.asked).toBe(1);
});

test('a stream with tools goes on from the record', async () => {
  const step = new FakeStep();
  const tools = {
    weather: tool({ inputSchema: jsonSchema<{ city: string }>({ type: 'object' }), execute: async () => '21 °C' }),
  };
  server.script(
    { kind: 'answer', answer: { toolCalls: [{ id: 'call-1', name: 'weather', arguments: '{"city":"Rome"}' }] } },
    { kind: 'answer', answer: { text: 'It is 21 °C.' } },
    { kind: 'status', status: 500 },
  );
  const run = async () => {
    const result = streamText({
      model: remote(step.attempt()),
      tools,
      stopWhen: isStepCount(3),
      prompt: 'Weather?',
      maxRetries: 0,
    });
    return { text: await result.text, calls: (await result.steps).map(({ toolCalls }) => toolCalls) };
  };
  const first = await run();
  expect(first.text).toBe('It is 21 °C.');
  expect(await run()).toEqual(first);
  expect(step.asked).toBe(2);
});

test('a stream that breaks is told to its reader, recorded as nothing, and asked anew by the next attempt', async () => {
  const step = new FakeStep();
  const answer = { text: 'It is warm in Rome.' };
  server.script({ kind: 'cut', answer, pieces: 3, how: 'reset' }, { kind: 'answer', answer });
  const broken = streamText({
    model: remote(step.attempt()),
    prompt: 'Weather?',
    maxRetries: 0,
    onError: () => {},
  });
  const pieces: string[] = [];
  const read = async () => {
    for await (const piece of broken.textStream) pieces.push(piece);
  };
  await expect(read()).rejects.toBeInstanceOf(ModelStreamError);
  expect(pieces.join('')).toBe('It is warm ');
  await expect(broken.text).rejects.toThrow();
  expect(step.journal).toEqual([]);
  expect(await streamText({ model: remote(step.attempt()), prompt: 'Weather?' }).text).toBe('It is warm in Rome.');
  expect(step.journal).toHaveLength(1);
});

test.each([
  ['the text', (result: ReturnType<typeof streamText>) => result.text],
  ['the pieces', (result: ReturnType<typeof streamText>) => drained(result.textStream)],
  ['the parts', (result: ReturnType<typeof streamText>) => drained(result.fullStream)],
])('a stream that is refused before it begins fails whoever reads %s', async (_, read) => {
  const step = new FakeStep();
  server.script({ kind: 'status', status: 429, headers: { 'retry-after': '3' } });
  const result = streamText({ model: remote(step.attempt()), prompt: 'Hi', onError: () => {} });
  await expect(read(result)).rejects.toMatchObject({ code: 'model-busy', details: { retryAfterMs: 3_000 } });
  expect(step.asked).toBe(1);
});

test('the SDK does not ask again by itself what the step tries again', async () => {
  const step = new FakeStep();
  server.script({ kind: 'status', status: 500 });
  await expect(generateText({ model: remote(step.attempt()), prompt: 'Hi' })).rejects.toMatchObject({
    code: 'model-unavailable',
  });
  expect(step.asked).toBe(1);
});

test('the end of a stream is not shown before the answer is recorded', async () => {
  const recorded = Promise.withResolvers<void>();
  const step = new FakeStep();
  const attempt = step.attempt();
  const slow: ModelCaller = {
    modelCall: async (request) => {
      const answer = await attempt.modelCall(request);
      await recorded.promise;
      return answer;
    },
  };
  server.script({ kind: 'answer', answer: { text: 'So it is.' } });
  const { stream } = await remote(slow).doStream({
    prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  });
  const types: string[] = [];
  const read = (async () => {
    for await (const part of stream) types.push(part.type);
  })();
  await expect.poll(() => types).toContain('text-end');
  expect(step.journal).toHaveLength(1);
  expect(types).not.toContain('finish');
  recorded.resolve();
  await read;
  expect(types.at(-1)).toBe('finish');
});

test('whoever stops reading does not stop the call: its answer is recorded', async () => {
  const step = new FakeStep();
  server.script({ kind: 'answer', answer: { text: 'So it is.' } });
  const { stream } = await remote(step.attempt()).doStream({
    prompt: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  });
  await stream.cancel();
  await expect.poll(() => step.journal).toHaveLength(1);
});

test('an abort by the caller ends the call', async () => {
  const step = new FakeStep();
  server.script({ kind: 'hang', answer: { text: 'So it is.' }, pieces: 1 });
  const controller = new AbortController();
  const result = streamText({
    model: remote(step.attempt()),
    prompt: 'Hi',
    abortSignal: controller.signal,
    onError: () => {},
  });
  for await (const _ of result.textStream) controller.abort();
  await expect.poll(() => step.asked).toBe(1);
  expect(step.journal).toEqual([]);
});

test('a request is what is asked, and nothing else: files by their digest, no headers, no functions', async () => {
  const image = Buffer.from(PNG);
  const ask = async (data: Uint8Array | string) => {
    const step = new FakeStep();
    server.script({ kind: 'answer', answer: { text: 'A dot.' } });
    await generateText({
      model: remote(step.attempt()),
      temperature: 0.3,
      headers: { 'x-trace': 'of-this-run' },
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            { type: 'file', mediaType: 'image/png', data },
          ],
        },
      ],
    });
    return step.journal[0]?.request;
  };
  const request = await ask(image);
  expect(await ask(image.toString('base64'))).toEqual(request);
  expect(await ask(Uint8Array.from([1, 2, 3]))).not.toEqual(request);
  expect(request).toMatchObject({
    settings: { temperature: 0.3 },
    rawPrompt: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          { type: 'file', data: { type: 'data', sha256: expect.stringMatching(/^[0-9a-f]{64}$/), sizeBytes: 6 } },
        ],
      },
    ],
  });
  expect(JSON.stringify(request)).not.toMatch(/of-this-run|iVBO/);
});

const withFile = {
  content: [
    { type: 'text', text: 'Hi' },
    { type: 'file', mediaType: 'image/png', data: PNG },
  ],
  warnings: [],
} as const;
const older = {
  v3: () =>
    new MockLanguageModelV3({
      doGenerate: async () => ({
        ...structuredClone(withFile),
        content: [...withFile.content],
        warnings: [],
        finishReason: { unified: 'stop', raw: undefined },
        usage: USAGE,
      }),
    }),
  v2: (): LanguageModelV2 => ({
    specificationVersion: 'v2',
    provider: 'mock-provider',
    modelId: 'mock-model-id',
    supportedUrls: {},
    doGenerate: async () => ({
      content: [...withFile.content],
      warnings: [],
      finishReason: 'stop',
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    }),
    doStream: async () => expect.unreachable(),
  }),
};

test.each(['v3', 'v2'] as const)(
  'a model of the older interface %s is recorded through wrapLanguageModel',
  async (version) => {
    const step = new FakeStep();
    const run = () =>
      generateText({
        model: wrapLanguageModel({ model: older[version](), middleware: tidemark(step.attempt()) }),
        prompt: 'Hi',
      });
    const first = await run();
    const second = await run();
    expect([second.text, second.files[0]?.base64]).toEqual([first.text, Buffer.from(PNG).toString('base64')]);
    expect(step.asked).toBe(1);
  },
);

test('a recorded answer has its addresses and dates back, and its part of a structured output', async () => {
  const step = new FakeStep();
  const content: LanguageModelV4Content[] = [
    { type: 'text', text: 'Draft. {"a":1}' },
    { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL('https://example.com/a.png') } },
    { type: 'tool-call', toolCallId: 'c', toolName: 'search', input: '{}', providerExecuted: true },
    { type: 'tool-result', toolCallId: 'c', toolName: 'search', result: { found: 0 } },
  ];
  const timestamp = new Date('2026-01-02T03:04:05Z');
  const inner = new MockLanguageModelV4({
    doGenerate: async () => ({
      content,
      structuredOutputText: '{"a":1}',
      finishReason: { unified: 'stop', raw: undefined },
      usage: USAGE,
      warnings: [],
      response: { timestamp },
    }),
  });
  const run = () =>
    wrapLanguageModel({ model: inner, middleware: tidemark(step.attempt()) }).doGenerate({
      prompt: [{ role: 'user', content: [] }],
    });
  await run();
  const again = await run();
  expect(again).toEqual({
    content,
    structuredOutputText: '{"a":1}',
    finishReason: { unified: 'stop', raw: undefined },
    usage: USAGE,
    warnings: [],
    response: { timestamp },
  });
  // What the provider ran itself is nobody else's to run.
  expect(JSON.parse(step.journal[0]?.answer ?? '')).toMatchObject({ text: '{"a":1}', toolCalls: [] });
});

test('a second asking after pieces were shown is never mixed into the first', async () => {
  const stream = (text: string): LanguageModelV4StreamPart[] => [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: text },
    { type: 'text-end', id: '1' },
    { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: USAGE },
  ];
  const texts = ['first', 'second'];
  const inner = new MockLanguageModelV4({
    doStream: async () => ({ stream: simulateReadableStream({ chunks: stream(texts.shift() ?? '') }) }),
  });
  const step = new FakeStep();
  const twice: ModelCaller = {
    modelCall: async (request) => {
      const [one, two] = [step.attempt(), step.attempt()];
      await one.modelCall(request);
      step.journal.length = 0;
      return two.modelCall(request);
    },
  };
  const result = streamText({
    model: wrapLanguageModel({ model: inner, middleware: tidemark(twice) }),
    prompt: 'Hi',
    onError: () => {},
  });
  let shown = '';
  const read = async () => {
    for await (const piece of result.textStream) shown += piece;
  };
  await expect(read()).rejects.toMatchObject({ code: 'model-stream-repeated' });
  expect(shown).toBe('first');
});

test('a prompt that providers would refuse is made fit, and what only its author can mean is left', async () => {
  const ctx = new FakeStep().attempt();
  const prompts: unknown[] = [];
  const answering = (modelId: string) =>
    new MockLanguageModelV4({
      provider: 'test',
      modelId,
      doGenerate: async ({ prompt }) => {
        prompts.push(prompt);
        const call = (input: string) => ({ type: 'tool-call' as const, toolCallId: '', toolName: 'look', input });
        return {
          content: [call('{"n":1}'), call('{"n":2}')],
          finishReason: { unified: 'tool-calls', raw: undefined },
          usage: USAGE,
          warnings: [],
        };
      },
    });
  const look = tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => n });
  const wrapped = (modelId: string) => wrapLanguageModel({ model: answering(modelId), middleware: tidemark(ctx) });
  const output = { type: 'text' as const, value: 'two' };
  const cache = { anthropic: { cacheControl: { type: 'ephemeral' as const } } };
  const messages = [
    { role: 'user' as const, content: 'go', providerOptions: cache },
    {
      role: 'assistant' as const,
      content: [{ type: 'tool-call' as const, toolCallId: 'a:1', toolName: 'web.look', input: {} }],
    },
    {
      role: 'tool' as const,
      content: [{ type: 'tool-result' as const, toolCallId: 'a:1', toolName: 'web.look', output }],
    },
    { role: 'user' as const, content: 'and?' },
  ];
  const { toolCalls } = await generateText({ model: wrapped('any'), messages, tools: { look } });
  expect(toolCalls.map(({ toolCallId }) => toolCallId)).toEqual(['call-1', 'call-2']);
  const named = { toolCallId: 'a_1', toolName: portableName('web.look') };
  expect(prompts[0]).toMatchObject([
    { role: 'user', providerOptions: cache },
    { role: 'assistant', content: [{ type: 'tool-call', ...named }] },
    { role: 'tool', content: [{ type: 'tool-result', ...named, output }] },
    { role: 'user' },
  ]);
  await generateText({ model: wrapped('mistral-small'), messages, tools: { look } });
  expect((prompts[1] as { role: string }[]).map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'assistant',
    'user',
  ]);
  // An answer that the prompt begins, and a conversation that the provider keeps.
  const begun = [messages[0]!, { role: 'assistant' as const, content: '{' }];
  await generateText({ model: wrapped('any'), messages: begun, tools: { look } });
  expect(prompts[2]).toHaveLength(2);
  const kept = { openai: { previousResponseId: 'r1' } };
  await generateText({ model: wrapped('any'), messages: messages.slice(2, 3), tools: { look }, providerOptions: kept });
  expect(prompts[3]).toMatchObject([{ role: 'tool', content: [{ toolCallId: 'a:1' }] }]);
});

test('calls of a stream have the ids that the record has, and each its own result', async () => {
  const step = new FakeStep();
  const prompts: unknown[] = [];
  const input = (id: string) => [
    { type: 'tool-input-start' as const, id, toolName: 'look' },
    { type: 'tool-input-end' as const, id },
  ];
  const call = (toolCallId: string, n: number) => [
    ...input(toolCallId),
    { type: 'tool-call' as const, toolCallId, toolName: 'look', input: `{"n":${n}}` },
  ];
  const model = new MockLanguageModelV4({
    doStream: async ({ prompt }) => {
      const isFirst = prompts.push(prompt) === 1;
      const said: LanguageModelV4StreamPart[] = isFirst
        ? [...call('', 1), ...call('', 2), ...call('a', 3), ...call('a', 4)]
        : [
            { type: 'text-start', id: '1' },
            { type: 'text-delta', id: '1', delta: 'ok' },
          ];
      const unified = isFirst ? 'tool-calls' : 'stop';
      const finish = { type: 'finish' as const, finishReason: { unified, raw: undefined } as const, usage: USAGE };
      return { stream: simulateReadableStream({ chunks: [...said, finish] }) };
    },
  });
  const late: (() => void)[] = [];
  const look = tool({
    inputSchema: z.object({ n: z.number() }),
    // The first is done last.
    execute: ({ n }) =>
      new Promise<string>((resolve) => {
        late.push(() => resolve(`result ${n}`));
        if (late.length === 4) for (const done of late.splice(0).reverse()) done();
      }),
  });
  for (let attempt = 0; attempt < 2; attempt++) {
    const wrapped = wrapLanguageModel({ model, middleware: tidemark(step.attempt()) });
    const shown: string[] = [];
    const onChunk = ({ chunk }: { chunk: { type: string; id?: string } }) =>
      void (chunk.type === 'tool-input-start' && shown.push(chunk.id!));
    const result = streamText({ model: wrapped, prompt: 'x', tools: { look }, stopWhen: isStepCount(2), onChunk });
    const [first] = await result.steps;
    const ids = ['call-1', 'call-2', 'a', 'a-5'];
    expect(first!.toolCalls.map(({ toolCallId }) => toolCallId)).toEqual(ids);
    const results = new Map(first!.toolResults.map(({ toolCallId, output }) => [toolCallId, output]));
    expect(ids.map((id) => results.get(id))).toEqual(['result 1', 'result 2', 'result 3', 'result 4']);
    expect(shown).toEqual(attempt === 0 ? ['a'] : ids);
  }
  expect(prompts).toHaveLength(2);
});
