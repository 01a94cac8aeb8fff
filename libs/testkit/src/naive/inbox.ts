/** Owns what the naive fold does with inbox events. Written from the architecture's words alone (see fold.ts). */

import type { Controls, Envelope } from '@tidemark/core';
import {
  goOn,
  handOutSignals,
  type NaiveEffect,
  type NaiveStream,
  type NaiveTask,
  type Outcome,
  outcomeIsOpen,
} from './stream.ts';

const SIGNALS = 1_024;
const DEDUPE_IDS = 256;
const CRASH_TIMES_KEPT = 32;
const SILENT_KEPT = 8;

const INBOX_TYPES = [
  'SignalReceived',
  'SignalDiscarded',
  'WorkflowReset',
  'TimerFired',
  'LeaseRevoked',
  'EffectConfirmed',
  'ApprovalDecided',
  'RetryDecided',
  'CompensationFinished',
  'VersionPinned',
  'MemoryWritten',
  'BudgetRaised',
  'CancelRequested',
  'WorkflowTerminated',
  'PauseRequested',
  'ResumeRequested',
  'ApprovalGiven',
  'ChildClosed',
  'RecordJudged',
] as const;

export type InboxEvent = Envelope<(typeof INBOX_TYPES)[number]>;

export const isInbox = (event: Exclude<Envelope, Envelope<'WorkflowOpened'>>): event is InboxEvent =>
  (INBOX_TYPES as readonly string[]).includes(event.type);

export function foldInboxEvent(stream: NaiveStream, event: InboxEvent): Outcome {
  if (stream.inbox.includes(event.id)) return 'duplicate';
  const reason = applyInboxEvent(stream, event);
  if (reason !== null) return reason;
  stream.inbox.push(event.id);
  if (stream.inbox.length > DEDUPE_IDS) stream.inbox.shift();
  return null;
}

function applyInboxEvent(stream: NaiveStream, event: InboxEvent): Outcome {
  switch (event.type) {
    case 'SignalReceived':
      return hear(stream, event);
    case 'SignalDiscarded':
      return discard(stream, event.control.signal);
    case 'WorkflowReset':
      return supersede(stream, event.control.as);
    case 'TimerFired':
      if (stream.deadline !== undefined && stream.deadline.timer === event.control.timer) {
        stream.deadline = undefined;
        cancel(stream, 'timed-out', 'timeout', event.id);
        return null;
      }
      return fireTimer(stream, event.control.timer, event.id) ? null : 'unknown-task';
    case 'LeaseRevoked':
      return revoke(stream, event);
    case 'EffectConfirmed':
      return confirm(stream, event.control);
    case 'ApprovalDecided':
      return decide(stream, event.control);
    case 'RetryDecided':
      return retry(stream, event.control);
    case 'CompensationFinished':
      if (stream.status !== 'compensating' || stream.undo !== event.control.undo) return 'not-asked';
      stream.status = event.control.outcome;
      if (stream.status === 'failed') stream.reason = 'compensation-failed';
      return null;
    case 'VersionPinned':
      stream.pinned = event.control.pinned;
      return null;
    case 'MemoryWritten':
    case 'RecordJudged':
      return null;
    case 'CancelRequested':
    case 'WorkflowTerminated':
    case 'PauseRequested':
    case 'ResumeRequested':
      return steer(stream, event);
    case 'ChildClosed': {
      const { child, task, outcome } = event.control;
      const waiting = stream.tasks.find((one) => one.id === task);
      const waited = waiting?.when.find((condition) => condition.kind === 'child' && condition.child === child);
      if (stream.status === 'compensating' || waiting === undefined || waited?.kind !== 'child') return 'not-asked';
      waiting.when = [];
      waiting.cause = { kind: 'child', name: child, event: event.id };
      if (waited.isVital && outcome !== 'completed') cancel(stream, 'child-failed', child, event.id);
      return null;
    }
    case 'ApprovalGiven': {
      const { name, task } = event.control;
      const asking = stream.tasks.find((one) => one.id === task);
      const asked = asking?.when.filter((condition) => condition.kind === 'approval' && condition.name === name) ?? [];
      if (stream.status === 'compensating' || asking === undefined || asked.length === 0) return 'not-asked';
      asking.when = [];
      asking.cause = { kind: 'approval', name, event: event.id };
      return null;
    }
    case 'BudgetRaised': {
      const { tokens, costMicros } = event.control;
      stream.raised ??= { tokens: 0, costMicros: 0 };
      stream.raised.tokens += tokens;
      stream.raised.costMicros += costMicros;
      // A workflow that was parked for lack of budget has its answer.
      if (stream.question?.code !== 'budget_exceeded') return null;
      const { task } = stream.question;
      reopen(stream);
      clearFailures(
        stream,
        stream.tasks.find((one) => one.id === task),
      );
      return null;
    }
  }
}

