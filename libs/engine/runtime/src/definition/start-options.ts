/** Owns what a caller may say of a workflow that it starts. */

import type { Priority, TenantId } from '@tidemark/core';

export interface StartOptions {
  /** The same id answers the same run; generated when absent. */
  readonly id?: string | undefined;
  readonly tenant?: TenantId | undefined;
  /** Runs with exactly this version of its definition, also when newer ones are rolled out; default false. */
  readonly pinned?: boolean | undefined;
  /** The session that it is a part of: it sees what was said in the workflows before it. One workflow of a session runs at a time. */
  readonly session?: string | undefined;
  /** Whose it is: memory of this user is told to its model calls. */
  readonly user?: string | undefined;
  /** By which people find it: at most 16, in clear wherever history is stored. */
  readonly tags?: readonly string[] | undefined;
  /** W3C `traceparent` of the caller's span: the workflow's trace links there. One that is none is left out. */
  readonly trace?: string | undefined;
  /** 1 is served first, 5 last; in place of its definition's. */
  readonly priority?: Priority | undefined;
  /** So long after now it is cancelled: `36h`, `7d`, or milliseconds; the definition's when absent. */
  readonly timeout?: string | number | undefined;
}
