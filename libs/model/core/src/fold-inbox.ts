/**
 * Owns the acceptance of inbox events: any authorised caller writes them through a coordinator. No clock and no token rejects them. They
 * are rejected as repetitions (by id, within the dedupe window), or when they name something that doesn't exist. Only holder events change
 * belief.
 */

import { superseded } from './continuing.ts';
import type { Envelope } from './event.ts';
import { fulfil, given, matchSignals, updateTask, withEffect } from './frontier.ts';
import type { EventId, HolderId } from './ids.ts';
import { CHILD_FAILED, cancelled, foldLifecycle, timedOut } from './lifecycle.ts';
import { NO_SPEND, plusSpend, type Spend } from './spend.ts';
import {
  CRASH_TIMES_MAX,
  type EffectState,
  type Frontier,
  INBOX_DEDUPE_MAX,
  isOpen,
  SIGNALS_MAX,
  SIGNALS_MAX_BYTES,
  SILENT_HOLDERS_MAX,
  type StreamState,
  type TaskState,
} from './state.ts';
import type { RejectReason } from './verdict.ts';

export type InboxEnvelope = Envelope<
  | 'SignalReceived'
  | 'SignalDiscarded'
  | 'WorkflowReset'
  | 'TimerFired'
  | 'LeaseRevoked'
  | 'EffectConfirmed'
  | 'ApprovalDecided'
  | 'RetryDecided'
  | 'CompensationFinished'
  | 'VersionPinned'
  | 'MemoryWritten'
  | 'BudgetRaised'
  | 'CancelRequested'
  | 'WorkflowTerminated'
  | 'PauseRequested'
  | 'ResumeRequested'
  | 'ApprovalGiven'
  | 'ChildClosed'
  | 'RecordJudged'
>;

export function foldInbox(stream: StreamState, envelope: InboxEnvelope): StreamState | RejectReason {
  if (stream.inbox.includes(envelope.id)) return 'duplicate';
  const outcome = apply(stream, envelope);
  return typeof outcome === 'string' ? outcome : { ...outcome, inbox: remember(stream.inbox, envelope.id) };
}

const remember = (inbox: readonly EventId[], id: EventId): readonly EventId[] =>
  inbox.length < INBOX_DEDUPE_MAX ? [...inbox, id] : [...inbox.slice(1), id];

/** Whether one more signal of this size exceeds what a stream stores. */
function isFull(signals: StreamState['signals'], sizeBytes = 0): boolean {
  if (signals.length === 0) return false;
  if (signals.length >= SIGNALS_MAX) return true;
  return sizeBytes > 0 && signals.reduce((sum, signal) => sum + (signal.sizeBytes ?? 0), sizeBytes) > SIGNALS_MAX_BYTES;
}

function apply(stream: StreamState, envelope: InboxEnvelope): StreamState | RejectReason {
  switch (envelope.type) {
    case 'SignalReceived': {
      const { name, sizeBytes, replaces } = envelope.control;
      if (replaces !== undefined) return amended(stream, envelope, replaces);
      const frontier = fulfil(stream.frontier, { kind: 'signal', name, event: envelope.id });
      if (frontier !== undefined) return { ...stream, frontier };
      if (isFull(stream.signals, sizeBytes)) return 'signals-full';
      const signal = { name, event: envelope.id, ...(sizeBytes !== undefined && { sizeBytes }) };
      return { ...stream, signals: [...stream.signals, signal] };
    }
    case 'SignalDiscarded':
      return discarded(stream, envelope.control.signal);
    case 'WorkflowReset':
      return superseded(stream, envelope.control.as);
    case 'TimerFired': {
      if (stream.deadline?.timer === envelope.control.timer) return timedOut(stream, envelope.id);
      const frontier = fulfil(stream.frontier, { kind: 'timer', name: envelope.control.timer, event: envelope.id });
      // No task awaits the timer any more: another condition was fulfilled, or the task is done.
      return frontier === undefined ? 'unknown-task' : { ...stream, frontier };
    }
    case 'LeaseRevoked':
      return revoke(stream, envelope);
    case 'EffectConfirmed':
      return confirm(stream, envelope.control);
    case 'ApprovalDecided':
      return decide(stream, envelope.control);
    case 'RetryDecided':
      return retry(stream, envelope.control);
    case 'CompensationFinished': {
      const { undo, outcome } = envelope.control;
      if (stream.status !== 'compensating' || stream.undo !== undo) return 'not-asked';
      return outcome === 'compensated'
        ? { ...stream, status: 'compensated' }
        : { ...stream, status: 'failed', reason: 'compensation-failed' };
    }
    case 'VersionPinned':
      return { ...stream, pinned: envelope.control.pinned };
    case 'MemoryWritten':
      return stream;
    // The stream was stopped at the record; by now the decision was carried out.
    case 'RecordJudged':
      return stream;
    case 'BudgetRaised':
      return raise(stream, envelope.control);
    case 'CancelRequested':
    case 'WorkflowTerminated':
    case 'PauseRequested':
    case 'ResumeRequested':
      return foldLifecycle(stream, envelope);
    case 'ApprovalGiven':
      return approve(stream, envelope);
    case 'ChildClosed':
      return childClosed(stream, envelope);
  }
}

