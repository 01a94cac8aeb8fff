/**
 * Owns the state of a workflow right after one of its checkpoints. It folds the events up to there again, from whichever tier has them, so
 * the same sequence always gives the same state. It never writes.
 */

import { readingNow } from '@tidemark/codec';
import { type Controls, InvalidError, type Sequence, type StreamState, type WorkflowId } from '@tidemark/core';
import type { CheckpointRow, EventLog, ProjectionStore } from '@tidemark/ports';
import { workflowUnknown } from '../kernel/index.ts';
import { StreamContent } from './content.ts';
import { eventsThrough, historyDiffers, openingIn } from './workflow-events.ts';

export interface PastWorkflow {
  /** Folded up to the checkpoint. */
  readonly state: StreamState;
  /** Input, belief, inputs of the pending tasks, and journaled outcomes of their effects; of the opening alone for who may not see it. */
  readonly content: StreamContent;
  readonly opening: Controls['WorkflowOpened'];
  /** The checkpoint itself; sequence 0 is the opening. */
  readonly checkpoint: CheckpointRow;
}

type Reads = Pick<ProjectionStore, 'workflow' | 'checkpoints'>;

/**
 * Throws `InvalidError` (`workflow-unknown`, `sequence-unknown`, `history-forgotten`), `CorruptError` (`history-differs`),
 * `UnavailableError` (`object-archived`: restore it first).
 */
export async function workflowAt(
  { log, store }: { readonly log: EventLog; readonly store: Reads },
  workflow: WorkflowId,
  sequence: Sequence,
): Promise<PastWorkflow> {
  const row = await store.workflow(workflow);
  if (row === undefined) throw workflowUnknown(workflow);
  const [opening] = await store.checkpoints(workflow, { from: 0 as Sequence, limit: 1 });
  const [checkpoint] = sequence >= 0 ? await store.checkpoints(workflow, { from: sequence, limit: 1 }) : [];
  if (opening?.sequence !== 0 || checkpoint?.sequence !== sequence) {
    const newest = row.sequence === 0 ? 'no checkpoint yet' : `checkpoints 1 to ${row.sequence}`;
    throw new InvalidError(
      'sequence-unknown',
      `at: workflow ${workflow} has ${newest} (0 is its opening), and none with sequence ${sequence}.`,
      { workflow, sequence, newest: row.sequence },
    );
  }
  const content = new StreamContent();
  const showsContent = readingNow()?.showsContent ?? true;
  const events = eventsThrough(log, row, [opening.offset, checkpoint.offset]);
  let opened: Controls['WorkflowOpened'] | undefined;
  for (;;) {
    const { done, value } = await events.next();
    if (!done) {
      opened ??= openingIn(value, workflow);
      // For who may not see it, only the opening is: it says where a fork begins.
      if (showsContent || value.envelope.type === 'WorkflowOpened') content.apply(value.envelope, value.payload);
      continue;
    }
    const state = value.stream;
    if (opened === undefined || state?.head.sequence !== sequence) throw historyDiffers(workflow, sequence);
    return { state, content, opening: opened, checkpoint };
  }
}
