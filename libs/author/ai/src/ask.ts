/** Owns one request to a provider, whole or as a stream: it returns an answer to record, or throws an error that says what is certain. */

import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import type { ModelContext } from '@tidemark/runtime';
import { type Answer, answerOf, type Parts, textOf } from './answer.ts';
import { ModelAnswerTooLargeError } from './errors.ts';
import { type Hidden, hiddenOf } from './hidden.ts';
import { callError, streamError } from './provider-error.ts';
import { sound, soundPart } from './sound-text.ts';
import { BrokenStream, isInterrupted, readStream } from './stream.ts';

/** Options of a request beyond its content. */
export interface Asker {
  readonly languageModel: LanguageModelV4;
  /** Texts that are masked wherever they occur. */
  readonly secrets: readonly string[];
  readonly onPart?: ((part: LanguageModelV4StreamPart) => void) | undefined;
}

/** Throws the signal's reason when it was aborted, else `ModelRefusedError`, `ModelBusyError`, `ModelUnavailableError`, `ModelStreamError`, `ModelAnswerTooLargeError`. */
export async function ask(
  { languageModel, secrets, onPart = () => {} }: Asker,
  options: LanguageModelV4CallOptions,
  { signal, onDelta }: Pick<ModelContext, 'signal' | 'onDelta'>,
  isStreamed: boolean,
): Promise<Answer> {
  signal.throwIfAborted();
  const hidden = (): Promise<Hidden> => hiddenOf(languageModel, options.headers, secrets);
  try {
    const sent = { ...options, abortSignal: signal };
    const parts = isStreamed
      ? await readStream((await languageModel.doStream(sent)).stream, signal, { onDelta, onPart })
      : whole(await languageModel.doGenerate(sent));
    return answerOf(parts, await hidden(), languageModel.provider);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ModelAnswerTooLargeError) throw error;
    if (error instanceof BrokenStream) throw streamError(languageModel, error.reason, error.received, await hidden());
    throw callError(languageModel, error, await hidden());
  }
}

function whole(given: Parts): Parts {
  const { content, structuredOutputText } = given;
  const parts = { ...given, content: content.map(soundPart), structuredOutputText: sound(structuredOutputText) };
  if (!isInterrupted(parts.finishReason)) return parts;
  throw new BrokenStream(new Error('The answer ended without saying why.'), {
    text: textOf(parts.content),
    reasoning: '',
    toolCalls: [],
    usage: undefined,
    responseId: parts.response?.id,
  });
}
