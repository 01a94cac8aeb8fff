/**
 * Owns what is known of the undoing of a workflow: why, what its undo did and left, and whether an undo waits for a person.
 * That something was undone is said only when something was.
 */

import { endingOf } from '@tidemark/api/shapes';
import { decodePayload } from '@tidemark/codec';
import type { WorkflowSummary } from '@tidemark/ports';
import { type UndoOutput, undoId } from '@tidemark/runtime';
import { EVENTS_READ_MAX } from '../limits.ts';
import type { Reads } from '../state/desk.ts';

/** What an undo came to. */
export type UndoCounts = Pick<UndoOutput, 'undone' | 'leftCount'>;

export interface Undoing {
  /** The workflow that undoes. */
  readonly undo: string;
  /** Why, in words; empty where it isn't known. */
  readonly why: string;
  /** Once the undo has completed. */
  readonly counts: UndoCounts | undefined;
  /** The undo that waits for a person: the workflow's own, or one that undoes that one. */
  readonly waits: WorkflowSummary | undefined;
}

/** Undefined: it is not, and was not, undone. */
export async function undoingOf(reads: Reads, row: WorkflowSummary): Promise<Undoing | undefined> {
  if (row.status !== 'compensating' && row.status !== 'compensated') return undefined;
  const started = (await reads.events(row.workflow, EVENTS_READ_MAX)).findLast(
    ({ type }) => type === 'CompensationStarted',
  );
  return {
    undo: undoId(row.workflow),
    // What was forgotten has none.
    why: started === undefined ? '' : (decodePayload('CompensationStarted', started.payload).error?.message ?? ''),
    counts: await countsOf(reads, row),
    waits: await waitingUndo(reads, row),
  };
}

/** What the undo of a workflow did; undefined until it has completed. */
export async function countsOf(
  reads: Pick<Reads, 'workflow'>,
  { workflow }: Pick<WorkflowSummary, 'workflow'>,
): Promise<UndoCounts | undefined> {
  const undo = await reads.workflow(undoId(workflow));
  const ending = undo && endingOf(undo);
  return ending?.kind === 'completed' ? (ending.output as unknown as UndoCounts) : undefined;
}

/** Of a workflow that is being undone: the undo, of it or of its undo, that waits for a person. */
export async function waitingUndo(
  reads: Pick<Reads, 'workflow'>,
  row: WorkflowSummary,
): Promise<WorkflowSummary | undefined> {
  let at: WorkflowSummary | undefined = row;
  while (at?.status === 'compensating') at = await reads.workflow(undoId(at.workflow));
  return at !== row && at?.status === 'parked' ? at : undefined;
}

/** `2 undone, 1 left as it is`. */
export const countWords = ({ undone, leftCount }: UndoCounts): string =>
  `${undone} undone, ${leftCount} left as ${leftCount === 1 ? 'it is' : 'they are'}`;

/** How a workflow ended that was to be undone. */
export const endedWords = (counts: UndoCounts | undefined): string =>
  counts?.undone === 0 ? 'ended with nothing undone' : 'was undone';

/** Why it is or was undone: code and words. */
export const causeWords = (reason: string, why: string): string => (why === '' ? reason : `${reason}: ${why}`);
