/**
 * Owns which workflow goes on for which: the chain of those that continued with a fresh history, found through rows. Ids follow from one
 * another, so the last of thousands is found by a few looks. Must not write.
 */

import { CONTINUED, continuationId, nthId, nthOf, type WorkflowId } from '@tidemark/core';
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

/** The last of its chain that rows know of: one that is continued itself where the next has not begun yet. */
export async function lastOf<Row extends Pick<WorkflowSummary, 'workflow' | 'status' | 'reason' | 'fork'>>(
  { workflow }: { readonly workflow: (id: WorkflowId) => Promise<Row | undefined> },
  row: Row,
): Promise<Row> {
  const { first, n } = nthOf(row.workflow);
  let found = { row, n };
  let [step, missing] = [1, Number.POSITIVE_INFINITY];
  while (isContinued(found.row) && found.n + 1 < missing) {
    const at = missing === Number.POSITIVE_INFINITY ? found.n + step : Math.floor((found.n + missing) / 2);
    const next = await workflow(nthId({ first, n: at }));
    if (next === undefined) missing = at;
    else found = { row: next, n: at };
    step *= 2;
  }
  return found.row;
}

/** The same for the workflow of an id: where whoever is spoken to is now. Undefined: rows know nothing of it (yet). */
export async function currentOf(
  store: Pick<ProjectionStore, 'workflow'>,
  id: WorkflowId,
): Promise<WorkflowSummary | undefined> {
  const row = await store.workflow(id);
  if (row === undefined || !isContinued(row)) return row;
  const last = await lastOf({ workflow: (of) => store.workflow(of) }, row);
  return isContinued(last) ? undefined : last;
}