/**
 * The task for which the signal came, if its step can't have read it, or died or failed since: while a holder runs, a step may be reading
 * it.
 */
const unreadBy = ({ lease, status, frontier }: StreamState, signal: EventId): TaskState | undefined =>
  lease !== null || status === 'compensating' ? undefined : frontier.tasks.find(({ cause }) => cause?.event === signal);

/** The signal has another value from now on: that of the event that amends it. */
function amended(
  stream: StreamState,
  { id, control: { name, sizeBytes } }: Envelope<'SignalReceived'>,
  replaces: EventId,
): StreamState | RejectReason {
  const at = stream.signals.findIndex(({ event }) => event === replaces);
  if (at >= 0) {
    if (stream.signals[at]!.name !== name) return 'not-asked';
    if (isFull(stream.signals.toSpliced(at, 1), sizeBytes)) return 'signals-full';
    const signal = { name, event: id, ...(sizeBytes !== undefined && { sizeBytes }) };
    return { ...stream, signals: stream.signals.with(at, signal) };
  }
  const task = unreadBy(stream, replaces);
  if (task?.cause?.kind !== 'signal' || task.cause.name !== name) return 'not-asked';
  return { ...stream, frontier: updateTask(stream.frontier, { ...task, cause: { ...task.cause, event: id } }) };
}

/** The task for which it came waits again for what it waited for. */
function discarded(stream: StreamState, signal: EventId): StreamState | RejectReason {
  const signals = stream.signals.filter(({ event }) => event !== signal);
  if (signals.length < stream.signals.length) return { ...stream, signals };
  const task = unreadBy(stream, signal);
  if (task?.cause?.kind !== 'signal' || task.awaited === undefined) return 'not-asked';
  const { awaited, ...waiting } = task;
  const frontier = updateTask(stream.frontier, { ...waiting, when: awaited, cause: null });
  return { ...stream, ...matchSignals(frontier, signals) };
}

/** A task takes one answer; a later one, or one to no open question, is rejected. */
function approve(stream: StreamState, { id, control }: Envelope<'ApprovalGiven'>): StreamState | RejectReason {
  const { name } = control;
  const task = stream.frontier.tasks.get(control.task);
  const isAsked = task?.when.some((condition) => condition.kind === 'approval' && condition.name === name);
  if (task === undefined || !isAsked || stream.status === 'compensating') return 'not-asked';
  return { ...stream, frontier: updateTask(stream.frontier, given(task, { kind: 'approval', name, event: id })) };
}

/** Unblocks the task that awaits the child. If the child was vital and didn't complete, the workflow is cancelled. */
function childClosed(stream: StreamState, { id, control }: Envelope<'ChildClosed'>): StreamState | RejectReason {
  const { child, outcome } = control;
  const task = stream.frontier.tasks.get(control.task);
  const waited = task?.when.find((condition) => condition.kind === 'child' && condition.child === child);
  if (task === undefined || waited?.kind !== 'child' || stream.status === 'compensating') return 'not-asked';
  const reported = {
    ...stream,
    frontier: updateTask(stream.frontier, given(task, { kind: 'child', name: child, event: id })),
  };
  if (outcome === 'completed' || waited.isVital !== true) return reported;
  const outcomeOf = cancelled(reported, { code: CHILD_FAILED, by: child, event: id });
  return typeof outcomeOf === 'string' ? reported : outcomeOf;
}

