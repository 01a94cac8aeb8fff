/** Owns what the naive fold does with holder events. Written from the architecture's words alone (see fold.ts). */

import type { Controls, Envelope, RejectReason } from '@tidemark/core';
import { countCrash, forgive, type InboxEvent } from './inbox.ts';
import {
  added,
  declare,
  goOn,
  handOutSignals,
  type NaiveEffect,
  type NaiveStream,
  type NaiveTask,
  type Outcome,
  outcomeIsOpen,
  perhaps,
} from './stream.ts';

const CLOCK_TOLERANCE_MS = 1_000;
const FAILED_BUILDS_KEPT = 16;

type HolderEvent = Exclude<Envelope, InboxEvent | Envelope<'WorkflowOpened'>>;

export function foldHolderEvent(stream: NaiveStream, event: HolderEvent): Outcome {
  const { lease } = stream;
  if (event.type === 'LeaseClaimed') {
    if (lease !== null && lease.epoch === event.epoch && lease.holder === event.holder) return 'duplicate';
    if (event.epoch <= stream.epoch) return 'stale-epoch';
    if (lease !== null) return 'wrong-holder';
    if (event.epoch > stream.epoch + 1 || event.ordinal !== 1) return 'ordinal-gap';
    if (stream.status === 'parked' || stream.status === 'compensating' || stream.paused !== undefined) return 'parked';
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
      if (event.control.reason === 'fault') countCrash(stream, event.atMs);
      break;
    case 'RulesRaised':
      if (event.control.rules > stream.rules) stream.rules = event.control.rules;
      return null;
    case 'CheckpointReserved': {
      const task = stream.tasks.find((one) => one.id === event.control.task);
      if (task === undefined) return absent(stream, event.control.task);
      if (task.reserved !== null) return 'duplicate';
      task.reserved = event.control.checkpoint;
      return null;
    }
    case 'EffectIntended':
    case 'EffectPending':
    case 'EffectResolved': {
      const task = stream.tasks.find((one) => one.id === event.control.task);
      if (task === undefined) return absent(stream, event.control.task);
      if (event.type === 'EffectIntended') return ask(stream, task, event.control);
      if (event.type === 'EffectPending') return acceptOutside(task, event.id, event.control);
      const refused = resolve(task, event.control);
      if (refused === null && event.control.outcome === 'done') forgive(stream);
      return refused;
    }
    case 'CheckpointCommitted':
      return commit(stream, event);
    case 'StepFailed': {
      const task = stream.tasks.find((one) => one.id === event.control.task);
      if (task === undefined) return absent(stream, event.control.task);
      noteFailure(stream, event.control);
      task.failureCount += 1;
      task.outage = event.control.outage;
      if (task.outage === undefined) {
        task.sameFailureCount = task.failureCode === event.control.code ? task.sameFailureCount + 1 : 1;
        task.failureCode = event.control.code;
      } else task.passingCount = (task.passingCount ?? 0) + 1;
      task.retry = event.control.retry;
      for (const effect of task.effects) effect.isUntold = false;
      return null;
    }
    case 'WorkflowCompleted': {
      const { continued } = event.control;
      if (continued !== undefined && !goOn(stream, continued)) return 'not-asked';
      const isHeard = stream.signals.length === 0 && !stream.tasks.some(({ cause }) => cause?.kind === 'signal');
      if (continued === undefined && !isHeard) stream.reason = 'signals-unread';
      Object.assign(stream, { status: 'completed', failure: undefined });
      break;
    }
    case 'WorkflowFailed':
      noteFailure(stream, event.control);
      Object.assign(stream, { status: 'failed', reason: event.control.code, ruling: null });
      break;
    case 'WorkflowParked':
      park(stream, event);
      break;
    case 'CompensationStarted': {
      // Nothing may be unknown but the subject of the compensation.
      const others = stream.tasks.flatMap((task) => task.effects).filter(({ key }) => key !== event.control.key);
      if (others.some(outcomeIsOpen)) return 'not-intended';
      stream.status = 'compensating';
      stream.reason = event.control.code;
      stream.ruling = null;
      stream.undo = event.control.undo;
      break;
    }
  }
  stream.lease = null;
  return null;
}

