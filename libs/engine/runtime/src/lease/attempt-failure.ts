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
  InvalidError,
  isOpen,
  type Json,
  LimitError,
  type TaskId,
  type TaskState,
  TidemarkError,
} from '@tidemark/core';
import {
  type Definition,
  EffectError,
  errorCode,
  errorNote,
  excerpt,
  FatalError,
  ParkError,
  ProbeError,
  type StepDefinition,
} from '../definition/index.ts';
import { type Ports, type RetryPolicy, retryDelayMs } from '../kernel/index.ts';
import type { Draft } from './leased-stream.ts';

/** Longest retry delay that a receiver can ask for when it refuses a call, in milliseconds. */
const RETRY_AFTER_MAX_MS = 24 * 3_600_000;
/** Failures in a row with the same code after which a step counts as poison, and the workflow is parked. */
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
  const policy = error instanceof EffectError ? error.retry : step?.retry;
  const sameCount = task.failureCode === code ? task.sameFailureCount + 1 : 1;
  const isPoison = sameCount >= SAME_FAILURES_MAX;
  const again = policy !== undefined && attempt < policy.attempts && !isFatal(error, policy) && !isPoison;
  // The name is unique in the stream, so the timer is never one that has fired, even after a person reset the count of attempts.
  const timer = `retry:${timerName}`;
  const retry = again
    ? { timer, anchorMs: clock.nowMs(), delayMs: delayMs(policy, attempt, prng.bytes(1)[0]! / 256, error) }
    : null;
  telemetry.count('step_retries_total', again ? 1 : 0, { step: task.step });
  const failed: Draft = {
    type: 'StepFailed',
    control: { task: task.id, attempt, code, retry, startedAtMs },
    payload: { error: errorNote(error) },
  };
  if (again) return [failed];
  if (isPoison) return [failed, parkDraft(poisonStep(task, code, sameCount, error), task.id, build)];
  if (error instanceof ProbeError) return [failed, parkDraft(probeFailed(error), task.id)];
  const open = task.effects.find(isOpenForGood);
  // The call may have happened, so the workflow must not end as if it had not.
  if (open !== undefined) return [failed, parkDraft(openEffect({ task: task.id, key: open.key }, error), task.id)];
  if (mayPark(onFailure) && !isNamedFinal(error, policy)) {
    return [failed, parkDraft(stepFailed(failedAttempt, attempt), task.id, build)];
  }
  return [failed, { type: 'WorkflowFailed', control: { code, task: task.id }, payload: { error: errorNote(error) } }];
}

/**
 * The policy's delay in milliseconds, or the longer one that the receiver asked for (`retryAfterMs` in the error's details), of which at
 * most a day counts.
 */
function delayMs(policy: RetryPolicy, attempt: number, random: number, error: unknown): number {
  const byPolicy = retryDelayMs(policy, attempt, random);
  const cause = error instanceof EffectError ? error.cause : error;
  const asked = cause instanceof TidemarkError ? cause.details.retryAfterMs : undefined;
  return typeof asked === 'number' && asked > byPolicy ? Math.min(asked, RETRY_AFTER_MAX_MS) : byPolicy;
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

function poisonStep(task: TaskState, code: string, sameCount: number, error: unknown): ParkError {
  const message = `Step ${task.step} failed ${sameCount} times in a row in the same way (${code}), so a person must decide: ${errorNote(error).message}`;
  return new ParkError('poison-step', message, null, { step: task.step, code, count: sameCount });
}

function probeFailed(error: ProbeError): ParkError {
  const message = `What became of ${error.key} is unknown, and its probe keeps failing, so a person must decide: ${errorNote(error).message}`;
  return new ParkError('probe-failed', message, error.key, { lastError: errorNote(error).message });
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

const causeOf = (error: unknown): unknown => (error instanceof EffectError ? error.cause : error);

/**
 * Whether no further attempt can help: the definition names the error as final, or values are invalid or too large. `effect-open` is the
 * exception, because the next attempt decides the open effect first.
 */
function isFatal(error: unknown, policy: RetryPolicy): boolean {
  const cause = causeOf(error);
  if (isNamedFinal(error, policy) || cause instanceof LimitError) return true;
  return cause instanceof InvalidError && cause.code !== 'effect-open';
}

/** Whether the step threw `FatalError`, or the policy's `nonRetryable` lists the error's code or name. */
function isNamedFinal(error: unknown, policy: RetryPolicy | undefined): boolean {
  const cause = causeOf(error);
  if (cause instanceof FatalError) return true;
  const names = policy?.nonRetryable ?? [];
  return names.includes(errorCode(cause)) || (cause instanceof Error && names.includes(cause.name));
}
