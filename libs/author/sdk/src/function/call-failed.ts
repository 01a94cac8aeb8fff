/** Owns the errors that a function gets for calls that failed for good. They are the same when the function is called anew. */

import { messageOf, TidemarkError } from '@tidemark/core';
import { EffectError } from '@tidemark/runtime';
import type { Failure } from './outcome.ts';

/** Characters of a failure's message that are recorded. */
const FAILURE_MAX_CHARS = 4_000;
/** The code of a call that was not made, or ended early, since the run is cancelled. */
export const CANCELLED = 'workflow-cancelled';

/** A recorded call failed, and its policy allows no further attempt. `code`: that of what failed, such as `model-refused`. */
export class CallFailedError extends TidemarkError {
  override readonly name: string = 'CallFailedError';

  constructor(call: string, { code, message }: Failure) {
    super(code, message, { call });
  }

  /** The message, with the call's name where it doesn't begin with that. */
  get named(): string {
    const { call } = this.details;
    return this.message.startsWith(`${call}: `) ? this.message : `${call}: ${this.message}`;
  }
}

/**
 * The run is cancelled, and this call was not made, or nobody waits for it any more. What the function calls from here on is made, so that it
 * can clean up; what it waits for throws this again.
 */
export class CancelledError extends CallFailedError {
  override readonly name = 'CancelledError';
}

export const callError = (call: string, failure: Failure): CallFailedError =>
  failure.code === CANCELLED ? new CancelledError(call, failure) : new CallFailedError(call, failure);

export function failureOf(error: unknown): Failure {
  const cause = error instanceof EffectError && error.cause instanceof TidemarkError ? error.cause : error;
  const code = cause instanceof TidemarkError ? cause.code : 'call-failed';
  return { code, message: messageOf(error).slice(0, FAILURE_MAX_CHARS) };
}
