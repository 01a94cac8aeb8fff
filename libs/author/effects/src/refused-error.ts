/** Owns the error that is both certain and final, and how an effect's retry policy learns of it. Invariant: a call that throws it changed nothing. */

import { type Effect, NotDoneError, type Schema } from '@tidemark/sdk';

const CODE = 'effect-refused';

/** It certainly was not done, and another attempt would be refused alike. */
export class RefusedError extends NotDoneError {
  override readonly code = CODE;
}

/** The effect, with a retry policy that stops at a `RefusedError`. */
export function finalWhenRefused<Request extends Schema, Response extends Schema>(
  effect: Effect<Request, Response>,
): Effect<Request, Response> {
  const { retry } = effect;
  return { ...effect, retry: { ...retry, nonRetryable: [...retry.nonRetryable, CODE] } };
}