/** The reason of a parked workflow that resumes when its budget is raised. */
export const BUDGET_EXCEEDED = 'budget_exceeded';

function raise(stream: StreamState, { tokens, costMicros }: Spend): StreamState {
  const raised = { ...stream, raised: plusSpend(stream.raised ?? NO_SPEND, { tokens, costMicros }) };
  const { question } = stream;
  if (question?.code !== BUDGET_EXCEEDED) return raised;
  const task = question.task === null ? undefined : stream.frontier.tasks.get(question.task);
  return withFailuresCleared({ ...raised, ...OPENED }, task);
}

/** Ends the lease that it names. */
function revoke(stream: StreamState, { control, atMs }: Envelope<'LeaseRevoked'>): StreamState | RejectReason {
  const { epoch, holder, reason, isGone = false, beside = 0 } = control;
  if (epoch > stream.epoch) return 'wrong-holder';
  if (stream.lease === null || epoch < stream.epoch) return 'stale-epoch';
  if (holder !== stream.lease.holder) return 'wrong-holder';
  const frontier = withDoubts(stream.frontier, isGone ? undefined : holder);
  const revoked: StreamState = { ...stream, lease: null, isUnsettled: true, frontier };
  if (reason === 'asked') return revoked;
  return reason === 'holder-dead' ? suspected(revoked, beside, atMs) : crashed(revoked, atMs);
}

/**
 * Which of those that died together killed their holder is not known. From the second death on each runs beside at most half as many, so that the
 * innocent part from the guilty one. Only the death of a holder that ran nothing else is a crash. One with more beside it than are allowed was
 * still waiting for room, and is no part of it.
 */
function suspected(stream: StreamState, beside: number, atMs: number): StreamState {
  const { besideMax } = stream;
  if (typeof besideMax === 'number' && beside > besideMax) return stream;
  const suspect = { ...stream, besideMax: besideMax === undefined ? null : Math.floor(beside / 2) };
  return beside === 0 ? crashed(suspect, atMs) : suspect;
}

/**
 * An effect outside the process that is recorded as done may never have arrived. A call that was intended may still be made by a holder that
 * fell silent.
 */
function withDoubts(frontier: Frontier, silentHolder: HolderId | undefined): Frontier {
  const suspect = (effect: EffectState): EffectState => {
    if (isRecorded(effect)) return { ...effect, isSuspect: true };
    return effect.status === 'intended' && silentHolder !== undefined ? withSilent(effect, silentHolder) : effect;
  };
  let after = frontier;
  for (const task of frontier.tasks) {
    const effects = task.effects.map(suspect);
    if (effects.some((effect, at) => effect !== task.effects[at])) after = updateTask(after, { ...task, effects });
  }
  return after;
}

/** An heir that fell silent too may have called as well: a person must end all of them, so none takes the place of another. */
function withSilent(effect: EffectState, holder: HolderId): EffectState {
  const { silentHolders = [] } = effect;
  if (silentHolders.includes(holder)) return effect;
  if (silentHolders.length >= SILENT_HOLDERS_MAX) return { ...effect, hasMoreSilent: true };
  return { ...effect, silentHolders: [...silentHolders, holder] };
}

const isRecorded = ({ status, kind }: EffectState): boolean => status === 'done' && kind !== 'pure';

const NO_CRASHES: readonly number[] = [];

/** There was progress, or a person decided: no death counts any more. */
export function unsuspected(stream: StreamState): StreamState {
  if (stream.crashCount === 0 && stream.besideMax === undefined) return stream;
  const { besideMax: _, ...others } = stream;
  return { ...others, crashCount: 0, crashTimesMs: NO_CRASHES };
}

/** Counts a crash: the holder died, lost its lease unknowingly, or failed by an error of its own. */
export const crashed = (stream: StreamState, atMs: number): StreamState => ({
  ...stream,
  crashCount: stream.crashCount + 1,
  crashTimesMs: [...stream.crashTimesMs, atMs].slice(-CRASH_TIMES_MAX),
});

