/**
 * Owns what follows from a failed attempt at a task: a retry by a durable timer, the end of the workflow, or a question to a person. It
 * appends nothing.
 *
 * Unless the definition chooses otherwise (`onFailure`), a failure that it does not name as final counts as a bug: the workflow is parked,
 * a person repairs the code and retries, and nothing is lost.
 */

import {
  type EffectKey,
  type EffectState,
  type Frontier,
  isOpen,
  type Json,
  type Outage,
  type Retry,
  type TaskId,
  type TaskState,
} from '@tidemark/core';
import {
  CallWaitError,
  causeOf,
  type Definition,
  EffectError,
  errorCode,
  errorNote,
  excerpt,
  type Fault,
  faultOf,
  ParkError,
  ProbeError,
  type StepDefinition,
} from '../definition/index.ts';
import { NO_RETRY, type Ports, passingDelayMs, type RetryPolicy, retryDelayMs } from '../kernel/index.ts';
import type { Draft } from './draft.ts';

/** After so many failures in a row with the same code, a step is poison: the workflow is parked. Faults that pass by themselves don't count. */
const SAME_FAILURES_MAX = 20;
/** Lines of a failure's stack in the question to a person. */
const STACK_LINES_MAX_COUNT = 12;
/** Characters of the failed task's input in the question to a person. */
const FAILED_INPUT_MAX_CHARS = 8_000;

export interface FailedAttempt extends Pick<Definition, 'onFailure'> {
  /** Build of the worker's code; undefined if it is unknown. */
  readonly build: string | undefined;
  /** Returns the task's input in its stored form. */
  readonly input: () => Json;
  /** Undefined if the task could not be resolved to a step of the definition. */
  readonly step: StepDefinition | undefined;
  /** The task's current state, which includes own staged events. */
  readonly task: TaskState;
  readonly error: unknown;
  readonly timerName: string;
  readonly startedAtMs: number;
}

/**
 * The events to append: `StepFailed`, alone if the step is retried, and otherwise followed by the event that parks or fails the workflow,
 * with which the lease ends.
 */
export function failureDrafts(
  failedAttempt: FailedAttempt,
  { clock, prng, telemetry }: Pick<Ports, 'clock' | 'prng' | 'telemetry'>,
): readonly Draft[] {
  const { step, task, error, timerName, startedAtMs, onFailure, build } = failedAttempt;
  const attempt = task.failureCount + 1;
  const code = errorCode(error);
  const policy = policyOf(error, step);
  const nowMs = clock.nowMs();
  const verdict = verdictOf(task, error, policy, nowMs);
  const { isRetried: again, isPoison, outage, fault } = verdict;
  // The name is unique in the stream, so the timer is never one that has fired, even after a person reset the count of attempts.
  const random = (): number => Buffer.from(prng.bytes(4)).readUInt32BE() / 2 ** 32;
  const retry = again
    ? {
        timer: `retry:${timerName}`,
        anchorMs: nowMs,
        delayMs: delayOf(task, error, policy, verdict, nowMs, random()),
      }
    : null;
  telemetry.count('step_retries_total', again ? 1 : 0, { step: step?.group ?? task.step });
  const failed: Draft = {
    type: 'StepFailed',
    control: { task: task.id, attempt, code, retry, startedAtMs, ...(again && outage && { outage }) },
    payload: { error: errorNote(error) },
  };
  if (again) return [failed];
  if (isPoison) return [failed, parkDraft(poisonStep(task, code, error), task.id, build)];
  if (error instanceof ProbeError) return [failed, parkDraft(probeFailed(task, error), task.id)];
  const open = task.effects.find(isOpenForGood);
  // The call may have happened, so the workflow must not end as if it had not.
  if (open !== undefined) return [failed, parkDraft(openEffect({ task: task.id, key: open.key }, error), task.id)];
  if (mayPark(onFailure) && fault.kind !== 'named') {
    return [failed, parkDraft(stepFailed(failedAttempt, attempt), task.id, build)];
  }
  return [failed, { type: 'WorkflowFailed', control: { code, task: task.id }, payload: { error: errorNote(error) } }];
}

/** Lets a task wait as long as another one, whose state is `waiting`. It uses up no attempt of its own. */
export function waitDraft(task: TaskState, waiting: TaskState, timerName: string, startedAtMs: number): Draft {
  const why = waiting.outage?.why ?? waiting.failureCode ?? 'error';
  const outage = outageOf(task, waiting.outage?.of ?? waiting.step, why, waiting.retry!.anchorMs);
  const message = `It waits with task ${waiting.id} until the newest checkpoint can be checked (${why}).`;
  return restDraft(task, outage, { ...waiting.retry!, timer: `retry:${timerName}` }, startedAtMs, message);
}

