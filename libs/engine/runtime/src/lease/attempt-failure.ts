/**
 * Owns what a failed attempt at a task means: another attempt by a durable timer, the end of the workflow, or a person. Must
 * not write anything.
 *
 * A failure that the definition does not name as final is taken for a bug: a person mends it and retries, and nothing is lost.
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
import { FAILED_INPUT_MAX_CHARS, RETRY_AFTER_MAX_MS, SAME_FAILURES_MAX, STACK_LINES_MAX_COUNT } from './limits.ts';

export interface FailedAttempt extends Pick<Definition, 'onFailure'> {
  /** The build of the worker's code; undefined: nobody knows. */
  readonly build: string | undefined;
  /** As it is stored. */
  readonly input: () => Json;
  /** Undefined: the definition has no such step. */
  readonly step: StepDefinition | undefined;
  /** As it stands now. */
  readonly task: TaskState;
  readonly error: unknown;
  readonly timerName: string;
  readonly startedAtMs: number;
}

/** The events that follow from it; more than one: the lease ends with them. */
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
  // Never one that has fired before, however often a person has had the attempts counted anew.
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
  // It may have happened: the workflow must not end as if it had not.
  if (open !== undefined) return [failed, parkDraft(openEffect({ task: task.id, key: open.key }, error), task.id)];
  if (mayPark(onFailure) && !isNamedFinal(error, policy)) {
    return [failed, parkDraft(stepFailed(failedAttempt, attempt), task.id, build)];
  }
  return [failed, { type: 'WorkflowFailed', control: { code, task: task.id }, payload: { error: errorNote(error) } }];
}

/** By the policy; no sooner than the receiver asked for (`retryAfterMs` in the error's details), within a day. */
function delayMs(policy: RetryPolicy, attempt: number, random: number, error: unknown): number {
  const byPolicy = retryDelayMs(policy, attempt, random);
  const cause = error instanceof EffectError ? error.cause : error;
  const asked = cause instanceof TidemarkError ? cause.details.retryAfterMs : undefined;
  return typeof asked === 'number' && asked > byPolicy ? Math.min(asked, RETRY_AFTER_MAX_MS) : byPolicy;
}

const mayPark = (onFailure: Definition['onFailure']): boolean =>
  onFailure === 'park' || onFailure === 'retry-on-new-build';

/** `build`: of a task that failed for good, on which it did. */
export const parkDraft = (error: ParkError, task: TaskId | null, build?: string): Draft => ({
  type: 'WorkflowParked',
  control: { code: error.code, task: error.task ?? task, key: error.key, ...(build !== undefined && { build }) },
  payload: { error: errorNote(error), evidence: excerpt(error.evidence) },
});

export interface OpenCall {
  readonly task: TaskId;
  readonly key: EffectKey;
}

/** Calls whose outcome is open, by task. */
export const openCalls = (
  frontier: Frontier,
  isWanted: (effect: EffectState) => boolean = isOpen,
): readonly OpenCall[] =>
  [...frontier.tasks].flatMap(({ id, effects }) => effects.filter(isWanted).map(({ key }) => ({ task: id, key })));

/** Whether nobody but the outside knows if it happened, and a repetition may harm. */
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

/** As many attempts as there are have failed, or none can mend it. */
function stepFailed({ task, error, build, input, onFailure }: FailedAttempt, attempt: number): ParkError {
  // The stack is the user's own; the message names the effect's operation, where it was one.
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

/** The first ones: those of the user's own code. */
const linesOf = (stack: string): readonly string[] => stack.split('\n').slice(0, STACK_LINES_MAX_COUNT);

const causeOf = (error: unknown): unknown => (error instanceof EffectError ? error.cause : error);

/** What no further attempt can mend: the user said so, or the values themselves are wrong. */
function isFatal(error: unknown, policy: RetryPolicy): boolean {
  const cause = causeOf(error);
  if (isNamedFinal(error, policy) || cause instanceof LimitError) return true;
  return cause instanceof InvalidError && cause.code !== 'effect-open';
}

/** The definition says of it that it ends the workflow. */
function isNamedFinal(error: unknown, policy: RetryPolicy | undefined): boolean {
  const cause = causeOf(error);
  if (cause instanceof FatalError) return true;
  const names = policy?.nonRetryable ?? [];
  return names.includes(errorCode(cause)) || (cause instanceof Error && names.includes(cause.name));
}
