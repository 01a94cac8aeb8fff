/** Owns how readers recognize a forgotten workflow: its key was destroyed, so its payloads read as `{}`. Pure. */

import type { CheckpointRow, WorkflowSummary } from '@tidemark/ports';

/** An opening always has an input, and every other checkpoint has tasks, so `{}` means that the payload was forgotten. */
export const isForgotten = ({ payload }: Pick<CheckpointRow, 'payload'>): boolean => payload === '{}';

/** The same for the result of a workflow that completed or failed. */
export const isEndForgotten = ({ status, result }: Pick<WorkflowSummary, 'status' | 'result'>): boolean =>
  (status === 'completed' || status === 'failed') && result !== null && isForgotten({ payload: result });
