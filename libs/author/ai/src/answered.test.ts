/** What is an answer, what it has cost, and what is done with numbers that JavaScript can't keep: whole and streamed, for ctx.model and the SDK. */

import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import type { EffectKey } from '@tidemark/core';
import { tokenizerFor } from '@tidemark/tokenizer';
import { generateText, isStepCount, Output, streamText, tool, wrapLanguageModel } from 'ai';
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { tidemark } from './middleware.ts';
import { model } from './model.ts';
import { FakeStep, PROMPT_TOKENS } from './step-fixture.ts';

const USAGE: LanguageModelV4Usage = {
  inputTokens: { total: 30, noCache: 30, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 4, text: 4, reasoning: 0 },
};
const UNREPORTED: LanguageModelV4Usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};
const text = (said: string): LanguageModelV4Content => ({ type: 'text', text: said });
const reasoning = (said: string): LanguageModelV4Content => ({ type: 'reasoning', text: said });
const call = (input: string, id = 'c1'): LanguageModelV4Content => ({
  ...{ type: 'tool-call', toolCallId: id, toolName: 'pay', input },
});

interface Said {
  readonly content?: readonly LanguageModelV4Content[];
  readonly unified?: LanguageModelV4FinishReason['unified'];
  readonly usage?: LanguageModelV4Usage;
}

/** Answers so, one after another; whole, or in a stream. */
function answering(...answers: readonly Said[]): MockLanguageModelV4 {
  let next = 0;
  const parts = () => {
    const { content = [], unified = 'stop', usage = USAGE } = answers[Math.min(next++, answers.length - 1)]!;
    return { content, finishReason: { unified, raw: unified }, usage, warnings: [] };
  };
  return new MockLanguageModelV4({
    provider: 'test.chat',
    modelId: 'm',
    doGenerate: async () => {
      const { content, ...rest } = parts();
      return { ...rest, content: [...content] };
    },
    doStream: async () => {
      const { content, finishReason, usage } = parts();
      const chunks: LanguageModelV4StreamPart[] = [
        ...content.flatMap((part, at): LanguageModelV4StreamPart[] =>
          part.type === 'text' || part.type === 'reasoning'
            ? [
                { type: `${part.type}-start`, id: `${at}` },
                { type: `${part.type}-delta`, id: `${at}`, delta: part.text },
                { type: `${part.type}-end`, id: `${at}` },
              ]
            : [part as LanguageModelV4StreamPart],
        ),
        { type: 'finish', finishReason, usage },
      ];
      return { stream: simulateReadableStream({ chunks }) };
    },
  });
}

const prompt = { messages: [], raw: undefined, tools: [], responseSchema: null, settings: null };
const ask = (said: Said, isStreamed: boolean) =>
  model(answering(said), { price: { input: 1, output: 2 } }).answer(
    prompt,
    { key: 'k' as EffectKey, signal: new AbortController().signal, onDelta: () => {}, promptTokens: PROMPT_TOKENS },
    isStreamed,
  );
const spent = { inputTokens: 30, outputTokens: 4 };

describe.each([
  ['whole', false],
  ['in a stream', true],
])('an answer that is none, %s', (_, isStreamed) => {
  test.each<[string, Said, string]>([
    ['ends with an error', { content: [text('So')], unified: 'error' }, 'model-stream-broken'],
    ['ends with an error and says nothing', { unified: 'error' }, 'model-stream-broken'],
    ['says nothing for a reason that nobody knows', { unified: 'other' }, 'model-stream-broken'],
    ['says nothing', {}, 'answer-empty'],
    ['is blank', { content: [text(' \n')] }, 'answer-empty'],
    ['only reasons', { content: [reasoning('Hm.')], unified: 'length' }, 'answer-empty'],
    ['says that it calls tools, and calls none', { unified: 'tool-calls' }, 'answer-empty'],
    ['was taken away', { unified: 'content-filter' }, 'answer-filtered'],
  ])('%s: it is named, and costs what was reported', async (_name, said, code) => {
    await expect(ask(said, isStreamed)).rejects.toMatchObject({ code, received: { usage: spent } });
  });

  test('says nothing and has no usage: the call failed, and nobody knows what it cost', async () => {
    await expect(ask({ usage: UNREPORTED }, isStreamed)).rejects.toMatchObject({
      code: 'model-stream-broken',
      received: { usage: undefined },
    });
  });

  test.each<[string, Said]>([
    ['a cut text', { content: [text('So')], unified: 'length' }],
    ['a filtered rest', { content: [text('So')], unified: 'content-filter' }],
    ['a text for a new reason', { content: [text('So')], unified: 'other' }],
    ['a call without text', { content: [call('{}')], unified: 'tool-calls' }],
  ])('but %s is one (control)', async (_name, said) => {
    await expect(ask(said, isStreamed)).resolves.toMatchObject({ finishReason: said.unified });
  });
});

test('is told to the SDK, is recorded as nothing, and asked anew by the next attempt', async () => {
  const step = new FakeStep();
  const languageModel = answering({ unified: 'error', content: [text('Half')] }, {}, { content: [text('Yes.')] });
  const run = () =>
    generateText({
      model: wrapLanguageModel({ model: languageModel, middleware: tidemark(step.attempt()) }),
      ...{ prompt: 'Well?', maxRetries: 0 },
    });
  await expect(run()).rejects.toMatchObject({ code: 'model-stream-broken' });
  await expect(run()).rejects.toMatchObject({ code: 'answer-empty' });
  expect(step.journal).toEqual([]);
  expect((await run()).text).toBe('Yes.');
});

