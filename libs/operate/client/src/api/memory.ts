/** Owns the types of the API's chapter "Memory". Made by `node scripts/client-types.ts` from the declarations of the routes. */

import type { Json } from '../json.ts';

export interface MemoryEndpoints {
  /** The facts about a user, a domain or the tenant, the newest first */
  readonly 'GET /v1/memory/{about}/facts': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
            readonly limit?: number | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly facts: readonly Fact[];
    };
  };
  /** Remember a fact about a user, a domain or the tenant */
  readonly 'POST /v1/memory/{about}/facts': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
          }
        | undefined;
      readonly body: NewFact;
    };
    readonly answer: FactChanged;
  };
  /** Forget a fact */
  readonly 'DELETE /v1/memory/{about}/facts/{key}': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
          }
        | undefined;
    };
    readonly answer: FactChanged;
  };
  /** Recall memories by a query */
  readonly 'POST /v1/memory/{about}/recall': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
          }
        | undefined;
      readonly body: AskRecall;
    };
    readonly answer: Recall;
  };
  /** Records of a pipeline */
  readonly 'GET /v1/records/{subject}': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
            /** Of which keys begin so. */
            readonly prefix?: string | undefined;
            readonly limit?: number | undefined;
            /** What the page before gave as `next_cursor`, with the same filters; opaque. */
            readonly cursor?: string | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly records: readonly Record[];
      /** Null: this is the last page. */
      readonly next_cursor: string | null;
    };
  };
  /** Write records of a pipeline */
  readonly 'POST /v1/records/{subject}': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
          }
        | undefined;
      readonly body: Records;
    };
    readonly answer: {
      readonly subject: string;
      readonly written: number;
    };
  };
  /** The standing preferences of a user, by key */
  readonly 'GET /v1/users/{user}/preferences': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
            /** Those whose keys begin so. */
            readonly prefix?: string | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly preferences: readonly Preference[];
    };
  };
  /** Forget a standing preference of a user */
  readonly 'DELETE /v1/users/{user}/preferences/{key}': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
          }
        | undefined;
    };
    readonly answer: PreferenceChanged;
  };
  /** A standing preference of a user */
  readonly 'GET /v1/users/{user}/preferences/{key}': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
          }
        | undefined;
    };
    readonly answer: Preference;
  };
  /** Set a standing preference of a user */
  readonly 'PUT /v1/users/{user}/preferences/{key}': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
          }
        | undefined;
      readonly body: NewPreference;
    };
    readonly answer: PreferenceChanged;
  };
}

export interface Fact {
  readonly key: string;
  readonly source: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly text?: string | undefined;
}

export interface NewFact {
  readonly text: string;
  /** Its source; by default the caller. */
  readonly source?: string | undefined;
}

export interface FactChanged {
  readonly about: string;
  readonly key: string;
}

export interface AskRecall {
  readonly query: string;
  readonly limit?: number | undefined;
  /** Of any of these. */
  readonly kinds?: readonly ('summary' | 'fact' | 'state' | 'record')[] | undefined;
}

export interface Recall {
  readonly by: 'words' | 'words+meaning';
  /** Why only words were searched, or nothing could be. */
  readonly warning: string | null;
  readonly entries: readonly {
    readonly kind: string;
    readonly key: string;
    /** From 0 to 1; comparable within one answer. */
    readonly score: number;
    /** ISO 8601, UTC. */
    readonly at: string;
    readonly source: string;
    readonly value?: Json | undefined;
  }[];
  /** The summaries among them as one text for a prompt; empty: there are none. */
  readonly continuation?: string | undefined;
}

export interface Record {
  readonly key: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly source: string;
  readonly value?: Json | undefined;
}

export interface Records {
  readonly records: readonly {
    readonly key: string;
    readonly value: unknown;
    readonly source?: string | undefined;
  }[];
}

export interface Preference {
  readonly key: string;
  readonly source: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly value?: Json | undefined;
}

export interface PreferenceChanged {
  readonly user: string;
  readonly key: string;
}

export interface NewPreference {
  readonly value: unknown;
  /** Its source; by default the caller. */
  readonly source?: string | undefined;
}
