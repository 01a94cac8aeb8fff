/**
 * Owns the contract of long-term memory: what was learned about users, pipelines and tenants. Its rows are folded from the log (I6), and
 * are found by key, by words and by meaning. Embeddings are computed from rows and may be rebuilt; nothing else here is absent from the
 * log. Every read for a caller names the tenant, and returns nothing of another (I9).
 *
 * M1 Of all writes of one key (tenant, subject, kind, key) the greatest by `(lamport, workflow, position, ordinal)` wins, whatever the
 * order of arrival: rows come from several partitions.
 * M2 A forgotten entry stays as a row without value and words, and no read returns it: an older write that arrives later doesn't bring it
 * back.
 * M3 A vector is compared only with vectors of the same model and length.
 */

import type { Lamport, Position, TenantId, WorkflowId } from '@tidemark/core';
import type { JsonText } from './rows.ts';

export type MemoryKind = 'summary' | 'fact' | 'state' | 'record';

export interface MemoryRow {
  readonly tenant: TenantId;
  /** The subject of the entry: `user:ana`, `pipeline:content`, `tenant:acme`. */
  readonly subject: string;
  readonly kind: MemoryKind;
  readonly key: string;
  readonly value: JsonText;
  /** The text that is searched; its first line weighs more. Empty: not searchable. */
  readonly words: string;
  readonly source: string;
  readonly atMs: number;
  readonly workflow: WorkflowId;
  readonly position: Position;
  /** Its index within its event, from 0. */
  readonly ordinal: number;
  readonly lamport: Lamport;
  readonly isForgotten: boolean;
}

export interface MemoryQuery {
  readonly tenant: TenantId;
  readonly subject: string;
  readonly kind?: MemoryKind;
  readonly key?: string;
  /** Only keys with this prefix. */
  readonly prefix?: string;
  /** By kind and key (the default), or the newest first. */
  readonly order?: 'key' | 'newest';
  /** Starts after this one, in the order of keys. */
  readonly after?: { readonly kind: MemoryKind; readonly key: string };
  readonly limit: number;
}

/** Names an entry within a tenant. */
export type MemoryName = Pick<MemoryRow, 'subject' | 'kind' | 'key'>;

export interface WrittenQuery {
  readonly tenant: TenantId;
  readonly workflows: readonly WorkflowId[];
  /** Starts after this one, in the order of names. */
  readonly after?: MemoryName | undefined;
  readonly limit: number;
}

export interface RecallQuery {
  readonly tenant: TenantId;
  readonly subject: string;
  readonly kinds: readonly MemoryKind[];
  /** Any text. The rarer a word is in the subject's entries, the more it weighs. */
  readonly words: string;
  /** Embedding of the words by `model`; null: search by words alone. */
  readonly embedding: Float32Array | null;
  readonly model: string | null;
  readonly limit: number;
}

export interface RecalledMemory {
  readonly memory: MemoryRow;
  /** In [0, 1]; comparable within one answer. */
  readonly score: number;
  /** Share of the query's words that the entry has, rare ones weighing more; null: none. */
  readonly wordsScore: number | null;
  /** Cosine, in [-1, 1]; null: no embedding of that model, or not among the nearest. */
  readonly similarity: number | null;
}

/** An entry whose words have no embedding by a model. */
export interface UnembeddedMemory {
  readonly id: number;
  /** Identifies these words. Rises with every change. */
  readonly mark: number;
  readonly words: string;
}

export interface MemoryEmbedding {
  readonly id: number;
  /** Identifies the words that were embedded; when the entry has changed since, nothing is written. */
  readonly mark: number;
  readonly model: string;
  readonly vector: Float32Array;
}

/** A table whose files may still hold bytes of deleted rows. */
export interface UnscrubbedTable {
  readonly table: string;
  /** It is so large that rewriting would block others for too long; others use it all the time; or the role lacks the right. */
  readonly why: 'too-large' | 'in-use' | 'not-allowed';
}

export interface MemoryStore {
  /** Entries that aren't forgotten. */
  memories(query: MemoryQuery): Promise<readonly MemoryRow[]>;
  /** Entries whose last writer is one of these workflows, about any subject; by subject, kind and key. Without forgotten ones. */
  memoriesWrittenBy(query: WrittenQuery): Promise<readonly MemoryName[]>;
  /**
   * The greatest Lamport time among a subject's entries, forgotten ones included; 0 without any. A write after it wins over them all (M1).
   */
  lamportOf(tenant: TenantId, subject: string): Promise<Lamport>;
  /** The best first; of equal ones the newest first. */
  recall(query: RecallQuery): Promise<readonly RecalledMemory[]>;
  /** Of all tenants, for the indexer alone: by mark, after the given one. */
  unembedded(model: string, limit: number, after?: number): Promise<readonly UnembeddedMemory[]>;
  putEmbeddings(rows: readonly MemoryEmbedding[]): Promise<void>;
  /**
   * Rewrites the files that may still hold bytes of forgotten entries and of destroyed keys after their rows are gone. Returns the tables
   * that it could not rewrite.
   */
  scrub(): Promise<readonly UnscrubbedTable[]>;
}

/** Compares by M1: positive when `a` is the later write. */
export function compareWrites(
  a: Pick<MemoryRow, 'lamport' | 'workflow' | 'position' | 'ordinal'>,
  b: Pick<MemoryRow, 'lamport' | 'workflow' | 'position' | 'ordinal'>,
): number {
  if (a.lamport !== b.lamport) return a.lamport - b.lamport;
  // By bytes, as the tables compare: UTF-16 would order some characters differently.
  if (a.workflow !== b.workflow) return compareBytes(a.workflow, b.workflow);
  return a.position - b.position || a.ordinal - b.ordinal;
}

function compareBytes(a: string, b: string): number {
  const left = [...a];
  const right = [...b];
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) {
    const difference = left[at]!.codePointAt(0)! - right[at]!.codePointAt(0)!;
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** One row for each key: the winner (M1). Always in the same order, so that two writers can't deadlock. */
export function newestWrites(rows: readonly MemoryRow[]): readonly MemoryRow[] {
  const newest = new Map<string, MemoryRow>();
  for (const row of rows) {
    const key = JSON.stringify([row.tenant, row.subject, row.kind, row.key]);
    const known = newest.get(key);
    if (known === undefined || compareWrites(row, known) > 0) newest.set(key, row);
  }
  return [...newest].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}
