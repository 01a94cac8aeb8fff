/** Owns the check of a model's answer before it is recorded (it may come from a model, or from a person's decision), and its cost. */

import { toJson } from '@tidemark/codec';
import { InvalidError, type Json, partsOfSpend, type Spend } from '@tidemark/core';
import type { ModelAnswer } from '../definition/index.ts';

/** Throws `InvalidError` (`answer-invalid`), which names the field. */
export function parseAnswer(value: unknown): Json {
  const answer = toJson(value, 'answer of a model');
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) refuse('answer', 'an object');
  const { text, toolCalls, finishReason, usage, costMicros } = answer as { readonly [key: string]: Json };
  if (typeof text !== 'string') refuse('text', 'a string');
  if (!Array.isArray(toolCalls)) refuse('toolCalls', 'an array');
  for (const [at, call] of (toolCalls as readonly Json[]).entries()) {
    const { id, name } = (call ?? {}) as { readonly [key: string]: Json };
    if (typeof id !== 'string' || typeof name !== 'string') refuse(`toolCalls[${at}]`, '{ id, name, input }');
  }
  if (typeof finishReason !== 'string') refuse('finishReason', 'a string');
  const counts = (usage ?? {}) as { readonly [key: string]: Json };
  for (const field of ['inputTokens', 'outputTokens', 'cachedInputTokens', 'reasoningTokens']) {
    if (!isAmount(counts[field])) refuse(`usage.${field}`, 'a number from 0');
  }
  for (const field of ['cacheWriteTokens', 'estimatedTokens']) {
    if (counts[field] !== undefined && !isAmount(counts[field])) refuse(`usage.${field}`, 'a number from 0');
  }
  if (costMicros !== null && !isAmount(costMicros)) refuse('costMicros', 'a number from 0, or null');
  return answer;
}

export function spentFor({ usage, costMicros }: Pick<ModelAnswer, 'usage' | 'costMicros'>): Spend {
  const tokens = usage.inputTokens + usage.outputTokens;
  const { estimatedTokens } = usage;
  const parts = partsOfSpend({ estimatedTokens, unpricedTokens: costMicros === null ? tokens : 0 });
  return { tokens, costMicros: costMicros ?? 0, ...parts };
}

const isAmount = (value: Json | undefined): boolean =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;

function refuse(field: string, wanted: string): never {
  throw new InvalidError('answer-invalid', `A model's answer, ${field}: expected ${wanted}.`, { field });
}
