/** Owns the types of payloads: what of an event may be encrypted, and only workers and projectors with the key open. */

import type {
  Cause,
  Delta,
  EffectKey,
  Fragment,
  Json,
  Position,
  Sequence,
  Sha256,
  TaskId,
  WorkflowId,
} from '@tidemark/core';

/** An entry of the execution log: what a step did, for people. */
export interface LogNote {
  readonly atMs: number;
  readonly action: string;
  readonly detail?: Json;
}

/** What a step's error looked like. */
export interface ErrorNote {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
}

/**
 * A fragment as an event holds it: `text` where the workflow has it for the first time; else `digest` names a text that an
 * earlier event of the workflow, or this one's `texts`, holds.
 */
export interface StoredFragment extends Pick<Fragment, 'type' | 'call' | 'tool' | 'covers'> {
  readonly text?: string;
  readonly digest?: Sha256;
}

/** One change of long-term memory. Without a value: forget it. */
export interface MemoryWrite {
  /** Whose memory: `user:ana`, `pipeline:content`. */
  readonly subject: string;
  readonly kind: 'summary' | 'fact' | 'state' | 'record';
  readonly key: string;
  readonly value?: Json;
  /** What it is found by; absent: only by its key. */
  readonly words?: string;
  /** Who or what told it. */
  readonly source?: string;
}

/** A change of the phase's working memory: what was put (null: removed), or the hand-over to another phase with all that it carries. */
export type ScopeChange = ScopeSize &
  (
    | { readonly phase: string; readonly put: Readonly<Record<string, Json>>; readonly removed?: readonly string[] }
    | {
        readonly phase: string;
        readonly from: string | null;
        /** All of the new phase's memory. */
        readonly carried: Readonly<Record<string, Json>>;
        /** Keys that the old phase left behind. */
        readonly left: readonly string[];
        readonly summary: string;
      }
  );

/** Tokens of the working memory after the change, and its budget, as they were when it was made; absent in older history. */
export interface ScopeSize {
  readonly tokens?: number;
  readonly budgetTokens?: number;
}

/** What an assembled bundle followed from, but for what the workflow's own events hold: enough to assemble it again. */
export interface BundleOrigin {
  readonly type: string;
  /** The checkpoint up to which the workflow's fragments, trace and working memory count. */
  readonly upTo: Sequence;
  /** Earlier workflows of the session, nearest first. */
  readonly session?: readonly { readonly workflow: WorkflowId; readonly upTo: Sequence }[];
  /** Digests of texts: the policy as canonical JSON, and what was injected. */
  readonly policy: Sha256;
  readonly tokenizer: string;
  readonly system?: Sha256;
  readonly user?: Sha256;
  readonly continuation?: Sha256;
  readonly placeholders?: Readonly<Record<string, string>>;
  /** The phase that the workflow began in, where it has any. */
  readonly firstPhase?: string;
  /** SHA-256 of the messages' canonical JSON: of the bundle's bytes. */
  readonly messages: Sha256;
}

/** What a fork goes on from, beside what its control says. What it shares is named, and stays where it is. */
export interface ForkOrigin {
  /** Who made it. */
  readonly by: string;
  /** Workflows whose history it shares up to a checkpoint, at which they had this position: its base, the base's base, … */
  readonly shares: readonly { readonly workflow: WorkflowId; readonly upTo: Sequence; readonly position: Position }[];
  /** Belief or version are not what they were there, so what closures gave there doesn't count. */
  readonly isChanged: boolean;
  /** Versions of the definition that stored the input and the belief. */
  readonly inputVersion: number;
  readonly beliefVersion: number;
  /** Of each first task, by index. */
  readonly tasks: readonly {
    /** Its id in the base, and in the history as a whole, counted on from workflow to workflow. */
    readonly task: TaskId;
    readonly place: TaskId;
    readonly version: number;
    /** What had fulfilled its condition. */
    readonly cause?: Cause & { readonly value: Json };
  }[];
  /** What the base saw of its session: earlier workflows, nearest first; and the workflow that holds the texts that were found for it. */
  readonly session?: {
    readonly runs: NonNullable<BundleOrigin['session']>;
    readonly found?: { readonly of: WorkflowId; readonly continuation?: Sha256; readonly user?: Sha256 };
  };
}

/** What a person is asked before a task may run. */
export interface ApprovalAsk {
  readonly title?: string;
  /** What there is to know for the answer. */
  readonly detail?: Json;
  /** What the answer holds, as JSON Schema. */
  readonly form: Json;
}

