/** Owns one request to a provider, whole or as a stream: it returns an answer to record, or throws an error that says what is certain. */

import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { Tokenizer } from '@tidemark/core';
import type { ModelContext } from '@tidemark/runtime';
import { type Answer, answerOf, type Counts, isReported, type Parts, textOf, toolCallOf, usageOf } from './answer.ts';
import { noAnswerIn } from './answered.ts';
import { ModelAnswerTooLargeError, ModelContentRefusedError, ModelNoAnswerError, type Received } from './errors.ts';
import { isOwnCall } from './folded-content.ts';
import { type Hidden, hiddenOf } from './hidden.ts';
import { bodyError, callError, streamError } from './provider-error.ts';
import { sound, soundPart } from './sound-text.ts';
import { BrokenAnswer, type Come, readStream } from './stream.ts';

/** Options of a request beyond its content. */
export interface Asker {
  readonly languageModel: LanguageModelV4;
  /** Counts what the provider doesn't report. */
  readonly tokenizer: Tokenizer;
  /** Texts that are masked wherever they occur. */
  readonly secrets: readonly string[];
  readonly onPart?: ((part: LanguageModelV4StreamPart) => void) | undefined;
}

/**
 * Throws the signal's reason when it was aborted, else `ModelRefusedError`, `ModelBusyError`, `ModelUnavailableError`, `ModelStreamError`,
 * `ModelContentRefusedError`, `ModelNoAnswerError`, `ModelAnswerTooLargeError`.
 */
export async function ask(
  { languageModel, tokenizer, secrets, onPart = () => {} }: Asker,
  options: LanguageModelV4CallOptions,
  { signal, onDelta, promptTokens }: Pick<ModelContext, 'signal' | 'onDelta' | 'promptTokens'>,
  isStreamed: boolean,
): Promise<Answer> {
  signal.throwIfAborted();
  const counts = { tokenizer, promptTokens };
  const hidden = (): Promise<Hidden> => hiddenOf(languageModel, options.headers, secrets);
  try {
    const sent = { ...options, abortSignal: signal };
    const parts = isStreamed
      ? await readStream((await languageModel.doStream(sent)).stream, signal, { onDelta, onPart })
      : whole(await languageModel.doGenerate(sent));
    const answered = requireAnswer(parts, languageModel, counts);
    return answerOf(answered, await hidden(), languageModel, counts);
  } catch (error) {
    signal.throwIfAborted();
    if (OWN_ERRORS.some((own) => error instanceof own)) throw error;
    if (error instanceof BrokenAnswer)
      throw streamError(languageModel, error.reason, receivedOf(error.come, counts), await hidden());
    throw callError(languageModel, error, await hidden());
  }
}

const OWN_ERRORS = [ModelAnswerTooLargeError, ModelContentRefusedError, ModelNoAnswerError];

function whole(given: Parts & { readonly response?: { readonly body?: unknown } | undefined }): Parts {
  const { content, structuredOutputText } = given;
  const failed = content.length === 0 ? bodyError(given.response?.body) : undefined;
  if (failed !== undefined) throw failed;
  return { ...given, content: content.map(soundPart), structuredOutputText: sound(structuredOutputText) };
}

/** Throws `BrokenAnswer`, `ModelContentRefusedError`, `ModelNoAnswerError`. */
function requireAnswer(parts: Parts, { provider, modelId }: LanguageModelV4, counts: Counts): Parts {
  const none = noAnswerIn(parts);
  if (none === undefined) return parts;
  const { content, usage, finishReason, response } = parts;
  if (none === 'failed') {
    const { unified, raw } = finishReason;
    const reason = unified === 'interrupted' ? 'without saying why' : `for the reason ${raw ?? unified}`;
    throw new BrokenAnswer(new Error(`The answer ended ${reason}.`), { content, usage, responseId: response?.id });
  }
  const spent = isReported(usage) ? usageOf(usage, content, counts) : undefined;
  if (none === 'filtered') {
    throw new ModelContentRefusedError(`${provider} ${modelId}: it answered nothing.`, { usage: spent });
  }
  throw new ModelNoAnswerError(none, `${provider} ${modelId}`, spent, finishReason.unified);
}

const receivedOf = ({ content, usage, responseId }: Come, counts: Counts): Received => ({
  text: textOf(content),
  reasoning: content.map((part) => (part.type === 'reasoning' ? part.text : '')).join(''),
  toolCalls: content.filter(isOwnCall).map(toolCallOf),
  usage: usage !== undefined && isReported(usage) ? usageOf(usage, content, counts) : undefined,
  responseId,
});
