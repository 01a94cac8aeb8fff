/**
 * One workflow's history for people and steps: pending tasks, checkpoints, other events; and what was rejected.
 * Inputs: workflow, limits, where the page before ended. Locks: none. Index: primary keys, checkpoints_corrections, rejected_newest. Cost: at most 1 ms for 100 rows.
 */

import {
  type CheckpointId,
  type Epoch,
  type EventId,
  type HolderId,
  type Lamport,
  type Offset,
  type Partition,
  type Position,
  type Sequence,
  TASKS_PER_CHECKPOINT_MAX,
  type TaskId,
  type TenantId,
  taskId,
  taskRank,
  type WorkflowId,
} from '@tidemark/core';
import type {
  CheckpointRow,
  Correction,
  EventQuery,
  EventRow,
  FoldedStream,
  JsonText,
  RecordPlace,
  RejectedPlace,
  RejectedRow,
  TaskRow,
} from '@tidemark/ports';
import { int8s, storable, textArray } from '../binary-array.ts';
import {
  booleanAt,
  nullableNumber,
  nullableText,
  numberAt,
  placeAt,
  type Row,
  type Rows,
  type Statement,
  textAt,
} from '../sql-client.ts';
import { spendPartsAt } from './spend-columns.ts';

export const taskOfRank = (rank: number): TaskId =>
  taskId(Math.floor(rank / TASKS_PER_CHECKPOINT_MAX), rank % TASKS_PER_CHECKPOINT_MAX);

const tasks = `
select workflow, rank, step, unblocked, cause, state from tasks
where workflow = $1 and rank > $3::int8 order by rank limit $2`;

export const readTasks = (workflow: WorkflowId, limit: number, after: TaskId | null): Statement => ({
  name: 'read-tasks',
  text: tasks,
  values: [workflow, String(limit), after === null ? '-1' : String(taskRank(after))],
});

const frontiers = `
select w.workflow, w.state, t.state from workflows w left join lateral (
  select rank, state from tasks where workflow = w.workflow order by rank limit $2
) t on true
where w.workflow = any($1::text[]) and w.closed_in_generation is null and w.state <> ''
order by w.workflow, t.rank`;

export const readFrontiers = (workflows: readonly WorkflowId[], limit: number): Statement => ({
  name: 'read-frontiers',
  text: frontiers,
  values: [textArray(workflows), String(limit)],
});

export function frontiersOf(rows: Rows): ReadonlyMap<WorkflowId, FoldedStream> {
  const found = new Map<WorkflowId, { readonly state: JsonText; readonly tasks: JsonText[] }>();
  for (const row of rows) {
    const workflow = textAt(row, 0) as WorkflowId;
    const stream = found.get(workflow) ?? { state: textAt(row, 1), tasks: [] };
    found.set(workflow, stream);
    const task = nullableText(row, 2);
    if (task !== null) stream.tasks.push(task);
  }
  return found;
}

export const taskOf = (row: Row): TaskRow => ({
  workflow: textAt(row, 0) as WorkflowId,
  task: taskOfRank(numberAt(row, 1)),
  rank: numberAt(row, 1),
  step: textAt(row, 2),
  unblocked: booleanAt(row, 3),
  cause: nullableText(row, 4) as EventId | null,
  state: textAt(row, 5),
});

/**
 * Rows that steps build on come with the store's readiness in the last column, from the same snapshot. Undefined when the store is being
 * rebuilt or is behind the position that the reader knows, since its rows are then incomplete.
 */
export function whenReady<T>(rows: Rows, of: (row: Row) => T): readonly T[] | undefined {
  const found: T[] = [];
  for (const row of rows) {
    if (!booleanAt(row, row.length - 1)) return undefined;
    // An empty result is one row of nulls beside the readiness.
    if (row[0] !== null) found.push(of(row));
  }
  return found;
}

export const textOf = (number: number | undefined): string | null => (number === undefined ? null : String(number));

const checkpoints = `
select workflow, sequence, checkpoint, parent, task, step, step_version, input_digest, belief, tokens, cost_micros,
  last_action, epoch, holder, position, "offset", lamport, at_ms, payload, supersedes, spend_parts,
  ready and ($5::int8 is null or exists (select from workflows where workflow = $1 and position >= $5))
from meta left join lateral (
  select * from checkpoints
  where workflow = $1 and sequence >= $2 and ($3::text is null or step = $3)
  order by sequence limit $4
) c on true
order by sequence`;

export const readCheckpoints = (
  workflow: WorkflowId,
  options: { readonly from: Sequence; readonly limit: number; readonly step?: string; readonly since?: Position },
): Statement => ({
  name: 'read-checkpoints',
  text: checkpoints,
  values: [workflow, String(options.from), options.step ?? null, String(options.limit), textOf(options.since)],
});

