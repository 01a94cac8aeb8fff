/** Owns what a projector makes of an error of its store. */

import { ConflictError, UnavailableError } from '@tidemark/core';

/** What is tried again, where another has written first. */
export function asRetry(error: unknown): unknown {
  if (!(error instanceof ConflictError)) return error;
  const message = 'Another coordinator projected the same partitions; rows are read again.';
  return new UnavailableError('projection-moved', message, { cause: error });
}
