/**
 * Owns a second fold, written from the architecture's words and from nothing else: mutable, slow, arrays and linear scans.
 * Property tests compare it with core's, verdict by verdict and state by state (I2, I3, I5). Must not use core's fold,
 * frontier or task list, and must not be clever: what it does should be plain from reading it once.
 *
 * Where several reasons for a rejection hold at once, the first of this order is given: generation or tenant, unreadable,
 * closed; for inbox events the id, then what is named; for holder events epoch, holder, ordinal, Lamport time, then the
 * rule of the type; for a checkpoint its parent, its time, its task, its open effects.
 */

import type { Condition, Controls, Envelope, LogEntry, RejectReason, Retry, TaskDeclaration } from '@tidemark/core';

const DEDUPE_IDS = 256;
const CLOCK_TOLERANCE_MS = 1_000;
const KNOWN_RULES = 1;

export interface NaiveEffect {
  key: string;
  operation: string;
  kind: string;
  status: 'intended' | 'done' | 'failed';
  requestDigest: string;
  responseDigest: string | null;
}

export interface NaiveTask {
  id: string;
  step: string;
  /** Declared after `all`. */
  all: boolean;
  /** Tasks that were pending when this one was declared and must be done before it. */
  blockers: string[];
  when: Condition[];
  cause: { kind: 'signal' | 'timer'; name: string; event: string } | null;
  failureCount: number;
  retry: Retry | null;
  reserved: string | null;
  effects: NaiveEffect[];
}

export interface NaiveStream {
  tenant: string;
  workflow: string;
  generation: number;
  definition: string;
  version: number;
  rules: number;
  status: 'open' | 'parked' | 'completed' | 'failed';
  reason: string | null;
  position: number;
  lamport: number;
  openedAtMs: number;
  updatedAtMs: number;
  head: { sequence: number; checkpoint: string | null; atMs: number };
  beliefSequence: number;
  epoch: number;
  lease: { epoch: number; holder: string; ordinal: number; lamport: number } | null;
  /** Pending tasks, in order of creation. */
  tasks: NaiveTask[];
  signals: { name: string; event: string }[];
  inbox: string[];
  tokens: number;
  costMicros: number;
  lastAction: string;
  unreadable: { offset: number; type: string; v: number } | null;
  closedInGeneration: number | null;
}

/** A reason, or null when the event was accepted and the stream has changed. */
type Outcome = RejectReason | null;

export class NaivePartition {
  readonly partition: number;
  next: number;
  generation = 0;
  streams: NaiveStream[] = [];

  constructor(partition: number, next: number) {
    this.partition = partition;
    this.next = next;
  }

  /** Folds the entry at `next`: `accepted at 3`, `unreadable`, or the reason of the rejection. */
  fold(entry: LogEntry): string {
    const offset = this.next;
    this.next += 1;
    if (entry.kind === 'malformed') return 'malformed';
    if (entry.kind === 'unknown') {
      const stream = this.streams.find((one) => one.workflow === entry.workflow);
      if (stream === undefined || stream.generation !== entry.generation) return 'wrong-generation';
      if (closed(stream)) return 'closed';
      stream.unreadable ??= { offset, type: entry.type, v: entry.v };
      return 'unreadable';
    }
    const event = entry.envelope;
    if (event.type === 'WorkflowOpened') return this.#open(event, offset);
    const stream = this.streams.find((one) => one.workflow === event.workflow);
    if (stream === undefined || stream.generation !== event.generation || stream.tenant !== event.tenant) {
      return 'wrong-generation';
    }
    if (stream.unreadable !== null) return 'unreadable';
    if (closed(stream)) return 'closed';
    const reason = isInbox(event) ? foldInboxEvent(stream, event) : foldHolderEvent(stream, event);
    if (reason !== null) return reason;
    stream.position += 1;
    stream.lamport = Math.max(stream.lamport, event.lamport);
    stream.updatedAtMs = event.atMs;
    if (closed(stream)) stream.closedInGeneration = this.generation;
    return `accepted at ${stream.position}`;
  }

  #open(event: Envelope<'WorkflowOpened'>, offset: number): string {
    const known = this.streams.find((one) => one.workflow === event.workflow);
    // One workflow is opened once: again under its generation, or under any while it lives, is a repetition.
    if (known !== undefined && (known.generation === event.generation || !closed(known))) return 'duplicate';
    if (event.generation !== this.generation + 1) return 'wrong-generation';
    if (event.control.partition !== this.partition) return 'wrong-generation';
    this.generation = event.generation;
    this.streams = this.streams.filter((one) => !closed(one));
    const stream: NaiveStream = {
      tenant: event.tenant,
      workflow: event.workflow,
      generation: event.generation,
      definition: event.control.definition,
      version: event.control.version,
      rules: event.control.rules,
      status: 'open',
      reason: null,
      position: 1,
      lamport: event.lamport,
      openedAtMs: event.atMs,
      updatedAtMs: event.atMs,
      head: { sequence: 0, checkpoint: null, atMs: event.atMs },
      beliefSequence: 0,
      epoch: 0,
      lease: null,
      tasks: [],
      signals: [],
      inbox: [event.id],
      tokens: 0,
      costMicros: 0,
      lastAction: '',
      unreadable: event.control.rules === KNOWN_RULES ? null : { offset, type: event.type, v: event.control.rules },
      closedInGeneration: null,
    };
    declare(stream, 0, event.control.tasks);
    this.streams.push(stream);
    return 'accepted at 1';
  }
}

