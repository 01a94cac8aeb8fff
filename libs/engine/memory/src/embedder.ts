/** Owns what an embedder is: texts in, vectors out. Knows no model. */

export interface Embedder {
  /** Names the vector space: vectors of different models are never compared. */
  readonly model: string;
  /** Numbers in a vector; null until a remote model has answered once. */
  readonly dimension: number | null;
  /** One vector for each text, in order. Rejects with the signal's reason when it is aborted. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly Float32Array[]>;
}
