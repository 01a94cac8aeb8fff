/** Owns the types of the API's chapter "Sessions". Made by `node scripts/client-types.ts` from the declarations of the routes. */

import type { Json } from '../json.ts';

export interface SessionsEndpoints {
  /** State of a session */
  readonly 'GET /v1/sessions/{session}': {
    readonly input: {
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
  /** Resume a session */
  readonly 'POST /v1/sessions/{session}/resume': {
    readonly input: {
      readonly query?:
        | {
            /** Whose it is; by default the caller's own tenant, or `default` for a caller of all tenants. */
            readonly tenant?: string | undefined;
          }
        | undefined;
      readonly body?: ResumeSession | undefined;
    };
    readonly answer: ResumedSession;
  };
}

export interface Session {
  readonly session: string;
  readonly tenant: string;
  readonly user: string | null;
  /** `workflow` is running; false: all have ended, or there was none yet. */
  readonly is_live: boolean;
  readonly workflow?: SessionWorkflow | null | undefined;
  readonly earlier: readonly {
    readonly workflow: string;
    readonly definition: string;
    readonly status: string;
    /** ISO 8601, UTC. */
    readonly opened_at: string;
  }[];
  readonly handovers?: readonly SessionHandOver[] | undefined;
  readonly summaries?: readonly SessionSummary[] | undefined;
}

export interface SessionWorkflow {
  readonly workflow: string;
  readonly definition: string;
  readonly definition_version: number;
  readonly status: string;
  readonly reason: string | null;
  readonly sequence_number: number;
  readonly checkpoint_id: string | null;
  /** ISO 8601, UTC. */
  readonly opened_at: string;
  /** ISO 8601, UTC. */
  readonly updated_at: string;
  readonly tokens: number;
  readonly cost_micros: number;
  /** The worker that holds it; null: none. */
  readonly holder: string | null;
  /** Whether what memory recalls is in its bundles; control: nothing is, for comparison; null: not compared. */
  readonly recall: 'injected' | 'control' | null;
  readonly goal: readonly string[];
  readonly constraints: readonly string[];
  /** Of what was said so far; null: all of it is still there. */
  readonly summary: string | null;
  readonly checkpoint_note: string | null;
  readonly last_action: string;
  readonly input: Json;
  readonly belief: Json;
  /** Pending tasks in the order in which they came up, at most 200. */
  readonly frontier: readonly SessionTask[];
  readonly pending_task_count: number;
  /** What a resumption takes; null: none can run now. */
  readonly next_task: string | null;
  /** Set while it waits for a person. */
  readonly question: SessionQuestion | null;
  /** The workflow that undoes it. */
  readonly undo: string | null;
  readonly output: Json;
  readonly error: string | null;
}

export interface SessionTask {
  readonly task: string;
  readonly step: string;
  readonly state: 'ready' | 'blocked';
  /** What keeps it from running, in words; null: it may run. */
  readonly why: string | null;
  readonly input: Json;
  readonly failure_count: number;
  /** Those that were begun. */
  readonly effects: readonly {
    readonly operation: string;
    readonly idempotency_key: string;
    readonly status: string;
  }[];
}

export interface SessionQuestion {
  readonly question_id: string;
  readonly code: string;
  readonly message: string;
  readonly evidence: Json;
  readonly task: string | null;
  readonly idempotency_key: string | null;
  /** What a person may decide. */
  readonly resolutions: readonly string[];
}

export interface SessionHandOver {
  readonly from: string;
  readonly to: string;
  readonly message: string;
  readonly artifacts: readonly string[];
  /** ISO 8601, UTC. */
  readonly at: string;
}

export interface SessionSummary {
  readonly session_id: string;
  readonly task_description: string;
  readonly decisions_made: readonly string[];
  readonly work_completed: readonly string[];
  readonly open_questions: readonly string[];
  readonly next_recommended_steps: readonly string[];
  readonly created_at: string;
}

export interface HandOver {
  readonly from: string;
  readonly to: string;
  readonly message: string;
  readonly artifacts?: readonly string[] | undefined;
}

export interface HandedOver {
  readonly session: string;
  /** False: no workflow of it was started yet; the first receives it. */
  readonly is_known: boolean;
}

export interface ResumeSession {
  /** Which definition is started; by default that of the newest workflow. */
  readonly definition?: string | undefined;
  /** What it is started with; by default the input of the newest workflow. */
  readonly input?: unknown;
}

export interface ResumedSession {
  /** The live workflow, or the one that was started. */
  readonly workflow: string;
  /** True: this request started it. */
  readonly created: boolean;
  readonly session: Session;
}
