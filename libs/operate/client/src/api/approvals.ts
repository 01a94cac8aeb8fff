/** Owns the types of the API's chapter "Approvals". Made by `node scripts/client-types.ts` from the declarations of the routes. */

import type { Json } from '../json.ts';

export interface ApprovalsEndpoints {
  /** List approvals: what tasks ask people, and wait for */
  readonly 'GET /v1/approvals': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
            /** Those of this assignee; several: of any of them. */
            readonly assignee?: string | readonly string[] | undefined;
            /** `true`: those for you, under any of the names that `whoAmI` returns. */
            readonly mine?: 'true' | 'false' | undefined;
            /** `false`: without content, also for callers who may see it; nothing is written to the audit then. For polling. */
            readonly content?: 'true' | 'false' | undefined;
            readonly limit?: number | undefined;
            /** What the page before gave as `next_cursor`, with the same filters; opaque. */
            readonly cursor?: string | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly approvals: readonly Approval[];
      /** Null: this is the last page. */
      readonly next_cursor: string | null;
    };
  };
  /** Answer what a task asks */
  readonly 'POST /v1/workflows/{workflow}/approvals/{task}': {
    readonly input: { readonly body: ApprovalAnswer };
    readonly answer: {
      readonly workflow: string;
      readonly task: string;
      /** False: the same answer was given before. */
      readonly changed: boolean;
    };
  };
}

/** What a task asks a person. `form` is the JSON Schema of the answer. */
export interface Approval {
  readonly workflow: string;
  readonly tenant: string;
  readonly definition: string;
  readonly task: string;
  /** The step that waits for the answer. */
  readonly step: string;
  readonly name: string;
  /** Who is to answer: a subject, `user:…`, `group:…`, `team:…` or `role:…`; null: anybody who may decide. */
  readonly assignee: string | null;
  /** ISO 8601, UTC. */
  readonly asked_at: string;
  /** Whether you may answer it. */
  readonly answerable: boolean;
  readonly title?: string | null | undefined;
  readonly detail?: Json | undefined;
  readonly form?: Json | undefined;
}

export interface ApprovalAnswer {
  readonly approved: boolean;
  /** What was entered in the form; absent in a rejection. */
  readonly value?: unknown;
  readonly why?: string | undefined;
}
