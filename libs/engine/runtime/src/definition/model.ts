/**
 * Owns what the runtime knows of a language model: prompts, answers and their cost. It knows no provider and no provider's form of a
 * prompt: a `Model` deals with both.
 */

import type { BundleMessage, EffectKey, FragmentParts, Json, PromptForm, Tokenizer } from '@tidemark/core';
import type { RetryPolicy } from '../kernel/index.ts';
import type { CallLimit } from './call-limits.ts';

/** Tokens of one call, as the provider counts them; what it doesn't report is counted by the model's tokenizer. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Input tokens that the provider had in its prompt cache. */
  readonly cachedInputTokens: number;
  /** Output tokens that the model used for reasoning. */
  readonly reasoningTokens: number;
  /** Input tokens that the provider wrote into its prompt cache, where it bills them apart. */
  readonly cacheWriteTokens?: number | undefined;
  /** Of input and output tokens, those that the provider didn't report. Absent: it reported all. */
  readonly estimatedTokens?: number | undefined;
}

export interface ModelToolCall {
  /** The model's id of the call; unique in its answer. */
  readonly id: string;
  readonly name: string;
  readonly input: Json;
}

/** The recorded form of an answer. JSON. */
export interface ModelAnswer {
  readonly text: string;
  readonly toolCalls: readonly ModelToolCall[];
  /** `stop`, `length`, `tool-calls`, `content-filter`, `error` or `other`. */
  readonly finishReason: string;
  readonly usage: Usage;
  /** Null: the model has no price. */
  readonly costMicros: number | null;
  /** From the call to the whole answer, in milliseconds, by the caller's monotonic clock. */
  readonly latencyMs: number;
  /** What else the provider's answer has (sources, its own ids), in the provider's form. */
  readonly detail: Json;
  /** Reasoning, signatures and ids that its provider wants back with the answer: `said` adds them to the fragments. */
  readonly parts?: Pick<FragmentParts, 'provider' | 'text'> | undefined;
  /** It was asked for as a stream, which people may follow. */
  readonly isStreamed?: true | undefined;
}

/** A tool that the model may call. */
export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of its input. */
  readonly inputSchema: Json;
}

/** What is sent to a model. */
export interface ModelPrompt {
  /** The messages of an assembled bundle, and then those that the step adds, made fit to be sent (docs/prompts.md). */
  readonly messages: readonly BundleMessage[];
  /** See `ModelRequest.rawPrompt`. */
  readonly raw: readonly Json[] | undefined;
  readonly tools: readonly ToolSpec[];
  /** JSON Schema of the answer's text, where it is to be JSON. */
  readonly responseSchema: Json;
  /** Temperature, seed, `maxOutputTokens`, provider options …, in the form that the model takes. */
  readonly settings: Json;
}

export interface ModelContext {
  /** Idempotency key: the same for every attempt at the same call. */
  readonly key: EffectKey;
  /** Aborts on time-out and when the lease is lost. */
  readonly signal: AbortSignal;
  /** Sends each piece of the answer to those who watch. Pieces are kept for minutes: the whole answer is recorded. */
  readonly onDelta: (delta: ModelDelta) => void;
  /** Tokens of the prompt, as they were counted for the reservation: what the provider doesn't report is estimated so. */
  readonly promptTokens: number;
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
  /** The most tokens of prompt and answer together, as the provider publishes it; absent where it doesn't. */
  readonly contextTokens?: number | undefined;
  /** Tokens reserved for an answer when the call sets no limit. */
  readonly maxOutputTokens: number;
  /** The form in which it takes messages; absent: that of most models. */
  readonly promptForm?: PromptForm | undefined;
  readonly timeoutMs: number;
  readonly retry: RetryPolicy;
  /** Limits of its calls, over the whole fleet; absent: none are declared. */
  readonly limits?: readonly CallLimit[] | undefined;
  /** By the price table, in millionths of a US dollar, rounded up; undefined where the model has no price. */
  readonly costMicros: (usage: Usage) => number | undefined;
  /** Asks the model. `isStreamed`: it reports the pieces of the answer as they arrive. */
  readonly answer: (
    prompt: ModelPrompt,
    context: ModelContext,
    isStreamed: boolean,
  ) => Promise<Omit<ModelAnswer, 'latencyMs' | 'costMicros' | 'isStreamed'>>;
}

/** One call by a step. Everything but the bundle's content identifies the question: a retry gets the recorded bundle. */
export interface ModelRequest {
  readonly model: Model;
  /** A bundle type of the definition, whose messages come first. Undefined: only `messages` are sent. */
  readonly bundle?: string | undefined;
  readonly messages?: readonly BundleMessage[] | undefined;
  /** Messages in the form of the model's own library, in place of `bundle` and `messages`: recorded, and passed to the model unchanged. */
  readonly rawPrompt?: readonly Json[] | undefined;
  readonly tools?: readonly ToolSpec[] | undefined;
  readonly responseSchema?: Json | undefined;
  readonly settings?: Json | undefined;
  readonly placeholders?: Readonly<Record<string, string>> | undefined;
  readonly isStreamed?: boolean | undefined;
  /**
   * Of a raw prompt: how the model is asked again what is recorded, which lacks the content of files. Throws `InvalidError` that says what is
   * missing.
   */
  readonly answerRecorded?: ((recorded: Omit<ModelPrompt, 'messages'>) => Model['answer']) | undefined;
  /** Distinguishes the step's calls; by default they are numbered. */
  readonly name?: string | undefined;
}
