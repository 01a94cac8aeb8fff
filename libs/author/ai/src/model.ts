/** Owns a model that steps may call, over any provider of the AI SDK. Must not record, count or retry anything: the runtime does. */

import type { Tokenizer } from '@tidemark/core';
import {
  type CallLimit,
  callLimitProblems,
  DEFAULT_RETRY,
  type Model,
  type RetryOptions,
  retryPolicy,
} from '@tidemark/runtime';
import { tokenizerFor } from '@tidemark/tokenizer';
import { z } from 'zod';
import { ask } from './ask.ts';
import { callOptions } from './call-options.ts';
import { checked } from './checked.ts';
import { promptFormFor } from './fit-prompt.ts';
import { type SupportedModel, supported } from './language-model.ts';
import { OUTPUT_TOKENS_MAX_COUNT } from './limits.ts';
import { costMicros, type Price, priceSchema } from './price.ts';
import { defaultPrices, type PriceTable } from './price-table.ts';

/** Tokens reserved in a budget for an answer, where neither the model nor the call limits its length. */
const OUTPUT_TOKENS_DEFAULT_COUNT = 8_192;
/** Time-out of one model call by default: ten minutes, since a model that reasons may be silent for minutes. */
const MODEL_TIMEOUT_DEFAULT_MS = 600_000;
/** First delay after a failed call, in milliseconds. */
const MODEL_DELAY_DEFAULT_MS = 1_000;
/** Longest time-out of one model call: an hour. */
const MODEL_TIMEOUT_MAX_MS = 3_600_000;

export interface ModelOptions {
  /** Counts the tokens of what is sent; by the model's id by default. */
  readonly tokenizer?: Tokenizer | undefined;
  /** The shipped prices by default. */
  readonly prices?: PriceTable | undefined;
  /** This model's own price, before any table's. */
  readonly price?: Price | undefined;
  /** The most tokens of prompt and answer together; by default what the table has for the model. */
  readonly contextTokens?: number | undefined;
  /** Cap on an answer in tokens, sent with each call that sets no other, and reserved for it. By default nothing is sent, and 8,192 are reserved. */
  readonly maxOutputTokens?: number | undefined;
  /** Time-out of one call, in milliseconds; ten minutes by default. */
  readonly timeoutMs?: number | undefined;
  /** Overrides the defaults: 5 attempts, and a day for faults that pass by themselves; from 1 s doubling up to 5 minutes. */
  readonly retry?: RetryOptions | undefined;
  /**
   * What its calls may take of what they share, over the whole fleet; who can't call waits without a worker. All that name a `key` share it.
   * Without one the limit is this model's own.
   */
  readonly limits?: readonly CallLimit[] | undefined;
  /** Texts that are masked in errors, besides the provider's headers and whatever looks like a key. */
  readonly secrets?: readonly string[] | undefined;
}

const optionsSchema = z
  .strictObject({
    tokenizer: z.custom<Tokenizer>(
      (value) => typeof (value as Tokenizer | undefined)?.count === 'function',
      'must be a tokenizer',
    ),
    prices: z.custom<PriceTable>(
      (value) => typeof (value as PriceTable | undefined)?.costMicros === 'function',
      'must come from priceTable or loadPrices',
    ),
    price: priceSchema,
    contextTokens: z.int().min(1),
    maxOutputTokens: z.int().min(1).max(OUTPUT_TOKENS_MAX_COUNT),
    timeoutMs: z.number().positive().max(MODEL_TIMEOUT_MAX_MS),
    retry: z
      .strictObject({
        attempts: z.int().min(1),
        patienceMs: z.number().min(0),
        firstDelayMs: z.number().min(0),
        factor: z.number().min(1),
        maxDelayMs: z.number().min(0),
        jitter: z.number().min(0).max(1),
        nonRetryable: z.array(z.string().min(1)),
        passing: z.array(z.string().min(1)),
      })
      .partial(),
    limits: z.custom<readonly CallLimit[]>((value) => callLimitProblems(value, true).length === 0, {
      error: ({ input }) => callLimitProblems(input, true).join('; '),
    }),
    secrets: z.array(z.string()),
  })
  .partial();

/** What the runtime knows of a model, except how to call it. */
export function traitsOf(languageModel: SupportedModel, options: ModelOptions): Omit<Model, 'answer'> {
  const { provider, modelId } = languageModel;
  checked(optionsSchema, options, {
    code: 'model-options-invalid',
    what: `options of the model ${provider} ${modelId}`,
    remedy: 'See ModelOptions.',
  });
  const {
    tokenizer = tokenizerFor(modelId),
    prices = defaultPrices(),
    price,
    contextTokens = price?.contextTokens ?? prices.contextTokens(provider, modelId),
    maxOutputTokens,
    timeoutMs,
    retry,
    limits,
  } = options;
  return {
    provider,
    modelId,
    tokenizer,
    maxOutputTokens: maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT_COUNT,
    promptForm: promptFormFor(provider, modelId),
    ...(contextTokens !== undefined && { contextTokens }),
    timeoutMs: timeoutMs ?? MODEL_TIMEOUT_DEFAULT_MS,
    retry: retryPolicy(retry, { ...DEFAULT_RETRY, firstDelayMs: MODEL_DELAY_DEFAULT_MS }),
    ...(limits !== undefined && { limits }),
    costMicros: (usage) =>
      price === undefined ? prices.costMicros(provider, modelId, usage) : costMicros(price, usage),
  };
}

/**
 * A model of an AI SDK provider, for `ctx.model`. Throws `InvalidError` (`model-unsupported`, `model-options-invalid`); a call with an
 * unknown setting throws `InvalidError` (`model-settings-invalid`).
 */
export function model(languageModel: SupportedModel, options: ModelOptions = {}): Model {
  const found = supported(languageModel);
  const { maxOutputTokens, secrets = [] } = options;
  const traits = traitsOf(languageModel, options);
  return {
    ...traits,
    answer: async (prompt, context, isStreamed) => {
      const sent = callOptions({ languageModel, maxOutputTokens }, prompt);
      return ask({ languageModel: found, tokenizer: traits.tokenizer, secrets }, sent, context, isStreamed);
    },
  };
}
