/**
 * Owns a view of rows over all tiers: a read of a workflow whose history is only in segments first restores its rows, so readers need to
 * know of no tier. Rows that are there cost no further read.
 */

import { UnavailableError, type WorkflowId } from '@tidemark/core';
import type { ProjectionStore, StreamSnapshot } from '@tidemark/ports';
import { overridden } from '../kernel/index.ts';
import type { Restorer } from './restorer.ts';

/** Times that one read restores rows that a compactor drops again. */
const RESTORES_PER_READ_MAX = 5;

/** Reads of a workflow's history by its id. An empty answer may mean that the rows were dropped. */
const READS = [
  'checkpoints',
  'effects',
  'effectPage',
  'effectListings',
  'commits',
  'corrections',
  'events',
  'fragments',
  'texts',
  'trace',
  'scopes',
] as const;

export function tieredStore(store: ProjectionStore, restorer: Restorer): ProjectionStore {
  const reads = READS.map((name) => [name, reading(store, restorer, name)] as const);
  return overridden(store, { ...Object.fromEntries(reads), loadStreams: loadingStreams(store, restorer) });
}

function reading(store: ProjectionStore, restorer: Restorer, name: (typeof READS)[number]) {
  const read = store[name].bind(store) as (workflow: WorkflowId, ...rest: readonly unknown[]) => Promise<unknown>;
  return async (workflow: WorkflowId, ...rest: readonly unknown[]): Promise<unknown> => {
    const found = await read(workflow, ...rest);
    if (!isEmpty(found)) return found;
    return withRestored(restorer, [workflow], async () => ({ found: await read(workflow, ...rest), gone: [] }));
  };
}

/**
 * Reads once the missing rows were restored, by this process or another. A compactor that completes an earlier pass may drop them again
 * meanwhile: then it repeats, but not for ever.
 */
async function withRestored<T>(
  restorer: Restorer,
  gone: readonly WorkflowId[],
  read: () => Promise<{ readonly found: T; readonly gone: readonly WorkflowId[] }>,
): Promise<T> {
  let missing = gone;
  for (let attempt = 1; attempt <= RESTORES_PER_READ_MAX; attempt++) {
    const hasRestored = await restorer.restoreMissing(missing);
    const after = await read();
    const isThere = after.gone.length === 0 && !(hasRestored && isEmpty(after.found));
    if (isThere) return after.found;
    if (after.gone.length > 0) missing = after.gone;
  }
  throw new UnavailableError(
    'rows-taken-away',
    `Rows of ${missing[0]} were restored from segments and dropped again ${RESTORES_PER_READ_MAX} times. Try again.`,
    { workflow: missing[0] },
  );
}

const isEmpty = (found: unknown): boolean =>
  Array.isArray(found) ? found.length === 0 : (found as { readonly recent: readonly unknown[] }).recent.length === 0;

/** A snapshot always has the opening's payload, unless its rows were dropped: then it has no state either. */
function loadingStreams(store: ProjectionStore, restorer: Restorer): ProjectionStore['loadStreams'] {
  const withoutRows = (snapshots: readonly StreamSnapshot[]): readonly WorkflowId[] =>
    snapshots.flatMap(({ workflow, checkpoints }) => (checkpoints.length === 0 ? [workflow] : []));
  return async (...of) => {
    const snapshots = await store.loadStreams(...of);
    const gone = withoutRows(snapshots);
    if (gone.length === 0) return snapshots;
    return withRestored(restorer, gone, async () => {
      const found = await store.loadStreams(...of);
      return { found, gone: withoutRows(found) };
    });
  };
}
