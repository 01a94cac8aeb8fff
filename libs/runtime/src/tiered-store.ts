/**
 * Owns one view of rows over all tiers: a read of a workflow whose history is in segments alone puts its rows back first, so that
 * whoever reads needs to know of no tier. What is there is read without any further question.
 */

import type { WorkflowId } from '@tidemark/core';
import type { ProjectionStore } from '@tidemark/ports';
import type { Restorer } from './restorer.ts';
import { overridden } from './turned-store.ts';

/** Reads of a workflow's history by its id. An empty answer may mean that the rows are gone. */
const READS = ['checkpoints', 'effects', 'events', 'fragments', 'texts', 'trace', 'scopes'] as const;

export function tieredStore(store: ProjectionStore, restorer: Restorer): ProjectionStore {
  const reads = READS.map((name) => [name, reading(store, restorer, name)] as const);
  return overridden(store, { ...Object.fromEntries(reads), loadStreams: loadingStreams(store, restorer) });
}

function reading(store: ProjectionStore, restorer: Restorer, name: (typeof READS)[number]) {
  const read = store[name].bind(store) as (workflow: WorkflowId, ...rest: readonly unknown[]) => Promise<unknown>;
  return async (workflow: WorkflowId, ...rest: readonly unknown[]): Promise<unknown> => {
    const found = await read(workflow, ...rest);
    if (!isEmpty(found) || !(await restorer.restoreMissing([workflow]))) return found;
    return read(workflow, ...rest);
  };
}

const isEmpty = (found: unknown): boolean =>
  Array.isArray(found) ? found.length === 0 : (found as { readonly recent: readonly unknown[] }).recent.length === 0;

/** A snapshot always holds the opening's payload, unless its rows are gone. */
function loadingStreams(store: ProjectionStore, restorer: Restorer): ProjectionStore['loadStreams'] {
  return async (workflows) => {
    const snapshots = await store.loadStreams(workflows);
    const gone = snapshots.flatMap(({ workflow, checkpoints }) => (checkpoints.length === 0 ? [workflow] : []));
    if (gone.length === 0) return snapshots;
    // Also where another process has put them back meanwhile: what was loaded holds no state.
    await restorer.restoreMissing(gone);
    return store.loadStreams(workflows);
  };
}
