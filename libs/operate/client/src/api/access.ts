/** Owns the types of the API's chapter "Access". Made by `node scripts/client-types.ts` from the declarations of the routes. */

import type { Json } from '../json.ts';
import type { Ask } from './shapes.ts';

export interface AccessEndpoints {
  /** Who read and did what, the newest first */
  readonly 'GET /v1/audit': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
            /** `key:ID`, `token:SUBJECT`. */
            readonly subject?: string | undefined;
            readonly action?: string | undefined;
            readonly target?: string | undefined;
            readonly outcome?: 'done' | 'refused' | 'failed' | undefined;
            /** From then on. */
            readonly from?: string | undefined;
            /** Before then. */
            readonly to?: string | undefined;
            readonly limit?: number | undefined;
            /** What the page before gave as `next_cursor`, with the same filters; opaque. */
            readonly cursor?: string | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly entries: readonly AuditEntry[];
      /** Null: this is the last page. */
      readonly next_cursor: string | null;
    };
  };
  /** Make an API key */
  readonly 'POST /v1/keys': { readonly input: { readonly body: NewKey }; readonly answer: KeyMade };
  /** List API keys, without their secrets */
  readonly 'GET /v1/keys': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
            /** `true`: revoked ones as well. */
            readonly revoked?: 'true' | 'false' | undefined;
            readonly limit?: number | undefined;
            /** What the page before gave as `next_cursor`, with the same filters; opaque. */
            readonly cursor?: string | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly keys: readonly Key[];
      /** Null: this is the last page. */
      readonly next_cursor: string | null;
    };
  };
  /** An API key, without its secret */
  readonly 'GET /v1/keys/{key}': { readonly input: unknown; readonly answer: Key };
  /** Revoke an API key */
  readonly 'POST /v1/keys/{key}/revoke': { readonly input: { readonly body: Ask }; readonly answer: Key };
  /** List the tenants that were created or suspended */
  readonly 'GET /v1/tenants': {
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
      readonly tenants: readonly Tenant[];
      /** Null: this is the last page. */
      readonly next_cursor: string | null;
    };
  };
  /** Create a tenant */
  readonly 'PUT /v1/tenants/{tenant}': { readonly input: unknown; readonly answer: Tenant };
  /** Lift the suspension of a tenant */
  readonly 'POST /v1/tenants/{tenant}/resume': { readonly input: { readonly body: Ask }; readonly answer: Tenant };
  /** Suspend a tenant */
  readonly 'POST /v1/tenants/{tenant}/suspend': { readonly input: { readonly body: Ask }; readonly answer: Tenant };
  /** A workflow with its secret fields */
  readonly 'GET /v1/workflows/{workflow}/secrets': { readonly input: unknown; readonly answer: Secrets };
}

/** Who did what to what. Never a payload, a secret or an error in words. */
export interface AuditEntry {
  readonly id: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly subject: string;
  /** What the caller showed: `key` or `token`; `local`: the owner. */
  readonly kind: string;
  readonly roles: readonly ('viewer' | 'operator' | 'approver' | 'worker' | 'admin' | 'scaler')[];
  /** The caller's tenant; null: of all. */
  readonly of: string | null;
  /** The operation's name in this document. */
  readonly action: string;
  readonly right: 'read' | 'content' | 'secrets' | 'operate' | 'decide' | 'report' | 'administer' | 'scale';
  /** The id of a workflow, a key, a job, … */
  readonly target: string | null;
  readonly outcome: 'done' | 'refused' | 'failed';
  /** Code of the problem, where it was not done. */
  readonly code: string | null;
}

export interface NewKey {
  /** What it is for. */
  readonly name: string;
  readonly roles: readonly ('viewer' | 'operator' | 'approver' | 'worker' | 'admin' | 'scaler')[];
  /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
  readonly tenant?: string | undefined;
  /** For administrators of all tenants; those of one tenant can't make such a key. */
  readonly all_tenants?: true | undefined;
  /** By default after 90 days; null: never. At most ten years ahead. */
  readonly expires_at?: string | null | undefined;
}

export interface KeyMade extends Key {
  /** What the caller shows as `Bearer`. */
  readonly secret: string;
}

/** An API key, without its secret. */
export interface Key {
  /** Its public id; its subject is `key:` and this. */
  readonly key: string;
  readonly name: string;
  /** Whose workflows it is for; null: every tenant's. */
  readonly tenant: string | null;
  readonly roles: readonly ('viewer' | 'operator' | 'approver' | 'worker' | 'admin' | 'scaler')[];
  readonly by: string;
  /** ISO 8601, UTC. */
  readonly created_at: string;
  /** Null: it never expires. */
  readonly expires_at: string | null;
  /** Within ten minutes; null: not yet. */
  readonly last_used_at: string | null;
  readonly revoked: {
    readonly by: string;
    readonly why: string;
    /** ISO 8601, UTC. */
    readonly at: string;
  } | null;
}

export interface Tenant {
  readonly tenant: string;
  readonly by: string;
  /** ISO 8601, UTC. */
  readonly created_at: string;
  /** While it is suspended, nobody of the tenant is let in. */
  readonly suspended: {
    readonly by: string;
    readonly why: string;
    /** ISO 8601, UTC. */
    readonly at: string;
  } | null;
}

export interface Secrets {
  readonly workflow: string;
  readonly input?: Json | undefined;
  readonly belief?: Json | undefined;
  /** Once it has completed. */
  readonly output?: Json | undefined;
}
