/**
 * Owns what a process does when a call of a user's step or function fails while nobody awaits it yet. Node would end the process, and with it
 * all other runs; the step or function learns of the failure when it awaits.
 */

import { messageOf, TidemarkError } from '@tidemark/core';

const CALL_ERRORS: readonly string[] = ['EffectError', 'CallFailedError', 'CancelledError'];

/** `warn` is given a line. Any other error ends the process, as by default. */
export function surviveUnawaitedCalls(warn: (line: string) => void): void {
  process.on('unhandledRejection', (reason) => {
    if (!(reason instanceof TidemarkError && CALL_ERRORS.includes(reason.name))) throw reason;
    warn(
      `A call failed before its promise was awaited: ${messageOf(reason)}. Await each call where its failure should count.`,
    );
  });
}
