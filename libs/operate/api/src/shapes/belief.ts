/** Owns computing the current belief from the rows: the newest snapshot and the deltas after it. */

import { decodePayload, foldFor, keepValue } from '@tidemark/codec';
import { applyDelta, type Delta, type Json, type Sequence, sequence } from '@tidemark/core';
import type { CheckpointRow, ProjectionStore, WorkflowSummary } from '@tidemark/ports';
import { isForgotten } from '@tidemark/runtime';

/** Checkpoints that one read fetches to fold a belief: they are in memory together. */
const CHECKPOINTS_PAGE_COUNT = 50;

type Reads = Pick<ProjectionStore, 'checkpoints'>;

/** Checkpoints from a sequence on, up to one, page by page. */
export async function* checkpointsOf(
  reads: Reads,
  workflow: WorkflowSummary['workflow'],
  from: number,
  to: number,
): AsyncGenerator<CheckpointRow> {
  for (let next = from; next <= to; ) {
    const limit = Math.min(CHECKPOINTS_PAGE_COUNT, to - next + 1);
    const page = await reads.checkpoints(workflow, { from: sequence(next), limit });
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    next = last.sequence + 1;
  }
}

/** Belief at the newest checkpoint of the summary. */
export async function beliefOf(reads: Reads, row: WorkflowSummary): Promise<Json> {
  const folded = async (): Promise<Json> => {
    let belief: Json = null;
    for await (const checkpoint of checkpointsOf(reads, row.workflow, row.beliefSequence, row.sequence)) {
      belief = believe(belief, checkpoint.sequence, checkpoint.payload);
    }
    return belief;
  };
  return keepValue(await foldFor(folded));
}

function believe(before: Json, at: Sequence, payload: string): Json {
  // A forgotten workflow has none.
  if (at === 0) return decodePayload('WorkflowOpened', payload).belief ?? null;
  const { snapshot, delta } = decodePayload('CheckpointCommitted', payload);
  if (snapshot !== undefined) return snapshot;
  return delta === undefined ? before : applyDelta(before, delta as Delta);
}

/** Whether the workflow's content is permanently gone: its key was destroyed. */
export async function isHistoryForgotten(reads: Reads, workflow: WorkflowSummary['workflow']): Promise<boolean> {
  return isOpeningForgotten(await openingOf(reads, workflow));
}

export const isOpeningForgotten = (opening: CheckpointRow | undefined): boolean =>
  opening?.sequence === 0 && isForgotten(opening);

/** Undefined while the rows don't know it. */
export async function openingOf(
  reads: Reads,
  workflow: WorkflowSummary['workflow'],
): Promise<CheckpointRow | undefined> {
  const [opening] = await reads.checkpoints(workflow, { from: sequence(0), limit: 1 });
  return opening;
}

/** The workflow's input; undefined while the rows don't know it. */
export async function inputOf(reads: Reads, workflow: WorkflowSummary['workflow']): Promise<Json | undefined> {
  const opening = await openingOf(reads, workflow);
  return opening && inputIn(opening);
}

export const inputIn = ({ payload }: CheckpointRow): Json => decodePayload('WorkflowOpened', payload).input ?? null;
