/**
 * Owns the contract of long-term memory: what was learned about users, pipelines and tenants, kept as rows that the fold of the
 * log makes (I6), found again by key, by words and by meaning. Embeddings are made from rows and may be rebuilt; they are
 * the one thing here that isn't in the log. Every read for somebody names the tenant, and answers with nothing of another (I9).
 *
 * M1 Of all writes of one key (tenant, subject, kind, key) the greatest by `(lamport, workflow, position, ordinal)` wins,
 *    whatever the order of arrival: rows come from several partitions.
 * M2 A forgotten entry stays as a row without value and words, and is answered to nobody: an older write that arrives later
 *    doesn't bring it back.
 * M3 A vector is compared with vectors of the same model and length alone.
 */

import type { Lamport, Position, TenantId, WorkflowId } from '@tidemark/core';
import type { JsonText } from './rows.ts';

export type MemoryKind = 'summary' | 'fact' | 'state' | 'record';

export interface MemoryRow {
  readonly tenant: TenantId;
  /** Whom or what it is about: `user:ana`, `pipeline:content`, `tenant:acme`. */
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
  /** Place within its event, from 0. */
  readonly ordinal: number;
  readonly lamport: Lamport;
  readonly isForgotten: boolean;
}

export interface MemoryQuery {
  readonly tenant: TenantId;
  readonly subject: string;
  readonly kind?: MemoryKind;
  readonly key?: string;
  /** Keys that begin so. */
  readonly prefix?: string;
  /** By kind and key (the default), or the last written first. */
  readonly order?: 'key' | 'newest';
  /** Goes on after this one, in the order of keys. */
  readonly after?: { readonly kind: MemoryKind; readonly key: string };
  readonly limit: number;
}

/** Names an entry of a tenant's. */
export type MemoryName = Pick<MemoryRow, 'subject' | 'kind' | 'key'>;

export interface WrittenQuery {
  readonly tenant: TenantId;
  readonly workflows: readonly WorkflowId[];
  /** Goes on after this one, in the order of their names. */
  readonly after?: MemoryName | undefined;
  readonly limit: number;
}

export interface RecallQuery {
  readonly tenant: TenantId;
  readonly subject: string;
  readonly kinds: readonly MemoryKind[];
  /** Any text; how often a word stands in the subject's entries decides what it weighs. */
  readonly words: string;
  /** Of the words, by `model`; null: words alone. */
  readonly embedding: Float32Array | null;
  readonly model: string | null;
  readonly limit: number;
}

export interface RecalledMemory {
  readonly memory: MemoryRow;
  /** In [0, 1]; comparable within one answer. */
  readonly score: number;
  /** Share of the query's words that stand in it, rare ones weighing more; null: none. */
  readonly wordsScore: number | null;
  /** Cosine, in [-1, 1]; null: no embedding of that model, or not among the nearest. */
  readonly similarity: number | null;
}

/** An entry whose words have no embedding by a model. */
export interface UnembeddedMemory {
  readonly id: number;
  /** Names these words: others have another. Rises with every change. */
  readonly mark: number;
  readonly words: string;
}

export interface MemoryEmbedding {
  readonly id: number;
  /** Of the words that were embedded; when the entry has others by now, nothing is written. */
  readonly mark: number;
  readonly model: string;
  readonly vector: Float32Array;
}

/** A table whose files may still hold bytes of what was deleted from it. */
export interface UnscrubbedTable {
  readonly table: string;
  /** Larger than others can be kept waiting for; used by others all the time; or the role may not. */
  readonly why: 'too-large' | 'in-use' | 'not-allowed';
}

export interface MemoryStore {
  /** Entries that aren't forgotten. */
  memories(query: MemoryQuery): Promise<readonly MemoryRow[]>;
  /** Entries that one of these workflows wrote last, whoever they are about, by subject, kind and key; none that is forgotten. */
  memoriesWrittenBy(query: WrittenQuery): Promise<readonly MemoryName[]>;
  /** The greatest Lamport time among a subject's entries, forgotten ones too; 0 without any. A write after it wins over them all (M1). */
  lamportOf(tenant: TenantId, subject: string): Promise<Lamport>;
  /** The best first; equal ones by the last written. */
  recall(query: RecallQuery): Promise<readonly RecalledMemory[]>;
  /** Of all tenants, for the indexer alone: by mark, after the given one. */
  unembedded(model: string, limit: number, after?: number): Promise<readonly UnembeddedMemory[]>;
  putEmbeddings(rows: readonly MemoryEmbedding[]): Promise<void>;
  /**
   * Writes the files anew in which bytes of entries that were forgotten, and of keys that were destroyed, still lie after their rows are gone.
   * Returns those of which that could not be done.
   */
  scrub(): Promise<readonly UnscrubbedTable[]>;
}

/** M1. Positive when `a` is the later write. */
export function compareWrites(
  a: Pick<MemoryRow, 'lamport' | 'workflow' | 'position' | 'ordinal'>,
  b: Pick<MemoryRow, 'lamport' | 'workflow' | 'position' | 'ordinal'>,
): number {
  if (a.lamport !== b.lamport) return a.lamport - b.lamport;
  // By bytes, as the tables compare: UTF-16 would put some characters in another order.
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

/** One row for each key: the one that wins (M1). Always in the same order, so that two writers don't wait for each other in a circle. */
export function newestWrites(rows: readonly MemoryRow[]): readonly MemoryRow[] {
  const newest = new Map<string, MemoryRow>();
  for (const row of rows) {
    const key = JSON.stringify([row.tenant, row.subject, row.kind, row.key]);
    const known = newest.get(key);
    if (known === undefined || compareWrites(row, known) > 0) newest.set(key, row);
  }
  return [...newest].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}
