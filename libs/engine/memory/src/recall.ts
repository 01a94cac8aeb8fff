/**
 * Owns recall: the entries of one user that fit a query, by words and by meaning together where there is an embedder, and by
 * words alone where there is none or it fails; the answer says which. Nobody else's entries are looked at (I9).
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { TenantId } from '@tidemark/core';
import { ConfigError, messageOf } from '@tidemark/core';
import type { MemoryKind, MemoryStore, RecalledMemory } from '@tidemark/ports';
import type { Embedder } from './embedder.ts';
import { QUERY_MAX_CHARS, RECALL_EMBED_TIMEOUT_MS, RECALL_LIMIT } from './limits.ts';

export interface RecallOptions {
  readonly store: Pick<MemoryStore, 'recall'>;
  /** Null: words alone. */
  readonly embedder: Embedder | null;
  readonly tenant: TenantId;
  readonly user: string;
  readonly query: string;
  /** Default 3. */
  readonly limit?: number;
  /** Default: summaries. */
  readonly kinds?: readonly MemoryKind[];
  readonly signal?: AbortSignal;
  /** Longest wait for the query's embedding; default 2,000. */
  readonly embedTimeoutMs?: number;
}

export interface Recalled {
  /** The best first. */
  readonly entries: readonly RecalledMemory[];
  readonly by: 'words' | 'words+meaning';
  /** Why words decided alone although there is an embedder, or nothing could. */
  readonly warning?: { readonly code: 'embedding-failed' | 'memory-words-off'; readonly message: string };
}

/** The subject of what is remembered about a user. */
export const userSubject = (user: string): string => `user:${user}`;

/** Rejects with the store's errors, and with the signal's reason; never for the embedder, nor where rows have no words. */
export async function recall(options: RecallOptions): Promise<Recalled> {
  try {
    return await recallFrom(options);
  } catch (error) {
    if (!(error instanceof ConfigError) || error.code !== 'memory-words-off') throw error;
    return { entries: [], by: 'words', warning: { code: 'memory-words-off', message: error.message } };
  }
}

async function recallFrom(options: RecallOptions): Promise<Recalled> {
  const { store, embedder, tenant, user, limit = RECALL_LIMIT, kinds = ['summary'], signal } = options;
  const words = options.query.slice(0, QUERY_MAX_CHARS);
  const asked = { tenant, subject: userSubject(user), kinds, words, limit };
  const found = embedder === null || words.trim() === '' ? null : await embedQuery(embedder, words, options);
  signal?.throwIfAborted();
  if (found === null || 'message' in found) {
    const entries = await store.recall({ ...asked, embedding: null, model: null });
    return { entries, by: 'words', ...(found === null ? {} : { warning: found }) };
  }
  const entries = await store.recall({ ...asked, embedding: found.vector, model: found.model });
  return { entries, by: 'words+meaning' };
}

async function embedQuery(
  embedder: Embedder,
  words: string,
  { signal, embedTimeoutMs = RECALL_EMBED_TIMEOUT_MS }: RecallOptions,
): Promise<{ readonly vector: Float32Array; readonly model: string } | NonNullable<Recalled['warning']>> {
  const ended = new AbortController();
  const stop = AbortSignal.any([ended.signal, ...(signal === undefined ? [] : [signal])]);
  try {
    // Not every embedder heeds a signal.
    const late = wait(embedTimeoutMs, undefined, { signal: stop, ref: false }).then(() => {
      throw new Error(`no answer within ${embedTimeoutMs} ms`);
    });
    const embedding = (async () => embedder.embed([words], stop))();
    const [vector] = await Promise.race([embedding, late]);
    if (vector === undefined || vector.length === 0 || !vector.every(Number.isFinite)) {
      throw new TypeError('it answered with no vector');
    }
    return { vector, model: embedder.model };
  } catch (error) {
    const said = messageOf(error);
    const message = `Recalled by words alone: the embedder ${embedder.model} failed: ${said}`;
    return { code: 'embedding-failed', message };
  } finally {
    ended.abort();
  }
}
