/**
 * Owns what there is to compensate in a frozen workflow, read from its rows, newest first: effects that happened or may have happened, and
 * committed steps that registered a compensation. It compensates nothing, and never writes.
 */

import { decodePayload, type Payloads } from '@tidemark/codec';
import {
  CorruptError,
  type EffectKey,
  type Json,
  type Position,
  type Sequence,
  type TaskId,
  taskOrder,
  type WorkflowId,
} from '@tidemark/core';
import type { CheckpointRow, EffectListing, ProjectionStore } from '@tidemark/ports';
import { MODEL_OPERATION } from '../agent/index.ts';
import { OUTPUTS_PAGE_COUNT } from '../history/index.ts';

/** The reads by an undo of the workflow that it compensates. */
export type CompensationReads = Pick<ProjectionStore, 'workflow' | 'effects' | 'checkpoints'>;

/** `position`: later positions are compensated first, and effects that are still open come before all. */
export type CompensationItem = { readonly position: number } & (
  | {
      readonly kind: 'effect';
      readonly task: TaskId;
      readonly key: EffectKey;
      readonly operation: string;
      readonly outcome: 'done' | 'unknown';
    }
  | { readonly kind: 'step'; readonly sequence: Sequence; readonly step: string }
);

/** After every position. */
export const OPEN_POSITION = Number.MAX_SAFE_INTEGER;

export interface UndoAfter {
  readonly position: Position;
  readonly tasks: readonly TaskId[];
}

/** Items before `below`, and after `after`, newest first, from rows that have the workflow up to `since`. `steps`: those that registered a compensation. */
export async function compensationItems(
  rows: CompensationReads,
  workflow: WorkflowId,
  steps: readonly string[],
  { below, after }: { readonly below: number | null; readonly after?: UndoAfter | undefined },
  since: Position,
): Promise<readonly CompensationItem[]> {
  const found: CompensationItem[] = (await rows.effects(workflow, { since })).flatMap(effectItem);
  for (const step of steps) await addSteps(rows, workflow, step, since, found);
  const wanted = found.filter(
    (item) => (below === null || item.position < below) && (after === undefined || isAfter(item, after)),
  );
  return wanted.sort((a, b) => b.position - a.position);
}

const isAfter = (item: CompensationItem, { position, tasks }: UndoAfter): boolean =>
  item.position > position || (item.kind === 'effect' && tasks.includes(item.task));

/** The item for an effect, or none when there is nothing to compensate. */
export function effectItem(effect: EffectListing): readonly (CompensationItem & { readonly kind: 'effect' })[] {
  const { task, key, operation, kind, status, position } = effect;
  // A model call has changed nothing outside.
  if (kind === 'pure' || status === 'failed' || operation === MODEL_OPERATION) return [];
  const isDone = status === 'done';
  const outcome = isDone ? 'done' : 'unknown';
  return [{ kind: 'effect', position: isDone ? position : OPEN_POSITION, task, key, operation, outcome }];
}

async function addSteps(
  rows: CompensationReads,
  workflow: WorkflowId,
  step: string,
  since: Position,
  to: CompensationItem[],
): Promise<void> {
  for (let from = 1 as Sequence; ; ) {
    const page = await rows.checkpoints(workflow, { from, limit: OUTPUTS_PAGE_COUNT, step, since });
    for (const { sequence, position } of page) to.push({ kind: 'step', position, sequence, step });
    if (page.length < OUTPUTS_PAGE_COUNT) return;
    from = (page.at(-1)!.sequence + 1) as Sequence;
  }
}

/** The effect's response, or its request while its outcome is unknown. */
export async function effectToUndo(
  rows: CompensationReads,
  workflow: WorkflowId,
  task: TaskId,
  key: EffectKey,
  outcome: 'done' | 'unknown',
): Promise<Json> {
  const row = (await rows.effects(workflow, { task })).find((effect) => effect.key === key);
  if (row === undefined) throw missing(workflow, `its effect ${key}`);
  if (outcome === 'done') return decodePayload('EffectResolved', row.payload)['response' as never] ?? null;
  if (row.request === null) throw missing(workflow, `the request of its effect ${key}`);
  return decodePayload('EffectIntended', row.request).request;
}

/** The committed step's input and output. */
export async function stepToUndo(
  rows: CompensationReads,
  workflow: WorkflowId,
  sequence: Sequence,
): Promise<{ readonly input: Json; readonly output: Json }> {
  const row = await checkpointAt(rows, workflow, sequence);
  if (row.task === null) throw missing(workflow, `the task of its checkpoint ${sequence}`);
  const [createdAt, index] = taskOrder(row.task);
  const creator = await checkpointAt(rows, workflow, createdAt as Sequence);
  const { tasks }: Payloads['WorkflowOpened' | 'CheckpointCommitted'] = decodePayload(
    createdAt === 0 ? 'WorkflowOpened' : 'CheckpointCommitted',
    creator.payload,
  );
  return { input: tasks[index] ?? null, output: decodePayload('CheckpointCommitted', row.payload).output };
}

async function checkpointAt(rows: CompensationReads, workflow: WorkflowId, sequence: Sequence): Promise<CheckpointRow> {
  const [row] = await rows.checkpoints(workflow, { from: sequence, limit: 1 });
  if (row?.sequence !== sequence) throw missing(workflow, `its checkpoint ${sequence}`);
  return row;
}

const missing = (workflow: WorkflowId, what: string): CorruptError =>
  new CorruptError('rows-incomplete', `The rows of workflow ${workflow} don't hold ${what}.`, { workflow });
