/**
 * Owns embeddings by any provider of the Vercel AI SDK: `openai.embedding('text-embedding-3-small')` and the like. It matches the provider
 * interface by its shape, in the versions V2, V3 and V4, so that no version of the SDK has to be installed.
 */

import { UnavailableError } from '@tidemark/core';
import type { Embedder } from './embedder.ts';
import { EMBEDDED_MAX_CHARS } from './limits.ts';

/** The part of the SDK's `EmbeddingModelV2`, `V3` and `V4` that is used here. */
export interface AiSdkEmbeddingModel {
  readonly provider: string;
  readonly modelId: string;
  readonly maxEmbeddingsPerCall: PromiseLike<number | undefined> | number | undefined;
  doEmbed(options: {
    values: string[];
    abortSignal?: AbortSignal;
  }): PromiseLike<{ readonly embeddings: readonly (readonly number[])[] }>;
}

/** Rethrows errors of the provider as `UnavailableError` (`embedding-failed`). */
export function aiSdkEmbedder(embeddingModel: AiSdkEmbeddingModel): Embedder {
  let dimension: number | null = null;
  return {
    model: `${embeddingModel.provider}/${embeddingModel.modelId}`,
    get dimension() {
      return dimension;
    },
    async embed(texts, signal) {
      const perCall = Math.max(1, (await embeddingModel.maxEmbeddingsPerCall) ?? Number.POSITIVE_INFINITY);
      const vectors: Float32Array[] = [];
      while (vectors.length < texts.length) {
        signal?.throwIfAborted();
        const values = texts.slice(vectors.length, vectors.length + perCall);
        vectors.push(...(await call(embeddingModel, values, signal)));
      }
      dimension = vectors[0]?.length ?? dimension;
      return vectors;
    },
  };
}

async function call(
  embeddingModel: AiSdkEmbeddingModel,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly Float32Array[]> {
  const named = { model: `${embeddingModel.provider}/${embeddingModel.modelId}` };
  // Providers refuse an empty text.
  const values = texts.map((text) => text.slice(0, EMBEDDED_MAX_CHARS) || ' ');
  try {
    const { embeddings } = await embeddingModel.doEmbed({
      values,
      ...(signal === undefined ? {} : { abortSignal: signal }),
    });
    if (embeddings.length !== values.length) {
      throw new RangeError(`${values.length} texts brought ${embeddings.length} embeddings`);
    }
    return embeddings.map((embedding) => Float32Array.from(embedding));
  } catch (cause) {
    signal?.throwIfAborted();
    throw new UnavailableError('embedding-failed', `The embedding model ${named.model} failed: ${String(cause)}`, {
      ...named,
      cause,
    });
  }
}
