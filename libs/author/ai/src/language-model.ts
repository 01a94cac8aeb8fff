/**
 * Owns which models of the AI SDK are accepted: those of the two newest interfaces. They differ only in files, which this library never
 * sends by itself, and in what they may answer, so one reader serves both.
 */

import type { LanguageModelV3, LanguageModelV4 } from '@ai-sdk/provider';
import { InvalidError } from '@tidemark/core';

export type SupportedModel = LanguageModelV3 | LanguageModelV4;

/** Returns the model under the newer interface. Throws `InvalidError` (`model-unsupported`) for an older one, and for anything else. */
export function supported(languageModel: SupportedModel): LanguageModelV4 {
  const found = languageModel as Partial<LanguageModelV4> | null | undefined;
  const version: unknown = found?.specificationVersion;
  const isModel = typeof found?.doGenerate === 'function' && typeof found.doStream === 'function';
  if (isModel && (version === 'v3' || version === 'v4')) return languageModel as LanguageModelV4;
  if (isModel && typeof version === 'string') {
    throw new InvalidError(
      'model-unsupported',
      `${found.provider} ${found.modelId} has the interface ${version}; v3 and v4 are supported. wrapLanguageModel({ model, middleware: [] }) of the package ai brings an older one up to date.`,
      { version },
    );
  }
  throw new InvalidError(
    'model-unsupported',
    'model() takes a language model of an AI SDK provider, such as openai("gpt-5.5"); a model\'s name alone is not enough.',
  );
}
