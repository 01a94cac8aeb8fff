/**
 * Owns the events with which a holder ends its run: the lease is let go, the workflow is undone, or a person is asked. Must not
 * write anything.
 */

import { type Controls, isReplay, type StreamState, type TaskId } from '@tidemark/core';
import { openCalls, openEffect, parkDraft } from './attempt-failure.ts';
import { compensationDraft, mayUndo } from './compensation.ts';
import type { Definition, EffectDefinition } from './definition.ts';
import type { Draft } from './held-stream.ts';
import { CompensateError, errorNote, ParkError } from './step-errors.ts';

export const releaseDraft = (reason: Controls['LeaseReleased']['reason']): Draft => ({
  type: 'LeaseReleased',
  control: { reason },
  payload: null,
});

/** Whether an effect of this outcome may lead to the workflow's undoing: it is registered for that, and it has not been undone. */
export function mayCompensate(
  state: StreamState,
  listed: readonly EffectDefinition[],
  { operation }: EffectDefinition,
  outcome: 'done' | 'unknown',
): boolean {
  const registered = listed.find((effect) => effect.operation === operation);
  const undo = outcome === 'done' ? registered?.compensate : registered?.compensateUnknown;
  return undo !== undefined && mayUndo(state);
}

/**
 * The workflow is to be undone. What else is open must be decided first, since nobody could say what is to be undone of it;
 * what may not be undone (again, or that deep) goes to a person. A fork that replays has done nothing, and just fails.
 */
export function undoDraft(state: StreamState, task: TaskId | null, error: CompensateError): Draft {
  const { code, key, evidence } = error;
  if (isReplay(state)) {
    return { type: 'WorkflowFailed', control: { code, task }, payload: { error: errorNote(error) } };
  }
  const other = openCalls(state.frontier).find(({ key }) => key !== error.key);
  if (other !== undefined) return parkDraft(openEffect(other, error), task);
  const draft = compensationDraft(state, { code, key, error: errorNote(error), evidence });
  if (draft !== undefined) return draft;
  const message = `${error.message} It can't be undone further (${state.undo ?? `depth ${state.compensates?.depth}`}), so a person must decide.`;
  return parkDraft(new ParkError(code, message, key, evidence), task);
}

/** A workflow that wants it so is undone before it counts as failed: what follows then from the end that was to be written. */
export function undoneFirst(
  state: StreamState,
  { onFailure }: Pick<Definition, 'onFailure'>,
  drafts: readonly Draft[],
): readonly Draft[] {
  const last = drafts.at(-1);
  if (onFailure !== 'compensate' || last?.type !== 'WorkflowFailed' || !mayUndo(state)) return drafts;
  const { code, task } = last.control;
  const error = new CompensateError(code, last.payload.error.message, null, {});
  return [...drafts.slice(0, -1), undoDraft(state, task, error)];
}

/** A person decided that the workflow is undone: whatever one effect is still open counts as unknown. */
export function ruledUndo(state: StreamState): Draft {
  const key = openCalls(state.frontier)[0]?.key ?? null;
  return undoDraft(state, null, new CompensateError('asked', 'A person decided that it is undone.', key, {}));
}
