/** What is recorded of an answer: each text once, only what can be stored, and never more than the log takes. */

import type { LanguageModelV4Content, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { EffectKey } from '@tidemark/core';
import type { ModelDelta } from '@tidemark/runtime';
import { generateText, jsonSchema, streamText, tool, wrapLanguageModel } from 'ai';
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { partsOf } from './answer.ts';
import { ANSWER_MAX_BYTES } from './limits.ts';
import { tidemark } from './middleware.ts';
import { model } from './model.ts';
import { FakeStep } from './step-fixture.ts';

const USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const FINISH = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: USAGE } as const;

const whole = (content: LanguageModelV4Content[], structuredOutputText?: string) =>
  new MockLanguageModelV4({
    doGenerate: async () => ({
      content,
      ...(structuredOutputText !== undefined && { structuredOutputText }),
      finishReason: FINISH.finishReason,
      usage: USAGE,
      warnings: [],
    }),
  });
const streaming = (chunks: LanguageModelV4StreamPart[]) =>
  new MockLanguageModelV4({ doStream: async () => ({ stream: simulateReadableStream({ chunks }) }) });

const prompt = { messages: [], raw: undefined, tools: [], responseSchema: null, settings: null };
const ask = (languageModel: MockLanguageModelV4, isStreamed = false, deltas: ModelDelta[] = []) =>
  model(languageModel).answer(
    prompt,
    {
      key: 'k' as EffectKey,
      signal: new AbortController().signal,
      onDelta: (delta) => void deltas.push(delta),
      promptTokens: 7,
    },
    isStreamed,
  );
const countOf = (text: string, within: unknown): number => JSON.stringify(within).split(text).length - 1;
const call = (input: string, toolCallId = 'c'): LanguageModelV4Content => ({
  type: 'tool-call',
  toolCallId,
  toolName: 'write',
  input,
});

describe('each text is recorded once', () => {
  const long = 'It is warm in Rome. '.repeat(50);
  const other = `A file "quoted", and more. ${'é'.repeat(300)}`;
  const contents: readonly [string, LanguageModelV4Content[], string?][] = [
    [
      'text around a source',
      [
        { type: 'text', text: long },
        { type: 'source', sourceType: 'url', id: 's', url: 'https://example.com' },
        { type: 'text', text: other, providerMetadata: { p: { cited: true } } },
      ],
    ],
    ['structured output', [{ type: 'text', text: long }], long],
    ['structured output beside other text', [{ type: 'text', text: other }], long],
    ['a call, written compactly', [call(JSON.stringify({ path: 'a', content: long }))]],
    ['a call, written with spaces', [call(JSON.stringify({ path: 'a', content: long, more: [other] }, null, 2))]],
    ['two calls', [call(JSON.stringify({ z: long })), call(JSON.stringify({ z: other }), 'd')]],
    ['a call that was cut off', [call(`{"content":"${long}`)]],
    ['a call that the provider ran', [{ ...call(JSON.stringify({ z: long })), providerExecuted: true } as never]],
  ];

  test.each(contents)('%s', async (_what, content, structured) => {
    const answer = await ask(whole(content, structured));
    for (const text of [long, other]) expect(countOf(JSON.stringify(text).slice(1, -1), answer)).toBeLessThan(2);
    // As the log gives it back: with its members in order.
    const recorded = JSON.parse(JSON.stringify(sortedDeep(answer))) as typeof answer;
    const parts = partsOf(recorded);
    expect(parts.content).toEqual(content);
    expect(parts.structuredOutputText).toBe(structured);
  });
});

function sortedDeep(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedDeep);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, each]) => [name, sortedDeep(each)]));
}

