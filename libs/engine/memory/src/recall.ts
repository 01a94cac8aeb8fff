/**
 * Owns recall: the entries about a user, a domain or a tenant that match a query, by words and meaning where there is an embedder, and by
 * words alone where there is none or it fails; the answer says which. Reads only the subjects that are named (I9). Also owns the order of
 * facts when there is no room for all.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { ConfigError, messageOf, type TenantId } from '@tidemark/core';
import { compareWrites, type MemoryKind, type MemoryRow, type MemoryStore, type RecalledMemory } from '@tidemark/ports';
import type { Embedder } from './embedder.ts';

/** Entries that a recall returns by default. */
const RECALL_LIMIT = 3;
/** Longest wait for the embedding of a query; then words decide alone. */
const RECALL_EMBED_TIMEOUT_MS = 2_000;
/** Characters of a query that are used; the rest is cut. */
const QUERY_MAX_CHARS = 8_000;
/** What the newest fact gains over an old one, where the best match gains 1; and the half-life of that gain. */
const FACT_AGE_WEIGHT = 0.1;
const FACT_HALF_LIFE_MS = 30 * 24 * 60 * 60 * 1_000;

/** A query, and where to search. */
export interface RecallQuery {
  /** The subjects, as `userSubject`, `domainSubject` and `tenantSubject` name them; entries of all of them are ranked together. */
  readonly subjects: readonly string[];
  /** Default 3. */
  readonly limit?: number | undefined;
  /** Default: summaries. */
  readonly kinds?: readonly MemoryKind[] | undefined;
}

export interface QuestionOptions {
  /** Null: search by words alone. */
  readonly embedder: Embedder | null;
  readonly query: string;
  readonly signal?: AbortSignal | undefined;
  /** Longest wait for the query's embedding; default 2,000. */
  readonly embedTimeoutMs?: number | undefined;
}

export interface RecallOptions extends RecallQuery, QuestionOptions {
  readonly store: Pick<MemoryStore, 'recall'>;
  readonly tenant: TenantId;
}

/** A query with its embedding, if there is one. */
export interface Question {
  readonly words: string;
  readonly meaning: { readonly vector: Float32Array; readonly model: string } | null;
  readonly warning?: RecallWarning;
}

/** Why only words were used, or nothing could be searched. */
export interface RecallWarning {
  readonly code: 'no-embedder' | 'embedding-failed' | 'memory-words-off';
  readonly message: string;
}

export interface Recalled {
  /** The best first. */
  readonly entries: readonly RecalledMemory[];
  readonly by: 'words' | 'words+meaning';
  readonly warning?: RecallWarning;
}

/** The subject of entries about a user. */
export const userSubject = (user: string): string => `user:${user}`;
/** The subject of entries about a field of knowledge, such as a product or a repository. */
export const domainSubject = (domain: string): string => `domain:${domain}`;
/** The subject of entries about a whole tenant. */
export const tenantSubject = (tenant: TenantId): string => `tenant:${tenant}`;

/** All subjects of a workflow: its user, its domains and its tenant. */
export const subjectsOf = (
  { tenant, user }: { readonly tenant: TenantId; readonly user?: string | undefined },
  domains: readonly string[],
): readonly string[] => [
  ...(user === undefined ? [] : [userSubject(user)]),
  ...domains.map(domainSubject),
  tenantSubject(tenant),
];

/** Rejects with the store's errors and with the signal's reason, never because of the embedder or of rows without words. */
export async function recall(options: RecallOptions): Promise<Recalled> {
  return answerTo(await embedQuestion(options), options);
}

/** Never rejects because of the embedder: the question says why it has no embedding. */
export async function embedQuestion(options: QuestionOptions): Promise<Question> {
  const { embedder, signal } = options;
  const words = options.query.slice(0, QUERY_MAX_CHARS);
  if (embedder === null) return { words, meaning: null, warning: NO_EMBEDDER };
  if (words.trim() === '') return { words, meaning: null };
  const found = await embed(embedder, words, options);
  signal?.throwIfAborted();
  return 'vector' in found ? { words, meaning: found } : { words, meaning: null, warning: found };
}

const NO_EMBEDDER: RecallWarning = {
  code: 'no-embedder',
  message: 'Recalled by words alone: no embedder is set up. `tidemark admin install-embedder` sets up a small one.',
};

/** The entries that match the question best. Rejects with the store's errors, except for rows without words. */
export async function answerTo(
  { words, meaning, warning }: Question,
  { store, tenant, subjects, limit = RECALL_LIMIT, kinds = ['summary'] }: Omit<RecallOptions, keyof QuestionOptions>,
): Promise<Recalled> {
  const query = { tenant, kinds, words, limit, embedding: meaning?.vector ?? null, model: meaning?.model ?? null };
  try {
    const found = await Promise.all([...new Set(subjects)].map((subject) => store.recall({ ...query, subject })));
    const entries = found.flat().sort((a, b) => b.score - a.score || compareWrites(b.memory, a.memory));
    return {
      entries: entries.slice(0, limit),
      by: meaning === null ? 'words' : 'words+meaning',
      ...(warning !== undefined && { warning }),
    };
  } catch (error) {
    if (!(error instanceof ConfigError) || error.code !== 'memory-words-off') throw error;
    return { entries: [], by: 'words', warning: { code: 'memory-words-off', message: error.message } };
  }
}

async function embed(
  embedder: Embedder,
  words: string,
  { signal, embedTimeoutMs = RECALL_EMBED_TIMEOUT_MS }: QuestionOptions,
): Promise<NonNullable<Question['meaning']> | RecallWarning> {
  const ended = new AbortController();
  const stop = AbortSignal.any([ended.signal, ...(signal === undefined ? [] : [signal])]);
  try {
    // Some embedders ignore the signal.
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

/**
 * Orders facts by how well they match the task, and by age, which is relative to the newest fact, so no clock is read. Each fact once, the
 * most useful first. `newest` adds facts that match no word. Pure.
 */
export function rankFacts(fitting: readonly RecalledMemory[], newest: readonly MemoryRow[]): readonly MemoryRow[] {
  const scores = new Map<string, number>();
  const rows = new Map<string, MemoryRow>();
  const idOf = ({ subject, key }: MemoryRow): string => JSON.stringify([subject, key]);
  for (const row of [...newest, ...fitting.map(({ memory }) => memory)]) rows.set(idOf(row), row);
  for (const { memory, score } of fitting) scores.set(idOf(memory), score);
  // The score of the best match depends more on the length of the question than on the facts.
  const best = Math.max(0, ...scores.values()) || 1;
  const latestMs = Math.max(...[...rows.values()].map(({ atMs }) => atMs));
  const rankOf = (row: MemoryRow): number => {
    const freshness = 0.5 ** ((latestMs - row.atMs) / FACT_HALF_LIFE_MS);
    return (scores.get(idOf(row)) ?? 0) / best + FACT_AGE_WEIGHT * freshness;
  };
  return [...rows.values()].sort((a, b) => rankOf(b) - rankOf(a) || compareWrites(b, a));
}
