/** Owns the types of the API's chapter "Sessions and memory". Made by `node scripts/client-types.ts` from the declarations of the routes. */

import type { Json } from '../json.ts';

export interface SessionsAndMemoryEndpoints {
  /** Where a session stands */
  readonly 'GET /v1/sessions/{session}': {
    readonly input: {
      readonly params: {
        readonly session: string;
      };
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
          }
        | undefined;
    };
    readonly answer: Session;
  };
  /** Hand a session over */
  readonly 'POST /v1/sessions/{session}/handovers': {
    readonly input: {
      readonly params: {
        readonly session: string;
      };
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
          }
        | undefined;
      readonly body: HandOver;
    };
    readonly answer: HandedOver;
  };
  /** What is remembered of a user that fits a query */
  readonly 'GET /v1/users/{user}/recall': {
    readonly input: {
      readonly params: {
        readonly user: string;
      };
      readonly query: {
        /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
        readonly tenant?: string | undefined;
        readonly query: string;
        readonly limit?: number | undefined;
        readonly kind?: 'summary' | 'fact' | 'state' | 'record' | undefined;
      };
    };
    readonly answer: Recall;
  };
}

export interface Session {
  readonly session: string;
  readonly tenant: string;
  readonly user: string | null;
  readonly is_live: boolean;
  readonly workflow?: Json | undefined;
  readonly earlier: readonly {
    readonly workflow: string;
    readonly definition: string;
    readonly status: string;
    /** ISO 8601, UTC. */
    readonly opened_at: string;
  }[];
  readonly handovers?: Json | undefined;
  readonly summaries?: Json | undefined;
}

export interface HandOver {
  readonly from: string;
  readonly to: string;
  readonly message: string;
  readonly artifacts?: readonly string[] | undefined;
}

export interface HandedOver {
  readonly session: string;
  /** False: no workflow of it was started yet; the first is told. */
  readonly is_known: boolean;
}

export interface Recall {
  readonly by: string;
  readonly warning: string | null;
  readonly entries: readonly {
    readonly kind: string;
    readonly key: string;
    readonly score: number;
    /** ISO 8601, UTC. */
    readonly at: string;
    readonly source: string;
    readonly value?: Json | undefined;
  }[];
}