const closed = (stream: NaiveStream): boolean => stream.status === 'completed' || stream.status === 'failed';

type InboxEvent = Envelope<'SignalReceived' | 'TimerFired' | 'LeaseRevoked'>;
type HolderEvent = Exclude<Envelope, InboxEvent | Envelope<'WorkflowOpened'>>;

const isInbox = (event: Exclude<Envelope, Envelope<'WorkflowOpened'>>): event is InboxEvent =>
  event.type === 'SignalReceived' || event.type === 'TimerFired' || event.type === 'LeaseRevoked';

function foldInboxEvent(stream: NaiveStream, event: InboxEvent): Outcome {
  if (stream.inbox.includes(event.id)) return 'duplicate';
  if (event.type === 'SignalReceived') {
    stream.signals.push({ name: event.control.name, event: event.id });
    handOutSignals(stream);
  } else if (event.type === 'TimerFired') {
    if (!fireTimer(stream, event.control.timer, event.id)) return 'unknown-task';
  } else {
    const { epoch, holder } = event.control;
    if (epoch > stream.epoch) return 'wrong-holder';
    if (stream.lease === null || epoch < stream.lease.epoch) return 'stale-epoch';
    if (holder !== stream.lease.holder) return 'wrong-holder';
    stream.lease = null;
  }
  stream.inbox.push(event.id);
  if (stream.inbox.length > DEDUPE_IDS) stream.inbox.shift();
  return null;
}

/** Each stored signal, oldest first, goes to the first task that waits for its name. */
function handOutSignals(stream: NaiveStream): void {
  for (const signal of [...stream.signals]) {
    const waits = (task: NaiveTask): boolean =>
      task.when.some((condition) => condition.kind === 'signal' && condition.name === signal.name);
    const task = stream.tasks.find(waits);
    if (task === undefined) continue;
    task.when = [];
    task.cause = { kind: 'signal', name: signal.name, event: signal.event };
    stream.signals.splice(stream.signals.indexOf(signal), 1);
  }
}

function fireTimer(stream: NaiveStream, timer: string, event: string): boolean {
  for (const task of stream.tasks) {
    if (task.when.some((condition) => condition.kind === 'timer' && condition.timer === timer)) {
      task.when = [];
      task.cause = { kind: 'timer', name: timer, event };
      return true;
    }
    if (task.retry !== null && task.retry.timer === timer) {
      task.retry = null;
      return true;
    }
  }
  return false;
}

function foldHolderEvent(stream: NaiveStream, event: HolderEvent): Outcome {
  const { lease } = stream;
  if (event.type === 'LeaseClaimed') {
    if (lease !== null && lease.epoch === event.epoch && lease.holder === event.holder) return 'duplicate';
    if (event.epoch <= stream.epoch) return 'stale-epoch';
    if (lease !== null) return 'wrong-holder';
    if (event.epoch > stream.epoch + 1 || event.ordinal !== 1) return 'ordinal-gap';
    if (stream.status === 'parked') return 'parked';
    stream.epoch = event.epoch;
    stream.lease = { epoch: event.epoch, holder: event.holder, ordinal: 1, lamport: event.lamport };
    return null;
  }
  // The live epoch is the last one claimed, so an epoch that is not above it and has no live lease has ended.
  if (event.epoch < stream.epoch || (lease === null && event.epoch === stream.epoch)) return 'stale-epoch';
  if (lease === null || event.epoch > stream.epoch || event.holder !== lease.holder) return 'wrong-holder';
  if (event.ordinal <= lease.ordinal) return 'duplicate';
  if (event.ordinal > lease.ordinal + 1) return 'ordinal-gap';
  if (event.lamport <= lease.lamport) return 'lamport-regression';
  const reason = applyHolderEvent(stream, event);
  if (reason === null) {
    lease.ordinal = event.ordinal;
    lease.lamport = event.lamport;
  }
  return reason;
}

