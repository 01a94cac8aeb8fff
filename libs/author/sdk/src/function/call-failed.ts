/** Owns the error that a function gets for a call which failed for good. It is the same when the function is called anew. */

import { messageOf, TidemarkError } from '@tidemark/core';
import { EffectError } from '@tidemark/runtime';
import type { Failure } from './outcome.ts';

/** Characters of a failure's message that are recorded. */
const FAILURE_MAX_CHARS = 4_000;

/** A recorded call failed, and its policy allows no further attempt. `code`: that of what failed, such as `model-refused`. */
export class CallFailedError extends TidemarkError {
  override readonly name = 'CallFailedError';

  constructor(call: string, { code, message }: Failure) {
    super(code, message.startsWith(`${call}: `) ? message : `${call}: ${message}`, { call });
  }
}

export function failureOf(error: unknown): Failure {
  const cause = error instanceof EffectError && error.cause instanceof TidemarkError ? error.cause : error;
  const code = cause instanceof TidemarkError ? cause.code : 'call-failed';
  return { code, message: messageOf(error).slice(0, FAILURE_MAX_CHARS) };
}