function hear(stream: NaiveStream, event: Envelope<'SignalReceived'>): Outcome {
  if (event.control.replaces !== undefined) return amend(stream, event, event.control.replaces);
  stream.signals.push(signalOf(event));
  handOutSignals(stream);
  if (stream.signals.length > SIGNALS) {
    stream.signals.pop();
    return 'signals-full';
  }
  return null;
}

/** Nobody may still be making a call of it. */
function supersede(stream: NaiveStream, as: string): Outcome {
  const isCalling = stream.tasks.some(({ effects }) =>
    effects.some((one) => outcomeIsOpen(one) && one.kind !== 'pure' && one.spend === undefined),
  );
  if (isCalling || stream.status === 'compensating' || stream.compensates !== null || stream.shadow) return 'not-asked';
  if (!goOn(stream, as)) return 'not-asked';
  reopen(stream);
  stream.ruling = null;
  stream.lease = null;
  stream.status = 'completed';
  stream.reason = 'superseded';
  return null;
}

/** What a task has got that no holder can be working on. */
const unread = (stream: NaiveStream, signal: string): NaiveTask | undefined =>
  stream.lease === null && stream.status !== 'compensating'
    ? stream.tasks.find(({ cause }) => cause?.kind === 'signal' && cause.event === signal)
    : undefined;

function amend(stream: NaiveStream, event: Envelope<'SignalReceived'>, replaces: string): Outcome {
  const at = stream.signals.findIndex((one) => one.event === replaces);
  const stored = stream.signals[at] ?? unread(stream, replaces)?.cause;
  if (stored === null || stored === undefined || stored.name !== event.control.name) return 'not-asked';
  if (at >= 0) stream.signals[at] = signalOf(event);
  else stored.event = event.id;
  return null;
}

const signalOf = ({
  id,
  control: { name, sizeBytes },
}: Envelope<'SignalReceived'>): NaiveStream['signals'][number] => ({
  name,
  event: id,
  ...(sizeBytes !== undefined && { sizeBytes }),
});

function discard(stream: NaiveStream, signal: string): Outcome {
  const task = unread(stream, signal);
  if (stream.signals.some((one) => one.event === signal)) {
    stream.signals = stream.signals.filter((one) => one.event !== signal);
    return null;
  }
  if (task === undefined) return 'not-asked';
  task.when = task.awaited ?? [];
  task.awaited = undefined;
  task.cause = null;
  handOutSignals(stream);
  return null;
}

function confirm(
  stream: NaiveStream,
  { token, outcome, responseDigest }: Extract<InboxEvent, { type: 'EffectConfirmed' }>['control'],
): Outcome {
  if (stream.status === 'compensating') return 'not-asked';
  const awaited = (one: NaiveEffect): boolean => one.pending?.token === token;
  const task = stream.tasks.find((one) => one.effects.some(awaited));
  const effect = task?.effects.find(awaited);
  if (task === undefined || effect === undefined) return 'unknown-task';
  settle(effect, outcome, responseDigest);
  effect.isUntold = outcome === 'failed';
  if (outcome === 'done') task.outage = undefined;
  if (stream.question !== null && stream.question.key === effect.key) {
    reopen(stream);
    clearFailures(stream, task);
  }
  return null;
}

