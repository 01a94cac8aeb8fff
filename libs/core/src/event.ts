/**
 * Owns the event model: the envelope, and what each type's clear `control` holds. `control` is all that the fold reads;
 * `payload` is opaque here (it may be encrypted) and is opened only by workers and projectors. Wire schemas are in codec
 * and are checked against these types at compile time. Must not do I/O, nor know how an event is stored.
 */

import type {
  CheckpointId,
  EffectKey,
  Epoch,
  EventId,
  Generation,
  HolderId,
  Lamport,
  Ordinal,
  Partition,
  Sequence,
  TaskId,
  TenantId,
  WorkflowId,
} from './ids.ts';

/** Version of the envelope that this code writes. */
export const ENVELOPE_VERSION = 1;
/** Version of the fold's rules that new streams are opened with. */
export const RULES_VERSION = 1;

export type EffectKind = 'pure' | 'idempotent' | 'irreversible';

/** What a task waits for besides other tasks. Any one of a task's conditions is enough. */
export type Condition =
  | { readonly kind: 'signal'; readonly name: string }
  | { readonly kind: 'timer'; readonly timer: string; readonly anchorMs: number; readonly delayMs: number };

/** A task as it is added to the frontier; its id follows from the sequence that adds it and its index in the list. */
export interface TaskDeclaration {
  readonly step: string;
  /** Tasks that must be done first; `all`: every task that is pending and was created before this one. */
  readonly after: readonly TaskId[] | 'all';
  /** Conditions of which one must be fulfilled; empty: none. */
  readonly when: readonly Condition[];
}

export interface Retry {
  /** Name of the timer whose firing lets the task run again. */
  readonly timer: string;
  readonly anchorMs: number;
  readonly delayMs: number;
}

/** SHA-256, 64 lower-case hex digits. */
export type Sha256 = string;

/** The clear part of every event type. */
export interface Controls {
  // Inbox events: written by anyone authorised, through a coordinator.
  readonly WorkflowOpened: {
    readonly definition: string;
    readonly version: number;
    readonly rules: number;
    readonly partition: Partition;
    readonly placement: 'exclusive' | 'shared';
    readonly inputDigest: Sha256;
    readonly tasks: readonly TaskDeclaration[];
  };
  readonly SignalReceived: { readonly name: string };
  readonly TimerFired: { readonly timer: string };
  /** Names the lease that it ends, and counts for no other. */
  readonly LeaseRevoked: { readonly epoch: Epoch; readonly holder: HolderId; readonly reason: string };

  // Holder events: written with the fencing token (epoch, holder) and the next ordinal.
  readonly LeaseClaimed: Readonly<Record<string, never>>;
  readonly LeaseReleased: { readonly reason: 'idle' | 'drain' | 'fault' };
  readonly CheckpointReserved: { readonly checkpoint: CheckpointId; readonly task: TaskId };
  readonly EffectIntended: {
    readonly task: TaskId;
    readonly key: EffectKey;
    readonly operation: string;
    readonly kind: EffectKind;
    readonly requestDigest: Sha256;
  };
  readonly EffectResolved: {
    readonly task: TaskId;
    readonly key: EffectKey;
    readonly operation: string;
    readonly kind: EffectKind;
    readonly outcome: 'done' | 'failed';
    readonly requestDigest: Sha256;
    readonly responseDigest: Sha256;
  };
  readonly CheckpointCommitted: {
    readonly checkpoint: CheckpointId;
    readonly sequence: Sequence;
    readonly parent: CheckpointId | null;
    readonly task: TaskId;
    readonly step: string;
    readonly stepVersion: number;
    readonly inputDigest: Sha256;
    /** Added to the frontier, as `{sequence}.0`, `{sequence}.1`, … */
    readonly tasks: readonly TaskDeclaration[];
    /** `none`: belief is unchanged; `snapshot`: the payload holds all of it. */
    readonly belief: 'none' | 'delta' | 'snapshot';
    readonly tokens: number;
    /** Cost in millionths of a US dollar. */
    readonly costMicros: number;
    /** What the agent did last, in words; kept by the system beside the user's own fields. */
    readonly lastAction: string;
  };
  readonly StepFailed: {
    readonly task: TaskId;
    readonly attempt: number;
    readonly code: string;
    readonly retry: Retry | null;
  };
  readonly WorkflowCompleted: { readonly outputDigest: Sha256 };
  readonly WorkflowFailed: { readonly code: string; readonly task: TaskId | null };
  /** The workflow waits for a person: evidence is in the payload. */
  readonly WorkflowParked: {
    readonly code: string;
    readonly task: TaskId | null;
    readonly key: EffectKey | null;
  };
}

export type EventType = keyof Controls;
export type HolderEventType =
  | 'LeaseClaimed'
  | 'LeaseReleased'
  | 'CheckpointReserved'
  | 'EffectIntended'
  | 'EffectResolved'
  | 'CheckpointCommitted'
  | 'StepFailed'
  | 'WorkflowCompleted'
  | 'WorkflowFailed'
  | 'WorkflowParked';
export type InboxEventType = Exclude<EventType, HolderEventType>;

/** One event without its payload, as the fold sees it. */
export type Envelope<T extends EventType = EventType> = {
  readonly [K in T]: {
    readonly v: number;
    readonly id: EventId;
    readonly tenant: TenantId;
    readonly workflow: WorkflowId;
    readonly generation: Generation;
    readonly lamport: Lamport;
    /** Fencing token; epoch 0, holder '' and ordinal 0 on inbox events. */
    readonly epoch: Epoch;
    readonly holder: HolderId;
    readonly ordinal: Ordinal;
    /** Milliseconds since the Unix epoch by the writer's clock; for people, and bounded only against the parent checkpoint. */
    readonly atMs: number;
    readonly type: K;
    readonly control: Controls[K];
  };
}[T];

/** What stands at one offset, decoded as far as its bytes allow. */
export type LogEntry =
  | { readonly kind: 'event'; readonly envelope: Envelope; readonly payload: Uint8Array }
  /** A sound envelope whose type or version this process does not know. */
  | {
      readonly kind: 'unknown';
      readonly workflow: WorkflowId;
      readonly generation: Generation;
      readonly type: string;
      readonly v: number;
    }
  /** Bytes that are no event of ours; the judgement depends on the bytes alone. */
  | { readonly kind: 'malformed'; readonly problem: string };
