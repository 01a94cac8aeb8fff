/** Owns the types of payloads: the part of an event that may be encrypted, and that only processes with the key open. */

import type {
  Cause,
  Delta,
  EffectKey,
  Fragment,
  FragmentParts,
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

/** An error as a step threw it. */
export interface ErrorNote {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
}

/**
 * A fragment as an event stores it. `text` is set the first time that the workflow has this text; otherwise `digest` names a text in an
 * earlier event of the workflow, or in this one's `texts`.
 */
export interface StoredFragment extends Pick<Fragment, 'type' | 'call' | 'tool' | 'covers'> {
  readonly text?: string;
  readonly digest?: Sha256;
  /** Their text is stored in the same way. */
  readonly parts?: Pick<FragmentParts, 'provider' | 'spans'> & { readonly text?: string; readonly digest?: Sha256 };
}

/** One change of long-term memory. Without a value: forget the entry. */
export interface MemoryWrite {
  /** The subject of the entry: `user:ana`, `pipeline:content`. */
  readonly subject: string;
  readonly kind: 'summary' | 'fact' | 'state' | 'record';
  readonly key: string;
  readonly value?: Json;
  /** The text that a search matches; absent: the entry is found only by its key. */
  readonly words?: string;
  /** Who or what reported it. */
  readonly source?: string;
}

/**
 * A change of the phase's working memory: the entries put (null: removed), or the hand-over to another phase with everything that it
 * carries.
 */
export type ScopeChange = ScopeSize &
  (
    | { readonly phase: string; readonly put: Readonly<Record<string, Json>>; readonly removed?: readonly string[] }
    | {
        readonly phase: string;
        readonly from: string | null;
        /** All of the new phase's memory. */
        readonly carried: Readonly<Record<string, Json>>;
        /** Keys that were not handed over. */
        readonly left: readonly string[];
        readonly summary: string;
      }
  );

/** Tokens of the working memory after the change, and its budget at that time; absent where the definition has no such phase. */
export interface ScopeSize {
  readonly tokens?: number;
  readonly budgetTokens?: number;
}

/** The inputs of an assembled bundle that the workflow's own events don't hold: with them it can be assembled again. */
export interface BundleOrigin {
  readonly type: string;
  /** The checkpoint up to which the workflow's fragments, trace and working memory count. */
  readonly upTo: Sequence;
  /** Earlier workflows of the session, nearest first. */
  readonly session?: readonly { readonly workflow: WorkflowId; readonly upTo: Sequence }[];
  /** Digests of texts: the policy as canonical JSON, and the injected context. */
  readonly policy: Sha256;
  readonly tokenizer: string;
  readonly system?: Sha256;
  readonly user?: Sha256;
  readonly continuation?: Sha256;
  readonly placeholders?: Readonly<Record<string, string>>;
  /** The phase in which the workflow began, if it has phases. */
  readonly firstPhase?: string;
  /** The provider, where the bundle has parts that only it is sent. */
  readonly provider?: string;
  /** SHA-256 of the messages' canonical JSON, that is of the bundle's bytes. */
  readonly messages: Sha256;
}

/** How bundle and prompt were made fit to be sent, so that another attempt sends the same bytes. Absent where the model's own library did that. */
export interface SentPrompt {
  readonly form: string;
  /** Names of tools that were sent otherwise than the form alone would have them. */
  readonly names?: Readonly<Record<string, string>>;
  /** SHA-256 of the canonical JSON of all messages that were sent. */
  readonly messages: Sha256;
}

/** Where a fork begins, beside what its control says. The shared history is named, and stays where it is. */
export interface ForkOrigin {
  /** Who created the fork. */
  readonly by: string;
  /** Workflows whose history it shares up to a checkpoint, and their position there: its base, the base's base, … */
  readonly shares: readonly { readonly workflow: WorkflowId; readonly upTo: Sequence; readonly position: Position }[];
  /** Belief or version differ from the base's, so recorded results of closures don't count. */
  readonly isChanged: boolean;
  /** Versions of the definition that stored the input and the belief. */
  readonly inputVersion: number;
  readonly beliefVersion: number;
  /** The first tasks, by index. */
  readonly tasks: readonly {
    /** Its id in the base, and in the whole history across the shared workflows. */
    readonly task: TaskId;
    readonly place: TaskId;
    readonly version: number;
    /** The cause that had fulfilled its condition. */
    readonly cause?: Cause & { readonly value: Json };
  }[];
  /** What the base knew of its session: earlier workflows, nearest first; and the workflow that has the texts found for it. */
  readonly session?: {
    readonly runs: NonNullable<BundleOrigin['session']>;
    readonly found?: { readonly of: WorkflowId; readonly continuation?: Sha256; readonly user?: Sha256 };
  };
  /** Set for a reset: the fork supersedes its base. */
  readonly reset?: ResetOrigin;
}

export interface ResetOrigin {
  /** Identifies the request: sent again, it is the same reset. */
  readonly id: string;
  readonly why: string;
  /** What the base did after the checkpoint is compensated, and this begins paused until that has ended. */
  readonly undoes: boolean;
  /** Recorded outcomes of the base that answer nothing here. `sends`: the key under which the call is made again; absent: its own. */
  readonly discarded: readonly { readonly key: EffectKey; readonly sends?: EffectKey }[];
}

/** The question to a person before a task may run. */
export interface ApprovalAsk {
  readonly title?: string;
  /** Information that helps to answer. */
  readonly detail?: Json;
  /** The form of the answer, as JSON Schema. */
  readonly form: Json;
}

/** A workflow to be opened, as its declaring step composed it. */
export interface ChildOpening {
  /** Its name among the children of its parent's definition. */
  readonly name: string;
  readonly mode: 'exclusive' | 'shared';
  /** Whether it joins its parent's partition where it may; absent: no. */
  readonly besideParent?: boolean;
  /** The opening's control, without its place. */
  readonly control: Json;
  readonly input: Json;
  readonly belief: Json;
  readonly tasks: readonly Json[];
  readonly fragments?: readonly StoredFragment[];
  readonly asks?: Asks;
  readonly children?: Children;
}

/** The opening of the next run; what is unfinished when this one closes is added to it. */
export type NextOpening = Omit<ChildOpening, 'name'> & {
  /** Set for a reset, with the values of the signals that no step had read at its checkpoint. */
  readonly fork?: ForkOrigin;
  readonly signals?: Readonly<Record<string, Json>>;
};

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
    /** Values of the signals that the run inherits, by their events. */
    readonly signals?: Readonly<Record<string, Json>>;
  };
  readonly PartitionFenced: null;
  readonly SignalReceived: { readonly value: Json; readonly why?: string };
  readonly SignalDiscarded: { readonly why: string };
  /** As of a workflow that continues as new; `next` is the opening at the checkpoint. */
  readonly WorkflowReset: { readonly why: string; readonly output: null; readonly next: NextOpening };
  readonly TimerFired: null;
  readonly LeaseRevoked: null;
  readonly EffectConfirmed: { readonly response: Json } | { readonly error: ErrorNote };
  /** `response`: the response of the effect in question, when the resolution is `done`. */
  readonly ApprovalDecided: { readonly why: string; readonly response?: Json };
  readonly RetryDecided: null;
  readonly CompensationFinished: { readonly error?: ErrorNote };
  readonly VersionPinned: { readonly why: string };
  readonly MemoryWritten: { readonly memories: readonly MemoryWrite[] };
  readonly BudgetRaised: { readonly why: string };
  readonly CancelRequested: { readonly why: string };
  /** `error`: what a task that awaits the workflow receives. */
  readonly WorkflowTerminated: { readonly why: string; readonly error: ErrorNote };
  readonly PauseRequested: { readonly why: string };
  readonly ResumeRequested: { readonly why: string };
  /** What the step receives: who answered, whether it was approved, and the form's content. */
  readonly ApprovalGiven: { readonly value: Json };
  /** What the step receives: how the child ended, and its output or error. */
  readonly ChildClosed: { readonly value: Json };
  readonly RecordJudged: { readonly why: string };
  readonly LeaseClaimed: null;
  readonly RulesRaised: null;
  readonly LeaseReleased: null;
  readonly CheckpointReserved: null;
  /** `texts`: those that are new to the workflow, by digest. */
  readonly EffectIntended: {
    readonly request: Json;
    readonly bundle?: BundleOrigin;
    /** Names the messages that the step itself sends (see the engine's prompt chain). */
    readonly prompt?: Sha256;
    readonly sent?: SentPrompt;
    /** Of a model call: name the texts of its tools and of its answer's schema. */
    readonly tools?: Sha256;
    readonly schema?: Sha256;
    /** Where the step made the call, if it has no name (see the engine's call path). */
    readonly place?: string;
    /** Set in a fork: the effect of its base whose recorded outcome answers this one. */
    readonly replays?: EffectKey;
    /** Set in a reset where the call is made again under the key of an outcome that was discarded. */
    readonly sends?: EffectKey;
    readonly texts?: Readonly<Record<Sha256, string>>;
  };
  /** What the receiver said when it accepted, for the person who confirms. */
  readonly EffectPending: { readonly detail: Json };
  readonly EffectResolved: { readonly response: Json } | { readonly error: ErrorNote };
  readonly CheckpointCommitted: {
    readonly output: Json;
    /** What its definition reads in order to resume; nobody else does. */
    readonly journal?: Json;
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
  /** `next`: the opening of the next run when it continues as new; the output is then null. */
  readonly WorkflowCompleted: { readonly output: Json; readonly next?: NextOpening };
  readonly WorkflowFailed: { readonly error: ErrorNote; readonly memories?: readonly MemoryWrite[] };
  readonly WorkflowParked: { readonly error: ErrorNote; readonly evidence: Json };
  readonly CompensationStarted: {
    readonly error: ErrorNote;
    readonly evidence: Json;
    readonly memories?: readonly MemoryWrite[];
  };
}
