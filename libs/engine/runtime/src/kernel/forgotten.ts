/** Owns how it is told that what a workflow held was forgotten: its key was destroyed, so that its payloads read as `{}`. Pure. */

import { decodePayload } from '@tidemark/codec';
import type { CheckpointRow, WorkflowSummary } from '@tidemark/ports';

/** An opening says at least its input, and every other checkpoint its tasks. */
export const isForgotten = ({ payload }: Pick<CheckpointRow, 'payload'>): boolean => payload === '{}';

/** Of one that has completed or failed. */
export function isEndForgotten({ status, result }: Pick<WorkflowSummary, 'status' | 'result'>): boolean {
  if (result === null) return false;
  if (status === 'completed') return !('output' in decodePayload('WorkflowCompleted', result));
  return status === 'failed' && !('error' in decodePayload('WorkflowFailed', result));
}
