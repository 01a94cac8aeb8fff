/** Owns the rows of history of single workflows, as a store answers them: of those that were put back, and of a fresh fold beside them. */

import type { Sequence, WorkflowId } from '@tidemark/core';
import { configFromEnv, openCluster } from '@tidemark/host';
import type { ProjectionStore } from '@tidemark/ports';
import { eventually } from '@tidemark/testkit/eventually';
import type { WorkflowRows } from './compactor-checks.ts';
import { FRESH_ROWS_WAIT_MS } from './compactor-limits.ts';

const EVERYTHING = 1_000_000;
const LAST = Number.MAX_SAFE_INTEGER as Sequence;

export async function rowsOf(
  store: ProjectionStore,
  workflows: readonly WorkflowId[],
): Promise<ReadonlyMap<string, WorkflowRows>> {
  const found = new Map<string, WorkflowRows>();
  for (const workflow of workflows) {
    found.set(workflow, {
      checkpoints: await store.checkpoints(workflow, { from: 0 as Sequence, limit: EVERYTHING }),
      effects: await store.effects(workflow),
      events: await store.events(workflow, EVERYTHING),
      fragments: await store.fragments(workflow, LAST),
      scopes: await store.scopes(workflow, LAST),
      tasks: await store.tasks(workflow, EVERYTHING),
      summary: await store.workflow(workflow),
    });
  }
  return found;
}

export interface FreshRows {
  readonly rows: ReadonlyMap<string, WorkflowRows>;
  readonly eventCount: number;
  /** From nothing until all rows were there. */
  readonly tookMs: number;
}

/** Rows of an empty database, made from log and segments. `env`: of a fleet whose processes have ended. */
export async function freshRows(
  env: Readonly<Record<string, string>>,
  workflows: readonly WorkflowId[],
  onError: (where: string, error: unknown) => void,
): Promise<FreshRows> {
  const host = await openCluster(configFromEnv(env));
  try {
    const { log, store } = host.ports;
    const ends = [...(await log.bounds())];
    const startedMs = performance.now();
    await host.startCoordinator({ onError });
    const hasAll = async (): Promise<boolean> => {
      const positions = await store.positions();
      return ends.every(([partition, { end }]) => (positions.get(partition) ?? 0) >= end) && (await store.ready());
    };
    await eventually(hasAll, { timeoutMs: FRESH_ROWS_WAIT_MS, what: 'rows of all history' });
    const tookMs = performance.now() - startedMs;
    const eventCount = ends.reduce((sum, [, { end }]) => sum + end, 0);
    return { rows: await rowsOf(store, workflows), eventCount, tookMs };
  } finally {
    await host.close();
  }
}
