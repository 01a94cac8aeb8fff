/** Owns how a workflow has ended, or why it waits for a person, by its rows. */

import { decodePayload, keepJson } from '@tidemark/codec';
import type { Json, WorkflowId } from '@tidemark/core';
import type { WorkflowSummary } from '@tidemark/ports';
import { continuedAs, isEndForgotten } from '@tidemark/runtime';

export type Ending =
  | { readonly kind: 'completed'; readonly output: Json }
  /** It continues as another run. */
  | { readonly kind: 'continued'; readonly as: WorkflowId }
  | { readonly kind: 'failed'; readonly reason: string; readonly message: string }
  /** It has completed or failed; the outcome was forgotten permanently. */
  | { readonly kind: 'forgotten' }
  /** It was compensated; `reason` is why. */
  | { readonly kind: 'compensated'; readonly reason: string }
  | { readonly kind: 'parked'; readonly reason: string };

/** Undefined while it runs. */
export function endingOf(row: WorkflowSummary): Ending | undefined {
  const { status, reason, result } = row;
  const as = continuedAs(row);
  if (as !== undefined) return { kind: 'continued', as };
  if (isEndForgotten(row)) return { kind: 'forgotten' };
  if (result !== null) keepJson(result);
  switch (status) {
    case 'open':
    case 'compensating':
      return undefined;
    case 'compensated':
      return { kind: 'compensated', reason: reason ?? '' };
    case 'parked':
      return { kind: 'parked', reason: reason ?? '' };
    case 'completed':
      return { kind: 'completed', output: result === null ? null : decodePayload('WorkflowCompleted', result).output };
    case 'failed':
      return {
        kind: 'failed',
        reason: reason ?? '',
        // From `WorkflowFailed`, or from a `CompensationFinished` that says why the undo failed.
        message: result === null ? '' : (decodePayload('CompensationFinished', result).error?.message ?? ''),
      };
  }
}
