/** Owns the types of the API's chapter "Fleet". Made by `node scripts/client-types.ts` from the declarations of the routes. */

import type { Question, Workflow } from './shapes.ts';

export interface FleetEndpoints {
  /** State of the fleet */
  readonly 'GET /v1/fleet': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
          }
        | undefined;
    };
    readonly answer: Fleet;
  };
  /** Who you are here, and what you may do */
  readonly 'GET /v1/me': { readonly input: unknown; readonly answer: Me };
  /** List workflows that wait for a person */
  readonly 'GET /v1/questions': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
            /** `false`: without content, also for callers who may see it; nothing is written to the audit then. For polling. */
            readonly content?: 'true' | 'false' | undefined;
            readonly limit?: number | undefined;
            /** What the page before gave as `next_cursor`, with the same filters; opaque. */
            readonly cursor?: string | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly questions: readonly {
        readonly workflow: Workflow;
        readonly question: Question;
      }[];
      /** Null: this is the last page. */
      readonly next_cursor: string | null;
    };
  };
  /** Events that changed nothing, and why */
  readonly 'GET /v1/rejected': {
    readonly input: {
      readonly query?:
        | {
            /** `false`: without content, also for callers who may see it; nothing is written to the audit then. For polling. */
            readonly content?: 'true' | 'false' | undefined;
            readonly limit?: number | undefined;
            /** What the page before gave as `next_cursor`, with the same filters; opaque. */
            readonly cursor?: string | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly rejected: readonly {
        readonly partition: number;
        readonly offset: number;
        readonly workflow: string | null;
        readonly type: string | null;
        readonly reason: string;
        /** Clear parts of the record, as JSON; never its payload. */
        readonly evidence?: string | undefined;
        readonly at: string | null;
      }[];
      /** Null: this is the last page. */
      readonly next_cursor: string | null;
    };
  };
  /** How much storage history takes */
  readonly 'GET /v1/storage': {
    readonly input: {
      readonly query?:
        | {
            readonly by?: 'tenant' | 'workflow' | undefined;
            readonly limit?: number | undefined;
          }
        | undefined;
    };
    readonly answer: {
      /** Null where the caller sees one tenant. */
      readonly log_bytes: number | null;
      readonly storage: readonly {
        readonly name: string;
        readonly workflow_count: number;
        readonly hot_bytes: number;
        readonly archived_event_count: number;
        readonly archived_raw_bytes: number;
        readonly archived_bytes: number;
        /** The workflow whose history it shares, by workflow. */
        readonly fork_of?: string | undefined;
      }[];
    };
  };
  /** Where a workflow's archived history is */
  readonly 'GET /v1/workflows/{workflow}/segments': {
    readonly input: {
      readonly query?:
        | {
            readonly limit?: number | undefined;
            /** What the page before gave as `next_cursor`, with the same filters; opaque. */
            readonly cursor?: string | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly segments: readonly {
        readonly partition: number;
        readonly from: number;
        readonly to: number;
        readonly object: string;
        /** SHA-256, 64 hex digits. */
        readonly digest: string;
        readonly bytes: number;
        readonly raw_bytes: number;
        readonly event_count: number;
        /** ISO 8601, UTC. */
        readonly first_at: string;
        /** ISO 8601, UTC. */
        readonly last_at: string;
        readonly tier: 'warm' | 'cold' | 'deleted';
      }[];
      readonly has_rows: boolean;
      /** Null: this is the last page. */
      readonly next_cursor: string | null;
    };
  };
}

export interface Fleet {
  readonly workflows: readonly {
    readonly status: 'open' | 'parked' | 'compensating' | 'completed' | 'failed' | 'compensated';
    readonly count: number;
  }[];
  /** Open, and waiting for a worker. Null where the caller sees one tenant. */
  readonly ready_count: number | null;
  /** Held by a worker. */
  readonly running_count: number;
  /** Placed, and not yet known to be in the log. Null where the caller sees one tenant. */
  readonly unappended_count: number | null;
  /** Events that changed nothing. Null where the caller sees one tenant. */
  readonly rejected_count: number | null;
  /** False: rows are being rebuilt from the log. */
  readonly rows_ready: boolean;
  /** How far rows are behind the log. Null where the caller sees one tenant. */
  readonly lag: {
    readonly events: number;
    readonly partitions: number;
  } | null;
  /** Of the log. Null where the caller sees one tenant. */
  readonly partition_count: number | null;
  readonly workers: readonly {
    readonly holder: string;
    readonly alive: boolean;
    readonly held_count: number;
  }[];
  readonly queued: readonly {
    readonly definition: string;
    readonly count: number;
  }[];
  /** Paused queues: of one tenant, or (null) of all. */
  readonly held_queues: readonly {
    readonly queue: string;
    readonly tenant: string | null;
    /** ISO 8601, UTC. */
    readonly since: string;
  }[];
  /** Null where the caller sees one tenant. */
  readonly events_per_second: {
    readonly last_minute: number | null;
    readonly last_five_minutes: number | null;
  } | null;
  /** By model calls, hour by hour, of the last day. */
  readonly spent: readonly {
    /** ISO 8601, UTC. */
    readonly hour: string;
    readonly tokens: number;
    readonly cost_micros: number;
  }[];
}

export interface Me {
  readonly subject: string;
  /** Null: may see all tenants. */
  readonly tenant: string | null;
  readonly kind: 'key' | 'token' | 'local';
  readonly roles: readonly ('viewer' | 'operator' | 'approver' | 'worker' | 'admin' | 'scaler')[];
  readonly rights: readonly (
    | 'read'
    | 'content'
    | 'secrets'
    | 'operate'
    | 'decide'
    | 'report'
    | 'administer'
    | 'scale'
  )[];
  /** Names of assignees for whom you may answer approvals. */
  readonly asked_as: readonly string[];
  readonly server: {
    readonly version: string;
    /** The command that holds the folder; null where state is in no folder. */
    readonly holder: {
      readonly pid: number;
      readonly command: string;
    } | null;
  };
}
