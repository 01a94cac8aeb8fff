/** Owns the types of the API's chapter "Jobs". Made by `node scripts/client-types.ts` from the declarations of the routes. */

export interface JobsEndpoints {
  /** List jobs, newest first */
  readonly 'GET /v1/jobs': {
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
    readonly answer: Jobs;
  };
  /** Start a job: one action on many workflows */
  readonly 'POST /v1/jobs': { readonly input: { readonly body: StartJob }; readonly answer: JobStarted };
  /** Count what a job would find */
  readonly 'POST /v1/jobs/count': { readonly input: { readonly body: CountJob }; readonly answer: JobCount };
  /** Progress of a job */
  readonly 'GET /v1/jobs/{job}': {
    readonly input: {
      readonly query?:
        | {
            /** Whose job; by default the caller's own, or for a caller of all tenants the one over all of them, or else the only one of that id. */
            readonly tenant?: string | undefined;
            /** `false`: without content, also for callers who may see it; nothing is written to the audit then. For polling. */
            readonly content?: 'true' | 'false' | undefined;
          }
        | undefined;
    };
    readonly answer: Job;
  };
  /** Stop a job */
  readonly 'POST /v1/jobs/{job}/cancel': {
    readonly input: {
      readonly query?:
        | {
            /** Whose job; by default the caller's own, or for a caller of all tenants the one over all of them, or else the only one of that id. */
            readonly tenant?: string | undefined;
          }
        | undefined;
      readonly body: CancelJob;
    };
    readonly answer: {
      readonly job: string;
      /** False: it was requested before. */
      readonly changed: boolean;
    };
  };
}

export interface Jobs {
  readonly jobs: readonly Job[];
  /** Null: this is the last page. */
  readonly next_cursor: string | null;
}

export interface Job {
  readonly job: string;
  /** Null: it is over all tenants. */
  readonly tenant: string | null;
  /** `open` while it works. */
  readonly status: 'open' | 'parked' | 'compensating' | 'completed' | 'failed' | 'compensated';
  readonly reason: string | null;
  readonly act: 'cancel' | 'terminate' | 'pause' | 'resume' | 'retry' | 'signal';
  readonly by: string;
  readonly why?: string | undefined;
  /** ISO 8601, UTC. */
  readonly begun_at: string;
  readonly done_count: number;
  readonly refused_count: number;
  /** The first hundred of those that refused. */
  readonly refused: readonly {
    readonly workflow: string;
    readonly code: string;
    readonly message: string;
  }[];
}

export interface StartJob {
  readonly id?: string | undefined;
  readonly act: 'cancel' | 'terminate' | 'pause' | 'resume' | 'retry' | 'signal';
  readonly filter: JobFilter;
  /** All workflows that may be seen are meant. */
  readonly everything?: true | undefined;
  /** Why; kept with the event. */
  readonly why: string;
  readonly signal?:
    | {
        readonly name: string;
        readonly value?: unknown;
      }
    | undefined;
}

/** As for listing workflows; a workflow must fit all filters. */
export interface JobFilter {
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
  readonly tags?: readonly string[] | undefined;
}

export interface JobStarted {
  readonly job: string;
  readonly created: boolean;
}

export interface CountJob {
  readonly filter: JobFilter;
}

export interface JobCount {
  readonly count: number;
  /** No more than about 10000 are counted. */
  readonly has_more: boolean;
  /** How many there are of each. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Some of them. */
  readonly newest: readonly string[];
}

export interface CancelJob {
  /** Why; kept with the event. */
  readonly why: string;
}
