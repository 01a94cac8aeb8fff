/** Owns what commands do with many workflows at once: jobs, queues, the fleet; as flat calls with plain data, so that they cross a socket unchanged. */

import { type FleetView, fleetView } from '@tidemark/api/shapes';
import { SYSTEM_TENANT, type TenantId } from '@tidemark/core';
import type { Host } from '@tidemark/host';
import type { WorkflowListing, WorkflowSearch } from '@tidemark/ports';
import type {
  BulkJob,
  BulkRequest,
  Definition,
  LifecycleAsk,
  QueueChanged,
  QueueName,
  QueueState,
} from '@tidemark/runtime';
import { DRY_RUN_MAX_COUNT, DRY_RUN_PAGE_COUNT } from '../limits.ts';

export type Filter = Omit<WorkflowSearch, 'after' | 'limit'>;

/** As far as they were counted: `hasMore` where there are more than that. */
export interface FoundCount {
  readonly count: number;
  readonly hasMore: boolean;
  /** By status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** The newest. */
  readonly some: readonly string[];
}

/** What one look at all workflows tells. */
export interface FleetTold extends Omit<FleetView, 'queued'> {
  readonly queues: readonly QueueState[];
}

export interface CommandControl {
  search(query: WorkflowSearch): Promise<readonly WorkflowListing[]>;
  /** What a job of this filter would find now. */
  found(filter: Filter): Promise<FoundCount>;
  /** Throws as `Bulk.start` does. */
  startJob(request: BulkRequest): Promise<{ readonly id: string; readonly created: boolean }>;
  /** Null: no job has the id. */
  job(id: string): Promise<BulkJob | null>;
  jobs(query: { readonly tenant: TenantId | null; readonly limit: number }): Promise<readonly BulkJob[]>;
  cancelJob(id: string, ask: LifecycleAsk): Promise<{ readonly changed: boolean }>;
  queues(tenant: TenantId | null): Promise<readonly QueueState[]>;
  /** Throws as `Queues.pause` does, both of these. */
  pauseQueue(queue: QueueName, ask: LifecycleAsk): Promise<QueueChanged>;
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
    found: (filter) => foundIn(filter, (query) => store.search(query)),
    startJob: (request) => client.bulk.start({ ...request, tenant: request.tenant ?? SYSTEM_TENANT }),
    job: async (id) => (await client.bulk.get(id)) ?? null,
    jobs: ({ tenant, limit }) => client.bulk.list({ limit, tenant: tenant ?? undefined }),
    cancelJob: (id, ask) => client.bulk.cancel(id, ask),
    queues: (tenant) => client.queues.list(tenant),
    pauseQueue: (queue, ask) => client.queues.pause(queue, ask),
    resumeQueue: (queue, ask) => client.queues.resume(queue, ask),
    async fleet(tenant) {
      const { queued: _, ...view } = await fleetView({ ports, client }, names, tenant);
      return { ...view, queues: view.isReady ? await client.queues.list(tenant) : [] };
    },
  };
}

async function foundIn(filter: Filter, search: CommandControl['search']): Promise<FoundCount> {
  const statuses: Record<string, number> = {};
  const some: string[] = [];
  let count = 0;
  for (let after: WorkflowListing | undefined; count < DRY_RUN_MAX_COUNT; ) {
    const page = await search({
      ...filter,
      limit: DRY_RUN_PAGE_COUNT,
      ...(after !== undefined && { after: placeOf(after) }),
    });
    for (const { status, workflow } of page) {
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (some.length < DRY_RUN_SHOWN_COUNT) some.push(workflow);
    }
    count += page.length;
    if (page.length < DRY_RUN_PAGE_COUNT) return { count, hasMore: false, statuses, some };
    after = page.at(-1);
  }
  return { count, hasMore: true, statuses, some };
}

/** Workflows that a dry run names. */
const DRY_RUN_SHOWN_COUNT = 5;

const placeOf = ({ openedAtMs, workflow }: WorkflowListing) => ({ openedAtMs, workflow });
