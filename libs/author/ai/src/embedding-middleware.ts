/**
 * Owns recording for code that embeds with the AI SDK: embed and embedMany call their model through the step. A call is a model call like
 * any other (recorded, paid once, counted), whose answer holds the vectors. Invariant: the SDK always gets what is recorded, so the first
 * attempt and every other see the same.
 */

import type {
  EmbeddingModelV4,
  EmbeddingModelV4CallOptions,
  EmbeddingModelV4Middleware,
  EmbeddingModelV4Result,
  LanguageModelV4,
  LanguageModelV4GenerateResult,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import { CorruptError, InvalidError } from '@tidemark/core';
import { EMBEDDINGS_PER_CALL_MAX_COUNT } from './limits.ts';
import { type ModelCaller, tidemark } from './middleware.ts';
import type { ModelOptions } from './model.ts';

/** Where the vectors stand in the provider's details. */
const OWN = 'tidemark';

/** For wrapEmbeddingModel({ model, middleware: tidemarkEmbeddings(ctx) }), inside the step of `ctx`. */
export function tidemarkEmbeddings(
  ctx: ModelCaller,
  options: Omit<ModelOptions, 'maxOutputTokens'> = {},
): EmbeddingModelV4Middleware {
  return {
    specificationVersion: 'v4',
    overrideMaxEmbeddingsPerCall: async ({ model }) =>
      Math.min((await model.maxEmbeddingsPerCall) ?? Number.POSITIVE_INFINITY, EMBEDDINGS_PER_CALL_MAX_COUNT),
    wrapEmbed: async ({ model, params }) => {
      const languageModel = asLanguageModel(model);
      const { doGenerate, doStream } = languageModel;
      const { values, dimensions, providerOptions, headers, abortSignal } = params;
      // Nothing but what is sent costs anything.
      const { wrapGenerate } = tidemark(ofSameCount(ctx, values.length), { ...options, maxOutputTokens: 1 });
      const answer = await wrapGenerate!({
        model: languageModel,
        doGenerate: () => doGenerate({ prompt: [] }),
        doStream: () => doStream({ prompt: [] }),
        params: {
          prompt: [{ role: 'user', content: [{ type: 'text', text: JSON.stringify(values) }] }],
          providerOptions: {
            ...providerOptions,
            [OWN]: { embeds: true, ...(dimensions !== undefined && { dimensions }) },
          },
          ...(headers !== undefined && { headers }),
          ...(abortSignal !== undefined && { abortSignal }),
        },
      });
      return resultOf(answer, values.length);
    },
  };
}

/** What was recorded is sent for what the step asks now, and its vectors are given for that: they must be as many. */
const ofSameCount = (ctx: ModelCaller, wanted: number): ModelCaller => ({
  modelCall: ({ answerRecorded, ...request }) =>
    ctx.modelCall({
      ...request,
      answerRecorded: (asked) => {
        const { length } = valuesIn(asked.raw as unknown as LanguageModelV4Prompt);
        if (length !== wanted) throw countChanged(length, wanted);
        return answerRecorded!(asked);
      },
    }),
});

const valuesIn = ([message]: LanguageModelV4Prompt): string[] =>
  JSON.parse((message!.content[0] as LanguageModelV4TextPart).text) as string[];

/** The model that answers a prompt of values with vectors. The prompt may be a recorded one, of an earlier attempt. */
function asLanguageModel(model: EmbeddingModelV4): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: {},
    doGenerate: async ({ prompt, providerOptions = {}, headers, abortSignal }) => {
      const { [OWN]: own, ...others } = providerOptions;
      const values = valuesIn(prompt);
      const params: EmbeddingModelV4CallOptions = {
        values,
        ...(own?.dimensions !== undefined && { dimensions: own.dimensions as number }),
        ...(Object.keys(others).length > 0 && { providerOptions: others }),
        ...(headers !== undefined && { headers: headers as Record<string, string> }),
        ...(abortSignal !== undefined && { abortSignal }),
      };
      return answerOf(await model.doEmbed(params), values.length);
    },
    doStream: () => Promise.reject(new Error('Embeddings come whole.')),
    // Where the SDK's providers keep their headers, which are masked.
    ...('config' in model && { config: model.config }),
  };
}

function answerOf(
  { embeddings, usage, providerMetadata, warnings }: EmbeddingModelV4Result,
  wanted: number,
): LanguageModelV4GenerateResult {
  if (embeddings.length !== wanted)
    throw new Error(`The provider gave ${embeddings.length} embeddings for ${wanted} values.`);
  const tokens = usage?.tokens;
  return {
    // Shown to people, and no words of the model's: nothing of it costs tokens.
    content: [],
    structuredOutputText: `${wanted} embeddings of ${embeddings[0]?.length ?? 0} numbers`,
    finishReason: { unified: 'stop', raw: undefined },
    usage: {
      inputTokens: { total: tokens, noCache: tokens, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 0, text: 0, reasoning: 0 },
    },
    providerMetadata: { ...providerMetadata, [OWN]: { vectors: embeddings.map(packed) } },
    warnings,
  };
}

function resultOf(
  { providerMetadata = {}, usage, warnings }: LanguageModelV4GenerateResult,
  wanted: number,
): EmbeddingModelV4Result {
  const { [OWN]: own, ...others } = providerMetadata;
  const vectors = own?.vectors as readonly string[] | undefined;
  if (vectors === undefined)
    throw new CorruptError('embeddings-unreadable', 'The recorded answer holds no embeddings.');
  if (vectors.length !== wanted) throw countChanged(vectors.length, wanted);
  const tokens = usage.inputTokens.total;
  return {
    embeddings: vectors.map(unpacked),
    ...(tokens !== undefined && { usage: { tokens } }),
    ...(Object.keys(others).length > 0 && { providerMetadata: others as SharedV4ProviderMetadata }),
    warnings,
  };
}

const countChanged = (recorded: number, wanted: number): InvalidError =>
  new InvalidError(
    'embeddings-changed',
    `The call is recorded with ${recorded} values to embed, and this attempt has ${wanted}: which vector is whose is unknown. Embed the same values in every attempt, in the same order.`,
    { recorded, wanted },
  );

/** Four bytes a number, as vectors are searched: a quarter of what it takes as JSON. */
const packed = (vector: readonly number[]): string => Buffer.from(Float32Array.from(vector).buffer).toString('base64');

function unpacked(text: string): number[] {
  const bytes = Buffer.from(text, 'base64');
  return Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readFloatLE(at * 4));
}
