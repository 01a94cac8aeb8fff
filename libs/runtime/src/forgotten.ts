/** Owns how it is told that what a workflow held was forgotten: its key was destroyed, so that its payloads read as `{}`. Pure. */

import { decodePayload } from '@tidemark/codec';
import { InvalidError, type WorkflowId } from '@tidemark/core';
import type { CheckpointRow, WorkflowSummary } from '@tidemark/ports';

/** That it was there is known, and nothing of what it held; nothing is damaged, and no copy brings it back. */
export const historyForgotten = (workflow: WorkflowId): InvalidError =>
  new InvalidError(
    'history-forgotten',
    `What workflow ${workflow} held was forgotten for good: its key was destroyed. When it ran, what it did and what it cost is still told.`,
    { workflow },
  );

/** An opening says at least its input, and every other checkpoint its tasks. */
export const isForgotten = ({ payload }: Pick<CheckpointRow, 'payload'>): boolean => payload === '{}';

/** Of one that has completed or failed. */
export function isEndForgotten({ status, result }: Pick<WorkflowSummary, 'status' | 'result'>): boolean {
  if (result === null) return false;
  if (status === 'completed') return !('output' in decodePayload('WorkflowCompleted', result));
  return status === 'failed' && !('error' in decodePayload('WorkflowFailed', result));
}
