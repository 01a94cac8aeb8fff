/** Owns the types of the API's chapter "Retention". Made by `node scripts/client-types.ts` from the declarations of the routes. */

export interface RetentionEndpoints {
  /** How long a tenant's archived history is kept, and what is held */
  readonly 'GET /v1/retention': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly tenant: string;
      /** Null: none of its own; the compactors' decides. */
      readonly policy: RetentionPolicy | null;
      readonly holds: readonly Hold[];
    };
  };
  /** Say how long a tenant's archived history is kept */
  readonly 'PUT /v1/retention': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
          }
        | undefined;
      readonly body: NewRetention;
    };
    readonly answer: {
      readonly tenant: string;
      /** Null: none of its own; the compactors' decides. */
      readonly policy: RetentionPolicy | null;
    };
  };
  /** Keep a workflow's history, or all of the tenant's, whatever its policy says */
  readonly 'POST /v1/retention/holds': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
          }
        | undefined;
      readonly body: NewHold;
    };
    readonly answer: Hold;
  };
  /** Release a hold */
  readonly 'DELETE /v1/retention/holds/{hold}': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly hold: string;
    };
  };
}

export interface RetentionPolicy {
  /** After its last event; then it moves to the cold store. */
  readonly warm_ms: number;
  /** Then it is deleted permanently; null: never. */
  readonly keep_ms: number | null;
}

/** Nothing that it covers is deleted while it stands. */
export interface Hold {
  readonly hold: string;
  /** Null: all of the tenant's. */
  readonly workflow: string | null;
  readonly by: string;
  readonly why: string;
}

export interface NewRetention {
  /** Null: none of its own; the compactors' decides. */
  readonly policy: RetentionPolicy | null;
}

export interface NewHold {
  /** Its name, by which it is released. */
  readonly hold: string;
  /** Without one: all of the tenant's. */
  readonly workflow?: string | undefined;
  /** Why; kept with the event. */
  readonly why: string;
}