export const checkpointOf = (row: Row): CheckpointRow<RecordPlace> => ({
  workflow: textAt(row, 0) as WorkflowId,
  sequence: numberAt(row, 1) as Sequence,
  checkpoint: nullableText(row, 2) as CheckpointId | null,
  parent: nullableText(row, 3) as CheckpointId | null,
  task: nullableText(row, 4) as TaskId | null,
  step: nullableText(row, 5),
  stepVersion: numberAt(row, 6),
  inputDigest: textAt(row, 7),
  belief: textAt(row, 8) as CheckpointRow['belief'],
  tokens: numberAt(row, 9),
  costMicros: numberAt(row, 10),
  lastAction: textAt(row, 11),
  epoch: numberAt(row, 12) as Epoch,
  holder: textAt(row, 13) as HolderId,
  position: numberAt(row, 14) as Position,
  offset: numberAt(row, 15) as Offset,
  lamport: numberAt(row, 16) as Lamport,
  atMs: numberAt(row, 17),
  payload: placeAt(row, 18),
  supersedes: nullableNumber(row, 19) as Sequence | null,
  ...spendPartsAt(row, 20),
});

/** Reads the index once for each sequence, however many corrections that has. */
const corrections = `
select asked, c.sequence, ready
from meta left join lateral (
  select asked, newest.sequence from unnest($2::int8[]) asked cross join lateral (
    select sequence from checkpoints where workflow = $1 and supersedes = asked order by sequence desc limit 1
  ) newest
) c on true
order by asked`;

export const readCorrections = (workflow: WorkflowId, sequences: readonly Sequence[]): Statement => ({
  name: 'read-corrections',
  text: corrections,
  values: [workflow, int8s(sequences, (sequence) => sequence)],
});

export const correctionOf = (row: Row): Correction => ({
  supersedes: numberAt(row, 0) as Sequence,
  sequence: numberAt(row, 1) as Sequence,
});

const events = (filters: string): string => `
select workflow, position, event, type, epoch, holder, lamport, "offset", at_ms, control, payload
from (select * from events where workflow = $1${filters} order by position desc limit $2) newest
order by position`;

/** Searches for one by its id from the newest back, and reads no text before it finds it. */
export const readEvents = (workflow: WorkflowId, limit: number, query: EventQuery): Statement => {
  const { event, position, before } = query;
  const values: string[] = [workflow, String(limit)];
  let [name, filters] = ['read-events', ''];
  const add = (filter: string, condition: string, value: string): void => {
    name += `-${filter}`;
    filters += ` and ${condition} $${values.push(value)}`;
  };
  if (event !== undefined) add('named', 'event =', storable(event));
  if (position !== undefined) add('at', 'position =', String(position));
  if (before !== undefined) add('before', 'position <', String(before));
  return { name, text: events(filters), values };
};

export const eventOf = (row: Row): EventRow<RecordPlace> => ({
  workflow: textAt(row, 0) as WorkflowId,
  position: numberAt(row, 1) as Position,
  event: textAt(row, 2) as EventId,
  type: textAt(row, 3),
  epoch: numberAt(row, 4) as Epoch,
  holder: textAt(row, 5) as HolderId,
  lamport: numberAt(row, 6) as Lamport,
  offset: numberAt(row, 7) as Offset,
  atMs: numberAt(row, 8),
  control: textAt(row, 9),
  payload: placeAt(row, 10),
});

const rejected = `
select partition, "offset", workflow, type, reason, evidence, at_ms from rejected
where ($2::text is null or workflow in (select workflow from workflows where tenant = $2))
  and at_ms <= $3::float8 and (at_ms < $3 or partition > $4::int4 or (partition = $4 and "offset" < $5::int8))
order by at_ms desc, partition, "offset" desc limit $1`;

/** Newest first. */
export const readRejected = (limit: number, tenant: TenantId | null, after: RejectedPlace | null): Statement => ({
  name: 'read-rejected',
  text: rejected,
  values: [
    ...[String(limit), tenant, String(after?.atMs ?? 'Infinity')],
    ...[String(after?.partition ?? 0), String(after?.offset ?? 0)],
  ],
});

export const rejectedOf = (row: Row): RejectedRow => ({
  partition: numberAt(row, 0) as Partition,
  offset: numberAt(row, 1) as Offset,
  workflow: nullableText(row, 2),
  type: nullableText(row, 3),
  reason: textAt(row, 4),
  evidence: textAt(row, 5),
  atMs: numberAt(row, 6),
});