function confirm(stream: StreamState, control: Envelope<'EffectConfirmed'>['control']): StreamState | RejectReason {
  // The compensation has already listed its effects: one that is confirmed now would be missed.
  if (stream.status === 'compensating') return 'not-asked';
  const { token, outcome, responseDigest } = control;
  for (const task of stream.frontier.tasks) {
    const effect = task.effects.find(({ pending }) => pending?.token === token);
    if (effect === undefined) continue;
    const confirmed = decided(stream, task, {
      ...effect,
      status: outcome,
      responseDigest,
      isUntold: outcome === 'failed',
    });
    // The confirmation answers the question that a person was asked.
    if (stream.question?.key !== effect.key) return confirmed;
    return withFailuresCleared({ ...confirmed, ...OPENED }, confirmed.frontier.tasks.get(task.id));
  }
  return 'unknown-task';
}

const decided = (stream: StreamState, task: TaskState, effect: EffectState): StreamState => ({
  ...stream,
  frontier: updateTask(stream.frontier, withEffect(task, { ...trusted(effect), pending: null })),
});

function trusted({ silentHolders: _, hasMoreSilent: __, ...effect }: EffectState): EffectState {
  return { ...effect, isSuspect: false };
}

const OPENED = { status: 'open', reason: null, question: null } as const;

/** Opens the workflow again; the next holder reads from its state what to do. */
function decide(stream: StreamState, control: Envelope<'ApprovalDecided'>['control']): StreamState | RejectReason {
  const { question } = stream;
  if (question === null || question.id !== control.question) return 'not-asked';
  const { failedOn: _, ...others } = stream;
  const opened: StreamState = { ...others, ...OPENED };
  const task = question.task === null ? undefined : stream.frontier.tasks.get(question.task);
  const effect = task?.effects.find(({ key }) => key === question.key);
  switch (control.resolution) {
    case 'fail':
      return { ...opened, ruling: 'fail' };
    case 'compensate':
      return { ...opened, ruling: 'compensate' };
    case 'retry': {
      // The effect in question counts as recorded. Of a silent holder the person was told to make sure that it has ended.
      const answered = task && effect && withEffect(task, trusted(effect));
      return withFailuresCleared({ ...opened, ruling: keptRuling(stream) }, answered ?? task);
    }
    case 'done':
    case 'not-done': {
      const isDone = control.resolution === 'done';
      // A person may replace the response of an effect that is done, but may not declare it not done.
      const mayDecide = effect !== undefined && (isOpen(effect) || (isDone && effect.status === 'done'));
      if (task === undefined || !mayDecide) return 'not-asked';
      if (isDone !== (control.responseDigest !== null)) return 'not-asked';
      const { responseDigest } = control;
      const spend = !isDone && effect.spend !== undefined ? { spend: NO_SPEND } : {};
      const answered = decided(opened, task, {
        ...effect,
        status: isDone ? 'done' : 'failed',
        responseDigest,
        ...spend,
      });
      return withFailuresCleared(answered, answered.frontier.tasks.get(task.id));
    }
  }
}

const keptRuling = ({ ruling }: StreamState): StreamState['ruling'] => (ruling === 'cancel' ? 'cancel' : null);

/** Retries a task that failed for good, on a build where it has not failed. So no two builds can pass it to each other for ever. */
function retry(
  stream: StreamState,
  { question, build }: Envelope<'RetryDecided'>['control'],
): StreamState | RejectReason {
  const { failedOn } = stream;
  if (stream.question?.id !== question || failedOn === undefined) return 'not-asked';
  if (stream.question.task !== failedOn.task || failedOn.builds.includes(build)) return 'not-asked';
  const opened = { ...stream, ...OPENED, ruling: keptRuling(stream), failedOn: { ...failedOn, next: build } };
  return withFailuresCleared(opened, stream.frontier.tasks.get(failedOn.task));
}

const NO_FAILURES = {
  ...{ failureCount: 0, failureCode: null, sameFailureCount: 0, retry: null },
  ...{ passingCount: undefined, outage: undefined },
};

/** Clears all failures and crashes. */
const withFailuresCleared = ({ repeats: _, ...stream }: StreamState, task: TaskState | undefined): StreamState => ({
  ...unsuspected(stream),
  isUnsettled: false,
  budgetFrom: stream.head.sequence,
  frontier: task === undefined ? stream.frontier : updateTask(stream.frontier, { ...task, ...NO_FAILURES }),
});