function park(stream: NaiveStream, { id, control }: Envelope<'WorkflowParked'>): void {
  const { code, task, key, build } = control;
  noteFailure(stream, control);
  stream.status = 'parked';
  stream.reason = code;
  if (task !== null && build !== undefined) {
    const before = stream.failedOn?.builds ?? [];
    stream.failedOn = { task, builds: [...new Set([...before, build])].slice(0, FAILED_BUILDS_KEPT) };
  }
  stream.question = { id, code, task, key };
}

/** Tasks of the opening and of every checkpoint through the head were there; later ones can't have been. */
const absent = (stream: NaiveStream, task: string): RejectReason =>
  Number(task.split('.')[0]) <= stream.head.sequence ? 'duplicate' : 'unknown-task';

/** A question is counted when a key asks it for the first time; only the last 32 are remembered. */
function ask(stream: NaiveStream, task: NaiveTask, control: Controls['EffectIntended']): Outcome {
  const { question, key } = control;
  const before = task.effects.some((effect) => effect.key === key);
  const reason = intend(task, control);
  if (reason !== null || before || question === undefined) return reason;
  stream.repeats ??= [];
  const at = stream.repeats.findIndex((one) => one.question === question);
  const [known] = at < 0 ? [{ question, count: 0 }] : stream.repeats.splice(at, 1);
  stream.repeats.push({ question, count: known!.count + 1 });
  if (stream.repeats.length > 32) stream.repeats.shift();
  return null;
}

/** Once done, an effect is over. Otherwise it may be intended as often as it takes, always with one request. */
function intend(task: NaiveTask, control: Controls['EffectIntended']): Outcome {
  const known = task.effects.find((effect) => effect.key === control.key);
  // Nor is an accepted call: it is under way outside.
  if (known?.status === 'done' || known?.status === 'pending') return 'duplicate';
  if (known !== undefined && known.requestDigest !== control.requestDigest) return 'request-changed';
  const { key, operation, requestDigest, timeoutMs } = control;
  // A call that was once more than pure never becomes pure.
  const kind = known !== undefined && control.kind === 'pure' ? known.kind : control.kind;
  const called = { key, operation, kind, requestDigest, timeoutMs };
  // A failed call still costs, and so may one that nobody saw the end of.
  const lost = known?.status === 'failed' ? known.spend : perhaps(known?.spend);
  const effect: NaiveEffect = {
    ...called,
    status: 'intended',
    responseDigest: null,
    isUntold: false,
    isSuspect: false,
    pending: null,
    spend: control.model?.reserved,
    wasted: known?.spend === undefined ? known?.wasted : added(known.wasted ?? { tokens: 0, costMicros: 0 }, lost),
    silentHolders: known?.status === 'intended' ? known.silentHolders : undefined,
    hasMoreSilent: known?.status === 'intended' ? known.hasMoreSilent : undefined,
  };
  if (known === undefined) task.effects.push(effect);
  else Object.assign(known, effect);
  return null;
}

/** Only a called effect can be accepted; it may be awaited again, with new timers, after a probe without an answer. */
function acceptOutside(task: NaiveTask, id: string, control: Controls['EffectPending']): Outcome {
  const known = task.effects.find((effect) => effect.key === control.key);
  if (known?.status === 'done') return 'duplicate';
  if (known === undefined || known.status === 'failed') return 'not-intended';
  known.status = 'pending';
  // A repeated wait keeps what the wait began with: a deadline that has passed has passed.
  const begun = known.pending ?? { id, deadline: control.deadline };
  const { token, probe } = control;
  known.pending = { id: begun.id, token, deadline: begun.deadline, probe, isDue: false };
  return null;
}

