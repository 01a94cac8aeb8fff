/** Owns which calls of a workflow an undo left as they were. It reads rows, and changes nothing. */

import { decodePayload } from '@tidemark/codec';
import { undoId, type WorkflowId } from '@tidemark/core';
import type { EffectListing, ProjectionStore } from '@tidemark/ports';
import { effectItem } from './compensation-items.ts';
import type { UndoOutput } from './undo-definition.ts';

/** All that may have been done are, where the undo has not completed, or its list of them has an end: nobody knows better. */
export async function leftUndone(
  store: Pick<ProjectionStore, 'workflow'>,
  workflow: WorkflowId,
): Promise<(effect: EffectListing) => boolean> {
  const undo = await store.workflow(undoId(workflow));
  const isKnown = undo?.status === 'completed' && undo.result !== null;
  const output = isKnown
    ? (decodePayload('WorkflowCompleted', undo.result!).output as unknown as UndoOutput)
    : undefined;
  const keys =
    output?.leftCount === output?.left.length && output ? new Set(output.left.map(({ key }) => key)) : undefined;
  return (effect) => effectItem(effect).length > 0 && (keys === undefined || keys.has(effect.key));
}
