/** Owns the meaning of a failed probe. Invariant: a probe never throws `NotDoneError`: that the probe was not sent says nothing of the call. */

import { NotDoneError, UnavailableError } from '@tidemark/sdk';

/** Sends the probe; when it could not be sent, throws an `UnavailableError` (`probe-not-asked`). */
export async function question<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof NotDoneError)) throw error;
    throw new UnavailableError('probe-not-asked', `The probe failed. ${error.message}`, error.details);
  }
}
