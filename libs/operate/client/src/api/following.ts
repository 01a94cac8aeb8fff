/** Owns the types of the API's chapter "Following". Made by `node scripts/client-types.ts` from the declarations of the routes. */

import type { Json } from '../json.ts';
import type { Event, Workflow } from './shapes.ts';

export interface FollowingStreams {
  /** Follow all workflows */
  readonly 'GET /v1/events': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
          }
        | undefined;
    };
    readonly event:
      | { readonly name: 'workflow'; readonly data: Workflow }
      | {
          readonly name: 'many';
          readonly data: {
            readonly partitions: number;
          };
        };
  };
  /** Follow a workflow */
  readonly 'GET /v1/workflows/{workflow}/events': {
    readonly input: {
      readonly query?:
        | {
            /** The first position that is wanted. */
            readonly from?: number | undefined;
            /** Also what models answer as it comes, and how far steps are; needs the right to content. */
            readonly deltas?: 'true' | 'false' | undefined;
          }
        | undefined;
    };
    readonly event: { readonly name: 'event'; readonly data: Event } | { readonly name: 'delta'; readonly data: Delta };
  };
}

/** A piece of a model's answer as it comes, or how far a step is, or what it waits for before it continues; stored nowhere. */
export interface Delta {
  /** Null: it is the workflow that waits, before a step continues. */
  readonly task: string | null;
  readonly kind: 'text' | 'reasoning' | 'tool-call' | 'progress' | 'wait';
  readonly text?: string | undefined;
  readonly call?: Json | undefined;
  /** Of `progress`, as what follows. */
  readonly step?: string | undefined;
  readonly done?: number | undefined;
  readonly total?: number | undefined;
}
