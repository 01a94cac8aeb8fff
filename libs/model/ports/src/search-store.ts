/**
 * Owns the contract of finding workflows among very many, and of what all of them are at: for lists and overviews. Derived from the log like every
 * row (I6). Nothing here reads payloads.
 */

import type { Generation, Partition, StreamStatus, TenantId, WorkflowId } from '@tidemark/core';
import type { WorkflowListing, WorkflowQuery, WorkflowSummary } from './rows.ts';
import type { StoreCounts } from './sweep-rows.ts';

export interface WorkflowSearch {
  readonly tenant?: TenantId | undefined;
  /** Absent: all but the system's own, whose names begin with `tidemark.`. */
  readonly definition?: string | undefined;
  readonly status?: StreamStatus | undefined;
  readonly reason?: string | undefined;
  readonly session?: string | undefined;
  readonly user?: string | undefined;
  /** It has all of them. */
  readonly tags?: readonly string[] | undefined;
  /** Opened in `[from, to)`. */
  readonly openedFromMs?: number | undefined;
  readonly openedToMs?: number | undefined;
  /** Each of its words begins a word of the id, the definition, the session, the user or a tag. */
  readonly text?: string | undefined;
  /** Goes on after this one. */
  readonly after?: { readonly openedAtMs: number; readonly workflow: WorkflowId } | undefined;
  readonly limit: number;
}

export interface StatusCount {
  readonly status: StreamStatus;
  readonly count: number;
}

/** Parked workflows of one reason; null: they tell none. */
export interface ParkedCount {
  readonly reason: string | null;
  readonly count: number;
}

/** Work of one definition and tenant. */
export interface QueueCount {
  readonly definition: string;
  readonly tenant: TenantId;
  /** Could go on, and nobody has it. */
  readonly readyCount: number;
  /** In a worker's hands. */
  readonly runningCount: number;
}

/** What model calls have cost, by the hour (its beginning, Unix time in milliseconds). */
export interface SpentHour {
  readonly hourMs: number;
  readonly tokens: number;
  readonly costMicros: number;
}

export interface SearchStore {
  /** Newest first; those opened in the same millisecond by id. */
  search(query: WorkflowSearch): Promise<readonly WorkflowListing[]>;
  /** Without the system's own. Null: of all tenants. */
  statusCounts(tenant: TenantId | null): Promise<readonly StatusCount[]>;
  /**
   * All parked workflows by reason, without the system's own; the commonest reasons first, at most `limit` of them. Bounded in time: throws
   * `UnavailableError` rather than to keep the server busy.
   */
  parkedCounts(limit: number): Promise<readonly ParkedCount[]>;
  /** Of what has something to do, without the system's own; by definition and tenant, in that order. Null: of all tenants. */
  queueCounts(tenant: TenantId | null, limit: number): Promise<readonly QueueCount[]>;
  /** Which generation each partition is at. Absent: of all partitions. */
  generations(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, Generation>>;
  /**
   * Workflows of these partitions that are open, or closed while theirs was at the named generation or a later one, in no order. Asked with
   * what `generations` said at some time, nothing is left out that has moved since.
   */
  moving(since: ReadonlyMap<Partition, Generation>, limit: number): Promise<readonly WorkflowListing[]>;
  /** By hour, since then. Null: of all tenants. */
  spentHours(tenant: TenantId | null, sinceMs: number): Promise<readonly SpentHour[]>;
}

const WORD_MAX_CHARS = 100;

/** Words as they are found: lower case, letters and digits, at most 100 characters each; every word once, in order. */
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
