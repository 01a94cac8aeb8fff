/** Owns the types that several chapters of the API share. Made by `node scripts/client-types.ts` from the declarations of the routes. */

import type { Json } from '../json.ts';

/** A workflow in short. */
export interface Workflow {
  readonly workflow: string;
  readonly tenant: string;
  readonly definition: string;
  readonly definition_version: number;
  readonly session: string | null;
  readonly user: string | null;
  readonly tags: readonly string[];
  readonly fork?: Fork | undefined;
  /** The workflow that this one continues, as a new run. */
  readonly continues?: string | undefined;
  /** The workflow that continues this one, which is `completed` for the reason `continued`. */
  readonly continued_as?: string | undefined;
  /** While a failed task is to resume on a build that announced itself, and no worker has taken it yet: since `updated_at`. A worker of any build but those on which it failed takes it. */
  readonly waits_for_build?:
    | {
        readonly build: string;
        readonly task: string;
        readonly failed_builds: readonly string[];
      }
    | undefined;
  readonly status: 'open' | 'parked' | 'compensating' | 'completed' | 'failed' | 'compensated';
  /** An open workflow is `running` (a worker holds it), `ready` (waits for a worker) or `waiting` (no task can run yet); others are as their status. */
  readonly activity:
    | 'running'
    | 'ready'
    | 'waiting'
    | 'parked'
    | 'compensating'
    | 'completed'
    | 'failed'
    | 'compensated';
  readonly reason: string | null;
  /** Of its newest checkpoint. */
  readonly sequence_number: number;
  /** Of its newest accepted event. */
  readonly position: number;
  readonly checkpoint_id: string | null;
  readonly pending_task_count: number;
  readonly tokens: number;
  /** Millionths of a US dollar. */
  readonly cost_micros: number;
  /** Empty for callers who may not see content. */
  readonly last_action: string;
  /** ISO 8601, UTC. */
  readonly opened_at: string;
  /** ISO 8601, UTC. */
  readonly updated_at: string;
  readonly partition: number;
  readonly generation: number;
  readonly epoch: number;
  /** The worker that holds it. */
  readonly holder: string | null;
}

/** The checkpoint of another workflow from which this one started. */
export interface Fork {
  readonly workflow: string;
  readonly sequence_number: number;
  readonly effects: 'replay' | 'live';
}

/** What a parked workflow asks a person. */
export interface Question {
  readonly question_id: string;
  readonly code: string;
  readonly task: string | null;
  readonly idempotency_key: string | null;
  /** What it can be answered with; none where a record that cannot be read stops it, which is skipped or taken instead. */
  readonly resolutions: readonly string[];
  readonly message?: string | undefined;
  readonly evidence?: Json | undefined;
}

/** A pending task of the frontier, and what it is blocked on. */
export interface Task {
  readonly task: string;
  readonly step: string;
  readonly state: 'ready' | 'blocked' | 'frozen';
  readonly blocked_on: readonly (
    | {
        readonly on: 'tasks';
        readonly tasks: readonly string[];
      }
    | {
        readonly on: 'all_earlier';
        readonly remaining_count: number;
      }
    | {
        readonly on: 'signal';
        readonly names: readonly string[];
      }
    | {
        readonly on: 'timer';
        readonly timer: string;
        /** ISO 8601, UTC. */
        readonly due_at: string;
      }
    | {
        readonly on: 'child';
        readonly child: string;
      }
    | {
        readonly on: 'approval';
        readonly name: string;
        readonly assignee: string | null;
        /** ISO 8601, UTC. */
        readonly asked_at: string;
      }
    | {
        readonly on: 'retry';
        readonly failure_count: number;
        /** ISO 8601, UTC. */
        readonly due_at: string;
      }
    | {
        readonly on: 'confirmation';
        readonly idempotency_key: string;
        /** Absent for callers who may not confirm (the right to report). */
        readonly token?: string | undefined;
        readonly overdue_at: string | null;
      }
  )[];
  readonly failure_count: number;
  readonly cause: {
    readonly kind: 'signal' | 'timer' | 'approval' | 'child';
    readonly name: string;
    readonly event: string;
  } | null;
  readonly reserved_checkpoint_id: string | null;
  readonly effects: readonly {
    readonly idempotency_key: string;
    readonly operation: string;
    readonly kind: string;
    readonly status: string;
  }[];
}

/** A committed checkpoint, with the names of the checkpoint model. */
export interface Checkpoint {
  readonly checkpoint_id: string | null;
  readonly sequence_number: number;
  readonly parent_checkpoint_id: string | null;
  /** As of now: a later checkpoint corrects it, or the workflow was compensated and everything of it that could be was. Null: what was compensated can no longer be known, or not before the compensating workflow is restored. */
  readonly status: 'committed' | 'superseded' | 'compensated' | null;
  /** Sequence of the earlier checkpoint that this one corrects. */
  readonly supersedes: number | null;
  /** Sequence of the newest checkpoint that corrects this one. */
  readonly superseded_by: number | null;
  readonly step_definition_ref: string | null;
  readonly step_version: number;
  readonly task: string | null;
  /** SHA-256, 64 hex digits. */
  readonly input_state_hash: string;
  readonly output_state?: Json | undefined;
  readonly belief_change?:
    | {
        readonly delta: Json;
      }
    | {
        readonly snapshot: Json;
      }
    | null
    | undefined;
  readonly effect_log: readonly {
    readonly operation: string;
    readonly idempotency_key: string;
    readonly status: string;
    /** SHA-256, 64 hex digits. */
    readonly request_digest: string;
    readonly response_digest: string | null;
  }[];
  readonly memory_scope_snapshot: MemoryScopes;
  readonly log?:
    | readonly {
        /** ISO 8601, UTC. */
        readonly at: string;
        readonly action: string;
        readonly detail?: Json | undefined;
      }[]
    | undefined;
  /** Empty for callers who may not see content. */
  readonly last_action: string;
  readonly tokens: number;
  readonly cost_micros: number;
  readonly epoch: number;
  readonly holder: string;
  readonly lamport: number;
  readonly position: number;
  /** ISO 8601, UTC. */
  readonly at: string;
}

/** Which memory scope held what: names and sizes, and no contents. */
export interface MemoryScopes {
  readonly system_context: {
    /** `system` where the definition has one; null where this process doesn't have that version. */
    readonly keys: readonly string[] | null;
  };
  readonly working_memory: {
    /** Null: the definition has no phases, or nothing here says which is the first. */
    readonly phase: string | null;
    readonly keys: readonly string[];
    /** As they were counted then; null where they were not counted. */
    readonly tokens: number | null;
    /** Of the phase, as it was then; null where it is not known. */
    readonly budget_tokens: number | null;
  };
  readonly trace: {
    /** Checkpoints in the trace; of a fork, with those that it shares. */
    readonly length: number;
  };
}

/** An accepted event of a workflow's stream. */
export interface Event {
  readonly position: number;
  readonly event_id: string;
  readonly type: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  readonly epoch: number;
  readonly holder: string | null;
  readonly lamport: number;
  /** The clear part, which the fold reads; without words of steps and keys of limits for callers who may not see content. */
  readonly control: Readonly<Record<string, Json>>;
  readonly payload?: Json | undefined;
  /** It is too large for a stream; the history has it. */
  readonly payload_left_out?: true | undefined;
}

export interface Ask {
  /** Why; kept with the event. */
  readonly why: string;
}