type Steering = Extract<
  InboxEvent,
  { type: 'CancelRequested' | 'WorkflowTerminated' | 'PauseRequested' | 'ResumeRequested' }
>;

function steer(stream: NaiveStream, event: Steering): Outcome {
  switch (event.type) {
    case 'CancelRequested':
      return cancel(stream, event.control.code, event.control.by, event.id) ? null : 'not-asked';
    case 'WorkflowTerminated':
      if (stream.status === 'compensating') return 'not-asked';
      reopen(stream);
      stream.status = 'failed';
      stream.reason = event.control.code;
      stream.ruling = null;
      stream.paused = undefined;
      stream.lease = null;
      return null;
    case 'PauseRequested':
      if (stream.status === 'compensating' || stream.paused !== undefined || stream.ruling === 'cancel') {
        return 'not-asked';
      }
      stream.paused = { by: event.control.by, event: event.id, atMs: event.atMs };
      return null;
    case 'ResumeRequested':
      if (stream.status === 'compensating' || stream.paused === undefined) return 'not-asked';
      stream.paused = undefined;
      return null;
  }
}

/** Applies to a workflow that runs here, compensates none, and is neither being compensated nor cancelled: its waits end. */
function cancel(stream: NaiveStream, code: string, by: string, event: string): boolean {
  if (stream.status === 'compensating' || stream.ruling === 'cancel') return false;
  if (stream.compensates !== null || stream.shadow) return false;
  reopen(stream);
  stream.paused = undefined;
  stream.ruling = 'cancel';
  stream.cancel = { code, by, event };
  return true;
}

/** Counts for the lease that it names and no other. Unless a person asked for it, it counts as a death of what was running. */
function revoke(stream: NaiveStream, event: Envelope<'LeaseRevoked'>): Outcome {
  const { epoch, holder, reason, isGone } = event.control;
  if (epoch > stream.epoch) return 'wrong-holder';
  if (stream.lease === null || epoch < stream.lease.epoch) return 'stale-epoch';
  if (holder !== stream.lease.holder) return 'wrong-holder';
  stream.lease = null;
  stream.isUnsettled = true;
  for (const { effects } of stream.tasks) {
    for (const effect of effects) {
      if (effect.status === 'done' && effect.kind !== 'pure') effect.isSuspect = true;
      // Who is not known to have ended may come back in the midst of its call.
      if (effect.status === 'intended' && isGone !== true) addSilent(effect, holder);
    }
  }
  if (reason === 'asked') return null;
  if (reason !== 'holder-dead') {
    countCrash(stream, event.atMs);
    return null;
  }
  const { beside = 0 } = event.control;
  const isWaiting = stream.besideMax !== undefined && stream.besideMax !== null && stream.besideMax < beside;
  if (isWaiting) return null;
  if (stream.besideMax === undefined) stream.besideMax = null;
  else stream.besideMax = (beside - (beside % 2)) / 2;
  if (beside === 0) countCrash(stream, event.atMs);
  return null;
}

/** Once each; the ninth and later ones are only known to be there. */
function addSilent(effect: NaiveEffect, holder: string): void {
  const known = new Set(effect.silentHolders).add(holder);
  effect.silentHolders = [...known].slice(0, SILENT_KEPT);
  if (known.size > SILENT_KEPT) effect.hasMoreSilent = true;
}

/** It got on, or somebody vouches for it. */
export function forgive(stream: NaiveStream): void {
  stream.crashCount = 0;
  stream.crashTimesMs = [];
  stream.besideMax = undefined;
}

/** A holder ended without a request to. */
export function countCrash(stream: NaiveStream, atMs: number): void {
  stream.crashCount += 1;
  stream.crashTimesMs.push(atMs);
  while (stream.crashTimesMs.length > CRASH_TIMES_KEPT) stream.crashTimesMs.shift();
}

