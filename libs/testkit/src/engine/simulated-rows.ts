/** Owns one workflow's rows in the simulated store, and what a claim reads of them. Must not be used outside tests. */

import { type Generation, InvalidError, type Offset, type Partition, taskOrder, type WorkflowId } from '@tidemark/core';
import type {
  CheckpointRow,
  DueTimer,
  EffectRow,
  EventRow,
  Placement,
  ProjectionBatch,
  RecordPlace,
  StreamRow,
  StreamSnapshot,
  TaskRow,
  TimerRow,
  WorkflowSummary,
} from '@tidemark/ports';

export interface Rows {
  stream: StreamRow;
  result: string | null;
  readonly tasks: Map<string, TaskRow>;
  readonly checkpoints: CheckpointRow<RecordPlace>[];
  readonly effects: Map<string, EffectRow<RecordPlace>>;
  readonly events: EventRow<RecordPlace>[];
  readonly timers: Map<string, TimerRow>;
  hasRows: boolean;
  restoredAtMs: number | null;
}

export const newRows = (stream: StreamRow): Rows => ({
  stream,
  result: null,
  tasks: new Map(),
  checkpoints: [],
  effects: new Map(),
  events: [],
  timers: new Map(),
  hasRows: true,
  restoredAtMs: null,
});

/** A reader's view of a workflow. */
export function summaryOf({ stream: { state, ...row }, result }: Rows): WorkflowSummary {
  if (row.status !== 'parked') return { ...row, result, question: null };
  const { question, failedOn } = JSON.parse(state) as Pick<WorkflowSummary, 'question' | 'failedOn'>;
  return { ...row, result, question, ...(question !== null && failedOn !== undefined && { failedOn }) };
}

/** What a claim reads: as few payloads as the contract promises, so that code which needs more fails. */
export function snapshotOf(
  { stream, tasks, checkpoints, effects, events }: Rows,
  next: Offset,
): StreamSnapshot<RecordPlace> {
  const pending = byRank(tasks);
  const creators = new Set(pending.map(({ task }) => taskOrder(task)[0]));
  const { signals = [] } = JSON.parse(stream.state || '{}') as {
    readonly signals?: readonly { readonly event: string }[];
  };
  const causes = new Set<string>([
    ...pending.flatMap(({ cause }) => cause ?? []),
    ...signals.map(({ event }) => event),
  ]);
  return {
    workflow: stream.workflow,
    partition: stream.partition,
    next,
    state: stream.state,
    tasks: pending.map((task) => task.state),
    checkpoints: checkpoints
      .filter(
        ({ sequence, belief }) =>
          sequence === 0 || creators.has(sequence) || (sequence >= stream.beliefSequence && belief !== 'none'),
      )
      .map(({ sequence, stepVersion, payload }) => ({ sequence, stepVersion, payload }))
      .sort((a, b) => a.sequence - b.sequence),
    effects: effectsOf(tasks, effects),
    causes: events.filter(({ event }) => causes.has(event)).map(({ event, payload }) => ({ event, payload })),
  };
}

const effectsOf = (tasks: Rows['tasks'], effects: Rows['effects']): StreamSnapshot<RecordPlace>['effects'] =>
  [...effects.values()]
    .filter(({ task }) => tasks.has(task))
    .sort((a, b) => a.position - b.position)
    .map(({ key, status, payload }) => ({ key, status, payload }));

/** In the order of creation. */
export const byRank = (tasks: ReadonlyMap<string, TaskRow>): TaskRow[] =>
  [...tasks.values()].sort((a, b) => a.rank - b.rank);

export function refuseTwoHomes(batch: ProjectionBatch): void {
  if (batch.opened.length === 0) return;
  const homes = new Map<WorkflowId, Partition>();
  for (const { workflow, partition } of [...batch.opened, ...batch.streams]) {
    if ((homes.get(workflow) ?? partition) !== partition) {
      throw new InvalidError('batch-two-homes', 'A workflow is in two partitions: apply these partitions one by one');
    }
    homes.set(workflow, partition);
  }
}

/** The batch without rows of workflows that it opens although they are placed elsewhere. */
export function withoutStrays(
  batch: ProjectionBatch,
  placements: ReadonlyMap<WorkflowId, { readonly partition: Partition }>,
): ProjectionBatch {
  const strays = new Set(
    batch.opened
      .filter(({ workflow, partition }) => (placements.get(workflow)?.partition ?? partition) !== partition)
      .map(({ workflow }) => workflow),
  );
  if (strays.size === 0) return batch;
  const kept = <R extends { readonly workflow: WorkflowId }>(rows: readonly R[]): readonly R[] =>
    rows.filter(({ workflow }) => !strays.has(workflow));
  return {
    partitions: batch.partitions,
    opened: kept(batch.opened),
    streams: kept(batch.streams),
    closed: kept(batch.closed),
    tasksPut: kept(batch.tasksPut),
    tasksGone: kept(batch.tasksGone),
    checkpoints: kept(batch.checkpoints),
    effects: kept(batch.effects),
    events: kept(batch.events),
    memories: kept(batch.memories ?? []),
    ...(batch.context !== undefined && {
      context: {
        fragments: kept(batch.context.fragments),
        texts: kept(batch.context.texts),
        scopes: kept(batch.context.scopes),
        spends: kept(batch.context.spends),
        sessions: kept(batch.context.sessions),
      },
    }),
    timersPut: kept(batch.timersPut),
    timersGone: kept(batch.timersGone),
    rejected: batch.rejected,
    archived: batch.archived,
  };
}

export interface PartitionRow {
  next: Offset;
  generation: Generation;
  placedGeneration: number;
  rebuildTo: Offset;
}

export interface PlacedRow extends Omit<Placement, 'created' | 'generation' | 'appended'> {
  readonly session: string | null;
  readonly placedAtMs: number;
  generation: Generation;
  live: boolean;
  appended: boolean;
}

/** Writes the batch's rows of each workflow. */
export function putRows(all: Map<WorkflowId, Rows>, batch: ProjectionBatch): void {
  for (const stream of batch.streams) {
    const known = all.get(stream.workflow);
    if (known?.stream.partition === stream.partition) known.stream = stream;
    else if (known === undefined) {
      all.set(stream.workflow, { ...newRows(stream), hasRows: batch.archived?.has(stream.workflow) !== true });
    }
  }
  for (const row of batch.tasksPut) all.get(row.workflow)?.tasks.set(row.task, row);
  for (const row of batch.tasksGone) all.get(row.workflow)?.tasks.delete(row.task);
  putHistory(all, batch);
  for (const row of batch.timersPut) all.get(row.workflow)?.timers.set(row.timer, row);
  for (const row of batch.timersGone) all.get(row.workflow)?.timers.delete(row.timer);
}

/** Checkpoints, effects and events: deleted once segments have them. */
export function putHistory(
  all: ReadonlyMap<WorkflowId, Rows>,
  { checkpoints, effects, events }: Pick<ProjectionBatch, 'checkpoints' | 'effects' | 'events'>,
): void {
  for (const row of checkpoints) all.get(row.workflow)?.checkpoints.push(row);
  for (const row of effects) {
    const known = all.get(row.workflow)?.effects;
    // A later batch may know nothing of the intention.
    known?.set(row.key, { ...row, request: row.request ?? known.get(row.key)?.request ?? null });
  }
  for (const row of events) all.get(row.workflow)?.events.push(row);
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
/** As the store returns them. */
export const byDue = (a: DueTimer, b: DueTimer): number =>
  a.dueAtMs - b.dueAtMs || byText(a.workflow, b.workflow) || byText(a.timer, b.timer);
