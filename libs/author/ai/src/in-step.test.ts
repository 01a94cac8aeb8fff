/** Model calls of real steps, over real HTTP, in a world where the worker dies: what was answered is never paid twice (I4). */

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { defineWorkflow, task } from '@tidemark/sdk';
import { type TestWorld, testWorld } from '@tidemark/testkit';
import { type Behaviour, type ChatServer, startChatServer } from '@tidemark/testkit/chat-server';
import { generateText, isStepCount, streamText, tool, wrapLanguageModel } from 'ai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { tidemark } from './middleware.ts';
import { model } from './model.ts';

let server: ChatServer;
let workflows: ReturnType<typeof agents>;
let world: TestWorld;
beforeAll(async () => {
  server = await startChatServer();
  workflows = agents(server.url);
  world = await testWorld({ workflows: Object.values(workflows) });
});
afterAll(async () => {
  await world?.close();
  await server?.close();
});

const KEY = 'not-a-known-form-of-key';
const chat = (url: string) =>
  createOpenAICompatible({ name: 'openai', baseURL: url, apiKey: KEY, includeUsage: true })('gpt-4o-mini');

function agents(url: string) {
  const languageModel = chat(url);
  const schemas = {
    input: z.object({}),
    belief: z.object({}),
    output: z.object({ text: z.string(), costMicros: z.number() }),
  };
  const rules = {
    version: 1,
    ...schemas,
    tasks: { think: z.object({}) },
    flow: { think: [] },
    begin: () => ({ belief: {}, next: [task('think', {})] }),
  } as const;
  const direct = defineWorkflow({
    name: 'direct',
    ...rules,
    models: { default: model(languageModel) },
    steps: {
      async think(ctx) {
        const one = await ctx.model({ prompt: 'Weather in Rome?', stream: true, settings: { temperature: 0 } });
        const two = await ctx.model({ prompt: `Say it shorter: ${one.text}` });
        return { done: { text: two.text, costMicros: one.costMicros! + two.costMicros! } };
      },
    },
  });
  const wrapped = defineWorkflow({
    name: 'wrapped',
    ...rules,
    steps: {
      async think(ctx) {
        const weather = tool({
          inputSchema: z.object({ city: z.string() }),
          execute: async ({ city }) => `21 °C in ${city}`,
        });
        const { text } = await generateText({
          model: wrapLanguageModel({ model: languageModel, middleware: tidemark(ctx) }),
          tools: { weather },
          stopWhen: isStepCount(4),
          prompt: 'Weather in Rome?',
        });
        return { done: { text, costMicros: 0 } };
      },
    },
  });
  const streamed = defineWorkflow({
    name: 'streamed',
    ...rules,
    steps: {
      async think(ctx) {
        const result = streamText({
          model: wrapLanguageModel({ model: languageModel, middleware: tidemark(ctx) }),
          prompt: 'Weather in Rome?',
          onError: () => {},
        });
        let text = '';
        for await (const piece of result.textStream) text += piece;
        return { done: { text, costMicros: 0 } };
      },
    },
  });
  const changing = defineWorkflow({
    name: 'changing',
    ...rules,
    steps: {
      async think(ctx) {
        const attempt = ++attempts;
        const { text } = await generateText({
          model: wrapLanguageModel({ model: languageModel, middleware: tidemark(ctx) }),
          maxRetries: 0,
          temperature: attempt / 10,
          tools:
            attempt === 1
              ? { weather: tool({ description: 'Of a city.', inputSchema: z.object({ z: z.string() }) }) }
              : {},
          messages: [{ role: 'user', content: [{ type: 'text', text: `Attempt ${attempt}` }, ...files.map(fileOf)] }],
        });
        return { done: { text, costMicros: 0 } };
      },
    },
  });
  return { direct, wrapped, streamed, changing };
}
let attempts = 0;
let files: readonly string[] = [];
const fileOf = (content: string) => ({ type: 'file', mediaType: 'image/png', data: Buffer.from(content) }) as const;

const say = (text: string): Behaviour => ({ kind: 'answer', answer: { text } });
const CALL: Behaviour = {
  kind: 'answer',
  answer: { toolCalls: [{ id: 'call-1', name: 'weather', arguments: '{"city":"Rome"}' }] },
};

