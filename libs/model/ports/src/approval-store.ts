/** Owns the part of the projection that lists questions to people. Its rows follow from the log, like all others. */

import type { TaskId, TenantId, WorkflowId } from '@tidemark/core';
import type { JsonText } from './rows.ts';

/** A place in the order of approvals. */
export interface ApprovalPlace {
  readonly askedAtMs: number;
  readonly workflow: WorkflowId;
  readonly task: TaskId;
}

export interface ApprovalQuery {
  readonly tenant?: string | undefined;
  /** Approvals for any of these; absent: all. */
  readonly assignees?: readonly string[] | undefined;
  readonly after?: ApprovalPlace | undefined;
  readonly limit?: number | undefined;
  /** False: without what they ask, which then isn't read. */
  readonly content?: boolean | undefined;
}

/** A task that waits for a person's answer, and for no other task. */
export interface ApprovalRow extends ApprovalPlace {
  readonly tenant: TenantId;
  readonly definition: string;
  readonly step: string;
  /** The task's state, as core serialises it. */
  readonly state: JsonText;
}

export interface ApprovalStore {
  /** Tasks of open workflows that wait for a person's answer, and for no other task; the oldest question first. */
  approvals(query: ApprovalQuery & { readonly limit: number }): Promise<readonly ApprovalRow[]>;
}
