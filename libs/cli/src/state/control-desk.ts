/** Owns what commands do with many workflows at once: jobs, queues, the fleet; as flat calls with plain data, so that they cross a socket unchanged. */

import { type FleetView, fleetView } from '@tidemark/api/shapes';
import { SYSTEM_TENANT, type TenantId } from '@tidemark/core';
import type { Host } from '@tidemark/host';
import type { WorkflowListing, WorkflowSearch } from '@tidemark/ports';
import type {
  BulkCount,
  BulkJob,
  BulkRequest,
  Definition,
  LifecycleAsk,
  QueueChanged,
  QueueName,
  QueueState,
} from '@tidemark/runtime';
import { DRY_RUN_MAX_COUNT } from '../limits.ts';

export type Filter = Omit<WorkflowSearch, 'after' | 'limit'>;

/** What one look at all workflows tells. */
export interface FleetTold extends Omit<FleetView, 'queued'> {
  readonly queues: readonly QueueState[];
}

export interface CommandControl {
  search(query: WorkflowSearch): Promise<readonly WorkflowListing[]>;
  /** What a job of this filter would find now. */
  found(filter: Filter): Promise<BulkCount>;
  /** Throws as `Bulk.start` does. */
  startJob(request: BulkRequest): Promise<{ readonly id: string; readonly created: boolean }>;
  /** Null: no job has the id. Throws as `Bulk.get` does. */
  job(id: string, tenant: TenantId | null): Promise<BulkJob | null>;
  jobs(query: { readonly tenant: TenantId | null; readonly limit: number }): Promise<readonly BulkJob[]>;
  cancelJob(id: string, ask: LifecycleAsk, tenant: TenantId | null): Promise<{ readonly changed: boolean }>;
  queues(tenant: TenantId | null): Promise<readonly QueueState[]>;
  /** Throws as `Queues.pause` does, both of these. `isFuture`: also where nothing is known of such a definition. */
  pauseQueue(queue: QueueName, ask: LifecycleAsk, isFuture: boolean): Promise<QueueChanged>;
  resumeQueue(queue: QueueName, ask: LifecycleAsk): Promise<QueueChanged>;
  /** Null: of all tenants. */
  fleet(tenant: TenantId | null): Promise<FleetTold>;
}

/** Names of the calls, as a socket passes them on. */
export const CONTROL_CALLS = [
  'search',
  'found',
  'startJob',
  'job',
  'jobs',
  'cancelJob',
  'queues',
  'pauseQueue',
  'resumeQueue',
  'fleet',
] as const satisfies readonly (keyof CommandControl)[];

export function hostControl({ client, ports }: Host, definitions: readonly Definition[]): CommandControl {
  const { store } = ports;
  const names = [...new Set(definitions.map(({ name }) => name))];
  return {
    search: (query) => store.search(query),
    found: (filter) => client.bulk.count(filter, DRY_RUN_MAX_COUNT),
    startJob: (request) => client.bulk.start({ ...request, tenant: request.tenant ?? SYSTEM_TENANT }),
    job: async (id, tenant) => (await client.bulk.get(id, tenant)) ?? null,
    jobs: ({ tenant, limit }) => client.bulk.list({ limit, tenant: tenant ?? undefined }),
    cancelJob: (id, ask, tenant) => client.bulk.cancel(id, ask, tenant),
    queues: (tenant) => client.queues.list(tenant),
    pauseQueue: (queue, ask, isFuture) => client.queues.pause(queue, ask, { definitions, tenant: null, isFuture }),
    resumeQueue: (queue, ask) => client.queues.resume(queue, ask),
    async fleet(tenant) {
      const { queued: _, ...view } = await fleetView({ ports, client }, names, tenant);
      return { ...view, queues: view.isReady ? await client.queues.list(tenant) : [] };
    },
  };
}