async function run(
  name: 'direct' | 'wrapped' | 'streamed' | 'changing',
  behaviours: readonly Behaviour[],
  crashAfter?: 'EffectResolved' | 'call',
) {
  const before = server.requests.length;
  server.script(...behaviours, { kind: 'status', status: 501 });
  const crashes = world.crashCount;
  if (crashAfter !== undefined) world.crash({ after: crashAfter, operation: 'model' });
  const started = await world.start(workflows[name], {});
  const outcome = await world.fastForward(
    started.result().then(
      (output) => ({ output }),
      (error: Error) => ({ error }),
    ),
  );
  return { ...outcome, asked: server.requests.length - before, crashes: world.crashCount - crashes };
}

test('ctx.model asks, streams and prices', async () => {
  const { output, asked } = (await run('direct', [say('It is 21 °C in Rome.'), say('21 °C.')])) as {
    output: object;
    asked: number;
  };
  expect(output).toEqual({ text: '21 °C.', costMicros: 48 });
  expect(asked).toBe(2);
});

test.each(['direct', 'wrapped', 'streamed'] as const)(
  '%s: a crash after the answer was logged does not pay it again',
  async (name) => {
    const behaviours = {
      direct: [say('It is 21 °C in Rome.'), say('21 °C.')],
      wrapped: [CALL, say('21 °C.')],
      streamed: [say('21 °C.')],
    };
    const { asked, crashes, ...rest } = await run(name, behaviours[name], 'EffectResolved');
    expect(rest).toMatchObject({ output: { text: '21 °C.' } });
    expect(crashes).toBe(1);
    expect(asked).toBe(behaviours[name].length);
  },
);

test.each(['direct', 'wrapped', 'streamed'] as const)(
  '%s: an answer with what no column can hold is kept with U+FFFD in its place',
  async (name) => {
    const odd = say('21\0 °C \u{1f600}.');
    const { asked, crashes, ...rest } = await run(name, name === 'direct' ? [odd, odd] : [odd], 'EffectResolved');
    expect(rest).toMatchObject({ output: { text: '21\ufffd °C \u{1f600}.' } });
    expect([crashes, asked]).toEqual([1, name === 'direct' ? 2 : 1]);
  },
);

test('a crash between the answer and the log asks again: nobody else can know of it', async () => {
  const { asked, crashes, ...rest } = await run('streamed', [say('21 °C.'), say('21 °C.')], 'call');
  expect(rest).toMatchObject({ output: { text: '21 °C.' } });
  expect([crashes, asked]).toEqual([1, 2]);
});

test.each(['direct', 'wrapped', 'streamed'] as const)(
  '%s: too many calls, and a provider that is away, are waited out, and not parked after five attempts',
  async (name) => {
    const busy: Behaviour = {
      kind: 'status',
      status: 429,
      headers: { 'retry-after': '1' },
      body: '{"error":{"message":"slow down"}}',
    };
    const down: Behaviour = { kind: 'status', status: 503, body: '{"error":{"message":"overloaded"}}' };
    const answers = name === 'direct' ? [say('It is 21 °C in Rome.'), say('21 °C.')] : [say('21 °C.')];
    const away = [busy, down, down, busy, down, busy, down];
    const { asked, ...rest } = await run(name, [...away, ...answers]);
    expect(rest).toMatchObject({ output: { text: '21 °C.' } });
    expect(asked).toBe(away.length + answers.length);
  },
);

test.each(['direct', 'streamed'] as const)('%s: a stream that breaks is asked again, whole', async (name) => {
  const cut: Behaviour = { kind: 'cut', answer: { text: 'It is 21 °C in Rome.' }, pieces: 3, how: 'reset' };
  const answers = name === 'direct' ? [say('It is 21 °C in Rome.'), say('21 °C.')] : [say('21 °C.')];
  const { asked, ...rest } = await run(name, [cut, ...answers]);
  expect(rest).toMatchObject({ output: { text: '21 °C.' } });
  expect(asked).toBe(1 + answers.length);
});

test.each(['direct', 'wrapped', 'streamed'] as const)(
  '%s: what is refused fails at once, and its error holds no key',
  async (name) => {
    const { asked, ...rest } = await run(name, [{ kind: 'echo', status: 400 }]);
    expect(asked).toBe(1);
    const { error } = rest as { error: Error };
    expect(error.message).toContain('status 400');
    expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toContain(KEY);
  },
);

