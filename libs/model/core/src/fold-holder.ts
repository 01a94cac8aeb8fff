/**
 * Owns the acceptance of holder events: fencing by (epoch, holder), the ordinal, the checkpoint chain, and the effect journal. When a
 * staged batch is lost, its ordinals are missing, so nothing that builds on it is accepted.
 */

import type { UnconsumedSignal } from './continues.ts';
import { continued, leftOf } from './continuing.ts';
import type { Controls, Envelope, HolderEventType } from './event.ts';
import { crashed, unsuspected } from './fold-inbox.ts';
import { addTasks, finishTask, matchSignals, mayDrop, updateTask, withEffect } from './frontier.ts';
import type { Ordinal, TaskId } from './ids.ts';
import { declaresChild } from './lifecycle.ts';
import { NO_SPEND, plusSpend, unknownSpend } from './spend.ts';
import {
  CLOCK_REGRESSION_MAX_MS,
  type EffectState,
  FAILED_BUILDS_MAX,
  isOpen,
  REPEATS_MAX,
  type StreamState,
  type TaskState,
} from './state.ts';
import { taskRank } from './task-list.ts';
import type { RejectReason } from './verdict.ts';

/** The reason of a workflow that is `completed` though no step has seen some of its signals. */
export const SIGNALS_UNREAD = 'signals-unread';

const FIRST_ORDINAL = 1 as Ordinal;

export function foldHolder(stream: StreamState, envelope: Envelope<HolderEventType>): StreamState | RejectReason {
  if (envelope.type === 'LeaseClaimed') return claim(stream, envelope);
  const fenced = checkToken(stream, envelope);
  if (fenced !== undefined) return fenced;
  const outcome = apply(stream, envelope);
  if (typeof outcome === 'string') return outcome;
  if (outcome.lease === null) return outcome;
  return { ...outcome, lease: { ...outcome.lease, ordinal: envelope.ordinal, lamport: envelope.lamport } };
}

/** A claim is accepted only while no lease is live, and the first one in offset order wins. No clock decides about it. */
function claim(stream: StreamState, envelope: Envelope<'LeaseClaimed'>): StreamState | RejectReason {
  const { epoch, holder, ordinal, lamport } = envelope;
  if (epoch <= stream.epoch) {
    const again = stream.lease?.epoch === epoch && stream.lease.holder === holder;
    return again ? 'duplicate' : 'stale-epoch';
  }
  if (stream.lease !== null) return 'wrong-holder';
  if (epoch !== stream.epoch + 1 || ordinal !== FIRST_ORDINAL) return 'ordinal-gap';
  if (stream.status !== 'open' || stream.paused !== undefined) return 'parked';
  return { ...stream, epoch, lease: { epoch, holder, ordinal, lamport } };
}

function checkToken(stream: StreamState, envelope: Envelope): RejectReason | undefined {
  const { lease } = stream;
  if (lease === null) return envelope.epoch <= stream.epoch ? 'stale-epoch' : 'wrong-holder';
  if (envelope.epoch < lease.epoch) return 'stale-epoch';
  if (envelope.epoch > lease.epoch || envelope.holder !== lease.holder) return 'wrong-holder';
  if (envelope.ordinal <= lease.ordinal) return 'duplicate';
  if (envelope.ordinal > lease.ordinal + 1) return 'ordinal-gap';
  if (envelope.lamport <= lease.lamport) return 'lamport-regression';
  return undefined;
}

