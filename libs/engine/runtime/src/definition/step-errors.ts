/** Owns the errors of steps and effects: those that a user may throw, and the stored form of any error. */

import type { ErrorNote } from '@tidemark/codec';
import { type EffectKey, type Json, type TaskId, TidemarkError } from '@tidemark/core';
import { type RetryPolicy, textOf } from '../kernel/index.ts';
import type { EffectDefinition } from './definition.ts';
import { ERROR_TEXT_MAX_CHARS } from './limits.ts';

/** Longest code of an error that is stored, in characters. */
const ERROR_CODE_MAX_CHARS = 200;
/** Longest text of a request that is kept as evidence for a parked workflow, in characters. */
const EVIDENCE_MAX_CHARS = 64_000;

/** Thrown by an effect's `call`: the effect certainly did not happen, whatever its kind, and may be retried. */
export class NotDoneError extends TidemarkError {
  override readonly name = 'NotDoneError';

  constructor(message: string, details: { readonly cause?: unknown; readonly [field: string]: unknown } = {}) {
    super('effect-not-done', message, details);
  }
}

/** Thrown by a step or an effect: a retry won't help, and the workflow fails. */
export class FatalError extends TidemarkError {
  override readonly name = 'FatalError';

  constructor(message: string, details: { readonly cause?: unknown; readonly [field: string]: unknown } = {}) {
    super('fatal', message, details);
  }
}

/** What of an effect's definition its errors carry to the step: who is called, how the call is retried, and whether one can ask about it. */
type Called = Pick<EffectDefinition, 'operation' | 'receiver' | 'retry' | 'probe'>;

/** An effect's call failed. It carries the effect's own retry policy to the step. */
export class EffectError extends TidemarkError {
  override readonly name = 'EffectError';
  readonly retry: RetryPolicy;
  readonly operation: string;
  /** Who was called, in words. */
  readonly receiver: string;
  readonly hasProbe: boolean;
  /** Nothing of the call is open: the step may continue without it. Otherwise the next attempt, or a person, decides whether it was made. */
  readonly isSettled: boolean;

  constructor({ operation, receiver = operation, retry, probe }: Called, cause: unknown, isSettled = false) {
    const message = cause instanceof Error ? textOf(cause.message) : textOf(cause);
    super('effect-failed', `${operation}: ${message}`, { operation, cause });
    this.operation = operation;
    this.retry = retry;
    this.receiver = receiver;
    this.hasProbe = probe !== undefined;
    this.isSettled = isSettled;
  }
}

/** A probe failed or hung, so it is still unknown whether the effect happened. After the last attempt, a person is asked. */
export class ProbeError extends EffectError {
  readonly key: EffectKey;

  constructor({ operation, receiver = operation, retry, probe }: Called, key: EffectKey, cause: unknown) {
    super({ operation: `${operation} (probe)`, receiver, retry, probe }, cause);
    this.key = key;
  }
}

/** The call waits for its turn, or until its receiver may be called again. It was not made, and nothing of it was recorded. */
export class CallWaitError extends TidemarkError {
  override readonly name = 'CallWaitError';
  readonly waitMs: number;
  /** Whom, or what, it waits for. */
  readonly why: string;
  /** How much of it is a wait for others in line, and no fault of the receiver. */
  readonly turnMs: number;

  constructor(why: string, waitMs: number, turnMs: number) {
    super('call-waits', `It waits ${Math.ceil(waitMs / 1_000)} s: ${why}`, { waitMs, turnMs });
    this.why = why;
    this.waitMs = waitMs;
    this.turnMs = turnMs;
  }

  /** Nothing is wrong with whom it calls: others come first. */
  get isTurn(): boolean {
    return this.turnMs >= this.waitMs;
  }
}

/** The workflow must be compensated: an effect contradicts the log, or nobody can find out whether it happened. */
export class CompensateError extends TidemarkError {
  override readonly name = 'CompensateError';
  readonly key: EffectKey | null;
  readonly evidence: Json;

  constructor(code: string, message: string, key: EffectKey | null, evidence: Json) {
    super(code, message, { key });
    this.key = key;
    this.evidence = evidence;
  }
}

/** The attempt ends without a failure: an effect waits for its confirmation, and so does its task. */
export class SuspendedError extends TidemarkError {
  override readonly name = 'SuspendedError';

  constructor(key: EffectKey) {
    super('suspended', `Effect ${key} waits for its confirmation; the step runs again when it arrives.`, { key });
  }
}

/** Only a person can decide: the workflow is parked with this evidence. */
export class ParkError extends TidemarkError {
  override readonly name = 'ParkError';
  readonly key: EffectKey | null;
  readonly evidence: Json;
  /** The task that the question is about, where that isn't the task that asks. */
  readonly task: TaskId | undefined;

  constructor(code: string, message: string, key: EffectKey | null, evidence: Json, task?: TaskId) {
    super(code, message, { key });
    this.key = key;
    this.evidence = evidence;
    this.task = task;
  }
}

/** The stored form of an error: name, message, code and stack, each bounded. Never throws, whatever was thrown. */
export function errorNote(error: unknown): ErrorNote {
  if (!(error instanceof Error)) return { name: 'Error', message: textOf(error).slice(0, ERROR_TEXT_MAX_CHARS) };
  const code = ownCode(error);
  return {
    name: textOf(error.name),
    message: textOf(error.message).slice(0, ERROR_TEXT_MAX_CHARS),
    ...(code === undefined ? {} : { code }),
    ...(error.stack === undefined ? {} : { stack: textOf(error.stack).slice(0, ERROR_TEXT_MAX_CHARS) }),
  };
}

/** Names of errors after which the same call would fail again, whatever its policy says. */
const FINAL_NAMES: readonly string[] = ['FatalError', 'InvalidError', 'LimitError'];

/** Whether the recorded failure of a call is final: what was asked is not asked again. A person's `not-done` has no code. */
export const isFinalNote = (
  { name, code }: ErrorNote,
  { nonRetryable = [] }: Pick<RetryPolicy, 'nonRetryable'>,
): boolean =>
  FINAL_NAMES.includes(name) || nonRetryable.includes(code ?? name) || (name === 'NotDoneError' && code === undefined);

/** The code of an error for `control`: its own code, or its name, without characters that an event's header can't hold. */
export function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return 'error';
  return ownCode(error) ?? (nameLike(textOf(error.name)) || 'error');
}

function ownCode(error: Error): string | undefined {
  const code: unknown = 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? nameLike(code) || undefined : undefined;
}

/** With control characters or halves of surrogate pairs, no reader would accept the event's header. */
const nameLike = (text: string): string =>
  text
    .slice(0, ERROR_CODE_MAX_CHARS)
    .replaceAll(/\p{Cc}/gu, ' ')
    .toWellFormed();

/** What a person is shown of a request: all of it, or the beginning of its text, because evidence must fit in one event. */
export function excerpt(request: Json, maxChars = EVIDENCE_MAX_CHARS): Json {
  const text = JSON.stringify(request);
  return text.length <= maxChars ? request : `${text.slice(0, maxChars).toWellFormed()}…`;
}

/** Running calls have reserved the rest of the budget. The budget is not exceeded: the call is retried once their cost is known. */
export class ContendedError extends TidemarkError {
  override readonly name = 'ContendedError';

  constructor(of: string, exceeded: Json) {
    const message = `Calls in progress have reserved the rest of the budget of ${of}.`;
    super('budget-contended', message, { exceeded });
  }
}