function applyHolderEvent(stream: NaiveStream, event: Exclude<HolderEvent, Envelope<'LeaseClaimed'>>): Outcome {
  switch (event.type) {
    case 'LeaseReleased':
      stream.lease = null;
      return null;
    case 'CheckpointReserved': {
      const task = stream.tasks.find((one) => one.id === event.control.task);
      if (task === undefined) return absent(stream, event.control.task);
      if (task.reserved !== null) return 'duplicate';
      task.reserved = event.control.checkpoint;
      return null;
    }
    case 'EffectIntended':
    case 'EffectResolved': {
      const task = stream.tasks.find((one) => one.id === event.control.task);
      if (task === undefined) return absent(stream, event.control.task);
      return event.type === 'EffectIntended' ? intend(task, event.control) : resolve(task, event.control);
    }
    case 'CheckpointCommitted':
      return commit(stream, event);
    case 'StepFailed': {
      const task = stream.tasks.find((one) => one.id === event.control.task);
      if (task === undefined) return absent(stream, event.control.task);
      task.failureCount += 1;
      task.retry = event.control.retry;
      return null;
    }
    case 'WorkflowCompleted':
      stream.status = 'completed';
      break;
    case 'WorkflowFailed':
      stream.status = 'failed';
      stream.reason = event.control.code;
      break;
    case 'WorkflowParked':
      stream.status = 'parked';
      stream.reason = event.control.code;
      break;
  }
  stream.lease = null;
  return null;
}

/** Tasks of the opening and of every checkpoint through the head were there; later ones can't have been. */
const absent = (stream: NaiveStream, task: string): RejectReason =>
  Number(task.split('.')[0]) <= stream.head.sequence ? 'duplicate' : 'unknown-task';

/** Once done, an effect is over. Otherwise it may be intended as often as it takes, always with one request. */
function intend(task: NaiveTask, control: Controls['EffectIntended']): Outcome {
  const known = task.effects.find((effect) => effect.key === control.key);
  if (known?.status === 'done') return 'duplicate';
  if (known !== undefined && known.requestDigest !== control.requestDigest) return 'request-changed';
  const { key, operation, requestDigest } = control;
  // What was once more than pure never becomes pure.
  const kind = known !== undefined && control.kind === 'pure' ? known.kind : control.kind;
  const effect: NaiveEffect = { key, operation, kind, requestDigest, status: 'intended', responseDigest: null };
  if (known === undefined) task.effects.push(effect);
  else Object.assign(known, effect);
  return null;
}

/** Each outcome of what left the process needs an open intention of its own; only what is pure may do without (I4). */
function resolve(task: NaiveTask, control: Controls['EffectResolved']): Outcome {
  const known = task.effects.find((effect) => effect.key === control.key);
  if (known?.status === 'done') return 'duplicate';
  const leavesProcess = control.kind !== 'pure' || (known !== undefined && known.kind !== 'pure');
  if (leavesProcess && known?.status !== 'intended') return 'not-intended';
  if (known !== undefined && known.requestDigest !== control.requestDigest) return 'request-changed';
  const { key, operation, requestDigest, responseDigest } = control;
  // What it was intended as stays on record.
  const kind = known === undefined ? control.kind : known.kind;
  const effect: NaiveEffect = { key, operation, kind, requestDigest, status: control.outcome, responseDigest };
  if (known === undefined) task.effects.push(effect);
  else Object.assign(known, effect);
  return null;
}

function commit(stream: NaiveStream, event: Envelope<'CheckpointCommitted'>): Outcome {
  const { control } = event;
  if (control.parent !== stream.head.checkpoint || control.sequence !== stream.head.sequence + 1) return 'wrong-parent';
  if (stream.head.atMs - event.atMs > CLOCK_TOLERANCE_MS) return 'clock-regression';
  const task = stream.tasks.find((one) => one.id === control.task);
  if (task === undefined) return absent(stream, control.task);
  if (task.effects.some((effect) => effect.status === 'intended')) return 'not-intended';
  stream.tasks.splice(stream.tasks.indexOf(task), 1);
  for (const other of stream.tasks) other.blockers = other.blockers.filter((id) => id !== task.id);
  stream.head = { sequence: control.sequence, checkpoint: control.checkpoint, atMs: event.atMs };
  if (control.belief === 'snapshot') stream.beliefSequence = control.sequence;
  stream.tokens += control.tokens;
  stream.costMicros += control.costMicros;
  stream.lastAction = control.lastAction;
  declare(stream, control.sequence, control.tasks);
  handOutSignals(stream);
  return null;
}

/** Adds tasks one by one. Of the tasks that one names, those no longer pending are done; a later sibling never counts. */
function declare(stream: NaiveStream, sequence: number, declarations: readonly TaskDeclaration[]): void {
  declarations.forEach((declaration, index) => {
    const pending: string[] = stream.tasks.map((task) => task.id);
    const { after } = declaration;
    stream.tasks.push({
      id: `${sequence}.${index}`,
      step: declaration.step,
      all: after === 'all',
      blockers: after === 'all' ? pending : [...new Set<string>(after)].filter((id) => pending.includes(id)),
      when: [...declaration.when],
      cause: null,
      failureCount: 0,
      retry: null,
      reserved: null,
      effects: [],
    });
  });
}