describe('usage that a provider does not report', () => {
  const count = (said: string) => tokenizerFor('m').count(said);
  const content = [reasoning('Let me think about it.'), text('It is warm in Rome.'), call('{"city":"Rome"}')];
  const written = count('Let me think about it.It is warm in Rome.pay {"city":"Rome"}');
  const usage = (inputTotal: number | undefined, outputTotal: number | undefined): LanguageModelV4Usage => ({
    inputTokens: { ...UNREPORTED.inputTokens, total: inputTotal },
    outputTokens: { ...UNREPORTED.outputTokens, total: outputTotal },
  });

  test.each<[string, LanguageModelV4Usage, [number, number, number | undefined]]>([
    ['at all', UNREPORTED, [PROMPT_TOKENS, written, PROMPT_TOKENS + written]],
    ['but as no numbers', usage(Number.NaN, -1), [PROMPT_TOKENS, written, PROMPT_TOKENS + written]],
    ['but as 0, though there is a text', usage(30, 0), [30, written, written]],
    ['of the answer', usage(30, undefined), [30, written, written]],
    ['of the prompt', usage(undefined, 4), [PROMPT_TOKENS, 4, PROMPT_TOKENS]],
    ['is none where all is reported (control)', usage(30, 4), [30, 4, undefined]],
  ])('%s is counted here and marked', async (_name, reported, [inputTokens, outputTokens, estimatedTokens]) => {
    for (const isStreamed of [false, true]) {
      const answer = await ask({ content, usage: reported }, isStreamed);
      expect(answer.usage).toMatchObject({ inputTokens, outputTokens });
      expect(answer.usage.estimatedTokens).toBe(estimatedTokens);
    }
  });
});

describe('a number that JavaScript would round', () => {
  const BIG = '{"of":{"accounts":[{"id":9007199254740993}]}}';

  test.each([
    [BIG],
    ['{"id":-12345678901234567890}'],
    ['{"id":1e400}'],
    ['{"id":1.7976931348623157000001e300}'],
    ['{"note":"\\u0000","id":9007199254740993}'],
  ])('in a call %s is kept as it was written', async (input) => {
    const { toolCalls } = await ask({ content: [call(input)], unified: 'tool-calls' }, false);
    expect(toolCalls).toEqual([{ id: 'c1', name: 'pay', input }]);
  });

  test.each([
    [
      '{"id":1.0,"much":1e3,"part":0.1,"most":9007199254740991}',
      { id: 1, much: 1000, part: 0.1, most: 9007199254740991 },
    ],
    ['{"id":"9007199254740993"}', { id: '9007199254740993' }],
  ])('is none of %s (control)', async (input, value) => {
    const { toolCalls } = await ask({ content: [call(input)], unified: 'tool-calls' }, false);
    expect(toolCalls).toEqual([{ id: 'c1', name: 'pay', input: value }]);
  });

  test.each([
    ['whole', false],
    ['in a stream', true],
  ])('runs no tool of the SDK, %s, and its model is told', async (_, isStreamed) => {
    const step = new FakeStep();
    const pay = vi.fn(async () => 'paid');
    const languageModel = answering(
      { content: [call(BIG)], unified: 'tool-calls' },
      { content: [call('{"of":"9007199254740993"}', 'c2')], unified: 'tool-calls' },
      { content: [text('Paid.')] },
    );
    const run = () => {
      const asked = {
        model: wrapLanguageModel({ model: languageModel, middleware: tidemark(step.attempt()) }),
        tools: { pay: tool({ description: 'Pays', inputSchema: z.object({ of: z.unknown() }), execute: pay }) },
        ...{ prompt: 'Pay it.', maxRetries: 0, stopWhen: isStepCount(4) },
      };
      return isStreamed ? streamText(asked).text : generateText(asked).then((done) => done.text);
    };
    expect(await run()).toBe('Paid.');
    expect(pay).toHaveBeenCalledTimes(1);
    expect(pay).toHaveBeenCalledWith({ of: '9007199254740993' }, expect.anything());
    const [, second] = step.journal;
    expect(JSON.stringify(second?.request)).toMatch(/The tool was not run.*can't be kept as it is written/);
    expect(JSON.parse(step.journal[0]!.answer).toolCalls[0].input).toBe(BIG);
    // From the record it is the same.
    pay.mockClear();
    expect(await run()).toBe('Paid.');
    expect(step.asked).toBe(3);
  });

  test('in structured output of the SDK is no answer', async () => {
    const step = new FakeStep();
    const languageModel = answering({ content: [text('{"id":9007199254740993}')] }, { content: [text('{"id":7}')] });
    const run = () =>
      generateText({
        model: wrapLanguageModel({ model: languageModel, middleware: tidemark(step.attempt()) }),
        output: Output.object({ schema: z.object({ id: z.number() }) }),
        ...{ prompt: 'Which?', maxRetries: 0 },
      });
    await expect(run()).rejects.toMatchObject({ code: 'answer-inexact', received: { usage: spent } });
    expect((await run()).output).toEqual({ id: 7 });
  });
});