function apply(
  stream: StreamState,
  envelope: Exclude<Envelope<HolderEventType>, Envelope<'LeaseClaimed'>>,
): StreamState | RejectReason {
  switch (envelope.type) {
    case 'LeaseReleased':
      return envelope.control.reason === 'fault' ? crashed(released(stream), envelope.atMs) : released(stream);
    case 'RulesRaised':
      return { ...stream, rules: Math.max(stream.rules, envelope.control.rules) };
    case 'CheckpointReserved':
      return onTask(stream, envelope.control.task, (task) =>
        task.reserved === null ? { ...task, reserved: envelope.control.checkpoint } : 'duplicate',
      );
    case 'EffectIntended':
      return intended(stream, envelope.control);
    case 'EffectPending':
      return onTask(stream, envelope.control.task, (task) => awaitConfirmation(task, envelope));
    case 'EffectResolved':
      return resolved(stream, envelope.control);
    case 'CheckpointCommitted':
      return commit(stream, envelope);
    case 'StepFailed':
      return onTask(failing(stream, envelope.control), envelope.control.task, (task) => ({
        ...task,
        failureCount: task.failureCount + 1,
        ...failedAs(task, envelope.control),
        retry: envelope.control.retry,
        effects: task.effects.map((effect) => (effect.isUntold ? { ...effect, isUntold: false } : effect)),
      }));
    case 'WorkflowCompleted':
      return envelope.control.continued === undefined
        ? completed(stream)
        : continued(stream, envelope.control.continued, completed);
    case 'WorkflowFailed':
      return {
        ...failing(released(stream), envelope.control),
        ...{ status: 'failed', reason: envelope.control.code, ruling: null },
      };
    case 'WorkflowParked': {
      const { code, task, key, build } = envelope.control;
      const question = { id: envelope.id, code, task, key };
      const parked = failedOn(failing(released(stream), envelope.control), task, build);
      return { ...parked, status: 'parked', reason: code, question };
    }
    case 'CompensationStarted':
      return startCompensation(stream, envelope.control);
  }
}

/** The failure stands until its task is done, whatever becomes of the workflow meanwhile. */
function failing(
  stream: StreamState,
  { fingerprint, code, task }: Pick<Controls['WorkflowFailed'], 'fingerprint' | 'code' | 'task'>,
): StreamState {
  if (fingerprint === undefined) return stream;
  const step = task === null ? '' : (stream.frontier.tasks.get(task)?.step ?? '');
  return { ...stream, failure: { fingerprint, code, step, task } };
}

const isOvercome = (
  { failure }: StreamState,
  { task, drops = [] }: Pick<Controls['CheckpointCommitted'], 'task' | 'drops'>,
): boolean => failure !== undefined && (failure.task === null || failure.task === task || drops.includes(failure.task));

/** A fault that passes by itself says nothing of the step: it counts towards no limit, and neither extends nor breaks a run of equal failures. */
function failedAs(
  task: TaskState,
  { code, outage }: Envelope<'StepFailed'>['control'],
): Pick<TaskState, 'failureCode' | 'sameFailureCount' | 'passingCount' | 'outage'> {
  const { failureCode, sameFailureCount, passingCount } = task;
  if (outage !== undefined) return { failureCode, sameFailureCount, passingCount: (passingCount ?? 0) + 1, outage };
  return {
    failureCode: code,
    sameFailureCount: failureCode === code ? sameFailureCount + 1 : 1,
    passingCount,
    outage: undefined,
  };
}

/**
 * A build counts once. The builds of the task that failed before count too: otherwise two tasks that fail in turns would forget each
 * other's.
 */
function failedOn(stream: StreamState, task: TaskId | null, build: string | undefined): StreamState {
  if (task === null || build === undefined) return stream;
  const builds = stream.failedOn?.builds ?? [];
  if (builds.includes(build)) return { ...stream, failedOn: { task, builds } };
  return { ...stream, failedOn: { task, builds: [...builds, build].slice(0, FAILED_BUILDS_MAX) } };
}

/** Whoever sent a signal learns from the reason that the workflow ended without it. */
const completed = (stream: StreamState): StreamState => ({
  ...released(stream),
  failure: undefined,
  status: 'completed',
  reason: leftOf(stream).length > 0 ? SIGNALS_UNREAD : stream.reason,
});

const released = (stream: StreamState): StreamState => ({ ...stream, lease: null });

/**
 * Compensation starts at most once per workflow, since a workflow under compensation never opens again; and only when no effect is open,
 * except the one whose outcome is the cause.
 */
function startCompensation(
  stream: StreamState,
  { undo, code, key }: Envelope<'CompensationStarted'>['control'],
): StreamState | RejectReason {
  for (const { effects } of stream.frontier.tasks) {
    if (effects.some((effect) => isOpen(effect) && effect.key !== key)) return 'not-intended';
  }
  return { ...released(stream), status: 'compensating', reason: code, ruling: null, undo };
}