/** A workflow as it is to be opened, drawn up by whoever declared it. */
export interface ChildOpening {
  /** Among the children of its parent's definition. */
  readonly name: string;
  readonly mode: 'exclusive' | 'shared';
  /** The opening's control, without its place. */
  readonly control: Json;
  readonly input: Json;
  readonly belief: Json;
  readonly tasks: readonly Json[];
  readonly fragments?: readonly StoredFragment[];
  readonly asks?: Asks;
  readonly children?: Children;
}

/** The opening of the workflow that goes on for this one; what is left when it closes is added to it. */
export type NextOpening = Omit<ChildOpening, 'name'>;

/** By the index of the task that waits. */
export type Children = Readonly<Record<string, ChildOpening>>;

/** By the index of the task that waits. */
export type Asks = Readonly<Record<string, ApprovalAsk>>;

/** The opaque part of every event type. `tasks` holds the inputs of the tasks that the control declares, by index. */
export interface Payloads {
  readonly WorkflowOpened: {
    readonly input: Json;
    readonly belief: Json;
    readonly tasks: readonly Json[];
    readonly fragments?: readonly StoredFragment[];
    readonly fork?: ForkOrigin;
    readonly asks?: Asks;
    readonly children?: Children;
    /** Values of the signals that it goes on with, by their events. */
    readonly signals?: Readonly<Record<string, Json>>;
  };
  readonly PartitionFenced: null;
  readonly SignalReceived: { readonly value: Json };
  readonly TimerFired: null;
  readonly LeaseRevoked: null;
  readonly EffectConfirmed: { readonly response: Json } | { readonly error: ErrorNote };
  /** `response`: what the effect in question answered, where the resolution is `done`. */
  readonly ApprovalDecided: { readonly why: string; readonly response?: Json };
  readonly RetryDecided: null;
  readonly CompensationFinished: { readonly error?: ErrorNote };
  readonly VersionPinned: { readonly why: string };
  readonly MemoryWritten: { readonly memories: readonly MemoryWrite[] };
  readonly BudgetRaised: { readonly why: string };
  readonly CancelRequested: { readonly why: string };
  /** `error`: what waits for a result is told. */
  readonly WorkflowTerminated: { readonly why: string; readonly error: ErrorNote };
  readonly PauseRequested: { readonly why: string };
  readonly ResumeRequested: { readonly why: string };
  /** What the step is told: who answered, whether it was approved, and what the form holds. */
  readonly ApprovalGiven: { readonly value: Json };
  /** What the step is told: how the child ended, and with what. */
  readonly ChildClosed: { readonly value: Json };
  readonly RecordJudged: { readonly why: string };
  readonly LeaseClaimed: null;
  readonly RulesRaised: null;
  readonly LeaseReleased: null;
  readonly CheckpointReserved: null;
  /** `texts`: those that the workflow has for the first time, by their digests. */
  readonly EffectIntended: {
    readonly request: Json;
    readonly bundle?: BundleOrigin;
    /** Names the messages that the step itself sends (see the runtime's prompt chain). */
    readonly prompt?: Sha256;
    /** Of a fork: the effect of its base whose recorded outcome answers this one. */
    readonly replays?: EffectKey;
    readonly texts?: Readonly<Record<Sha256, string>>;
  };
  /** What the receiver said when it accepted, for whoever confirms. */
  readonly EffectPending: { readonly detail: Json };
  readonly EffectResolved: { readonly response: Json } | { readonly error: ErrorNote };
  readonly CheckpointCommitted: {
    readonly output: Json;
    /** A delta or a snapshot, as the control says; absent for `none`. */
    readonly delta?: Delta;
    readonly snapshot?: Json;
    readonly tasks: readonly Json[];
    readonly log?: readonly LogNote[];
    readonly fragments?: readonly StoredFragment[];
    readonly scope?: ScopeChange;
    readonly memories?: readonly MemoryWrite[];
    readonly asks?: Asks;
    readonly children?: Children;
  };
  readonly StepFailed: { readonly error: ErrorNote };
  /** `next`: it goes on with that; there is no output then (null). */
  readonly WorkflowCompleted: { readonly output: Json; readonly next?: NextOpening };
  readonly WorkflowFailed: { readonly error: ErrorNote; readonly memories?: readonly MemoryWrite[] };
  readonly WorkflowParked: { readonly error: ErrorNote; readonly evidence: Json };
  readonly CompensationStarted: {
    readonly error: ErrorNote;
    readonly evidence: Json;
    readonly memories?: readonly MemoryWrite[];
  };
}
