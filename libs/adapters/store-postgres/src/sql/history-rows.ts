/**
 * Rows of history of workflows, deleted once segments have them, and restored from there. Inputs: workflows; a partition and an offset.
 * Locks: the workflows' rows, so that deleting and restoring don't cross. Index: primary keys, workflows_restored. Cost: deleting 1,000
 * workflows of ten checkpoints 120 ms.
 */

import type { WorkflowId } from '@tidemark/core';
import type { SegmentRow } from '@tidemark/ports';
import { textArray } from '../binary-array.ts';
import type { Statement } from '../sql-client.ts';

/** Workflows that are closed and have rows; locks them. */
export const lockClosed = (workflows: readonly WorkflowId[]): Statement => ({
  name: 'lock-closed-with-rows',
  text: `
select workflow from workflows
where workflow = any($1::text[]) and closed_in_generation is not null and has_rows order by workflow for update`,
  values: [textArray(workflows)],
});

/** Workflows without rows; locks them. */
export const lockWithoutRows = (workflows: readonly WorkflowId[]): Statement => ({
  name: 'lock-without-rows',
  text: 'select workflow from workflows where workflow = any($1::text[]) and not has_rows order by workflow for update',
  values: [textArray(workflows)],
});

/** Workflows whose rows were restored before then; locks them. */
export const lockRestored = (beforeMs: number, limit: number): Statement => ({
  name: 'lock-restored',
  text: 'select workflow from workflows where restored_at_ms < $1 order by restored_at_ms limit $2 for update',
  values: [String(beforeMs), String(limit)],
});

export const findWithoutRows = (workflows: readonly WorkflowId[]): Statement => ({
  name: 'find-without-rows',
  text: 'select workflow from workflows where workflow = any($1::text[]) and not has_rows order by workflow',
  values: [textArray(workflows)],
});

const HISTORY = ['checkpoints', 'effects', 'events', 'fragments', 'texts', 'scopes'] as const;

/** A stream that closed in its partition's newest generation keeps its state: folds resume from it. */
const mark = `
update workflows w set has_rows = false, restored_at_ms = null,
  state = case when w.closed_in_generation < p.generation then '' else w.state end
from partitions p where w.workflow = any($1::text[]) and p.partition = w.partition`;

export function deleteHistory(workflows: readonly string[]): readonly Statement[] {
  const values = [textArray(workflows)];
  return [
    ...HISTORY.map((table) => ({
      name: `drop-${table}`,
      text: `delete from ${table} where workflow = any($1::text[])`,
      values,
    })),
    { name: 'mark-without-rows', text: mark, values },
  ];
}

/** Deletes states of workflows without rows that were kept while they were the newest of their partitions. */
export const forgetStates = (workflows: readonly WorkflowId[]): Statement => ({
  name: 'forget-states-without-rows',
  text: `
update workflows w set state = '' from partitions p
where w.workflow = any($1::text[]) and not w.has_rows and w.state <> ''
  and p.partition = w.partition and w.closed_in_generation < p.generation`,
  values: [textArray(workflows)],
});

export const markWithRows = (workflows: readonly string[], states: readonly string[], atMs: number): Statement => ({
  name: 'mark-with-rows',
  text: `
update workflows w set has_rows = true, restored_at_ms = $3, state = given.state
from (select unnest($1::text[]) as workflow, unnest($2::text[]) as state) given
where w.workflow = given.workflow`,
  values: [textArray(workflows), textArray(states), String(atMs)],
});

type Place = Pick<SegmentRow, 'partition' | 'from' | 'to'>;

/** Deletes what was rejected in an archived stretch, and records that. */
export const settleSegment = ({ partition, from, to }: Place): readonly Statement[] => [
  {
    name: 'drop-rejected',
    text: 'delete from rejected where partition = $1 and "offset" < $2',
    values: [String(partition), String(to)],
  },
  {
    name: 'mark-rows-dropped',
    text: 'update segments set rows_dropped = true where partition = $1 and starts = $2',
    values: [String(partition), String(from)],
  },
];
