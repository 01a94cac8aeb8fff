/**
 * Owns what the runtime knows of a language model: what it is asked, what it answers, what that costs. Must not know any
 * provider, nor how a prompt is spelled for one: a `Model` does both.
 */

import type { BundleMessage, EffectKey, Json, Tokenizer } from '@tidemark/core';
import type { RetryPolicy } from '../kernel/index.ts';

/** Tokens of one call, as the provider counts them; 0 where it doesn't say. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of the input tokens: those that the provider had in its prompt cache. */
  readonly cachedInputTokens: number;
  /** Of the output tokens: those that the model thought with. */
  readonly reasoningTokens: number;
  /** Input tokens that the provider put into its prompt cache, where it bills them apart. */
  readonly cacheWriteTokens?: number | undefined;
}

export interface ModelToolCall {
  /** What the model named the call; unique in its answer. */
  readonly id: string;
  readonly name: string;
  readonly input: Json;
}

/** What is recorded of an answer. JSON. */
export interface ModelAnswer {
  readonly text: string;
  readonly toolCalls: readonly ModelToolCall[];
  /** `stop`, `length`, `tool-calls`, `content-filter`, `error` or `other`. */
  readonly finishReason: string;
  readonly usage: Usage;
  readonly costMicros: number;
  /** From the call to the whole answer, in milliseconds, by the caller's monotonic clock. */
  readonly latencyMs: number;
  /** What else a provider's answer holds (reasoning, sources, its own ids), as the model gives it: for whoever asks it again. */
  readonly detail: Json;
}

/** A tool that the model may call; what it does is no concern of the model's. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON schema of its input. */
  readonly inputSchema: Json;
}

/** What a model is asked. */
export interface ModelPrompt {
  /** An assembled bundle's messages, and those that the step adds after them. */
  readonly messages: readonly BundleMessage[];
  /** See `ModelRequest.rawPrompt`. */
  readonly raw: readonly Json[] | undefined;
  readonly tools: readonly ToolSpec[];
  /** JSON schema of the answer's text, where it is to be JSON. */
  readonly responseSchema: Json;
  /** Temperature, seed, `maxOutputTokens`, provider options …: as the model takes them. */
  readonly settings: Json;
}

export interface ModelContext {
  /** Idempotency key: the same for every attempt at the same call. */
  readonly key: EffectKey;
  /** Aborts on time-out and when the lease is lost. */
  readonly signal: AbortSignal;
  /** Tells whoever watches what has come so far, piece by piece. Not stored: the whole answer is. */
  readonly onDelta: (delta: ModelDelta) => void;
}

export type ModelDelta =
  | { readonly kind: 'text' | 'reasoning'; readonly text: string }
  | { readonly kind: 'tool-call'; readonly call: ModelToolCall };

/** A model that steps may call. */
export interface Model {
  /** `openai.chat`, `anthropic.messages` … */
  readonly provider: string;
  readonly modelId: string;
  readonly tokenizer: Tokenizer;
  /** What is reserved for its answer, in tokens, when the call doesn't say. */
  readonly maxOutputTokens: number;
  readonly timeoutMs: number;
  readonly retry: RetryPolicy;
  /** By the price table, in millionths of a US dollar, rounded up; undefined where the model has no price. */
  readonly costMicros: (usage: Usage) => number | undefined;
  /** Asks the model. `isStreamed`: deltas are told as they come. */
  readonly answer: (
    prompt: ModelPrompt,
    context: ModelContext,
    isStreamed: boolean,
  ) => Promise<Omit<ModelAnswer, 'latencyMs' | 'costMicros'>>;
}

/** One call, as a step makes it. What identifies the question is all but the bundle's content: a retry gets the recorded one. */
export interface ModelRequest {
  readonly model: Model;
  /** A bundle type of the definition: its messages come first. Undefined: only `messages` are sent. */
  readonly bundle?: string | undefined;
  readonly messages?: readonly BundleMessage[] | undefined;
  /** Messages as the model's own library has them, in place of `bundle` and `messages`: recorded, and handed to the model as they are. */
  readonly rawPrompt?: readonly Json[] | undefined;
  readonly tools?: readonly ToolSpec[] | undefined;
  readonly responseSchema?: Json | undefined;
  readonly settings?: Json | undefined;
  readonly placeholders?: Readonly<Record<string, string>> | undefined;
  readonly isStreamed?: boolean | undefined;
  /** Names the call among others of the step; by default they are counted. */
  readonly name?: string | undefined;
}
