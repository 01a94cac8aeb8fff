/** Owns how every entry point shows one workflow: its state, and names and units of the JSON. Pure. */

import { type Fork, isoTime, type StreamStatus, spendJson } from '@tidemark/core';
import type { WorkflowListing } from '@tidemark/ports';
import { continuedAs, continuesFrom } from '@tidemark/runtime';

/**
 * State of a workflow. An open one is `running` (a worker holds it), `ready` (waits for a worker) or `waiting` (no task can run yet); a
 * parked one waits for a person, and a compensating one for its undo.
 */
export type Activity = 'running' | 'ready' | 'waiting' | Exclude<StreamStatus, 'open'>;

/** `idle`: no process runs workflows where its rows are, so a lease in them is a dead process's. */
function activityOf({ status, holder, runnable }: WorkflowListing, idle: boolean): Activity {
  if (status !== 'open') return status;
  if (holder !== null) return idle ? 'ready' : 'running';
  return runnable ? 'ready' : 'waiting';
}

/** The base of a fork; nothing for a workflow without one. */
export const forkJson = (fork: Fork | undefined) =>
  fork === undefined
    ? {}
    : { fork: { workflow: fork.workflow, sequence_number: fork.sequence, effects: fork.effects } };

/** The run that continues it, and the run that it continues; nothing for most. */
function chainJson(row: WorkflowListing) {
  const [before, after] = [continuesFrom(row.workflow), continuedAs(row)];
  return { ...(before !== undefined && { continues: before }), ...(after !== undefined && { continued_as: after }) };
}

/** One workflow in JSON. Times are ISO 8601; names of sizes and costs have their unit. */
export const workflowJson = (row: WorkflowListing, idle: boolean) => ({
  workflow: row.workflow,
  tenant: row.tenant,
  definition: row.definition,
  definition_version: row.version,
  session: row.session ?? null,
  user: row.user ?? null,
  tags: row.tags ?? [],
  ...forkJson(row.fork),
  ...chainJson(row),
  status: row.status,
  activity: activityOf(row, idle),
  reason: row.reason,
  sequence_number: row.sequence,
  position: row.position,
  checkpoint_id: row.checkpoint,
  pending_task_count: row.pendingCount,
  ...spendJson(row),
  last_action: row.lastAction,
  opened_at: isoTime(row.openedAtMs),
  updated_at: isoTime(row.updatedAtMs),
  partition: row.partition,
  generation: row.generation,
  epoch: row.epoch,
  holder: row.holder,
});
