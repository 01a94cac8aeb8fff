/**
 * Owns what is recorded of an answer, and reading it back. Invariants: an answer is recorded alike whether it came whole or in a stream;
 * reading it back gives what the provider gave, except headers and raw bodies, which are never stored.
 */

import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { CorruptError, type Json, MODEL_BOUNDS, parseJson, type Tokenizer } from '@tidemark/core';
import type { ModelAnswer, ModelToolCall } from '@tidemark/runtime';
import { ModelAnswerTooLargeError } from './errors.ts';
import { type AnswerText, type FoldedPart, folded, isOwnCall, unfolded } from './folded-content.ts';
import type { Hidden } from './hidden.ts';
import { ANSWER_MAX_BYTES } from './limits.ts';
import { base64, plain } from './plain-json.ts';
import type { PricedUsage } from './price.ts';
import { sound } from './sound-text.ts';

/** A provider's answer, whole or from a stream. */
export interface Parts {
  readonly content: readonly LanguageModelV4Content[];
  readonly structuredOutputText?: string | undefined;
  readonly finishReason: LanguageModelV4FinishReason;
  readonly usage: LanguageModelV4Usage;
  readonly providerMetadata?: LanguageModelV4GenerateResult['providerMetadata'];
  readonly warnings: LanguageModelV4GenerateResult['warnings'];
  readonly response?: { readonly id?: string; readonly timestamp?: Date; readonly modelId?: string } | undefined;
}

/** The answer that a model returns to the runtime. */
export type Answer = Omit<ModelAnswer, 'latencyMs' | 'costMicros'>;

/** In the form of `detail`. */
const DETAIL_VERSION = 1;

interface Detail {
  readonly version: number;
  readonly content: readonly FoldedPart[];
  /** The answer's text is structured output. */
  readonly isStructured?: boolean;
  readonly finishReason: LanguageModelV4FinishReason;
  readonly usage: LanguageModelV4Usage;
  readonly providerMetadata?: NonNullable<Parts['providerMetadata']>;
  readonly warnings: Parts['warnings'];
  readonly response: { readonly id?: string; readonly timestamp?: string; readonly modelId?: string };
}

/** Throws `ModelAnswerTooLargeError`. */
export function answerOf(parts: Parts, hidden: Hidden, counts: Counts): Answer {
  const content = parts.content
    .filter(saysSomething)
    .map(withoutBytes)
    .map((part) => withCleanMetadata(part, hidden));
  const { structuredOutputText, finishReason, providerMetadata, warnings, response } = parts;
  const said: AnswerText = {
    text: structuredOutputText ?? textOf(content),
    toolCalls: content.filter(isOwnCall).map(toolCallOf),
  };
  const detail = {
    version: DETAIL_VERSION,
    content: folded(content, said),
    isStructured: structuredOutputText === undefined ? undefined : true,
    finishReason,
    usage: parts.usage,
    providerMetadata: hidden.clean(plain(providerMetadata)),
    warnings: hidden.clean(plain(warnings)),
    response: hidden.clean(plain({ id: response?.id, timestamp: response?.timestamp, modelId: response?.modelId })),
  };
  const answer: Answer = {
    ...said,
    finishReason: finishReason.unified,
    usage: usageOf(parts.usage, parts.content, counts),
    detail: sound(plain(detail) ?? null),
  };
  const sizeBytes = Buffer.byteLength(JSON.stringify(answer));
  if (sizeBytes > ANSWER_MAX_BYTES) throw new ModelAnswerTooLargeError(answer.usage, sizeBytes);
  return answer;
}

/** Throws `CorruptError` for a detail that no version of this library wrote. */
export function partsOf({ detail, ...said }: AnswerText & Pick<ModelAnswer, 'detail'>): Parts {
  const found = detail as unknown as Detail | null;
  if (typeof found !== 'object' || found?.version !== DETAIL_VERSION || !Array.isArray(found.content)) {
    throw new CorruptError(
      'model-answer-foreign',
      "The recorded answer was not written by this version of @tidemark/ai, so it can't be given back to the AI SDK. Call the model with ctx.model, or let a newer version resume the workflow.",
    );
  }
  const { content, isStructured, finishReason, usage, providerMetadata, warnings, response } = found;
  const { timestamp, ...named } = response;
  return {
    content: unfolded(content, said).map(withAddress),
    ...(isStructured === true && { structuredOutputText: said.text }),
    // JSON has no undefined; the interface has the member all the same.
    finishReason: { unified: finishReason.unified, raw: finishReason.raw },
    usage: restored(usage),
    ...(providerMetadata !== undefined && { providerMetadata }),
    warnings,
    response: { ...named, ...(timestamp !== undefined && { timestamp: new Date(timestamp) }) },
  };
}