describe.each(['direct', 'wrapped', 'streamed'] as const)('%s: what is refused for its content', (name) => {
  const body = (code: string, message: string) => JSON.stringify({ error: { code, message } });
  const filtered = { text: '', finishReason: 'content_filter' };
  test.each<readonly [string, Behaviour]>([
    ['by its code', { kind: 'status', status: 400, body: body('content_filter', 'filtered') }],
    [
      'by its words',
      {
        kind: 'status',
        status: 400,
        body: body('invalid_request_error', 'Output blocked by content filtering policy'),
      },
    ],
    ['in an answer that says nothing', { kind: 'answer', answer: filtered }],
  ])('%s: waits for a person, who is told why, and is not asked again', async (_, refusal) => {
    const { asked, ...rest } = await run(name, [refusal, say('never')]);
    const { error } = rest as { error: Error };
    expect(error.message).toContain('waits for a person (step-failed)');
    expect(error.message).toContain('refuses this prompt for its content');
    expect(asked).toBe(1);
  });
});

describe('a request that has changed', () => {
  const bodies = () => server.requests.slice(-2).map((request) => JSON.stringify(request.body));
  const down: Behaviour = { kind: 'status', status: 503, body: '{"error":{"message":"overloaded"}}' };

  test('is sent as it is recorded, with its files, byte for byte', async () => {
    [attempts, files] = [0, ['picture']];
    const { asked, ...rest } = await run('changing', [down, say('fine')]);
    expect(rest).toMatchObject({ output: { text: 'fine' } });
    expect(asked).toBe(2);
    const [first, second] = bodies();
    expect(second).toBe(first);
    expect(first).toContain('Attempt 1');
  });

  test('asks a person when its files are gone: their content is not recorded', async () => {
    [attempts, files] = [0, ['picture']];
    server.script(down, say('never'));
    const before = server.requests.length;
    const started = await world.start(workflows.changing, {});
    await expect.poll(() => server.requests.length).toBe(before + 1);
    files = [];
    const error = await world.fastForward(started.result().catch((thrown: Error) => thrown));
    expect((error as Error).message).toContain('request-changed');
    expect((error as Error).message).toContain('its content is not recorded');
    expect(server.requests.length).toBe(before + 1);
  });
});

describe.each(['mask', 'refuse'] as const)(
  'a secret, where the request has changed and the policy is %s',
  (onSecret) => {
    const TOKEN = `gh${'p_'}${'q7Zr2mX9wK4v'.repeat(3)}`;

    async function asks(said: string, answered: string) {
      const prompts: string[] = [];
      const languageModel: LanguageModelV4 = {
        specificationVersion: 'v4',
        ...{ provider: 'p', modelId: 'm', supportedUrls: {} },
        doStream: () => Promise.reject(new Error('not streamed')),
        doGenerate: async ({ prompt }) => {
          if (prompts.push(JSON.stringify(prompt)) === 1) throw new Error('socket hang up');
          const tokens = { total: 1, noCache: undefined, cacheRead: undefined, cacheWrite: undefined };
          return {
            content: [{ type: 'text', text: answered }],
            finishReason: { unified: 'stop', raw: undefined },
            usage: { inputTokens: tokens, outputTokens: { total: 1, text: 1, reasoning: undefined } },
            warnings: [],
          };
        },
      };
      const definition = defineWorkflow({
        ...{ name: 'secretive', version: 1, onSecret, tasks: { think: z.object({}) }, flow: { think: [] } },
        ...{ input: z.object({}), belief: z.object({}), output: z.string() },
        begin: () => ({ belief: {}, next: [task('think', {})] }),
        steps: {
          async think(ctx) {
            const wrapped = wrapLanguageModel({ model: languageModel, middleware: tidemark(ctx) });
            const prompt = `Attempt ${prompts.length}: ${said}`;
            return { done: (await generateText({ model: wrapped, maxRetries: 0, prompt })).text };
          },
        },
      });
      const own = await testWorld({ workflows: [definition] });
      try {
        const run = await own.start(definition, {});
        const end = await own.fastForward(run.result().catch(({ message }: Error) => message));
        const [recorded] = await own.ports.store.effects(run.id as never, {});
        return { end, prompts, recorded: String(recorded?.payload) };
      } finally {
        await own.close();
      }
    }

    test('of an answer is masked all the same', async () => {
      const { end, prompts, recorded } = await asks('hello', `use ${TOKEN}`);
      expect(end).toContain(
        onSecret === 'mask' ? 'use [masked github-token]' : 'answer holds what looks like a secret',
      );
      expect(prompts[1]).toBe(prompts[0]);
      expect(recorded).toContain('use [masked github-token]');
    });

    if (onSecret === 'mask')
      test('of a prompt asks a person, since the mark would be sent in its place', async () => {
        const { end, prompts } = await asks(`with ${TOKEN}`, 'fine');
        expect(end).toContain('what looked like a secret in it is masked');
        expect(prompts).toHaveLength(1);
      });
  },
);