/** The outcome is known now, and nothing of it is outstanding. */
function settle(effect: NaiveEffect, status: 'done' | 'failed', responseDigest: string | null): void {
  effect.status = status;
  effect.responseDigest = responseDigest;
  effect.isSuspect = false;
  effect.silentHolders = undefined;
  effect.hasMoreSilent = undefined;
  effect.pending = null;
}

/** Counts for the question that is open and no other; an effect is decided only while its outcome is unknown. */
function decide(stream: NaiveStream, control: Controls['ApprovalDecided']): Outcome {
  const { question } = stream;
  if (question === null || question.id !== control.question) return 'not-asked';
  const task = stream.tasks.find((one) => one.id === question.task);
  const { resolution } = control;
  if (resolution === 'compensate' || resolution === 'fail') {
    stream.ruling = resolution;
  } else if (resolution === 'retry') {
    if (stream.ruling !== 'cancel') stream.ruling = null;
    for (const one of task?.effects ?? []) {
      if (one.key === question.key)
        Object.assign(one, { isSuspect: false, silentHolders: undefined, hasMoreSilent: undefined });
    }
  } else {
    const effect = task?.effects.find((one) => one.key === question.key);
    // A done effect has a response, and one that is not done has none.
    const fits = resolution === 'done' ? control.responseDigest !== null : control.responseDigest === null;
    // A response may be corrected; a done effect stays done.
    const isKnown = effect !== undefined && effect.status === 'done' && resolution === 'done';
    if (effect === undefined || !(outcomeIsOpen(effect) || isKnown) || !fits) return 'not-asked';
    settle(effect, resolution === 'done' ? 'done' : 'failed', control.responseDigest);
    // An effect that is not done has cost nothing.
    if (resolution === 'not-done' && effect.spend !== undefined) effect.spend = { tokens: 0, costMicros: 0 };
  }
  reopen(stream);
  stream.failedOn = undefined;
  if (resolution !== 'compensate' && resolution !== 'fail') clearFailures(stream, task);
  return null;
}

/** Only what is asked because of that very task, and never on a build that is known to fail. */
function retry(stream: NaiveStream, { question, build }: Controls['RetryDecided']): Outcome {
  const { failedOn } = stream;
  if (failedOn === undefined || stream.question === null || stream.question.id !== question) return 'not-asked';
  if (stream.question.task !== failedOn.task || failedOn.builds.includes(build)) return 'not-asked';
  failedOn.next = build;
  if (stream.ruling !== 'cancel') stream.ruling = null;
  reopen(stream);
  const task = stream.tasks.find(({ id }) => id === failedOn.task);
  clearFailures(stream, task);
  return null;
}

function reopen(stream: NaiveStream): void {
  stream.status = 'open';
  stream.reason = null;
  stream.question = null;
}

/** As if nothing had failed yet. */
function clearFailures(stream: NaiveStream, task: NaiveTask | undefined): void {
  stream.isUnsettled = false;
  forgive(stream);
  stream.budgetFrom = stream.head.sequence;
  stream.repeats = undefined;
  if (task === undefined) return;
  task.failureCount = 0;
  task.failureCode = null;
  task.sameFailureCount = 0;
  task.passingCount = undefined;
  task.outage = undefined;
  task.retry = null;
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
    const rung = task.effects.filter(({ pending }) => pending !== null && ring(pending, timer));
    if (rung.length > 0) return true;
  }
  return false;
}

/** Once overdue, there is nothing further to wait for; a probe's timer leaves the deadline standing. */
function ring(pending: NonNullable<NaiveEffect['pending']>, timer: string): boolean {
  const overdue = pending.deadline?.timer === timer;
  if (!overdue && pending.probe?.timer !== timer) return false;
  pending.isDue = true;
  pending.probe = null;
  if (overdue) pending.deadline = null;
  return true;
}