/** Lets a task wait after a crash of its worker: no attempt is used up by that, and no patience. */
export function crashRestDraft(task: TaskState, restMs: number, timerName: string, nowMs: number): Draft {
  const outage = heldOutage(task, task.step, { why: 'its worker crashed', turnMs: restMs }, nowMs);
  const retry = { timer: `retry:${timerName}`, anchorMs: nowMs, delayMs: restMs };
  return restDraft(task, outage, retry, nowMs, 'Its worker crashed; it rests before it is run again.');
}

function restDraft(task: TaskState, outage: Outage, retry: Retry, startedAtMs: number, message: string): Draft {
  const { why: code } = outage;
  return {
    type: 'StepFailed',
    control: { task: task.id, attempt: task.failureCount + 1, code, retry, startedAtMs, outage },
    payload: { error: { name: 'Error', message } },
  };
}

/** Undefined if the task could not be resolved to a step: then nothing is retried. */
export const policyOf = (error: unknown, step: Pick<StepDefinition, 'retry'> | undefined): RetryPolicy =>
  error instanceof EffectError ? error.retry : (step?.retry ?? NO_RETRY);

/** How many failures of the task have used up an attempt, with this one. */
const countedOf = ({ failureCount, passingCount = 0 }: TaskState): number => failureCount - passingCount + 1;

/** How many failures in a row have the same code, with this one. */
const sameCountOf = ({ failureCode, sameFailureCount }: TaskState, error: unknown): number =>
  failureCode === errorCode(error) ? sameFailureCount + 1 : 1;

interface Verdict {
  readonly isRetried: boolean;
  /** It failed so often in the same way that no policy has it tried again. */
  readonly isPoison: boolean;
  readonly fault: Fault;
  /** Undefined unless the fault passes by itself, in which case it uses up no attempt. */
  readonly outage: Outage | undefined;
}

/** The task's outage with one more fault in it. */
function outageOf({ outage }: TaskState, of: string, why: string, nowMs: number): Outage {
  const inLine = outage?.inLineMs === undefined ? {} : { inLineMs: outage.inLineMs };
  return { of, why, sinceMs: outage?.sinceMs ?? nowMs, count: (outage?.count ?? 0) + 1, ...inLine };
}

/** The same with a wait for a call that was not made: it is no further fault, and no patience is used up in line. */
function heldOutage(
  task: TaskState,
  of: string,
  { why, turnMs }: Pick<CallWaitError, 'why' | 'turnMs'>,
  nowMs: number,
): Outage {
  const { sinceMs = nowMs, count = 1, inLineMs = 0 } = task.outage ?? {};
  return { of, why, sinceMs, count, inLineMs: inLineMs + turnMs };
}

/** Whether the task is tried again after the error: the only place that decides it. */
export function verdictOf(task: TaskState, error: unknown, policy: RetryPolicy, nowMs: number): Verdict {
  const fault = faultOf(error, policy, nowMs);
  const { patienceMs = 0 } = policy;
  const cause = causeOf(error);
  const wait = cause instanceof CallWaitError ? cause : undefined;
  if (fault.kind === 'passing' && (patienceMs > 0 || wait !== undefined)) {
    const of = error instanceof EffectError ? error.receiver : task.step;
    const outage =
      wait !== undefined
        ? heldOutage(task, of, { turnMs: wait.turnMs, why: fault.why }, nowMs)
        : outageOf(task, of, fault.why, nowMs);
    const hasPatience = nowMs - outage.sinceMs - (task.outage?.inLineMs ?? 0) < patienceMs;
    const isWaitedFor = hasPatience && (askedMsOf(task, error, fault) ?? 0) <= patienceMs;
    // Whoever has no patience for faults has met none: no call was made.
    const isUntried = wait !== undefined && (wait.isTurn || patienceMs === 0);
    return { isRetried: isUntried || isWaitedFor, isPoison: false, fault, outage };
  }
  // Of an irreversible call whose outcome is open, only the recovery table decides, or whoever named the error as final.
  const isFinal =
    fault.kind === 'named' || (fault.kind === 'final' && !(fault.isByStatus && task.effects.some(isOpenForGood)));
  const isPoison = sameCountOf(task, error) >= SAME_FAILURES_MAX;
  const isRetried = !isFinal && !isPoison && countedOf(task) < policy.attempts;
  return { isRetried, isPoison, fault, outage: undefined };
}

/** How long the receiver asks to wait. Undefined if the next attempt makes no call: without a probe, it asks a person about the open one. */
const askedMsOf = (task: TaskState, error: unknown, { retryAfterMs }: Fault): number | undefined =>
  error instanceof EffectError && !error.hasProbe && task.effects.some(isOpenForGood) ? undefined : retryAfterMs;

