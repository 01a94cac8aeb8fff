/** Owns the types of the API's chapter "Workflows". Made by `node scripts/client-types.ts` from the declarations of the routes. */

import type { Json } from '../json.ts';
import type { Checkpoint, Fork, MemoryScopes, Question, Task, Workflow } from './shapes.ts';

export interface WorkflowsEndpoints {
  /** Start a workflow */
  readonly 'POST /v1/workflows': { readonly input: { readonly body: Start }; readonly answer: Started };
  /** List and search workflows */
  readonly 'GET /v1/workflows': {
    readonly input: {
      readonly query?:
        | {
            /** Each of its words begins a word of the id, the definition, the session, the user or a tag. What workflows hold is not searched. */
            readonly text?: string | undefined;
            readonly status?: 'open' | 'parked' | 'compensating' | 'completed' | 'failed' | 'compensated' | undefined;
            readonly definition?: string | undefined;
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
            readonly session?: string | undefined;
            readonly user?: string | undefined;
            /** Why it is in that status, such as `budget_exceeded` or `paused`. */
            readonly reason?: string | undefined;
            readonly opened_from?: string | undefined;
            /** Opened before then. */
            readonly opened_to?: string | undefined;
            /** It has this tag; several: all of them. */
            readonly tag?: string | readonly string[] | undefined;
            readonly limit?: number | undefined;
            /** What the page before gave as `next_cursor`, with the same filters; opaque. */
            readonly cursor?: string | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly workflows: readonly Workflow[];
      /** Null: this is the last page. */
      readonly next_cursor: string | null;
    };
  };
  /** A workflow as it stands */
  readonly 'GET /v1/workflows/{workflow}': {
    readonly input: {
      readonly params: {
        readonly workflow: string;
      };
      readonly query?:
        | {
            /** `false`: without content, also for who may see it; nothing is written to the audit then. For polling. */
            readonly content?: 'true' | 'false' | undefined;
          }
        | undefined;
    };
    readonly answer: WorkflowView;
  };
  /** Wait for how a workflow ends */
  readonly 'GET /v1/workflows/{workflow}/result': {
    readonly input: {
      readonly params: {
        readonly workflow: string;
      };
      readonly query?:
        | {
            /** Milliseconds. */
            readonly wait_ms?: number | undefined;
          }
        | undefined;
    };
    readonly answer: Result;
  };
  /** Workflows that its tasks have started */
  readonly 'GET /v1/workflows/{workflow}/children': {
    readonly input: {
      readonly params: {
        readonly workflow: string;
      };
      readonly query?:
        | {
            readonly limit?: number | undefined;
            /** What the page before gave as `next_cursor`, with the same filters; opaque. */
            readonly cursor?: string | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly children: readonly Workflow[];
      /** Null: this is the last page. */
      readonly next_cursor: string | null;
    };
  };
  /** Definitions that can be started here */
  readonly 'GET /v1/definitions': {
    readonly input: unknown;
    readonly answer: {
      readonly definitions: readonly {
        readonly name: string;
        readonly version: number;
        readonly starts: readonly string[] | null;
        readonly flow: Readonly<Record<string, readonly string[]>>;
        readonly warnings: readonly string[];
        readonly effects: readonly string[];
        /** The JSON Schema of the value of each signal that may be sent, by its name. */
        readonly signals: Readonly<Record<string, Json>> | null;
      }[];
    };
  };
}

export interface Start {
  /** Name of a definition that this process has loaded. */
  readonly definition: string;
  /** Any JSON value; by default `{}`. */
  readonly input?: unknown;
  /** The same id answers the same run; generated when absent. */
  readonly id?: string | undefined;
  /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
  readonly tenant?: string | undefined;
  /** The session that it is a part of. */
  readonly session?: string | undefined;
  /** Whose it is. */
  readonly user?: string | undefined;
  /** By which it is found; stored in clear. */
  readonly tags?: readonly string[] | undefined;
  /** 1 is served first, 5 last; by default its definition says. Callers of a tenant may not choose to be served before what that says. */
  readonly priority?: 1 | 2 | 3 | 4 | 5 | undefined;
  /** Cancelled after this time: '90s', '15m', '36h', '7d', or milliseconds; by default its definition says. */
  readonly timeout?: number | string | undefined;
  /** Runs with exactly this version of its definition. */
  readonly pinned?: boolean | undefined;
}

export interface Started {
  readonly workflow: string;
  /** False: the id was there before, and its run is the answer. */
  readonly created: boolean;
  /** False: that run was started with another input than the one given now. */
  readonly same_input: boolean;
}

/** A workflow as it stands. */
export interface WorkflowView {
  readonly workflow: string;
  readonly tenant: string;
  readonly definition: string;
  readonly definition_version: number;
  readonly session: string | null;
  readonly user: string | null;
  readonly tags: readonly string[];
  readonly fork?: Fork | undefined;
  /** The workflow that this one continues, as a new run. */
  readonly continues?: string | undefined;
  /** The workflow that continues this one, which is `completed` for the reason `continued`. */
  readonly continued_as?: string | undefined;
  /** While a failed task is to resume on a build that announced itself, and no worker has taken it yet: since `updated_at`. A worker of any build but those on which it failed takes it. */
  readonly waits_for_build?:
    | {
        readonly build: string;
        readonly task: string;
        readonly failed_builds: readonly string[];
      }
    | undefined;
  readonly status: 'open' | 'parked' | 'compensating' | 'completed' | 'failed' | 'compensated';
  /** An open workflow is `running` (a worker holds it), `ready` (waits for a worker) or `waiting` (no task can run yet); others are as their status. */
  readonly activity:
    | 'running'
    | 'ready'
    | 'waiting'
    | 'parked'
    | 'compensating'
    | 'completed'
    | 'failed'
    | 'compensated';
  readonly reason: string | null;
  /** Of its newest checkpoint. */
  readonly sequence_number: number;
  /** Of its newest accepted event. */
  readonly position: number;
  readonly checkpoint_id: string | null;
  readonly pending_task_count: number;
  readonly tokens: number;
  /** Millionths of a US dollar. */
  readonly cost_micros: number;
  /** In words; empty for who may not see content. */
  readonly last_action: string;
  /** ISO 8601, UTC. */
  readonly opened_at: string;
  /** ISO 8601, UTC. */
  readonly updated_at: string;
  readonly partition: number;
  readonly generation: number;
  readonly epoch: number;
  /** The worker that has it in hand. */
  readonly holder: string | null;
  readonly pinned: boolean;
  /** Its content is permanently gone: its key was destroyed. */
  readonly forgotten: boolean;
  readonly input?: Json | undefined;
  readonly belief?: Json | undefined;
  readonly output?: Json | undefined;
  /** Once it has failed. */
  readonly error?:
    | {
        readonly code: string;
        readonly message?: string | undefined;
      }
    | undefined;
  readonly question: Question | null;
  /** The workflow whose task waits for this one, its child; null: it was started by itself. */
  readonly parent: {
    readonly workflow: string;
    readonly task: string;
  } | null;
  /** Pending tasks, by order of creation, at most 200. */
  readonly frontier: readonly Task[];
  readonly last_checkpoint: Checkpoint | null;
  readonly memory_scope_snapshot: MemoryScopes;
  readonly working_memory?: Readonly<Record<string, Json>> | undefined;
  /** The workflow that undoes it, and the undo that waits for a person. */
  readonly undo: {
    readonly workflow: string;
    readonly waiting_workflow: string | null;
    /** Null until the undo has completed, as `left_count`. */
    readonly undone_count: number | null;
    readonly left_count: number | null;
    readonly why?: string | undefined;
  } | null;
  /** What each step may add; null where this process does not have the definition. */
  readonly flow: {
    readonly starts: readonly string[] | null;
    readonly steps: Readonly<Record<string, readonly string[]>>;
  } | null;
}

export interface Result {
  readonly workflow: string;
  readonly status: 'open' | 'parked' | 'compensating' | 'completed' | 'failed' | 'compensated';
  readonly reason: string | null;
  readonly output?: Json | undefined;
  /** Once it has failed. */
  readonly error?:
    | {
        readonly code: string;
        readonly message?: string | undefined;
      }
    | undefined;
}
