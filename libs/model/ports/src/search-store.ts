/**
 * Owns the contract of finding workflows among very many, and of counts over all of them: for lists and overviews. Derived from the log
 * like every row (I6). Nothing here reads payloads.
 */

import type { Generation, Partition, Spend, StreamStatus, TenantId, WorkflowId } from '@tidemark/core';
import type { JsonText, WorkflowListing, WorkflowQuery, WorkflowSummary } from './rows.ts';
import type { StoreCounts } from './sweep-rows.ts';

export interface WorkflowSearch {
  readonly tenant?: TenantId | undefined;
  /** Absent: all but the system's own, whose names begin with `tidemark.`. */
  readonly definition?: string | undefined;
  readonly status?: StreamStatus | undefined;
  readonly reason?: string | undefined;
  /** The fingerprint of a failure that it has not got past. */
  readonly failure?: string | undefined;
  /** Without children and undos. */
  readonly roots?: true | undefined;
  readonly session?: string | undefined;
  readonly user?: string | undefined;
  /** The workflow has all of them. */
  readonly tags?: readonly string[] | undefined;
  /** Opened in `[from, to)`. */
  readonly openedFromMs?: number | undefined;
  readonly openedToMs?: number | undefined;
  /** Each of these words begins a word of the id, the definition, the session, the user or a tag. */
  readonly text?: string | undefined;
  /** Starts after this one. */
  readonly after?: { readonly openedAtMs: number; readonly workflow: WorkflowId } | undefined;
  readonly limit: number;
}

export interface StatusCount {
  readonly status: StreamStatus;
  readonly count: number;
}

/** Number of parked workflows with one reason; null: without a reason. */
export interface ParkedCount {
  readonly reason: string | null;
  readonly count: number;
}

/** Failures that are alike, of workflows that have not got past them. */
export interface FailureCount {
  readonly fingerprint: string;
  readonly count: number;
  /** Of these: those that wait for a person, and those that have failed. */
  readonly parkedCount: number;
  readonly failedCount: number;
  /** The one that was opened last, and its stream's state. */
  readonly newest: WorkflowId;
  readonly updatedAtMs: number;
  readonly state: JsonText;
}

/** Work of one definition and tenant. */
export interface QueueCount {
  readonly definition: string;
  readonly tenant: TenantId;
  /** Could run, and no worker has claimed it. */
  readonly readyCount: number;
  /** Claimed by a worker. */
  readonly runningCount: number;
}

/** Cost of model calls by hour (its beginning, Unix time in milliseconds). */
export interface SpentHour extends Spend {
  readonly hourMs: number;
}

export interface SearchStore {
  /** Newest first; those opened in the same millisecond by id. */
  search(query: WorkflowSearch): Promise<readonly WorkflowListing[]>;
  /** Without the system's own. Null: of all tenants. */
  statusCounts(tenant: TenantId | null): Promise<readonly StatusCount[]>;
  /**
   * All parked workflows by reason, without the system's own; the commonest reasons first, at most `limit` of them. Bounded in time: throws
   * `UnavailableError` when the count would keep the server busy.
   */
  parkedCounts(limit: number): Promise<readonly ParkedCount[]>;
  /** The commonest first, at most `limit`; without the system's own. */
  failureCounts(of: Pick<WorkflowSearch, 'tenant' | 'definition'>, limit: number): Promise<readonly FailureCount[]>;
  /** Workflows that run or could run, without the system's own; by definition and tenant, in that order. Null: of all tenants. */
  queueCounts(tenant: TenantId | null, limit: number): Promise<readonly QueueCount[]>;
  /** The generation of each partition. Absent: of all partitions. */
  generations(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, Generation>>;
  /**
   * Workflows of these partitions that are open, or that closed when their partition was at the given generation or a later one; in no
   * order. With the answer of an earlier `generations` call, every workflow that changed since is included.
   */
  moving(since: ReadonlyMap<Partition, Generation>, limit: number): Promise<readonly WorkflowListing[]>;
  /** By hour, since then. Null: of all tenants. */
  spentHours(tenant: TenantId | null, sinceMs: number): Promise<readonly SpentHour[]>;
}

const WORD_MAX_CHARS = 100;

/** The words by which a text is found: lower case, letters and digits, at most 100 characters each; every word once, in order. */
export function searchWords(...texts: readonly (string | undefined)[]): readonly string[] {
  const words = texts.flatMap((text) => text?.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
  return [...new Set(words.map((word) => [...word].slice(0, WORD_MAX_CHARS).join('')))].sort();
}

/** Workflows by id and newest first. */
export interface WorkflowStore {
  workflow(workflow: WorkflowId): Promise<WorkflowSummary | undefined>;
  /** Newest first; those opened in the same millisecond by id. */
  workflows(query: WorkflowQuery): Promise<readonly WorkflowSummary[]>;
  counts(): Promise<StoreCounts>;
}
