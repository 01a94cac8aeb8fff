/**
 * Owns reading everything that a projection store answers, in one order, so that two stores can be compared: adapters with each other, and
 * rows that were kept with rows that were rebuilt (I5, I6). It leaves out what is not derived from the log alone: openings and modes of
 * placements, ranges.
 */

import type { Partition, Sequence, WorkflowId } from '@tidemark/core';
import type {
  CheckpointRow,
  DueTimer,
  EffectRow,
  EventRow,
  FoldedPartition,
  LeaseRow,
  RecordPlace,
  RejectedRow,
  RowStore,
  RunnableStream,
  StoreCounts,
  StreamSnapshot,
  TaskRow,
  WorkflowSummary,
} from '@tidemark/ports';

export interface WorkflowDump {
  readonly workflow: WorkflowSummary;
  readonly tasks: readonly TaskRow[];
  readonly checkpoints: readonly CheckpointRow<RecordPlace>[];
  readonly effects: readonly EffectRow<RecordPlace>[];
  readonly events: readonly EventRow<RecordPlace>[];
  /** What a claim would read; absent where none is possible. */
  readonly snapshot: StreamSnapshot<RecordPlace> | undefined;
}

export interface ProjectionDump {
  readonly positions: readonly (readonly [Partition, number])[];
  readonly partitions: readonly FoldedPartition[];
  readonly workflows: readonly WorkflowDump[];
  readonly runnable: readonly RunnableStream[];
  readonly leases: readonly LeaseRow[];
  readonly timers: readonly DueTimer[];
  readonly rejected: readonly RejectedRow[];
  readonly counts: StoreCounts;
}

const EVERYTHING = 1_000_000;

/** The store must be ready. */
export async function dump(store: RowStore): Promise<ProjectionDump> {
  const positions = [...(await store.positions())].sort(([a], [b]) => a - b);
  const workflows = (await store.workflows({ limit: EVERYTHING })).toSorted((a, b) => byText(a.workflow, b.workflow));
  return {
    positions,
    partitions: await store.loadPartitions(positions.map(([partition]) => partition)),
    workflows: await Promise.all(workflows.map((workflow) => dumpWorkflow(store, workflow))),
    runnable: await store.runnable(null, EVERYTHING),
    leases: await store.leases(),
    timers: await store.dueTimers(Number.MAX_SAFE_INTEGER, EVERYTHING),
    rejected: (await store.rejected(EVERYTHING)).toSorted((a, b) => a.partition - b.partition || a.offset - b.offset),
    counts: await store.counts(),
  };
}

async function dumpWorkflow(store: RowStore, workflow: WorkflowSummary): Promise<WorkflowDump> {
  const id: WorkflowId = workflow.workflow;
  const [snapshot] = await store.loadStreams([id]);
  return {
    workflow,
    tasks: await store.tasks(id, EVERYTHING),
    checkpoints: await store.checkpoints(id, { from: 0 as Sequence, limit: EVERYTHING }),
    effects: await store.effects(id),
    events: await store.events(id, EVERYTHING),
    snapshot,
  };
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
