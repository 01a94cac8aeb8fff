/** Owns how readers recognize a forgotten workflow: its key was destroyed, so its payloads read as `{}`. Pure. */

import { decodePayload } from '@tidemark/codec';
import type { CheckpointRow, WorkflowSummary } from '@tidemark/ports';

/** An opening always has an input, and every other checkpoint has tasks, so `{}` means that the payload was forgotten. */
export const isForgotten = ({ payload }: Pick<CheckpointRow, 'payload'>): boolean => payload === '{}';

/** The same for the result of a workflow that completed or failed. */
export function isEndForgotten({ status, result }: Pick<WorkflowSummary, 'status' | 'result'>): boolean {
  if (result === null) return false;
  if (status === 'completed') return !('output' in decodePayload('WorkflowCompleted', result));
  return status === 'failed' && !('error' in decodePayload('WorkflowFailed', result));
}