/** Changes a pending task. A finished task gives `duplicate`, an unknown one `unknown-task`. */
function onTask(
  stream: StreamState,
  id: TaskId,
  change: (task: TaskState) => TaskState | RejectReason,
): StreamState | RejectReason {
  const task = stream.frontier.tasks.get(id);
  if (task === undefined) return missingTask(stream, id);
  const changed = change(task);
  return typeof changed === 'string' ? changed : { ...stream, frontier: updateTask(stream.frontier, changed) };
}

const missingTask = (stream: StreamState, id: TaskId): RejectReason =>
  taskRank(id) < taskRank(`${stream.head.sequence + 1}.0` as TaskId) ? 'duplicate' : 'unknown-task';

/** A failed call may have cost something all the same, and so may one whose caller was lost: it is called again under its key. */
function wasted(known: EffectState | undefined): Pick<EffectState, 'wasted'> {
  if (known?.spend === undefined) return known?.wasted === undefined ? {} : { wasted: known.wasted };
  const lost = known.status === 'intended' ? unknownSpend(known.spend) : known.spend;
  return { wasted: plusSpend(known.wasted ?? NO_SPEND, lost) };
}

/** A key counts its question once: intending the same call again is no new question. */
function intended(stream: StreamState, control: Envelope<'EffectIntended'>['control']): StreamState | RejectReason {
  const { question, key } = control;
  const isNew = !stream.frontier.tasks.get(control.task)?.effects.some((effect) => effect.key === key);
  const outcome = onTask(stream, control.task, (task) => intend(task, control));
  if (typeof outcome === 'string' || question === undefined || !isNew) return outcome;
  const others = (stream.repeats ?? []).filter((one) => one.question !== question);
  const count = (stream.repeats?.find((one) => one.question === question)?.count ?? 0) + 1;
  return { ...outcome, repeats: [...others.slice(1 - REPEATS_MAX), { question, count }] };
}

/** An effect may be intended again with the same request, after a call that certainly was not made. */
function intend(task: TaskState, control: Envelope<'EffectIntended'>['control']): TaskState | RejectReason {
  const known = task.effects.find((effect) => effect.key === control.key);
  if (known?.status === 'done' || known?.status === 'pending') return 'duplicate';
  if (known !== undefined && known.requestDigest !== control.requestDigest) return 'request-changed';
  return withEffect(task, {
    key: control.key,
    operation: control.operation,
    // An effect that once left the process never becomes pure.
    kind: control.kind === 'pure' ? (known?.kind ?? 'pure') : control.kind,
    status: 'intended',
    requestDigest: control.requestDigest,
    responseDigest: null,
    timeoutMs: control.timeoutMs,
    isUntold: false,
    isSuspect: false,
    pending: null,
    ...(control.model !== undefined && { spend: control.model.reserved }),
    ...wasted(known),
    // A silent holder may call beside this one.
    ...(known?.status === 'intended' && known.silentHolders && { silentHolders: known.silentHolders }),
    ...(known?.status === 'intended' && known.hasMoreSilent && { hasMoreSilent: true }),
  });
}

/**
 * The receiver accepted the effect: its confirmation is awaited. A probe without a final answer continues the wait, and the deadline of its
 * beginning stays: one that has passed is not renewed.
 */
function awaitConfirmation(task: TaskState, { id, control }: Envelope<'EffectPending'>): TaskState | RejectReason {
  const known = task.effects.find((effect) => effect.key === control.key);
  if (known === undefined || !isOpen(known)) return known?.status === 'done' ? 'duplicate' : 'not-intended';
  const { token, probe, deadline } = control;
  const begun = known.pending ?? { id, deadline };
  const pending = { id: begun.id, token, deadline: begun.deadline, probe, isDue: false };
  return withEffect(task, { ...known, status: 'pending', pending });
}

/** What was done need not be done again: that is progress, and deaths before it count no more. */
function resolved(stream: StreamState, control: Envelope<'EffectResolved'>['control']): StreamState | RejectReason {
  const outcome = onTask(stream, control.task, (task) => resolve(task, control));
  return typeof outcome === 'string' || control.outcome !== 'done' ? outcome : unsuspected(outcome);
}

