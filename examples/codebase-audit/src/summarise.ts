// Owns the call of a language model for a module's summary, through the Vercel AI SDK.
// Must not retry (the workflow does, and records each attempt), print, or let a key into a result, an error or a log.

import { createOpenAI } from '@ai-sdk/openai';
import { APICallError, createGateway, generateText, type LanguageModel } from 'ai';
import { MAX_SUMMARY_CHARS, MAX_SUMMARY_TOKENS, SUMMARY_TIMEOUT_MS } from './limits.ts';
import type { ModelChoice } from './model-choice.ts';
import type { ModulePrompt } from './module-prompt.ts';
import { shorten } from './order.ts';
import { Redactor } from './secrets.ts';

/** A model to ask, and the name to show for it. */
export type NamedModel = { model: LanguageModel; name: string };

export type SummaryResult =
  | { ok: true; text: string; model: string; usage: { inputTokens: number; outputTokens: number } }
  /** `retryable`: trying later may help (a rate limit, an outage, a time-out). */
  | { ok: false; reason: string; retryable: boolean };

/** Always given: left to itself the SDK would read the environment, and refuse an empty OPENAI_BASE_URL. */
const OPENAI_URL = 'https://api.openai.com/v1';

export function openModel({ provider, id, apiKey, baseURL, name }: ModelChoice): NamedModel {
  if (provider === 'gateway') return { model: createGateway({ apiKey })(id), name };
  const openAi = createOpenAI({ apiKey, baseURL: baseURL ?? OPENAI_URL });
  // Compatible servers know the older of the two interfaces.
  return { model: baseURL === undefined ? openAi(id) : openAi.chat(id), name };
}

/** Asks for a summary of one module, once. Rejects never: what went wrong is a value. */
export async function askForSummary(
  choice: NamedModel,
  { instructions, prompt }: ModulePrompt,
  signal?: AbortSignal,
): Promise<SummaryResult> {
  const timeout = AbortSignal.timeout(SUMMARY_TIMEOUT_MS);
  try {
    const answer = await generateText({
      model: choice.model,
      instructions,
      prompt,
      maxOutputTokens: MAX_SUMMARY_TOKENS,
      maxRetries: 0,
      abortSignal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    const text = shorten(answer.text.trim(), MAX_SUMMARY_CHARS);
    if (text === '') return { ok: false, reason: `${choice.name} gave an empty answer`, retryable: true };
    const usage = { inputTokens: answer.usage.inputTokens ?? 0, outputTokens: answer.usage.outputTokens ?? 0 };
    return { ok: true, text, model: choice.name, usage };
  } catch (error) {
    return failure(choice.name, error, timeout.aborted);
  }
}

function failure(name: string, error: unknown, timedOut: boolean): SummaryResult {
  if (timedOut) return { ok: false, reason: `${name} gave no answer within ${SUMMARY_TIMEOUT_MS} ms`, retryable: true };
  if (APICallError.isInstance(error)) {
    const status = error.statusCode;
    // A provider's own words about a refused key may quote parts of it.
    if (status === 401 || status === 403)
      return { ok: false, reason: `${name} refused the key (${status})`, retryable: false };
    const words = status === undefined ? clean(error.message) : `status ${status}: ${clean(error.message)}`;
    return { ok: false, reason: `${name} failed (${words})`, retryable: error.isRetryable };
  }
  const words = error instanceof Error ? clean(error.message) : 'unknown error';
  return { ok: false, reason: `${name} failed (${words})`, retryable: false };
}

function clean(message: string): string {
  return shorten(new Redactor().redact(message).replace(/\s+/g, ' '), 200);
}
