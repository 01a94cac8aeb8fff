/**
 * Owns making events for tests: every field has a plain default, and a test states only what it is about. Must not judge: a wrong event is
 * as easy to make as a right one.
 */

import type { Controls, Envelope, EventType, HolderEventType, InboxEventType, LogEntry } from '@tidemark/core';

/** The same shape without brands, so that tests write plain numbers and strings. */
export type Loose<T> = T extends number
  ? number
  : T extends string
    ? string
    : T extends readonly (infer U)[]
      ? readonly Loose<U>[]
      : T extends object
        ? { readonly [K in keyof T]: Loose<T[K]> }
        : T;

export interface Fields {
  readonly v?: number;
  readonly id?: string;
  readonly tenant?: string;
  readonly workflow?: string;
  readonly generation?: number;
  readonly lamport?: number;
  readonly atMs?: number;
}

/** A fencing token and an ordinal. */
export interface Token {
  readonly epoch: number;
  readonly holder: string;
  readonly ordinal: number;
}

export const digestOf = (text: string): string => Buffer.from(text).toString('hex').padEnd(64, '0').slice(0, 64);

export const DEFAULT_CONTROLS: { readonly [T in EventType]: Loose<Controls[T]> } = {
  WorkflowOpened: {
    definition: 'audit',
    version: 1,
    rules: 1,
    partition: 0,
    placement: 'exclusive',
    inputDigest: digestOf('input'),
    tasks: [],
    pinned: false,
    shadow: false,
    compensates: null,
  },
  PartitionFenced: { partition: 0 },
  SignalReceived: { name: 'go' },
  SignalDiscarded: { signal: 'e1', by: 'ann' },
  WorkflowReset: { as: 'w~2', at: 0, by: 'ann' },
  TimerFired: { timer: 'tick' },
  LeaseRevoked: { epoch: 1, holder: 'h1', reason: 'holder-dead' },
  EffectConfirmed: { token: 'r1', outcome: 'done', responseDigest: digestOf('response') },
  ApprovalDecided: { question: 'e1', resolution: 'retry', by: 'ann', responseDigest: null },
  RetryDecided: { question: 'e1', build: 'b' },
  CompensationFinished: { undo: 'w~undo', outcome: 'compensated' },
  VersionPinned: { pinned: true, by: 'ann' },
  MemoryWritten: { count: 1 },
  BudgetRaised: { tokens: 1_000, costMicros: 0, by: 'ann' },
  CancelRequested: { code: 'cancelled', by: 'ann' },
  WorkflowTerminated: { code: 'terminated', by: 'ann' },
  PauseRequested: { by: 'ann' },
  ResumeRequested: { by: 'ann' },
  ChildClosed: { task: '0.0', child: 'c', outcome: 'completed' },
  RecordJudged: { offset: 0, judgement: 'skip', by: 'ann' },
  ApprovalGiven: { task: '0.0', name: 'refund', approved: true, by: 'ann' },
  LeaseClaimed: {},
  RulesRaised: { rules: 1 },
  LeaseReleased: { reason: 'idle' },
  CheckpointReserved: { checkpoint: 'c1', task: '0.0' },
  EffectIntended: {
    task: '0.0',
    key: 'w:0.0:pay:0',
    operation: 'pay',
    kind: 'irreversible',
    requestDigest: digestOf('request'),
    timeoutMs: 1_000,
  },
  EffectPending: {
    task: '0.0',
    key: 'w:0.0:pay:0',
    token: 'r1',
    probe: null,
    deadline: { timer: 'overdue', anchorMs: 0, delayMs: 500 },
  },
  EffectResolved: {
    task: '0.0',
    key: 'w:0.0:pay:0',
    operation: 'pay',
    kind: 'irreversible',
    outcome: 'done',
    requestDigest: digestOf('request'),
    responseDigest: digestOf('response'),
  },
  CheckpointCommitted: {
    checkpoint: 'c1',
    sequence: 1,
    parent: null,
    task: '0.0',
    step: 'scan',
    stepVersion: 1,
    inputDigest: digestOf('input'),
    tasks: [],
    belief: 'none',
    tokens: 0,
    costMicros: 0,
    lastAction: '',
    supersedes: null,
  },
  StepFailed: { task: '0.0', attempt: 1, code: 'boom', retry: null },
  WorkflowCompleted: { outputDigest: digestOf('output') },
  WorkflowFailed: { code: 'boom', task: null },
  WorkflowParked: { code: 'effect-unknown', task: null, key: null },
  CompensationStarted: { undo: 'w~undo', depth: 1, code: 'effect-unknown', key: null },
};

let lastId = 0;

function envelopeOf<T extends EventType>(
  type: T,
  control: Partial<Loose<Controls[T]>>,
  token: Token,
  fields: Fields,
): Envelope<T> {
  return {
    v: 1,
    id: `e${++lastId}`,
    tenant: 't',
    workflow: 'w',
    generation: 1,
    lamport: token.ordinal,
    atMs: 1_000_000,
    ...fields,
    epoch: token.epoch,
    holder: token.holder,
    ordinal: token.ordinal,
    type,
    control: { ...DEFAULT_CONTROLS[type], ...control },
  } as unknown as Envelope<T>;
}

export const inboxEvent = <T extends InboxEventType>(
  type: T,
  control: Partial<Loose<Controls[T]>> = {},
  fields: Fields = {},
): Envelope<T> => envelopeOf(type, control, { epoch: 0, holder: '', ordinal: 0 }, fields);

/** Lamport time is the ordinal unless it is given. */
export const holderEvent = <T extends HolderEventType>(
  type: T,
  token: Token,
  control: Partial<Loose<Controls[T]>> = {},
  fields: Fields = {},
): Envelope<T> => envelopeOf(type, control, token, fields);

export const entryOf = (envelope: Envelope): LogEntry => ({ kind: 'event', envelope, payload: new Uint8Array() });

/** A task declaration; without conditions when none are given. */
export const declared = (
  step: string,
  after: readonly string[] | 'all' = [],
  when: readonly Loose<Controls['WorkflowOpened']['tasks'][number]['when'][number]>[] = [],
): Loose<Controls['WorkflowOpened']['tasks'][number]> => ({ step, after, when });

export const signalNamed = (name: string): { readonly kind: string; readonly name: string } => ({
  kind: 'signal',
  name,
});
export const timerNamed = (
  timer: string,
  delayMs = 60_000,
): { readonly kind: string; readonly timer: string; readonly anchorMs: number; readonly delayMs: number } => ({
  kind: 'timer',
  timer,
  anchorMs: 1_000_000,
  delayMs,
});