/** An effect keeps the kind of its intention: an outcome with the kind `pure` still needs the intention (I4). */
function resolve(task: TaskState, control: Envelope<'EffectResolved'>['control']): TaskState | RejectReason {
  const known = task.effects.find((effect) => effect.key === control.key);
  if (known?.status === 'done') return 'duplicate';
  const pure = control.kind === 'pure' && (known === undefined || known.kind === 'pure');
  if (!pure && (known === undefined || !isOpen(known))) return 'not-intended';
  if (known !== undefined && known.requestDigest !== control.requestDigest) return 'request-changed';
  return withEffect(task, {
    key: control.key,
    operation: control.operation,
    kind: known?.kind ?? control.kind,
    status: control.outcome,
    requestDigest: control.requestDigest,
    responseDigest: control.responseDigest,
    timeoutMs: known?.timeoutMs ?? 0,
    isUntold: false,
    isSuspect: false,
    pending: null,
    ...(control.spent !== undefined && { spend: control.spent }),
    ...(known?.wasted !== undefined && { wasted: known.wasted }),
  });
}

/** The step's version is older than the workflow's, or differs from the pinned one. */
const isStale = ({ version, pinned }: StreamState, stepVersion: number): boolean =>
  stepVersion < version || (pinned && stepVersion !== version);

function commit(stream: StreamState, envelope: Envelope<'CheckpointCommitted'>): StreamState | RejectReason {
  const { control } = envelope;
  const { head } = stream;
  if (control.parent !== head.checkpoint || control.sequence !== head.sequence + 1) return 'wrong-parent';
  if (envelope.atMs < head.atMs - CLOCK_REGRESSION_MAX_MS) return 'clock-regression';
  const task = stream.frontier.tasks.get(control.task);
  if (task === undefined) return missingTask(stream, control.task);
  // An open effect must be decided before its step may count as done.
  if (task.effects.some(isOpen)) return 'not-intended';
  if (isStale(stream, control.stepVersion)) return 'stale-version';
  if (control.supersedes !== null && control.supersedes > head.sequence) return 'wrong-parent';
  const left = dropped(stream, control);
  if (typeof left === 'string') return left;
  const added = addTasks(left.frontier, control.sequence, control.tasks);
  // A signal is stored only when no task awaits it, so only new tasks can match one, or any task one that was given back.
  const mayMatch = left.freed.length > 0 || control.tasks.some((declared) => declared.when.length > 0);
  const signals = left.freed.length > 0 ? [...left.freed, ...stream.signals] : stream.signals;
  const matched = mayMatch && signals.length > 0 ? matchSignals(added, signals) : undefined;
  return {
    ...unsuspected(stream),
    head: { sequence: control.sequence, checkpoint: control.checkpoint, atMs: envelope.atMs },
    beliefSequence: control.belief === 'snapshot' ? control.sequence : stream.beliefSequence,
    frontier: matched?.frontier ?? added,
    signals: matched?.signals ?? signals,
    ...plusSpend(stream, control),
    lastAction: control.lastAction,
    ...(declaresChild(control.tasks) && { hasChildren: true }),
    version: Math.max(stream.version, control.stepVersion),
    isUnsettled: false,
    ...(stream.isUnsettled && { resumed: true }),
    ...(stream.failedOn?.task === control.task && { failedOn: undefined }),
    ...(isOvercome(stream, control) && { failure: undefined }),
  };
}

/** The frontier without the finished task and those that are dropped. A signal that one of these was given is unread, and goes back. */
function dropped(
  stream: StreamState,
  { task, drops = [] }: Controls['CheckpointCommitted'],
): (Pick<StreamState, 'frontier'> & { readonly freed: readonly UnconsumedSignal[] }) | RejectReason {
  let frontier = finishTask(stream.frontier, task);
  const freed: UnconsumedSignal[] = [];
  for (const id of drops) {
    const pending = frontier.tasks.get(id);
    if (pending === undefined) return missingTask(stream, id);
    if (!mayDrop(pending)) return 'not-intended';
    const { cause } = pending;
    if (cause?.kind === 'signal') freed.push({ name: cause.name, event: cause.event });
    frontier = finishTask(frontier, id);
  }
  return { frontier, freed };
}
