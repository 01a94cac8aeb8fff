/**
 * Owns what the failure of a question means. Invariant: a probe never throws `NotDoneError`: that the question was not asked
 * says nothing of the call.
 */

import { NotDoneError, UnavailableError } from '@tidemark/sdk';

/** Asks; a question that could not be asked is an `UnavailableError` (`probe-not-asked`). */
export async function question<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof NotDoneError)) throw error;
    throw new UnavailableError('probe-not-asked', `The probe could not be asked. ${error.message}`, error.details);
  }
}
