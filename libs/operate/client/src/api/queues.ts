/** Owns the types of the API's chapter "Queues". Made by `node scripts/client-types.ts` from the declarations of the routes. */

export interface QueuesEndpoints {
  /** List queues: work by definition and tenant, and what of it is paused */
  readonly 'GET /v1/queues': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
            /** `false`: without content, also for callers who may see it; nothing is written to the audit then. For polling. */
            readonly content?: 'true' | 'false' | undefined;
          }
        | undefined;
    };
    readonly answer: Queues;
  };
  /** Pause all work of a definition */
  readonly 'POST /v1/queues/{queue}/pause': {
    readonly input: { readonly body: PauseQueue };
    readonly answer: QueueChanged;
  };
  /** Resume a paused queue */
  readonly 'POST /v1/queues/{queue}/resume': {
    readonly input: { readonly body: QueueAsk };
    readonly answer: QueueChanged;
  };
}

export interface Queues {
  readonly queues: readonly Queue[];
}

export interface Queue {
  /** The definition whose work it is. */
  readonly queue: string;
  /** Null: of all tenants. */
  readonly tenant: string | null;
  /** Could run, without a worker. */
  readonly ready_count: number;
  /** Held by a worker. */
  readonly running_count: number;
  /** Who paused it: for its tenant, for all, or both. None: it runs. */
  readonly held: readonly PausedQueue[];
}

export interface PausedQueue {
  /** Null: of all tenants. */
  readonly tenant: string | null;
  readonly by: string;
  readonly why?: string | undefined;
  /** ISO 8601, UTC. */
  readonly since: string;
}

export interface PauseQueue {
  /** Of this tenant alone; by default the caller's own, or all of them for a caller of all tenants. */
  readonly tenant?: string | undefined;
  /** Why; kept with the event. */
  readonly why: string;
  /** Also where nothing is known of such a definition yet; for callers of all tenants. */
  readonly future?: true | undefined;
}

export interface QueueChanged {
  readonly queue: string;
  /** Null: of all tenants. */
  readonly tenant: string | null;
  /** False: nothing changed. */
  readonly changed: boolean;
  /** Nothing of it is claimed; a tenant may be resumed while all are paused. */
  readonly held: boolean;
}

export interface QueueAsk {
  /** Of this tenant alone; by default the caller's own, or all of them for a caller of all tenants. */
  readonly tenant?: string | undefined;
  /** Why; kept with the event. */
  readonly why: string;
}
