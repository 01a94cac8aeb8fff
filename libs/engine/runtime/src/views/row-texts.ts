/**
 * Owns which columns of rows have workflow content, and the place of each text. A sealed text is bound to its place, so it can't be moved
 * to another row. Pure: it receives the function that transforms texts on their way in and out. Columns for dispatch, queries and searches
 * are not content (see docs/encryption.md).
 */

import type { WorkflowId } from '@tidemark/core';
import type {
  ContextBatch,
  MemoryRow,
  Placed,
  PlacementRequest,
  ProjectionBatch,
  ScopeRow,
  TextRow,
  WorkflowSummary,
} from '@tidemark/ports';

/** Transforms one text at its place: seals it with its workflow's key, moves it into a blob, or reverses either. */
export type TransformText = (text: string, place: string, workflow: WorkflowId) => string;

const inMemory = ({ tenant, subject, kind, key }: MemoryRow) =>
  `memories/${JSON.stringify([tenant, subject, kind, key])}`;
const inText = (digest: string, workflow: WorkflowId) => `texts/${workflow}/${digest}`;
const inResult = (workflow: WorkflowId) => `results/${workflow}`;
const inOpening = (workflow: WorkflowId) => `openings/${workflow}`;

export const turnScope = (row: ScopeRow, turn: TransformText): ScopeRow => ({
  ...row,
  change: turn(row.change, `scopes/${row.workflow}/${row.sequence}`, row.workflow),
});

export const turnMemory = <R extends MemoryRow>(row: R, turn: TransformText): R => ({
  ...row,
  value: turn(row.value, inMemory(row), row.workflow),
});

/** A text of the workflow with its digest as the name. */
export const turnNamed =
  (workflow: WorkflowId) =>
  <R extends Pick<TextRow, 'digest' | 'text'>>(row: R, turn: TransformText): R => ({
    ...row,
    text: turn(row.text, inText(row.digest, workflow), workflow),
  });

export const turnSummary = (row: WorkflowSummary, turn: TransformText): WorkflowSummary => ({
  ...row,
  result: row.result === null ? null : turn(row.result, inResult(row.workflow), row.workflow),
});

export function turnOpening<P extends Placed | PlacementRequest>(row: P, turn: TransformText): P {
  if (!('opening' in row)) return row;
  return { ...row, opening: turn(row.opening, inOpening(row.workflow), row.workflow) };
}

const turnContext = (context: ContextBatch, turn: TransformText): ContextBatch => ({
  ...context,
  texts: context.texts.map((row) => turnNamed(row.workflow)(row, turn)),
  scopes: context.scopes.map((row) => turnScope(row, turn)),
});

export const turnBatch = (batch: ProjectionBatch, turn: TransformText): ProjectionBatch => ({
  ...batch,
  closed: batch.closed.map((row) => ({ ...row, result: turn(row.result, inResult(row.workflow), row.workflow) })),
  memories: batch.memories?.map((row) => turnMemory(row, turn)),
  context: batch.context && turnContext(batch.context, turn),
});
