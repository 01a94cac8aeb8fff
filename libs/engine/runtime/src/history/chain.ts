/**
 * Owns the chain of runs that continue one another (continue-as-new), or supersede one another (reset), found through rows. The ids of a
 * chain are numbered, so a few reads find the last of thousands. It never writes.
 */

import {
  CONTINUED,
  continuationId,
  isClosed,
  nthId,
  nthOf,
  SUPERSEDED,
  streamFromJson,
  UnavailableError,
  type WorkflowId,
} from '@tidemark/core';
import type { ProjectionStore, WorkflowListing, WorkflowSummary } from '@tidemark/ports';

/**
 * Whether it ended so that another run continues it. The replay of a run that was continued ends there, and nothing continues it. One that
 * had ended already when it was reset says nothing: see `currentOf`.
 */
export const isContinued = ({ status, reason, fork }: Pick<WorkflowListing, 'status' | 'reason' | 'fork'>): boolean =>
  status === 'completed' && (reason === CONTINUED || reason === SUPERSEDED) && fork?.effects !== 'replay';

/** The run that it supersedes, from the checkpoint of its fork on; undefined: it is no reset. */
export const supersedes = ({ workflow, fork }: Pick<WorkflowListing, 'workflow' | 'fork'>): WorkflowId | undefined =>
  fork !== undefined && fork.workflow === continuesFrom(workflow) ? fork.workflow : undefined;

/** The run that continues it; undefined: none does. */
export const continuedAs = (row: Pick<WorkflowListing, 'workflow' | 'status' | 'reason' | 'fork'>) =>
  isContinued(row) ? continuationId(row.workflow) : undefined;

/** The run that it continues; undefined: it is the first of its chain. */
export function continuesFrom(workflow: WorkflowId): WorkflowId | undefined {
  const { first, n } = nthOf(workflow);
  return n === 1 ? undefined : nthId({ first, n: n - 1 });
}

type Reads = Pick<ProjectionStore, 'workflow' | 'loadStreams'>;

/**
 * The run of this id, if it continues an earlier one. Its id alone does not show that: anybody could once choose ids of that form. Runs in
 * the middle of a chain are recognized by their rows, so that no archived state is fetched; the last one is recognized by its state.
 */
async function continuationAt(
  store: Reads,
  id: WorkflowId,
  { tenant, definition }: WorkflowSummary,
): Promise<WorkflowSummary | undefined> {
  const row = await store.workflow(id);
  if (row?.tenant !== tenant || row.definition !== definition) return undefined;
  return isContinued(row) || (await stateContinues(store, id)) ? row : undefined;
}

/** Whether the run's own state says that it continues another. A state that is archived out of reach is trusted. */
async function stateContinues(store: Reads, id: WorkflowId): Promise<boolean> {
  try {
    const [found] = await store.loadStreams([id], { payloads: false });
    if (found === undefined || found.state === '') return true;
    return streamFromJson(found.state, found.tasks).continues === continuesFrom(id);
  } catch (error) {
    if (error instanceof UnavailableError && error.code === 'object-archived') return true;
    throw error;
  }
}

/**
 * The last run of the chain that rows know, also behind one that had ended before it was reset. It is itself continued while the next run has
 * not begun.
 */
export async function lastOf(store: Reads, row: WorkflowSummary): Promise<WorkflowSummary> {
  const { first, n } = nthOf(row.workflow);
  let found = { row, n };
  let [step, missing] = [1, Number.POSITIVE_INFINITY];
  while (isClosed(found.row) && found.n + 1 < missing) {
    const at = missing === Number.POSITIVE_INFINITY ? found.n + step : Math.floor((found.n + missing) / 2);
    const next = await continuationAt(store, nthId({ first, n: at }), row);
    if (next === undefined) missing = at;
    else found = { row: next, n: at };
    step *= 2;
  }
  return found.row;
}

/** The current run of a chain, by any id of it. Undefined: rows do not know it (yet). */
export async function currentOf(store: Reads, id: WorkflowId): Promise<WorkflowSummary | undefined> {
  const { first, n } = nthOf(id);
  // Asked together, and most runs have no next one.
  const [row, next] = await Promise.all([store.workflow(id), store.workflow(nthId({ first, n: n + 1 }))]);
  if (row === undefined || !isClosed(row)) return row;
  const last = next === undefined ? row : await lastOf(store, row);
  return isContinued(last) ? undefined : last;
}
