/**
 * Owns the events with which a holder ends its run: the lease is let go, the workflow is undone, or a person is asked. Must not
 * write anything.
 */

import { type Controls, type EffectState, isOpen, isReplay, type StreamState, type TaskId } from '@tidemark/core';
import { CompensateError, type Definition, errorNote, FatalError, ParkError } from '../definition/index.ts';
import { mayCompensate } from '../effects/index.ts';
import { canRun } from '../history/index.ts';
import {
  compensationDraft,
  type Draft,
  isOpenForGood,
  mayUndo,
  openCalls,
  openEffect,
  parkDraft,
} from '../lease/index.ts';

export const releaseDraft = (reason: Controls['LeaseReleased']['reason']): Draft => ({
  type: 'LeaseReleased',
  control: { reason },
  payload: null,
});

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
  const message = `${error.message} It can't be compensated further (${state.undo ?? `depth ${state.compensates?.depth}`}), so a person must decide.`;
  return parkDraft(new ParkError(code, message, key, evidence), task);
}

/** A workflow that wants it so is undone before it counts as failed: what follows then from the end that was to be written. */
export function compensatedFirst(
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
  return undoDraft(state, null, new CompensateError('asked', 'A person decided to compensate the workflow.', key, {}));
}

/**
 * The end of a cancelled workflow. Undone first where something could be; what became of an effect that is still open is a person's to
 * say before, but for one that has an undo for just that. With nothing to undo, they are asked only of what may have happened for good.
 */
export function cancelDraft(state: StreamState, definition: Pick<Definition, 'effects' | 'steps'>): Draft {
  const { code = 'cancelled', by = '' } = state.cancel ?? {};
  const hasUndo =
    definition.effects.some(({ compensate, compensateUnknown }) => compensate ?? compensateUnknown) ||
    [...definition.steps.values()].some(({ compensate }) => compensate);
  const message = `It was cancelled (${code}) by ${by}.`;
  if (hasUndo && mayUndo(state) && hasDone(state)) {
    const unknown = (effect: EffectState): boolean =>
      isOpen(effect) && (effect.kind === 'pure' || mayCompensate(state, definition.effects, effect, 'unknown'));
    const key = openCalls(state.frontier, unknown)[0]?.key ?? null;
    return undoDraft(state, null, new CompensateError(code, message, key, {}));
  }
  const error = new FatalError(message);
  const open = openCalls(state.frontier, isOpenForGood)[0];
  if (open !== undefined && !isReplay(state)) return parkDraft(openEffect(open, error), open.task);
  return { type: 'WorkflowFailed', control: { code, task: null }, payload: { error: errorNote(error) } };
}

/** Whether anything may have come of it: a workflow that nobody has begun yet has nothing to undo. */
const hasDone = ({ head, frontier }: StreamState): boolean =>
  head.sequence > 0 || frontier.tasks.find(({ effects }) => effects.length > 0) !== undefined;

/** The workflow may end. Throws `ParkError` when an irreversible call of another task was left open: nobody would ever know of it. */
export function mustBeDecided(state: StreamState, definition: Definition, task: TaskId): void {
  // Pinned to another version meanwhile: that version's worker ends it.
  if (!canRun(definition, state)) return;
  const open = openCalls(state.frontier, isOpenForGood).find((call) => call.task !== task);
  if (open !== undefined) throw openEffect(open, new Error('the workflow was about to end'));
}

/** What ends the workflow; what parks it instead, when another's call stays open. */
export function onceDecided(
  state: StreamState,
  definition: Definition,
  task: TaskId,
  drafts: readonly Draft[],
): readonly Draft[] {
  try {
    if (drafts.at(-1)!.type === 'WorkflowFailed') mustBeDecided(state, definition, task);
    return compensatedFirst(state, definition, drafts);
  } catch (error) {
    if (!(error instanceof ParkError)) throw error;
    return [...drafts.slice(0, -1), parkDraft(error, task)];
  }
}
