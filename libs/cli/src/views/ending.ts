/** Owns how a workflow has ended, or why it waits for a person; read from its rows. */

import { decodePayload } from '@tidemark/codec';
import type { Json } from '@tidemark/core';
import type { WorkflowSummary } from '@tidemark/ports';

export type Ending =
  | { readonly kind: 'completed'; readonly output: Json }
  | { readonly kind: 'failed'; readonly reason: string; readonly message: string }
  | { readonly kind: 'parked'; readonly reason: string };

/** Undefined while it goes on. */
export function endingOf({ status, reason, result }: WorkflowSummary): Ending | undefined {
  switch (status) {
    case 'open':
      return undefined;
    case 'parked':
      return { kind: 'parked', reason: reason ?? '' };
    case 'completed':
      return { kind: 'completed', output: result === null ? null : decodePayload('WorkflowCompleted', result).output };
    case 'failed':
      return {
        kind: 'failed',
        reason: reason ?? '',
        message: result === null ? '' : decodePayload('WorkflowFailed', result).error.message,
      };
  }
}
