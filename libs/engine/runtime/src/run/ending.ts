/**
 * Owns the events with which a holder ends its run: it releases the lease, has the workflow compensated, fails it, or parks it for a
 * person. It appends nothing.
 */

import {
  type Controls,
  type EffectState,
  isOpen,
  isReplay,
  messageOf,
  type StreamState,
  type TaskId,
} from '@tidemark/core';
import { CompensateError, type Definition, errorNote, FatalError, ParkError } from '../definition/index.ts';
import { mayCompensate, mayStillCall } from '../effects/index.ts';
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
 * The event that has the workflow compensated. A person decides first about any other effect that is open, since nobody could say what
 * there is to undo of it; and about a workflow that may not be compensated (again, or that deep). A fork that replays has done nothing, so
 * it just fails.
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

/**
 * The drafts with compensation in place of the failure, if the definition wants a failed workflow compensated and it may be; otherwise the
 * drafts as they are.
 */
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

/** The event that carries out a person's decision to compensate. One effect may still be open: its outcome then counts as unknown. */
export function ruledUndo(state: StreamState): Draft {
  const key = openCalls(state.frontier)[0]?.key ?? null;
  return undoDraft(state, null, new CompensateError('asked', 'A person decided to compensate the workflow.', key, {}));
}

/**
 * The event that ends a cancelled workflow. If something can be undone, the workflow is compensated. A person decides first about effects
 * that are still open, except for one that is pure or has a compensation for an unknown outcome, unless a holder that fell silent may still
 * call after it. If nothing can be undone, the workflow
 * fails, and a person decides first about irreversible calls alone. `failed`: why it did not run on as its definition wants.
 */
export function cancelDraft(
  state: StreamState,
  definition: Pick<Definition, 'effects' | 'steps'>,
  failed?: unknown,
): Draft {
  const { code = 'cancelled', by = '' } = state.cancel ?? {};
  const hasUndo =
    definition.effects.some(({ compensate, compensateUnknown }) => compensate ?? compensateUnknown) ||
    [...definition.steps.values()].some(({ compensate }) => compensate);
  const message = `It was cancelled (${code}) by ${by}.${failed === undefined ? '' : ` What it did then failed: ${messageOf(failed)}`}`;
  if (hasUndo && mayUndo(state) && hasDone(state)) {
    const unknown = (left: EffectState): boolean => {
      if (!isOpen(left) || left.kind === 'pure') return isOpen(left);
      const effect = definition.effects.find(({ operation }) => operation === left.operation);
      return mayCompensate(state, definition.effects, left, 'unknown') && !mayStillCall({ effect, left }, 'unknown');
    };
    const key = openCalls(state.frontier, unknown)[0]?.key ?? null;
    return undoDraft(state, null, new CompensateError(code, message, key, {}));
  }
  const error = new FatalError(message);
  const open = openCalls(state.frontier, isOpenForGood)[0];
  if (open !== undefined && !isReplay(state)) return parkDraft(openEffect(open, error), open.task);
  return { type: 'WorkflowFailed', control: { code, task: null }, payload: { error: errorNote(error) } };
}

/** Whether the workflow is cancelled, and runs on until nothing is left of its frontier. One without a checkpoint has nothing to unwind. */
export const isUnwinding = ({ ruling, head, frontier }: StreamState, { unwinds }: Definition): boolean =>
  ruling === 'cancel' && unwinds === true && head.sequence > 0 && frontier.tasks.size > 0;

/** Whether the workflow may have done anything: one without a checkpoint and without an effect has nothing to undo. */
const hasDone = ({ head, frontier }: StreamState): boolean =>
  head.sequence > 0 || frontier.tasks.find(({ effects }) => effects.length > 0) !== undefined;

/**
 * Checks that the workflow may end. Throws `ParkError` if another task has left an irreversible call open: after the end nobody would learn
 * its outcome.
 */
export function mustBeDecided(state: StreamState, definition: Definition, task: TaskId): void {
  // The workflow was pinned to another version meanwhile, and that version's worker ends it.
  if (!canRun(definition, state)) return;
  const open = openCalls(state.frontier, isOpenForGood).find((call) => call.task !== task);
  if (open !== undefined) throw openEffect(open, new Error('the workflow was about to end'));
}

/**
 * The drafts that end the workflow. It is compensated instead of failed if the definition wants that, and parked if another task has left
 * an irreversible call open.
 */
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
