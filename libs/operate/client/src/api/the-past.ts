/** Owns the types of the API's chapter "The past". Made by `node scripts/client-types.ts` from the declarations of the routes. */

import type { Json } from '../json.ts';
import type { Checkpoint, Fork, MemoryScopes, Question, Task } from './shapes.ts';

export interface ThePastEndpoints {
  /** State of a workflow right after a checkpoint */
  readonly 'GET /v1/workflows/{workflow}/at/{sequence}': { readonly input: unknown; readonly answer: PastWorkflow };
  /** What the model calls of a checkpoint saw */
  readonly 'GET /v1/workflows/{workflow}/at/{sequence}/calls': {
    readonly input: {
      readonly query?:
        | {
            /** The first of them, counted from 1. */
            readonly from?: number | undefined;
            readonly limit?: number | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly calls: readonly ModelCall[];
      /** Of the next page; null: this is the last. */
      readonly next_from: number | null;
    };
  };
  /** Compare what two model calls saw */
  readonly 'GET /v1/workflows/{workflow}/at/{sequence}/calls/{call}/comparison': {
    readonly input: {
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
      /** What is rebuilt of both is, byte for byte, what was sent. */
      readonly identical: boolean;
    };
  };
  /** List a workflow's model calls */
  readonly 'GET /v1/workflows/{workflow}/calls': {
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
  /** Compare two workflows */
  readonly 'GET /v1/workflows/{workflow}/comparison/{other}': { readonly input: unknown; readonly answer: Comparison };
  /** Fork a workflow at a checkpoint */
  readonly 'POST /v1/workflows/{workflow}/forks': {
    readonly input: { readonly body: ForkRequest };
    readonly answer: Forked;
  };
  /** What the next holder of a workflow would do */
  readonly 'GET /v1/workflows/{workflow}/recovery': {
    readonly input: {
      readonly query?:
        | {
            readonly probe?: 'true' | 'false' | undefined;
          }
        | undefined;
    };
    readonly answer: Recovery;
  };
  /** The trace of a workflow */
  readonly 'GET /v1/workflows/{workflow}/trace': {
    readonly input: {
      readonly query?:
        | {
            readonly from?: number | undefined;
            readonly content?: 'true' | 'false' | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly spans: readonly Span[];
      readonly next_from: number | null;
    };
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
  /** Empty for callers who may not see content. */
  readonly last_action: string;
  readonly input?: Json | undefined;
  readonly belief?: Json | undefined;
  readonly frontier: readonly Task[];
  readonly last_checkpoint: Checkpoint | null;
  readonly memory_scope_snapshot: MemoryScopes;
  readonly working_memory?: Readonly<Record<string, Json>> | undefined;
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
  /** The checkpoint after which it starts; 0: the opening. */
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

/** What the next holder would do. */
export interface Recovery {
  readonly workflow: string;
  readonly tenant: string;
  readonly status: 'open' | 'parked' | 'compensating' | 'completed' | 'failed' | 'compensated';
  /** Name and version; null where it is not known here. */
  readonly definition: string | null;
  readonly probes_asked: boolean;
  readonly lease: {
    readonly epoch: number;
    readonly holder: string;
  } | null;
  readonly crashes: {
    /** Holders that died since the newest checkpoint. */
    readonly count: number;
    readonly last_hour_count: number;
    /** Before it needs a person. */
    readonly attempts_left_count: number;
    readonly at: readonly string[];
  };
  readonly checkpoint: {
    readonly sequence_number: number;
    readonly step: string | null;
    /** ISO 8601, UTC. */
    readonly at: string;
    /** Empty for callers who may not see content. */
    readonly last_action: string;
  } | null;
  readonly effects: readonly PlannedEffect[];
  /** What comes after the effects; `needs-person` and `stopped` wait for the answer to `question`. */
  readonly next:
    | {
        readonly kind: 'ended' | 'shadow' | 'blocked' | 'needs-person' | 'stopped';
      }
    | {
        readonly kind: 'unreadable';
        readonly type: string;
        readonly v: number;
      }
    | {
        readonly kind: 'compensating';
        readonly undo: string;
      }
    | {
        readonly kind: 'ruled';
        readonly ruling: 'compensate' | 'fail' | 'cancel';
      }
    | {
        readonly kind: 'paused';
        readonly by: string;
      }
    | {
        readonly kind: 'will-park';
        readonly code: string;
      }
    | {
        readonly kind: 'runs';
        readonly task: string;
        readonly step: string;
        /** Without any other beside it, since its holder died. */
        readonly alone: boolean;
      };
  readonly question: Question | null;
}

export interface PlannedEffect {
  readonly idempotency_key: string;
  readonly operation: string;
  readonly task: string;
  readonly kind: 'pure' | 'idempotent' | 'irreversible';
  readonly status: 'intended' | 'pending' | 'done' | 'failed';
  readonly of: 'newest-checkpoint' | 'pending-task';
  /** `unknown`: the definition is not known here, or does not list the effect. */
  readonly probe: 'registered' | 'none' | 'unknown';
  /** Its outcome depends on the outside. */
  readonly external: boolean;
  /** What its probe returned, just now. */
  readonly said: 'done' | 'not-done' | 'unknown' | 'none' | null;
  /** Why its probe was not called, or gave no answer. */
  readonly problem?: string | undefined;
  /** What follows from each answer that is possible. */
  readonly outcomes: readonly {
    readonly answer: 'done' | 'not-done' | 'unknown' | 'none';
    readonly action: 'go-on' | 'record-done' | 'call-again' | 'compensate' | 'ask-person' | 'await-confirmation';
  }[];
  /** Before `not-done` counts: a late call's time. */
  readonly wait_ms: number;
}

/** A span of a workflow's trace. */
export interface Span {
  readonly trace_id: string;
  readonly span_id: string;
  /** Null: the workflow itself. */
  readonly parent_span_id: string | null;
  readonly name: string;
  readonly kind: 'internal' | 'client';
  /** ISO 8601, UTC. */
  readonly start: string;
  /** ISO 8601, UTC. */
  readonly end: string;
  /** Its end is not decided yet; `end` is then the time of the newest event. */
  readonly open: boolean;
  readonly attributes: Readonly<Record<string, string | number | boolean | readonly string[]>>;
  readonly content?: Readonly<Record<string, string | number | boolean | readonly string[]>> | undefined;
  /** Why it failed, as a code. */
  readonly error: string | null;
  readonly links: readonly {
    readonly trace_id: string;
    readonly span_id: string;
    readonly attributes: Readonly<Record<string, string | number | boolean | readonly string[]>>;
  }[];
  readonly events: readonly {
    readonly name: string;
    /** ISO 8601, UTC. */
    readonly at: string;
    readonly attributes: Readonly<Record<string, string | number | boolean | readonly string[]>>;
  }[];
}
