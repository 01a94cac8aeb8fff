/**
 * Owns whether what a provider sent is an answer. Pure. A call that failed is told from an answer without anything in it, and both from one
 * that a policy of the provider took away.
 */

import type { LanguageModelV4Content, LanguageModelV4FinishReason } from '@ai-sdk/provider';
import { isReported, type Parts } from './answer.ts';

/** `failed`: nobody said that it is whole. `empty`: it is, and says nothing. `filtered`: nothing is left of it. Undefined: it is an answer. */
export type NoAnswer = 'failed' | 'empty' | 'filtered';

const FAILED: ReadonlySet<LanguageModelV4FinishReason['unified']> = new Set(['interrupted', 'error']);

export function noAnswerIn(parts: Parts): NoAnswer | undefined {
  const { unified } = parts.finishReason;
  if (FAILED.has(unified)) return 'failed';
  if (parts.structuredOutputText?.trim() || parts.content.some(isAnswer)) return undefined;
  if (unified === 'content-filter') return 'filtered';
  return unified === 'other' || !isReported(parts.usage) ? 'failed' : 'empty';
}

/** Reasoning, sources and what providers note of their own are beside the answer, not the answer. */
const isAnswer = (part: LanguageModelV4Content): boolean =>
  part.type === 'text'
    ? part.text.trim() !== ''
    : !['reasoning', 'reasoning-file', 'source', 'custom'].includes(part.type);
