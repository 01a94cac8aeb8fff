/** Owns the output or error that a caller receives for a workflow's end. Pure. */

import { decodePayload } from '@tidemark/codec';
import { CONTINUED, type Json, TidemarkError, type WorkflowId } from '@tidemark/core';
import type { WorkflowSummary } from '@tidemark/ports';
import { historyForgotten, isEndForgotten } from '../kernel/index.ts';

/** The workflow has no output: it failed, was compensated, is parked, or replays a workflow that continued as new. */
export class WorkflowFailedError extends TidemarkError {
  override readonly name = 'WorkflowFailedError';
}

/**
 * The error for a fork that replays a workflow which continued as new. Callers that wait for any other workflow follow it to its next run.
 */
const replayEnded = (workflow: WorkflowId): WorkflowFailedError =>
  new WorkflowFailedError(
    'workflow-continued',
    `Workflow ${workflow} replays another one, and ends where that one continued as a new run: it has no output.`,
    { workflow },
  );

/**
 * The output of a completed workflow; undefined while the workflow has not ended. `question`: what a parked workflow asks a person. Throws
 * `WorkflowFailedError` if the workflow failed, was compensated or is parked, and `InvalidError` (`history-forgotten`).
 */
export function outcomeOf(summary: WorkflowSummary, question?: string): { readonly output: Json } | undefined {
  const { workflow, status, reason, result } = summary;
  if (isEndForgotten(summary)) throw historyForgotten(workflow);
  switch (status) {
    case 'completed':
      if (summary.reason === CONTINUED) throw replayEnded(workflow);
      return result === null ? undefined : decodePayload('WorkflowCompleted', result);
    case 'failed': {
      if (result === null) return undefined;
      // The result is that of `WorkflowFailed`, or of a `CompensationFinished` that says why the undo failed.
      const { error } = decodePayload('CompensationFinished', result);
      const message = `Workflow ${workflow} failed (${reason}): ${error?.message ?? 'without further details'}`;
      throw new WorkflowFailedError('workflow-failed', message, { workflow, reason, error });
    }
    case 'compensated':
      throw new WorkflowFailedError('workflow-compensated', `Workflow ${workflow} was compensated (${reason}).`, {
        workflow,
        reason,
      });
    case 'parked':
      throw new WorkflowFailedError(
        'workflow-parked',
        `Workflow ${workflow} waits for a person (${reason})${question === undefined ? '.' : `: ${question}`}`,
        { workflow, reason },
      );
    default:
      return undefined;
  }
}
