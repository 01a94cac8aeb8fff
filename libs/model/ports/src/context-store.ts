/**
 * Owns the contract of what is projected of a workflow's context: its fragments and their texts, working memory, trace, and
 * what its model calls spend. Derived from the log like every row (I6), and read at any sequence: what a model call saw is
 * assembled again from these.
 */

import type {
  CoveredRange,
  FragmentType,
  Lamport,
  Sequence,
  Sha256,
  Spend,
  TenantId,
  WorkflowId,
} from '@tidemark/core';
import type { JsonText } from './rows.ts';

export interface FragmentRow {
  readonly workflow: WorkflowId;
  readonly sequence: Sequence;
  readonly index: number;
  readonly type: FragmentType;
  /** Names its text. */
  readonly digest: Sha256;
  readonly call: string | null;
  readonly tool: string | null;
  readonly covers: CoveredRange | null;
}

/** A text that a workflow has: once, however often it is used. */
export interface TextRow {
  readonly workflow: WorkflowId;
  readonly digest: Sha256;
  readonly text: string;
}

/** A text by its digest, or by a name of its own. */
export type NamedText = Pick<TextRow, 'digest' | 'text'>;

/** A change of working memory, by the checkpoint that brought it. */
export interface ScopeRow {
  readonly workflow: WorkflowId;
  readonly sequence: Sequence;
  /** A hand-over: it holds all of the memory, and nothing before it counts. */
  readonly isWhole: boolean;
  /** A `ScopeChange`, as JSON. */
  readonly change: JsonText;
}

/** What one model call spends: reserved first, settled by the same key later. */
export interface SpendRow extends Spend {
  readonly workflow: WorkflowId;
  readonly key: string;
  readonly tenant: TenantId;
  readonly user: string | null;
  /** When it was reserved, by its holder's clock. */
  readonly atMs: number;
  /** What it cost, or that it came to nothing, is known. */
  readonly isSettled: boolean;
}

/** What calls have cost, and what those that are under way may cost at most. */
export interface Spends {
  readonly settled: Spend;
  readonly reserved: Spend;
}

/** A fragment with its text. */
export interface FragmentWithText extends Omit<FragmentRow, 'workflow'> {
  readonly text: string;
}

export interface TraceEntry {
  readonly sequence: Sequence;
  readonly step: string;
  /** The checkpoint's last action. */
  readonly action: string;
}

export interface SessionWorkflow {
  readonly workflow: WorkflowId;
  readonly user: string | null;
  readonly definition: string;
  readonly status: string;
  readonly sequence: Sequence;
  readonly openedAtMs: number;
  readonly lamport: Lamport;
}

/** One of a user's workflows. */
export interface UserWorkflow {
  readonly workflow: WorkflowId;
  readonly session: string | null;
  readonly isOpen: boolean;
}

/** A workflow's part in a session. */
export interface SessionRow {
  readonly tenant: TenantId;
  readonly session: string;
  readonly workflow: WorkflowId;
  readonly user: string | null;
  readonly lamport: Lamport;
}

export interface ContextBatch {
  readonly fragments: readonly FragmentRow[];
  readonly texts: readonly TextRow[];
  readonly scopes: readonly ScopeRow[];
  readonly spends: readonly SpendRow[];
  readonly sessions: readonly SessionRow[];
}

export interface ContextStore {
  /**
   * Fragments of the workflow up to the checkpoint `upTo`, by place: all directives, and of the others those that the newest
   * summary up to there doesn't cover.
   */
  fragments(workflow: WorkflowId, upTo: Sequence): Promise<readonly FragmentWithText[]>;
  /** Texts of the workflow by their digests; those it doesn't have are left out. */
  texts(workflow: WorkflowId, digests: readonly Sha256[]): Promise<readonly NamedText[]>;
  /** The last `count` checkpoints up to `upTo` by sequence, and how many each step had before those. */
  trace(
    workflow: WorkflowId,
    upTo: Sequence,
    count: number,
  ): Promise<{ readonly recent: readonly TraceEntry[]; readonly earlier: Readonly<Record<string, number>> }>;
  /** Changes of working memory from the last hand-over up to `upTo`, by sequence. */
  scopes(workflow: WorkflowId, upTo: Sequence): Promise<readonly ScopeRow[]>;
  /** Workflows of the session, newest first. */
  session(tenant: TenantId, session: string, limit: number): Promise<readonly SessionWorkflow[]>;
  /**
   * Workflows of the user by id, after the given one. Of those whose history is in segments alone only the ones that are part of a
   * session: rows don't know whose the others are.
   */
  userWorkflows(
    tenant: TenantId,
    user: string,
    after: WorkflowId | null,
    limit: number,
  ): Promise<readonly UserWorkflow[]>;
  /** All that the tenant (or one of its users) has spent and reserved since then. */
  spent(tenant: TenantId, user: string | null, sinceMs: number): Promise<Spends>;
}
