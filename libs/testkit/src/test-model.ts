/**
 * Owns a model for users' tests: it answers by a function of the prompt, records its requests, and has a given price. It calls no provider,
 * and counts tokens by the same tokenizer as in production.
 */

import type { PromptForm } from '@tidemark/core';
import type { Model, ModelAnswer, ModelPrompt } from '@tidemark/runtime';
import { tokenizerFor } from '@tidemark/tokenizer';

export type TestAnswer = string | Partial<Omit<ModelAnswer, 'costMicros' | 'latencyMs'>>;

export interface TestModelOptions {
  readonly modelId?: string;
  /** Millionths of a US dollar for a token, input or output. */
  readonly microsPerToken?: number;
  readonly maxOutputTokens?: number;
  readonly contextTokens?: number;
  readonly promptForm?: PromptForm;
  /** Of a failed call; 3 attempts at once by default. */
  readonly attempts?: number;
}

export interface TestModel extends Model {
  /** Requests that really reached it, in order: a recorded call is not repeated. */
  readonly prompts: readonly ModelPrompt[];
}

/** `answer` may throw, as a failing provider would. Streamed, its text comes in pieces of a few characters. */
export function testModel(
  answer: (prompt: ModelPrompt, call: number) => TestAnswer | Promise<TestAnswer>,
  {
    modelId = 'test-model',
    microsPerToken = 1,
    maxOutputTokens = 1_000,
    attempts = 3,
    ...given
  }: TestModelOptions = {},
): TestModel {
  const tokenizer = tokenizerFor(modelId);
  const prompts: ModelPrompt[] = [];
  return {
    prompts,
    provider: 'test',
    modelId,
    tokenizer,
    maxOutputTokens,
    ...given,
    timeoutMs: 30_000,
    retry: { attempts, firstDelayMs: 0, factor: 1, maxDelayMs: 0, jitter: 0, nonRetryable: [] },
    costMicros: ({ inputTokens, outputTokens }) => Math.ceil((inputTokens + outputTokens) * microsPerToken),
    answer: async (prompt, { onDelta }, isStreamed) => {
      prompts.push(prompt);
      const given = await answer(prompt, prompts.length);
      const said = typeof given === 'string' ? { text: given } : given;
      const { text = '', toolCalls = [] } = said;
      if (isStreamed) for (const piece of text.match(/[\s\S]{1,8}/g) ?? []) onDelta({ kind: 'text', text: piece });
      return {
        text,
        toolCalls,
        finishReason: toolCalls.length > 0 ? 'tool-calls' : 'stop',
        usage: {
          inputTokens: tokenizer.count(JSON.stringify(prompt.messages)),
          outputTokens: tokenizer.count(text),
          cachedInputTokens: 0,
          reasoningTokens: 0,
        },
        detail: null,
        ...said,
      };
    },
  };
}
