/**
 * Effects of one workflow: all of them by position, or a page in the order of their tasks and keys, which never changes; with or without
 * the places of their records. And the checkpoints of some tasks. Inputs: workflow; filters, each set of which makes a statement with a
 * plan of its own; the last effect of the page before. Locks: none. Index: effects_key (a page reads the places of its own rows alone); the
 * checkpoints' primary key, whose rows of other tasks are skipped.
 */

import {
  type EffectKey,
  type EffectKind,
  type Position,
  type Sequence,
  type TaskId,
  taskRank,
  type WorkflowId,
} from '@tidemark/core';
import type { EffectListing, EffectQuery, EffectRow, RecordPlace, TaskCommit } from '@tidemark/ports';
import { int8s, storable, textArray } from '../binary-array.ts';
import { nullableText, numberAt, placeAt, type Row, type Statement, textAt } from '../sql-client.ts';
import { taskOfRank, textOf } from './read-history.ts';

const all = `
select workflow, key, task_rank, operation, kind, status, request_digest, response_digest, position, at_ms, payload, request,
  ready and ($3::int8 is null or exists (select from workflows where workflow = $1 and position >= $3))
from meta left join effects on effects.workflow = $1 and ($2::int8 is null or task_rank = $2)
order by position, key`;

export const readEffects = (
  workflow: WorkflowId,
  { task, since }: { readonly task?: TaskId; readonly since?: Position },
): Statement => ({
  name: 'read-effects',
  text: all,
  values: [workflow, task === undefined ? null : String(taskRank(task)), textOf(since)],
});

const listed = 'workflow, key, task_rank, operation, kind, status, request_digest, response_digest, position, at_ms';
const LISTED_COUNT = 10;

interface PageQuery extends EffectQuery {
  readonly limit?: number | undefined;
}

function page(name: string, columns: string, workflow: WorkflowId, query: PageQuery): Statement {
  const { tasks, operation, key, after, limit } = query;
  const values: Statement['values'][number][] = [workflow];
  const place = (value: Statement['values'][number]): string => `$${values.push(value)}`;
  const names = [name];
  const conditions = ['workflow = $1'];
  const add = (filter: string, condition: string): void => {
    names.push(filter);
    conditions.push(condition);
  };
  if (tasks !== undefined) add('tasks', `task_rank = any(${place(int8s(tasks, taskRank))}::int8[])`);
  if (operation !== undefined) add('operation', `operation = ${place(storable(operation))}`);
  if (key !== undefined) add('key', `key = ${place(storable(key))}`);
  if (after !== undefined) {
    const [rank, last] = [place(String(taskRank(after.task))), place(storable(after.key))];
    add('after', `task_rank >= ${rank}::int8 and (task_rank > ${rank} or key > ${last})`);
  }
  const end = limit === undefined ? '' : ` limit ${place(String(limit))}`;
  if (limit !== undefined) names.push('limit');
  const text = `
select ${columns}, ready
from meta left join lateral (
  select * from effects where ${conditions.join(' and ')}
  order by task_rank, key${end}
) e on true
order by task_rank, key`;
  return { name: names.join('-'), text, values };
}

export const readEffectPage = (workflow: WorkflowId, query: PageQuery): Statement =>
  page('read-effect-page', `${listed}, payload, request`, workflow, query);

export const readEffectListings = (workflow: WorkflowId, query: PageQuery): Statement =>
  page('read-effect-listings', listed, workflow, query);

export const effectOf = (row: Row): EffectRow<RecordPlace> => ({
  ...effectListingOf(row),
  payload: placeAt(row, LISTED_COUNT),
  request: row[LISTED_COUNT + 1] == null ? null : placeAt(row, LISTED_COUNT + 1),
});

export const effectListingOf = (row: Row): EffectListing => ({
  workflow: textAt(row, 0) as WorkflowId,
  key: textAt(row, 1) as EffectKey,
  task: taskOfRank(numberAt(row, 2)),
  operation: textAt(row, 3),
  kind: textAt(row, 4) as EffectKind,
  status: textAt(row, 5) as EffectRow['status'],
  requestDigest: textAt(row, 6),
  responseDigest: nullableText(row, 7),
  position: numberAt(row, 8) as Position,
  atMs: numberAt(row, 9),
});

const commits = `
select task, sequence, ready
from meta left join lateral (
  select task, sequence from checkpoints where workflow = $1 and task = any($2::text[])
) c on true
order by sequence`;

export const readCommits = (workflow: WorkflowId, tasks: readonly TaskId[]): Statement => ({
  name: 'read-commits',
  text: commits,
  values: [workflow, textArray(tasks)],
});

export const commitOf = (row: Row): TaskCommit => ({
  task: textAt(row, 0) as TaskId,
  sequence: numberAt(row, 1) as Sequence,
});