describe('what can not be stored becomes U+FFFD where it enters', () => {
  const HALF = '\ud83d';
  const bad = `a\0b${HALF}c \u{1f600}`;
  const good = 'a\ufffdb\ufffdc \u{1f600}';
  const input = '{ "text": "x\\u0000y\\ud83d", "face": "\\ud83d\\ude00" }';

  const stream = (): LanguageModelV4StreamPart[] => [
    { type: 'text-start', id: '1' },
    // The face is cut between two pieces, and the text ends in half of one.
    { type: 'text-delta', id: '1', delta: `a\0b${HALF}` },
    { type: 'text-delta', id: '1', delta: 'c \ud83d' },
    { type: 'text-delta', id: '1', delta: '\ude00' },
    { type: 'text-delta', id: '1', delta: HALF },
    { type: 'text-end', id: '1', providerMetadata: { p: { '\0': bad } } },
    call(input) as LanguageModelV4StreamPart,
    FINISH,
  ];

  test('whole and streamed alike: text, inputs, details', async () => {
    const deltas: ModelDelta[] = [];
    const streamed = await ask(streaming(stream()), true, deltas);
    const content: LanguageModelV4Content[] = [
      { type: 'text', text: `${bad}${HALF}`, providerMetadata: { p: { '\0': bad } } },
      call(input),
    ];
    expect(await ask(whole(content))).toEqual(streamed);
    expect(streamed.text).toBe(`${good}\ufffd`);
    expect(streamed.toolCalls[0]!.input).toEqual({ text: 'x\ufffdy\ufffd', face: '\u{1f600}' });
    const { parts, ...rest } = streamed;
    expect(JSON.stringify(rest)).not.toMatch(/\\u0000|\\ud[89a-f]/i);
    // What the provider signed stays: as JSON text it can be stored.
    expect(JSON.parse(parts!.text)[0].providerMetadata).toEqual({ p: { '\0': bad } });
    expect(parts!.text.isWellFormed() && !parts!.text.includes('\0')).toBe(true);
    const reported = deltas.map((delta) => (delta.kind === 'text' ? delta.text : '')).join('');
    expect(reported).toBe(streamed.text);
    expect(deltas.every((delta) => delta.kind !== 'text' || delta.text.isWellFormed())).toBe(true);
  });

  test('what is sound stays as it was written, to the character', async () => {
    const kept = '{ "face": "\\ud83d\\ude00", "e": "\\u00e9" }';
    const { detail, ...said } = await ask(whole([call(kept)]));
    expect(partsOf({ detail, ...said }).content).toEqual([call(kept)]);
  });

  test('the SDK sees the same the first time, streamed and from the record', async () => {
    const step = new FakeStep();
    const languageModel = streaming(stream());
    const tools = { write: tool({ inputSchema: jsonSchema<object>({ type: 'object' }), execute: async () => 'ok' }) };
    const run = async () => {
      const wrapped = wrapLanguageModel({ model: languageModel, middleware: tidemark(step.attempt()) });
      const result = streamText({ model: wrapped, tools, prompt: 'Where?' });
      return { text: await result.text, inputs: (await result.toolCalls).map((made) => made.input) };
    };
    const first = await run();
    expect(first).toEqual({ text: `${good}\ufffd`, inputs: [{ text: 'x\ufffdy\ufffd', face: '\u{1f600}' }] });
    expect(await run()).toEqual(first);
    expect(step.asked).toBe(1);
  });
});

