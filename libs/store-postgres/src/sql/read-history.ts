/**
 * One workflow's history for people and steps: pending tasks, checkpoints, effects, other events; and what was rejected.
 * Inputs: workflow and limits. Locks: none. Index: primary keys, effects_key, rejected_newest. Cost: 1 ms for 100 rows of 1 KB.
 */

import {
  type CheckpointId,
  type EffectKey,
  type EffectKind,
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
import type { CheckpointRow, EffectRow, EventRow, RejectedRow, TaskRow } from '@tidemark/ports';
import {
  booleanAt,
  nullableNumber,
  nullableText,
  numberAt,
  type Row,
  type Rows,
  type Statement,
  textAt,
} from '../sql-client.ts';

export const taskOfRank = (rank: number): TaskId =>
  taskId(Math.floor(rank / TASKS_PER_CHECKPOINT_MAX), rank % TASKS_PER_CHECKPOINT_MAX);

export const readTasks = (workflow: WorkflowId, limit: number): Statement => ({
  name: 'read-tasks',
  text: 'select workflow, rank, step, unblocked, cause, state from tasks where workflow = $1 order by rank limit $2',
  values: [workflow, String(limit)],
});

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
 * Rows that steps build on come with the store's readiness in the last column, of the same snapshot: undefined when it is being
 * rebuilt, or has gone back behind what the reader knows, since what is there then is less than what was.
 */
export function whenReady<T>(rows: Rows, of: (row: Row) => T): readonly T[] | undefined {
  const found: T[] = [];
  for (const row of rows) {
    if (!booleanAt(row, row.length - 1)) return undefined;
    // Without any, there is one row of nothing beside the readiness.
    if (row[0] !== null) found.push(of(row));
  }
  return found;
}

const textOf = (number: number | undefined): string | null => (number === undefined ? null : String(number));

const checkpoints = `
select workflow, sequence, checkpoint, parent, task, step, step_version, input_digest, belief, tokens, cost_micros,
  last_action, epoch, holder, position, "offset", lamport, at_ms, payload, supersedes,
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

export const checkpointOf = (row: Row): CheckpointRow => ({
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
  payload: textAt(row, 18),
  supersedes: nullableNumber(row, 19) as Sequence | null,
});

const effects = `
select workflow, key, task_rank, operation, kind, status, request_digest, response_digest, position, at_ms, payload, request,
  ready and ($3::int8 is null or exists (select from workflows where workflow = $1 and position >= $3))
from meta left join effects on effects.workflow = $1 and ($2::int8 is null or task_rank = $2)
order by position, key`;

export const readEffects = (
  workflow: WorkflowId,
  { task, since }: { readonly task?: TaskId; readonly since?: Position },
): Statement => ({
  name: 'read-effects',
  text: effects,
  values: [workflow, task === undefined ? null : String(taskRank(task)), textOf(since)],
});

export const effectOf = (row: Row): EffectRow => ({
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
  payload: textAt(row, 10),
  request: nullableText(row, 11),
});

const events = `
select workflow, position, event, type, epoch, holder, lamport, "offset", at_ms, control, payload
from (select * from events where workflow = $1 order by position desc limit $2) newest
order by position`;

export const readEvents = (workflow: WorkflowId, limit: number): Statement => ({
  name: 'read-events',
  text: events,
  values: [workflow, String(limit)],
});

export const eventOf = (row: Row): EventRow => ({
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
  payload: textAt(row, 10),
});

/** Newest first. */
export const readRejected = (limit: number, tenant: TenantId | null): Statement => ({
  name: 'read-rejected',
  text: `
select partition, "offset", workflow, type, reason, evidence, at_ms from rejected
where $2::text is null or workflow in (select workflow from workflows where tenant = $2)
order by at_ms desc, partition, "offset" desc limit $1`,
  values: [String(limit), tenant],
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