/** Each outcome of a call that left the process needs an open intention of its own; only a pure one may do without (I4). */
function resolve(task: NaiveTask, control: Controls['EffectResolved']): Outcome {
  const known = task.effects.find((effect) => effect.key === control.key);
  if (known?.status === 'done') return 'duplicate';
  const leavesProcess = control.kind !== 'pure' || (known !== undefined && known.kind !== 'pure');
  if (leavesProcess && (known === undefined || !outcomeIsOpen(known))) return 'not-intended';
  if (known !== undefined && known.requestDigest !== control.requestDigest) return 'request-changed';
  const { key, operation, requestDigest, responseDigest } = control;
  // The record keeps the kind of its intention.
  const kind = known === undefined ? control.kind : known.kind;
  const timeoutMs = known === undefined ? 0 : known.timeoutMs;
  const called = { key, operation, kind, requestDigest, timeoutMs };
  const effect: NaiveEffect = {
    ...called,
    status: control.outcome,
    responseDigest,
    isUntold: false,
    isSuspect: false,
    pending: null,
    spend: control.spent,
    wasted: known?.wasted,
    silentHolders: undefined,
    hasMoreSilent: undefined,
  };
  if (known === undefined) task.effects.push(effect);
  else Object.assign(known, effect);
  if (control.outcome === 'done') task.outage = undefined;
  return null;
}

function noteFailure(
  stream: NaiveStream,
  { fingerprint, code, task }: { fingerprint?: string | undefined; code: string; task: string | null },
): void {
  const step = stream.tasks.find(({ id }) => id === task)?.step ?? '';
  if (fingerprint !== undefined) stream.failure = { fingerprint, code, step, task };
}

function commit(stream: NaiveStream, event: Envelope<'CheckpointCommitted'>): Outcome {
  const { control } = event;
  if (control.parent !== stream.head.checkpoint || control.sequence !== stream.head.sequence + 1) return 'wrong-parent';
  if (stream.head.atMs - event.atMs > CLOCK_TOLERANCE_MS) return 'clock-regression';
  const task = stream.tasks.find((one) => one.id === control.task);
  if (task === undefined) return absent(stream, control.task);
  if (task.effects.some(outcomeIsOpen)) return 'not-intended';
  if (control.stepVersion < stream.version) return 'stale-version';
  if (stream.pinned && control.stepVersion > stream.version) return 'stale-version';
  // Only what is already in the chain can be corrected.
  if (control.supersedes !== null && control.supersedes >= control.sequence) return 'wrong-parent';
  const gone: string[] = [task.id];
  const given: { name: string; event: string }[] = [];
  for (const id of control.drops ?? []) {
    if (gone.includes(id)) return 'duplicate';
    const dropped = stream.tasks.find((one) => one.id === id);
    if (dropped === undefined) return absent(stream, id);
    if (dropped.effects.length > 0 || dropped.when.some(({ kind }) => kind === 'child')) return 'not-intended';
    if (dropped.cause?.kind === 'signal') given.push({ name: dropped.cause.name, event: dropped.cause.event });
    gone.push(id);
  }
  stream.tasks = stream.tasks.filter(({ id }) => !gone.includes(id));
  for (const other of stream.tasks) other.blockers = other.blockers.filter((id) => !gone.includes(id));
  if (stream.failedOn?.task === task.id) stream.failedOn = undefined;
  if (stream.failure?.task === null || gone.includes(stream.failure?.task ?? '')) stream.failure = undefined;
  stream.signals.unshift(...given);
  stream.head = { sequence: control.sequence, checkpoint: control.checkpoint, atMs: event.atMs };
  if (control.belief === 'snapshot') stream.beliefSequence = control.sequence;
  Object.assign(stream, added(stream, control));
  stream.lastAction = control.lastAction;
  if (control.stepVersion > stream.version) stream.version = control.stepVersion;
  if (stream.isUnsettled) stream.resumed = true;
  stream.isUnsettled = false;
  forgive(stream);
  declare(stream, control.sequence, control.tasks);
  handOutSignals(stream);
  return null;
}
