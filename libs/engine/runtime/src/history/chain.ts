/**
 * Owns which workflow goes on for which: the chain of those that continued with a fresh history, found through rows. Ids follow from one
 * another, so the last of thousands is found by a few looks. Must not write.
 */

import {
  CONTINUED,
  continuationId,
  nthId,
  nthOf,
  streamFromJson,
  UnavailableError,
  type WorkflowId,
} from '@tidemark/core';
import type { ProjectionStore, WorkflowListing, WorkflowSummary } from '@tidemark/ports';

/** Whether another goes on for it: a replay ends where its base went on, and nothing begins of it. */
export const isContinued = ({ status, reason, fork }: Pick<WorkflowListing, 'status' | 'reason' | 'fork'>): boolean =>
  status === 'completed' && reason === CONTINUED && fork?.effects !== 'replay';

/** The workflow that goes on for it; undefined: none does. */
export const continuedAs = (row: Pick<WorkflowListing, 'workflow' | 'status' | 'reason' | 'fork'>) =>
  isContinued(row) ? continuationId(row.workflow) : undefined;

/** The workflow that it goes on for; undefined: it began by itself. */
export function continuesFrom(workflow: WorkflowId): WorkflowId | undefined {
  const { first, n } = nthOf(workflow);
  return n === 1 ? undefined : nthId({ first, n: n - 1 });
}

type Reads = Pick<ProjectionStore, 'workflow' | 'loadStreams'>;

/**
 * The workflow, where it goes on for one before it: ids of that form could once be given by anybody. Those in the middle of a chain are known
 * by their rows, so that no look brings back what is archived; the last has to say so itself.
 */
async function goingOn(
  store: Reads,
  id: WorkflowId,
  { tenant, definition }: WorkflowSummary,
): Promise<WorkflowSummary | undefined> {
  const row = await store.workflow(id);
  if (row?.tenant !== tenant || row.definition !== definition) return undefined;
  return isContinued(row) || (await saysSo(store, id)) ? row : undefined;
}

/** What is archived beyond reach is trusted. */
async function saysSo(store: Reads, id: WorkflowId): Promise<boolean> {
  try {
    const [found] = await store.loadStreams([id]);
    if (found === undefined || found.state === '') return true;
    return streamFromJson(found.state, found.tasks).continues === continuesFrom(id);
  } catch (error) {
    if (error instanceof UnavailableError && error.code === 'object-archived') return true;
    throw error;
  }
}

/** The last of its chain that rows know of: one that is continued itself where the next has not begun yet. */
export async function lastOf(store: Reads, row: WorkflowSummary): Promise<WorkflowSummary> {
  const { first, n } = nthOf(row.workflow);
  let found = { row, n };
  let [step, missing] = [1, Number.POSITIVE_INFINITY];
  while (isContinued(found.row) && found.n + 1 < missing) {
    const at = missing === Number.POSITIVE_INFINITY ? found.n + step : Math.floor((found.n + missing) / 2);
    const next = await goingOn(store, nthId({ first, n: at }), row);
    if (next === undefined) missing = at;
    else found = { row: next, n: at };
    step *= 2;
  }
  return found.row;
}

/** The same for the workflow of an id: where whoever is spoken to is now. Undefined: rows know nothing of it (yet). */
export async function currentOf(store: Reads, id: WorkflowId): Promise<WorkflowSummary | undefined> {
  const row = await store.workflow(id);
  if (row === undefined || !isContinued(row)) return row;
  const last = await lastOf(store, row);
  return isContinued(last) ? undefined : last;
}
