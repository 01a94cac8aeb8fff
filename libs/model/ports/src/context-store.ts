/**
 * Owns the contract of the projection of a workflow's context: its fragments and their texts, working memory, trace, and the spending of
 * its model calls. Derived from the log like every row (I6), and readable at any sequence: bundles of past model calls are rebuilt from it.
 */

import type {
  CoveredRange,
  FragmentParts,
  FragmentType,
  Lamport,
  Sequence,
  Sha256,
  Spend,
  TenantId,
  WorkflowId,
} from '@tidemark/core';
import type { JsonText, StreamRow } from './rows.ts';

export interface FragmentRow {
  readonly workflow: WorkflowId;
  readonly sequence: Sequence;
  readonly index: number;
  readonly type: FragmentType;
  /** Digest of its text. */
  readonly digest: Sha256;
  readonly call: string | null;
  readonly tool: string | null;
  readonly covers: CoveredRange | null;
  /** Their text is one of the workflow's texts, too. */
  readonly parts: Omit<FragmentParts, 'text'> | null;
}

/** A text of a workflow: stored once, however often it is used. */
export interface TextRow {
  readonly workflow: WorkflowId;
  readonly digest: Sha256;
  readonly text: string;
}

/** A text by its digest, or by a name of its own. */
export type NamedText = Pick<TextRow, 'digest' | 'text'>;

/** A change of working memory, with the checkpoint that made it. */
export interface ScopeRow {
  readonly workflow: WorkflowId;
  readonly sequence: Sequence;
  /** A hand-over: it holds all of the memory, and replaces everything before it. */
  readonly isWhole: boolean;
  /** A `ScopeChange`, as JSON. */
  readonly change: JsonText;
}

/** The spending of one model call: reserved first, settled later under the same key. */
export interface SpendRow extends Spend {
  readonly workflow: WorkflowId;
  readonly key: string;
  readonly tenant: TenantId;
  readonly user: string | null;
  /** When it was reserved, by the holder's clock. */
  readonly atMs: number;
  /** Its final cost, or that it failed, is known. */
  readonly isSettled: boolean;
}

/** What finished calls have cost, and the most that calls in progress may cost. */
export interface Spends {
  readonly settled: Spend;
  readonly reserved: Spend;
}

/** A fragment with its text. */
export interface FragmentWithText extends Omit<FragmentRow, 'workflow' | 'parts'> {
  readonly text: string;
  readonly parts: FragmentParts | null;
}

export interface TraceEntry {
  readonly sequence: Sequence;
  readonly step: string;
  /** The checkpoint's last action. */
  readonly action: string;
}

export interface SessionWorkflow
  extends Pick<StreamRow, 'workflow' | 'definition' | 'sequence' | 'openedAtMs' | 'lamport'> {
  readonly status: string;
  readonly user: string | null;
}

/** One of a user's workflows. */
export interface UserWorkflow {
  readonly workflow: WorkflowId;
  readonly session: string | null;
  readonly isOpen: boolean;
}

/** A workflow's place in a session. */
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
   * Fragments of the workflow up to the checkpoint `upTo`, by place: all directives, and those others that the newest summary up to there
   * doesn't cover.
   */
  fragments(workflow: WorkflowId, upTo: Sequence): Promise<readonly FragmentWithText[]>;
  /** Texts of the workflow by digest; a digest without a text is absent from the result. */
  texts(workflow: WorkflowId, digests: readonly Sha256[]): Promise<readonly NamedText[]>;
  /** The last `count` checkpoints up to `upTo` by sequence, and a count by step of those before. */
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
   * Workflows of the user by id, after the given one. Of workflows whose history is in segments alone, only those with a session are
   * listed: rows don't record the user of the others.
   */
  userWorkflows(
    tenant: TenantId,
    user: string,
    after: WorkflowId | null,
    limit: number,
  ): Promise<readonly UserWorkflow[]>;
  /** What the tenant (or one of its users) has spent and reserved since then. */
  spent(tenant: TenantId, user: string | null, sinceMs: number): Promise<Spends>;
}