describe('what a provider wants back', () => {
  const metadata = fc.dictionary(fc.constantFrom('mock', 'other'), fc.dictionary(fc.string(), fc.jsonValue()), {
    minKeys: 1,
    maxKeys: 1,
  });
  const part = fc.oneof(
    fc.record({
      type: fc.constant('text'),
      text: fc.string({ unit: 'grapheme', minLength: 1 }),
      metadata: fc.option(metadata),
    }),
    fc.record({ type: fc.constant('reasoning'), text: fc.string({ minLength: 1 }), metadata: fc.option(metadata) }),
    fc.record({ type: fc.constant('call'), text: fc.string(), metadata: fc.option(metadata) }),
  );
  const blocks = fc.array(fc.tuple(part, fc.constantFrom('start', 'delta', 'end')), { maxLength: 6 });

  test('is the same streamed and whole, and goes back in its order, over generated answers', async () => {
    await fc.assert(
      fc.asyncProperty(blocks, async (drawn) => {
        // An answer of nothing else is none.
        fc.pre(drawn.some(([{ type, text }]) => type === 'call' || (type === 'text' && text.trim() !== '')));
        const content = drawn.map(([{ type, text, metadata: given }], at): LanguageModelV4Content => {
          const signed = given === null ? {} : { providerMetadata: given as never };
          const id = `c${at}`;
          return type === 'call'
            ? { ...call(JSON.stringify({ text }), id), ...signed }
            : { type: type as 'text' | 'reasoning', text, ...signed };
        });
        const chunks = content.flatMap((one, at): LanguageModelV4StreamPart[] => {
          const { providerMetadata, ...plain } = one;
          if (plain.type !== 'text' && plain.type !== 'reasoning') return [one as LanguageModelV4StreamPart];
          const on = (place: string) => (place === drawn[at]![1] && providerMetadata ? { providerMetadata } : {});
          const id = String(at);
          const half = Math.floor(plain.text.length / 2);
          return [
            { type: `${plain.type}-start`, id, ...on('start') },
            { type: `${plain.type}-delta`, id, delta: plain.text.slice(0, half) },
            { type: `${plain.type}-delta`, id, delta: plain.text.slice(half), ...on('delta') },
            { type: `${plain.type}-end`, id, ...on('end') },
          ];
        });
        const answer = await ask(whole(content));
        expect(await ask(streaming([...chunks, FINISH]), true)).toEqual(answer);
        const recorded = JSON.parse(JSON.stringify(sortedDeep(answer))) as typeof answer;
        expect(partsOf(recorded).content).toEqual(await ask(whole(content)).then((one) => partsOf(one).content));
        for (const { providerMetadata } of content)
          if (providerMetadata !== undefined) expect(answer.parts?.text).toContain(JSON.stringify(providerMetadata));
      }),
      { numRuns: 150 },
    );
  });

  const deep = (levels: number): object => {
    let value = {};
    for (let at = 0; at < levels; at++) value = { a: value };
    return value;
  };
  const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, at]));
  const circle: { self?: object } = {};
  circle.self = circle;
  test.each([
    ['deep', deep(100), /64 levels/],
    ['very deep', deep(20_000), /no JSON|64 levels/],
    ['wide', wide, /members|values/],
    ['megabytes', { data: 'x'.repeat(5 * 1_024 * 1_024) }, /too large/],
    ['no JSON', circle, /no JSON/],
    ['a secret of this process', { echoed: 'a secret' }, /secret/],
  ])(
    '%s: the answer is kept, and nothing of it goes back but text and calls, which a warning says',
    async (_, hostile, why) => {
      process.env.SOME_API_KEY = 'a secret';
      onTestFinished(() => void delete process.env.SOME_API_KEY);
      const answer = await ask(
        whole([{ type: 'text', text: 'Two.', providerMetadata: { mock: hostile as never } }, call('{}')]),
      );
      expect(answer).toMatchObject({ text: 'Two.', toolCalls: [{ id: 'c' }] });
      expect(answer.parts).toBeUndefined();
      const { warnings, content } = partsOf(JSON.parse(JSON.stringify(answer)));
      expect(warnings).toEqual([{ type: 'other', message: expect.stringMatching(why) }]);
      expect(content).toMatchObject([{ type: 'text', text: 'Two.' }, call('{}')]);
      expect(JSON.stringify(answer)).not.toContain('a secret"');
    },
  );
});

describe('an answer that the log can not hold', () => {
  const CHARS = { ascii: 'x'.repeat(ANSWER_MAX_BYTES), wide: '潮'.repeat(ANSWER_MAX_BYTES / 3) };
  const pieces = (text: string): LanguageModelV4StreamPart[] => [
    ...(text.match(/.{1,500000}/gu) ?? []).map((delta) => ({ type: 'text-delta' as const, id: '1', delta })),
    FINISH,
  ];

  test.each(Object.entries(CHARS))('is refused by its bytes, whole and streamed (%s)', async (_name, text) => {
    const refused = { code: 'model-answer-too-large', message: expect.stringContaining('was paid') };
    // What it cost is told, so that budgets count it.
    const counted = { ...refused, received: { usage: { inputTokens: 10, outputTokens: 5 } } };
    await expect(ask(whole([{ type: 'text', text }]))).rejects.toMatchObject(counted);
    await expect(ask(streaming(pieces(text)), true)).rejects.toMatchObject(refused);
  });

  test('is told to generateText before anything is recorded; a little less is recorded', async () => {
    const step = new FakeStep();
    const run = (text: string) =>
      generateText({
        model: wrapLanguageModel({
          model: whole([{ type: 'text', text }]),
          middleware: tidemark(step.attempt()),
        }),
        prompt: 'Everything.',
      });
    await expect(run(CHARS.ascii)).rejects.toMatchObject({ code: 'model-answer-too-large' });
    expect(step.journal).toEqual([]);
    const text = 'x'.repeat(ANSWER_MAX_BYTES - 2_000);
    expect((await run(text)).text === text).toBe(true);
    expect(Buffer.byteLength(step.journal[0]!.answer)).toBeLessThan(ANSWER_MAX_BYTES);
  });
});
