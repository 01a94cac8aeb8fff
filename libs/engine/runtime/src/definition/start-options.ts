/** Owns the options of a start. */

import type { Priority, TenantId, WorkflowId } from '@tidemark/core';
import type { KnownOptions } from '../kernel/index.ts';

export interface StartOptions {
  /** The same id returns the same run; generated when absent. */
  readonly id?: string | undefined;
  readonly tenant?: TenantId | undefined;
  /** Runs with exactly this version of its definition, also when newer ones are rolled out; default false. */
  readonly pinned?: boolean | undefined;
  /**
   * The session that the workflow belongs to: it sees what was said in the session's earlier workflows. One workflow of a session runs at a
   * time.
   */
  readonly session?: string | undefined;
  /** The user: their memories are given to the workflow's model calls. */
  readonly user?: string | undefined;
  /** Words by which people find it: at most 16, in clear wherever history is stored. */
  readonly tags?: readonly string[] | undefined;
  /** W3C `traceparent` of the caller's span, to which the workflow's trace links. An invalid one is ignored. */
  readonly trace?: string | undefined;
  /** From 1 (first) to 5 (last), in place of the definition's priority. */
  readonly priority?: Priority | undefined;
  /** Time from now after which the workflow is cancelled: `36h`, `7d`, or milliseconds. Default: the definition's. */
  readonly timeout?: string | number | undefined;
}

export const START_OPTIONS: KnownOptions<StartOptions> = {
  ...{ id: true, tenant: true, pinned: true, session: true, user: true },
  ...{ tags: true, trace: true, priority: true, timeout: true },
};

/** A start by the system itself, under an id of a form that no caller may choose. */
export interface DerivedStart extends StartOptions {
  readonly id: WorkflowId;
  /** See `Beginning`. */
  readonly day?: string | undefined;
}
