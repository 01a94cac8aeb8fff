/**
 * Owns whether a workflow may be compensated and by which other workflow (its undo): the undo's id, how deeply undos may nest, and the
 * event that freezes the workflow. It neither runs the undo (undo-definition.ts) nor starts it (compensations.ts).
 */

import type { ErrorNote } from '@tidemark/codec';
import {
  type EffectKey,
  isReplay,
  type Json,
  type StreamState,
  UNDO_SUFFIX,
  undoId,
  type WorkflowId,
  workflowId,
} from '@tidemark/core';
import { SCHEDULE_SUFFIX } from '../kernel/index.ts';
import type { Draft } from './draft.ts';
import { COMPENSATION_DEPTH_MAX } from './limits.ts';

/** The id of the workflow that this undo compensates; undefined if the id is not that of an undo. */
export const compensatedBy = (undo: WorkflowId): WorkflowId | undefined =>
  undo.endsWith(UNDO_SUFFIX) ? workflowId(undo.slice(0, -UNDO_SUFFIX.length)) : undefined;

/** The number of nested undos in the id: 0 for an ordinary workflow. */
export function depthOf(workflow: WorkflowId): number {
  const compensated = compensatedBy(workflow);
  return compensated === undefined ? 0 : depthOf(compensated) + 1;
}

/** The definition under which jobs of this one are queued: workers of a definition also run its undos and its schedules. */
export function queuedAs(definition: string): string {
  const suffix = [UNDO_SUFFIX, SCHEDULE_SUFFIX].find((each) => definition.endsWith(each));
  return suffix === undefined ? definition : queuedAs(definition.slice(0, -suffix.length));
}

/** The depth of the workflow's undo: 1 for an ordinary workflow. */
export const undoDepth = ({ compensates }: Pick<StreamState, 'compensates'>): number => (compensates?.depth ?? 0) + 1;

/**
 * Whether the workflow may be compensated: at most once, and up to `COMPENSATION_DEPTH_MAX`. A fork that replays may not, since it made
 * none of the calls that it recorded.
 */
export const mayUndo = (state: Pick<StreamState, 'compensates' | 'undo' | 'fork'>): boolean =>
  state.undo === null && undoDepth(state) <= COMPENSATION_DEPTH_MAX && !isReplay(state);

export interface CompensationCause {
  /** The reason, as a code. */
  readonly code: string;
  /** The effect whose outcome is the cause; null if none is. No other effect may be open. */
  readonly key: EffectKey | null;
  readonly error: ErrorNote;
  readonly evidence: Json;
}

/** The event with which a holder freezes the workflow for its undo and ends the lease; undefined if the workflow may not be compensated. */
export function compensationDraft(
  state: StreamState,
  { code, key, error, evidence }: CompensationCause,
): Draft | undefined {
  if (!mayUndo(state)) return undefined;
  return {
    type: 'CompensationStarted',
    control: { undo: undoId(state.workflow), depth: undoDepth(state), code, key },
    payload: { error, evidence },
  };
}
