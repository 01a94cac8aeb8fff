/**
 * Owns when a workflow is undone and by which other workflow: the name of the undo, how deep undos may lie in one another, and
 * the event that freezes the workflow for it. Must not run anything (see undo-definition.ts), nor start it (compensations.ts).
 */

import type { ErrorNote } from '@tidemark/codec';
import { type EffectKey, isReplay, type Json, type StreamState, type WorkflowId, workflowId } from '@tidemark/core';
import { SCHEDULE_SUFFIX, UNDO_SUFFIX } from '../kernel/index.ts';
import type { Draft } from './leased-stream.ts';
import { COMPENSATION_DEPTH_MAX } from './limits.ts';

/** The workflow that undoes this one: its id is derived, so that all who start it start the same one. */
export const undoId = (workflow: WorkflowId): WorkflowId => workflowId(`${workflow}${UNDO_SUFFIX}`);

/** The workflow that this one undoes; undefined: it is no undo. */
export const compensatedBy = (undo: WorkflowId): WorkflowId | undefined =>
  undo.endsWith(UNDO_SUFFIX) ? workflowId(undo.slice(0, -UNDO_SUFFIX.length)) : undefined;

/** How many undos lie in one another to make this id: 0 for that of an ordinary workflow. */
export function depthOf(workflow: WorkflowId): number {
  const compensated = compensatedBy(workflow);
  return compensated === undefined ? 0 : depthOf(compensated) + 1;
}

/** The definition under which jobs of this one are queued: workers of a definition also run its undos and its schedules. */
export function queuedAs(definition: string): string {
  const suffix = [UNDO_SUFFIX, SCHEDULE_SUFFIX].find((each) => definition.endsWith(each));
  return suffix === undefined ? definition : queuedAs(definition.slice(0, -suffix.length));
}

/** How deep the undo of this workflow lies: 1 for that of an ordinary one. */
export const undoDepth = ({ compensates }: Pick<StreamState, 'compensates'>): number => (compensates?.depth ?? 0) + 1;

/** Whether it may be undone: never before, and not too deep; else a person is asked. What a fork replays is not its own to undo. */
export const mayUndo = (state: Pick<StreamState, 'compensates' | 'undo' | 'fork'>): boolean =>
  state.undo === null && undoDepth(state) <= COMPENSATION_DEPTH_MAX && !isReplay(state);

export interface CompensationCause {
  /** Why, as a code. */
  readonly code: string;
  /** The effect whose outcome led here; only that one may be open. */
  readonly key: EffectKey | null;
  readonly error: ErrorNote;
  readonly evidence: Json;
}

/** The last event of a holder whose workflow is to be undone; undefined when it may not be. */
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
