/**
 * Owns what tools need of a place where Tidemark keeps its own state: sessions, and the memory of users. Whoever starts the
 * server gives it (a folder, the process that holds one, a cluster). All of it is plain data.
 */

import type { Json, TenantId } from '@tidemark/core';
import type { Fact, StateEntry } from '@tidemark/memory';
import type { SessionBrief, SessionHandOver } from '@tidemark/runtime';

export interface RecallRequest {
  readonly user: string;
  readonly query: string;
  readonly limit: number;
  readonly kinds: readonly ('summary' | 'fact')[];
}

export interface RecalledEntry {
  readonly kind: string;
  readonly key: string;
  /** In [0, 1]; comparable within one answer. */
  readonly score: number;
  readonly at: string;
  readonly source: string;
  /** A session's summary, or `{ text }` of a fact. */
  readonly value: unknown;
}

export interface RecallAnswer {
  readonly by: 'words' | 'words+meaning';
  /** Why words decided alone although there is an embedder. */
  readonly warning: string | null;
  /** The best first. */
  readonly entries: readonly RecalledEntry[];
  /** The summaries among them as a text to go on with; empty: none. */
  readonly continuation: string;
}

/** A model call, with what the model saw: rebuilt from the log. */
export interface SeenCall {
  readonly idempotency_key: string;
  readonly task: string;
  /** The checkpoint that it is a part of; null while its step has not committed. */
  readonly sequence_number: number | null;
  readonly status: string;
  readonly provider: string;
  readonly model: string;
  /** Whether the bundle's bytes are those that were sent; null: the call had no bundle. */
  readonly is_same: boolean | null;
  /** Of the manifest; null: no bundle. */
  readonly manifest_hash: string | null;
  readonly bundle: Json;
  /** What the step itself sent after the bundle. */
  readonly prompt: Json;
  readonly answer: Json;
}

export interface SeenCalls {
  readonly workflow: string;
  readonly user: string | null;
  /** The checkpoint that is meant. */
  readonly at: number;
  readonly calls: readonly SeenCall[];
}

export interface MemoryDesk {
  /** Null: nothing is known of such a session. */
  brief(tenant: TenantId, session: string): Promise<SessionBrief | null>;
  /**
   * What the model calls of a checkpoint's step saw; of the newest one where none is named. Null: the tenant has no such workflow.
   * Throws `InvalidError` (`checkpoint-unknown`, `no-model-call`).
   */
  seen(tenant: TenantId, workflow: string, at: number | null): Promise<SeenCalls | null>;
  /** Throws `InvalidError` (`handover-invalid`, `memory-secret`). */
  handOver(tenant: TenantId, session: string, handOver: SessionHandOver): Promise<void>;
  recall(tenant: TenantId, request: RecallRequest): Promise<RecallAnswer>;
  /** Resolves to the fact's key once rows show it. Throws `InvalidError` (`fact-text`, `memory-secret`). */
  remember(tenant: TenantId, user: string, text: string, source: string): Promise<string>;
  /** The newest first. */
  facts(tenant: TenantId, user: string, limit: number): Promise<readonly Fact[]>;
  /** Throws `InvalidError` (`fact-unknown`). */
  forgetFact(tenant: TenantId, user: string, key: string): Promise<void>;
  /** Null: not set. */
  userState(tenant: TenantId, user: string, key: string): Promise<StateEntry | null>;
  /** By key. */
  userStates(tenant: TenantId, user: string, prefix: string): Promise<readonly StateEntry[]>;
  /** Throws `InvalidError` (`state-key`, `state-value`, `memory-secret`). */
  setUserState(tenant: TenantId, user: string, key: string, value: unknown, source: string): Promise<void>;
  /** Throws `InvalidError` (`state-key-unknown`). */
  forgetUserState(tenant: TenantId, user: string, key: string): Promise<void>;
}
