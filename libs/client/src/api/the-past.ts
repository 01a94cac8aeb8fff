/** Owns the types of the API's chapter "The past". Made by `node scripts/client-types.ts` from the declarations of the routes. */

import type { Json } from '../json.ts';
import type { Checkpoint, Fork, Task } from './shapes.ts';

export interface ThePastEndpoints {
  /** A workflow as it stood right after a checkpoint */
  readonly 'GET /v1/workflows/{workflow}/at/{sequence}': {
    readonly input: {
      readonly params: {
        readonly workflow: string;
        readonly sequence: number;
      };
    };
    readonly answer: PastWorkflow;
  };
  /** Where a workflow's model calls are */
  readonly 'GET /v1/workflows/{workflow}/calls': {
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
      readonly calls: readonly {
        readonly at: number;
        readonly idempotency_key: string;
        readonly task: string;
        readonly status: string;
        /** ISO 8601, UTC. */
        readonly made_at: string;
      }[];
      /** Null: this is the last page. */
      readonly next_cursor: string | null;
    };
  };
  /** What the model calls of a checkpoint saw */
  readonly 'GET /v1/workflows/{workflow}/at/{sequence}/calls': {
    readonly input: {
      readonly params: {
        readonly workflow: string;
        readonly sequence: number;
      };
    };
    readonly answer: {
      readonly calls: readonly ModelCall[];
    };
  };
  /** Compare what two model calls saw */
  readonly 'GET /v1/workflows/{workflow}/at/{sequence}/calls/{call}/comparison': {
    readonly input: {
      readonly params: {
        readonly workflow: string;
        readonly sequence: number;
        readonly call: number;
      };
      readonly query: {
        /** A checkpoint's number in its chain; 0 is the opening. */
        readonly to: number;
        readonly to_call?: number | undefined;
        /** A workflow's id, percent-encoded in paths. */
        readonly other?: string | undefined;
      };
    };
    readonly answer: {
      readonly difference: Json;
    };
  };
  /** Compare two workflows */
  readonly 'GET /v1/workflows/{workflow}/comparison/{other}': {
    readonly input: {
      readonly params: {
        readonly workflow: string;
        readonly other: string;
      };
    };
    readonly answer: Comparison;
  };
  /** Go on from a checkpoint, in a new workflow */
  readonly 'POST /v1/workflows/{workflow}/forks': {
    readonly input: {
      readonly params: {
        readonly workflow: string;
      };
      readonly body: ForkRequest;
    };
    readonly answer: Forked;
  };
}

export interface PastWorkflow {
  readonly workflow: string;
  readonly tenant: string;
  readonly definition: string;
  readonly definition_version: number;
  readonly fork?: Fork | undefined;
  readonly sequence_number: number;
  readonly newest_sequence_number: number;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** ISO 8601, UTC. */
  readonly opened_at: string;
  readonly tokens: number;
  readonly cost_micros: number;
  /** In words; empty for who may not see content. */
  readonly last_action: string;
  readonly input?: Json | undefined;
  readonly belief?: Json | undefined;
  readonly frontier: readonly Task[];
  readonly last_checkpoint: Checkpoint | null;
  readonly fragments: readonly {
    readonly place: string;
    readonly type: string;
    readonly text?: string | undefined;
    readonly call?: string | undefined;
    readonly tool?: string | undefined;
  }[];
}

/** A past model call, rebuilt from the history. */
export interface ModelCall {
  readonly key: string;
  readonly task: string;
  /** The checkpoint that it led to; null while its step has not committed. */
  readonly sequence: number | null;
  readonly status: string;
  readonly provider: string;
  readonly model: string;
  readonly sent: string | null;
  readonly rebuilt: string | null;
  /** What is rebuilt is, byte for byte, what was sent. */
  readonly identical: boolean;
  readonly bundle?: Json | undefined;
  /** What was kept, what was trimmed and why, with tokens by lane; null: a call without a bundle. */
  readonly manifest: Json;
  readonly messages?: Json | undefined;
  readonly prompt?: Json | undefined;
  readonly answer?: Json | undefined;
}

export interface Comparison {
  readonly workflows: readonly ComparedWorkflow[];
  readonly same_outcome: boolean;
  readonly first_difference: {
    readonly sequence_number: number;
    readonly checkpoints: readonly ({
      readonly workflow: string;
      readonly sequence_number: number;
      readonly step: string | null;
      readonly belief?: Json | undefined;
      readonly output?: Json | undefined;
    } | null)[];
  } | null;
}

export interface ComparedWorkflow {
  readonly checkpoints: number;
  readonly tokens: number;
  readonly cost_micros: number;
  readonly workflow: string;
  readonly definition: string;
  readonly definition_version: number;
  readonly fork?: Fork | undefined;
  readonly status: 'open' | 'parked' | 'compensating' | 'completed' | 'failed' | 'compensated';
  readonly reason: string | null;
  readonly output?: Json | undefined;
  readonly own: {
    readonly checkpoints: number;
    readonly tokens: number;
    readonly cost_micros: number;
  };
  readonly shared: {
    readonly checkpoints: number;
    readonly tokens: number;
    readonly cost_micros: number;
  };
  readonly called_effects: number;
  readonly replayed_effects: number;
  readonly took_ms: number;
}

export interface ForkRequest {
  /** The checkpoint after which it goes on; 0: the opening. */
  readonly at: number;
  readonly effects: 'replay' | 'live';
  /** A workflow's id, percent-encoded in paths. */
  readonly id?: string | undefined;
  /** In place of the belief at the checkpoint. */
  readonly belief?: unknown;
  /** It runs with exactly this version of its definition. */
  readonly version?: number | undefined;
}

export interface Forked {
  readonly workflow: string;
  readonly created: boolean;
  readonly base: Fork;
  readonly definition: string;
  readonly definition_version: number;
  readonly tasks: readonly {
    readonly task: string;
    readonly base: string;
    readonly step: string;
  }[];
  /** Effects that had been begun in those tasks: with `live` they are called again. */
  readonly begun: readonly {
    readonly task: string;
    readonly operation: string;
    readonly status: string;
  }[];
}
