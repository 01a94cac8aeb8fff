/** Owns the types of the API's chapter "History". Made by `node scripts/client-types.ts` from the declarations of the routes. */

import type { Json } from '../json.ts';
import type { Checkpoint, Event, Task } from './shapes.ts';

export interface HistoryEndpoints {
  /** A workflow's checkpoints */
  readonly 'GET /v1/workflows/{workflow}/checkpoints': {
    readonly input: {
      readonly query?:
        | {
            /** A checkpoint's number in its chain; 0 is the opening. */
            readonly from?: number | undefined;
            readonly limit?: number | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly checkpoints: readonly Checkpoint[];
      readonly next_from: number | null;
      readonly uncommitted: readonly UncommittedCheckpoint[];
    };
  };
  /** A workflow's effects */
  readonly 'GET /v1/workflows/{workflow}/effects': {
    readonly input: {
      readonly query?:
        | {
            /** Those after the effect with this key. */
            readonly after?: string | undefined;
            /** Of this task alone. */
            readonly task?: string | undefined;
            /** This one alone. */
            readonly key?: string | undefined;
            readonly limit?: number | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly effects: readonly Effect[];
      readonly next_after: string | null;
    };
  };
  /** Hand-overs between the phases of a workflow */
  readonly 'GET /v1/workflows/{workflow}/handovers': {
    readonly input: {
      readonly query?:
        | {
            /** Those before this sequence. */
            readonly before?: number | undefined;
            /** The sequence of the hand-over to compare with. */
            readonly against?: number | undefined;
            readonly limit?: number | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly handovers: readonly PhaseHandover[];
      readonly next_before: number | null;
    };
  };
  /** Signals, failures, decisions and hand-overs of leases */
  readonly 'GET /v1/workflows/{workflow}/notes': {
    readonly input: {
      readonly query?:
        | {
            readonly limit?: number | undefined;
            /** What the page before gave as `next_cursor`, with the same filters; opaque. */
            readonly cursor?: string | undefined;
            /** The one at this position alone. */
            readonly position?: number | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly events: readonly Event[];
      /** Null: this is the last page. */
      readonly next_cursor: string | null;
    };
  };
  /** The frontier: pending tasks */
  readonly 'GET /v1/workflows/{workflow}/tasks': {
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
      readonly tasks: readonly Task[];
      readonly pending_task_count: number;
      /** Null: this is the last page. */
      readonly next_cursor: string | null;
    };
  };
  /** All that happened to a workflow, in short */
  readonly 'GET /v1/workflows/{workflow}/timeline': {
    readonly input: {
      readonly query?:
        | {
            /** An accepted event's place in the workflow's stream: 1, 2, 3 … without gaps. */
            readonly from?: number | undefined;
          }
        | undefined;
    };
    readonly answer: {
      readonly moments: readonly Moment[];
      readonly next_from: number | null;
    };
  };
}

/** A checkpoint that does not count yet. */
export interface UncommittedCheckpoint {
  readonly checkpoint_id: string;
  /** Null: its place in the chain is open. */
  readonly sequence_number: number | null;
  readonly parent_checkpoint_id: string | null;
  readonly status: 'reserved' | 'pending';
  readonly step_definition_ref: string;
  readonly step_version: number | null;
  readonly task: string;
  readonly input_state_hash: string | null;
  readonly effect_log: readonly {
    readonly operation: string;
    readonly idempotency_key: string;
    readonly status: string;
    /** SHA-256, 64 hex digits. */
    readonly request_digest: string;
    readonly response_digest: string | null;
  }[];
}

/** An entry of a workflow's effect journal. */
export interface Effect {
  readonly operation: string;
  readonly idempotency_key: string;
  readonly kind: 'pure' | 'idempotent' | 'irreversible';
  readonly status: 'intended' | 'pending' | 'done' | 'failed';
  readonly task: string;
  /** SHA-256, 64 hex digits. */
  readonly request_digest: string;
  readonly response_digest: string | null;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly request?: Json | undefined;
  readonly response?: Json | undefined;
  readonly error?: Json | undefined;
}

/** What a phase of a workflow handed over to the next one. */
export interface PhaseHandover {
  /** The checkpoint that handed over. */
  readonly sequence_number: number;
  readonly from_phase: string | null;
  readonly to_phase: string;
  /** Keys that the new phase began with. */
  readonly carried_keys: readonly string[];
  /** Keys that stayed behind, and are out of scope from then on. */
  readonly left_keys: readonly string[];
  readonly summary?: string | undefined;
  /** The hand-over that its carried keys are compared with; null: there is none before it. */
  readonly against: number | null;
  readonly added_keys: readonly string[];
  readonly removed_keys: readonly string[];
  readonly kept_keys: readonly string[];
}

/** An accepted event in a workflow's timeline, without its content. */
export interface Moment {
  readonly position: number;
  readonly type: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly epoch: number;
  readonly holder: string | null;
  /** The clear part without digests and declared tasks. */
  readonly control: Readonly<Record<string, Json>>;
}