function delayOf(
  task: TaskState,
  error: unknown,
  policy: RetryPolicy,
  { fault, outage }: Verdict,
  nowMs: number,
  random: number,
): number {
  const askedMs = askedMsOf(task, error, fault);
  const wait = causeOf(error);
  // Each has a moment of its own.
  if (wait instanceof CallWaitError) return wait.waitMs;
  if (outage === undefined) return retryDelayMs(policy, countedOf(task), random, askedMs);
  const delayMs = passingDelayMs(policy, outage.count, random, askedMs);
  // A wait that the receiver asked for is never shortened, even if it ends after the patience.
  const endMs = outage.sinceMs + (outage.inLineMs ?? 0) + (policy.patienceMs ?? 0);
  return askedMs ? delayMs : Math.min(delayMs, endMs - nowMs);
}

const mayPark = (onFailure: Definition['onFailure']): boolean =>
  onFailure === 'park' || onFailure === 'retry-on-new-build';

/** `build`: the build on which the task failed for good; absent if no task did. */
export const parkDraft = (error: ParkError, task: TaskId | null, build?: string): Draft => ({
  type: 'WorkflowParked',
  control: { code: error.code, task: error.task ?? task, key: error.key, ...(build !== undefined && { build }) },
  payload: { error: errorNote(error), evidence: excerpt(error.evidence) },
});

export interface OpenCall {
  readonly task: TaskId;
  readonly key: EffectKey;
}

/** The calls of all pending tasks whose outcome is open, in the order of the tasks. `isWanted` selects other effects instead. */
export const openCalls = (
  frontier: Frontier,
  isWanted: (effect: EffectState) => boolean = isOpen,
): readonly OpenCall[] =>
  [...frontier.tasks].flatMap(({ id, effects }) => effects.filter(isWanted).map(({ key }) => ({ task: id, key })));

/** Whether the call is in doubt and irreversible, so that repeating it may do harm. */
export const isOpenForGood = (effect: EffectState): boolean => isOpen(effect) && effect.kind === 'irreversible';

export function openEffect({ task, key }: OpenCall, error: unknown): ParkError {
  const message = `The step failed for good while the outcome of ${key} is open, so a person must decide: ${errorNote(error).message}`;
  return new ParkError('effect-unknown', message, key, { lastError: errorNote(error).message }, task);
}

function poisonStep(task: TaskState, code: string, error: unknown): ParkError {
  const sameCount = sameCountOf(task, error);
  const message = `Step ${task.step} failed ${sameCount} times in a row in the same way (${code}), so a person must decide: ${errorNote(error).message}`;
  return new ParkError('poison-step', message, null, { step: task.step, code, count: sameCount });
}

function probeFailed({ effects }: TaskState, error: ProbeError): ParkError {
  const said = errorNote(error).message;
  if (!effects.some(({ key }) => key === error.key)) {
    const evidence = { operation: error.operation, lastError: said };
    return new ParkError('phantom-checkpoint', `The newest checkpoint: ${said}`, error.key, evidence);
  }
  const message = `What became of ${error.key} is unknown, and its probe keeps failing, so a person must decide: ${said}`;
  return new ParkError('probe-failed', message, error.key, { lastError: said });
}

/** The error that parks the workflow after the last attempt, or after a failure that no further attempt can repair. */
function stepFailed({ task, error, build, input, onFailure }: FailedAttempt, attempt: number): ParkError {
  // Stack and code are those of the cause, in the user's code. The message names the effect's operation if an effect failed.
  const { message } = errorNote(error);
  const { code = null, stack = '' } = errorNote(causeOf(error));
  const times = attempt === 1 ? '' : ` at attempt ${attempt}`;
  const isByItself = onFailure === 'retry-on-new-build' && build !== undefined;
  const remedy = isByItself
    ? 'Fix it and start a worker with the new build: it resumes by itself. Or answer with retry'
    : 'Fix it and answer with retry';
  const evidence = { step: task.step, attempt, code, ...(build !== undefined && { build }) };
  return new ParkError(
    'step-failed',
    `Step ${task.step} failed${times}: ${message}${/[.!?]$/.test(message) ? '' : '.'} ${remedy}, or let the workflow fail.`,
    null,
    { ...evidence, stack: linesOf(stack), input: excerpt(input(), FAILED_INPUT_MAX_CHARS) },
  );
}

/** The first lines of a stack, which are those of the user's code. */
const linesOf = (stack: string): readonly string[] => stack.split('\n').slice(0, STACK_LINES_MAX_COUNT);
