/** Owns the rows that tests of projection stores write: plain defaults, of which a test overrides what matters to it. */

import {
  type CheckpointId,
  type EffectKey,
  type Epoch,
  type EventId,
  type Generation,
  type HolderId,
  type Lamport,
  type Offset,
  type Partition,
  type Position,
  type Sequence,
  type TaskId,
  type TenantId,
  taskId,
  taskRank,
  type WorkflowId,
} from '@tidemark/core';
import type {
  CheckpointRow,
  EffectRow,
  EventRow,
  OpenedRow,
  PartitionAdvance,
  PlacementRequest,
  ProjectionBatch,
  RecordPlace,
  RejectedRow,
  StreamRow,
  TaskRow,
  TimerRow,
} from '@tidemark/ports';

export const workflowNamed = (name: string): WorkflowId => name as WorkflowId;
export const tenant = 'acme' as TenantId;
export const partitionAt = (index: number): Partition => index as Partition;
export const at = (offset: number): Offset => offset as Offset;
const digest = 'd'.repeat(64);

export function batch(part: Partial<ProjectionBatch>): ProjectionBatch {
  return {
    partitions: [],
    opened: [],
    streams: [],
    closed: [],
    tasksPut: [],
    tasksGone: [],
    checkpoints: [],
    effects: [],
    events: [],
    timersPut: [],
    timersGone: [],
    rejected: [],
    ...part,
  };
}

export const advance = (partition: number, from: number, to: number, generation = 1): PartitionAdvance => ({
  partition: partitionAt(partition),
  from: at(from),
  to: at(to),
  generation: generation as Generation,
});

export const opened = (workflow: string, partition: number, generation = 1, by = tenant): OpenedRow => ({
  workflow: workflowNamed(workflow),
  tenant: by,
  partition: partitionAt(partition),
  generation: generation as Generation,
  session: null,
  event: `${workflow}-opened` as EventId,
});

export const closed = (workflow: string, partition: number, result = '{"output":1}') => ({
  workflow: workflowNamed(workflow),
  partition: partitionAt(partition),
  result,
});

export function streamRow(workflow: string, partition: number, part: Partial<StreamRow> = {}): StreamRow {
  return {
    workflow: workflowNamed(workflow),
    tenant,
    partition: partitionAt(partition),
    generation: 1 as Generation,
    definition: 'audit',
    version: 1,
    pinned: false,
    status: 'open',
    reason: null,
    position: 1 as Position,
    sequence: 0 as Sequence,
    checkpoint: null,
    beliefSequence: 0 as Sequence,
    epoch: 0 as Epoch,
    holder: null,
    lamport: 1 as Lamport,
    openedAtMs: 1_700_000_000_000,
    updatedAtMs: 1_700_000_000_000,
    tokens: 0,
    costMicros: 0,
    lastAction: '',
    runnable: true,
    pendingCount: 1,
    closedInGeneration: null,
    state: '{"stateVersion":1}',
    ...part,
  };
}

export function taskRow(workflow: string, task: TaskId, part: Partial<TaskRow> = {}): TaskRow {
  return {
    workflow: workflowNamed(workflow),
    task,
    rank: taskRank(task),
    step: 'analyse',
    unblocked: true,
    cause: null,
    state: `{"id":"${task}"}`,
    ...part,
  };
}

/** The place of a record with a payload of this size. */
export const said = (offset: number, bytes = 10): RecordPlace => ({
  partition: partitionAt(0),
  offset: at(offset),
  bytes,
});

export function checkpointRow(
  workflow: string,
  sequence: number,
  part: Partial<CheckpointRow<RecordPlace>> = {},
): CheckpointRow<RecordPlace> {
  return {
    workflow: workflowNamed(workflow),
    sequence: sequence as Sequence,
    checkpoint: sequence === 0 ? null : (`checkpoint-${sequence}` as CheckpointId),
    parent: sequence < 2 ? null : (`checkpoint-${sequence - 1}` as CheckpointId),
    task: sequence === 0 ? null : taskId(sequence - 1, 0),
    step: sequence === 0 ? null : 'analyse',
    stepVersion: 1,
    inputDigest: digest,
    belief: 'none',
    tokens: 3,
    costMicros: 4,
    lastAction: `did ${sequence}`,
    supersedes: null,
    epoch: 1 as Epoch,
    holder: 'worker-1' as HolderId,
    position: (sequence + 1) as Position,
    offset: at(sequence),
    lamport: (sequence + 1) as Lamport,
    atMs: 1_700_000_000_000 + sequence,
    payload: said(sequence),
    ...part,
  };
}

export function effectRow(
  workflow: string,
  task: TaskId,
  name: string,
  part: Partial<EffectRow<RecordPlace>> = {},
): EffectRow<RecordPlace> {
  return {
    workflow: workflowNamed(workflow),
    key: `${workflow}:${task}:pay:${name}` as EffectKey,
    task,
    operation: 'pay',
    kind: 'idempotent',
    status: 'intended',
    requestDigest: digest,
    responseDigest: null,
    position: 1 as Position,
    atMs: 1_700_000_000_000,
    payload: said(1),
    request: said(1),
    ...part,
  };
}

export function eventRow(
  workflow: string,
  position: number,
  part: Partial<EventRow<RecordPlace>> = {},
): EventRow<RecordPlace> {
  return {
    workflow: workflowNamed(workflow),
    position: position as Position,
    event: `${workflow}-${position}` as EventId,
    type: 'SignalReceived',
    epoch: 0 as Epoch,
    holder: '' as HolderId,
    lamport: position as Lamport,
    offset: at(position - 1),
    atMs: 1_700_000_000_000,
    control: '{"name":"approved"}',
    payload: said(position - 1),
    ...part,
  };
}

export const timerRow = (workflow: string, partition: number, timer: string, dueAtMs: number): TimerRow => ({
  workflow: workflowNamed(workflow),
  timer,
  partition: partitionAt(partition),
  dueAtMs,
});

export function rejectedRow(partition: number, offset: number, part: Partial<RejectedRow> = {}): RejectedRow {
  return {
    partition: partitionAt(partition),
    offset: at(offset),
    workflow: null,
    type: null,
    reason: 'malformed',
    evidence: 'not an event',
    atMs: 1_700_000_000_000 + offset,
    ...part,
  };
}

export const request = (workflow: string, part: Partial<PlacementRequest> = {}): PlacementRequest => ({
  workflow: workflowNamed(workflow),
  tenant,
  mode: 'exclusive',
  session: null,
  opening: `{"workflow":"${workflow}"}`,
  ...part,
});

/** The opening of a workflow with one task: the least that a batch can hold of a new stream. */
export function openingBatch(workflow: string, partition: number, from = 0, generation = 1): ProjectionBatch {
  return batch({
    partitions: [advance(partition, from, from + 1, generation)],
    opened: [opened(workflow, partition, generation)],
    streams: [streamRow(workflow, partition, { generation: generation as Generation })],
    tasksPut: [taskRow(workflow, taskId(0, 0))],
    checkpoints: [checkpointRow(workflow, 0, { offset: at(from) })],
  });
}

/** The closing of a workflow whose only task is the first. */
export function closingBatch(workflow: string, partition: number, from: number, generation = 1): ProjectionBatch {
  return batch({
    partitions: [advance(partition, from, from + 1, generation)],
    streams: [
      streamRow(workflow, partition, {
        generation: generation as Generation,
        status: 'completed',
        runnable: false,
        pendingCount: 0,
        position: 2 as Position,
        closedInGeneration: generation as Generation,
      }),
    ],
    closed: [closed(workflow, partition)],
  });
}