/** What stands in for what a provider doesn't report. */
export interface Counts {
  /** Of the prompt, as they were reserved. */
  readonly promptTokens: number;
  readonly tokenizer: Tokenizer;
}

/** Tokens as the provider counts them; counted here where it doesn't say, or says that an answer with something in it took none. */
export function usageOf(
  { inputTokens, outputTokens }: LanguageModelV4Usage,
  content: readonly LanguageModelV4Content[],
  { promptTokens, tokenizer }: Counts,
): PricedUsage {
  const { noCache, cacheRead, cacheWrite } = inputTokens;
  const { text, reasoning } = outputTokens;
  const written = whole(cacheWrite);
  const sent = whole(inputTokens.total) || whole(noCache) + whole(cacheRead) + written;
  const got = whole(outputTokens.total) || whole(text) + whole(reasoning);
  const counted = { sent: sent === 0 ? promptTokens : 0, got: got === 0 ? tokenizer.count(writtenIn(content)) : 0 };
  const estimatedTokens = counted.sent + counted.got;
  return {
    inputTokens: sent + counted.sent,
    outputTokens: got + counted.got,
    cachedInputTokens: whole(cacheRead),
    reasoningTokens: whole(reasoning),
    ...(written > 0 && { cacheWriteTokens: written }),
    ...(estimatedTokens > 0 && { estimatedTokens }),
  };
}

/** Whether the provider reports any tokens: what a call cost without an answer is known then. */
export const isReported = ({ inputTokens, outputTokens }: LanguageModelV4Usage): boolean =>
  [...Object.values(inputTokens), ...Object.values(outputTokens)].some((count) => whole(count) > 0);

/** All that the model wrote: text, reasoning, and calls of tools with their names. */
const writtenIn = (content: readonly LanguageModelV4Content[]): string =>
  content
    .map((part) => {
      if (part.type === 'text' || part.type === 'reasoning') return part.text;
      return part.type === 'tool-call' ? `${part.toolName} ${part.input}` : '';
    })
    .join('');

/** What isn't a count counts as not reported. */
const whole = (count: unknown): number =>
  typeof count === 'number' && Number.isFinite(count) && count > 0 ? Math.ceil(count) : 0;

const restored = ({ inputTokens, outputTokens, ...rest }: LanguageModelV4Usage): LanguageModelV4Usage => ({
  ...rest,
  inputTokens: {
    ...{ total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    ...inputTokens,
  },
  outputTokens: { ...{ total: undefined, text: undefined, reasoning: undefined }, ...outputTokens },
});

export const textOf = (content: readonly LanguageModelV4Content[]): string =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('');

/**
 * Input that is no JSON, exceeds its bounds, or has a number that JavaScript would round, stays the text that the model wrote: whoever runs
 * the tool refuses it.
 */
export function toolCallOf({ toolCallId, toolName, input }: LanguageModelV4ToolCall): ModelToolCall {
  return { id: toolCallId, name: toolName, input: parsed(input) };
}

function parsed(input: string): Json {
  if (input.trim() === '') return {};
  try {
    return parseJson(input, 'The input of a tool', MODEL_BOUNDS);
  } catch {
    return input;
  }
}

/** Streams begin blocks that stay empty; whole answers don't have them. */
function saysSomething(part: LanguageModelV4Content): boolean {
  if (part.type === 'text')
    return part.text !== '' || (part.citations?.length ?? 0) > 0 || part.providerMetadata !== undefined;
  return part.type !== 'reasoning' || part.text !== '' || part.providerMetadata !== undefined;
}

/** The model's words stay as they are; what the provider adds to them may quote a request. */
function withCleanMetadata(part: LanguageModelV4Content, hidden: Hidden): LanguageModelV4Content {
  const { providerMetadata } = part;
  return providerMetadata === undefined ? part : { ...part, providerMetadata: hidden.clean(providerMetadata) };
}

/** Files as base64, which the interface takes as well as bytes. The older interface has the data without its kind. */
function withoutBytes(part: LanguageModelV4Content): LanguageModelV4Content {
  if (part.type !== 'file' && part.type !== 'reasoning-file') return part;
  const data: unknown = part.data;
  if (typeof data === 'string' || data instanceof Uint8Array)
    return { ...part, data: { type: 'data', data: base64(data) } };
  return part.data.type === 'data' ? { ...part, data: { type: 'data', data: base64(part.data.data) } } : part;
}

function withAddress(part: LanguageModelV4Content): LanguageModelV4Content {
  if ((part.type !== 'file' && part.type !== 'reasoning-file') || part.data.type !== 'url') return part;
  return { ...part, data: { ...part.data, url: new URL(part.data.url) } };
}
