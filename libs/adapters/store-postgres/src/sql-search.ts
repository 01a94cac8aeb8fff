/** Owns finding workflows among very many. */

import type { Generation, Partition, TenantId } from '@tidemark/core';
import type {
  FailureCount,
  ParkedCount,
  QueueCount,
  SearchStore,
  SpentHour,
  StatusCount,
  WorkflowListing,
  WorkflowSearch,
} from '@tidemark/ports';
import { listingOf } from './sql/read-workflows.ts';
import {
  boundParked,
  byBitmap,
  countFailures,
  countParked,
  countQueues,
  countStatuses,
  failureCountOf,
  generationOf,
  isScattered,
  parkedCountOf,
  queueCountOf,
  readGenerations,
  readMoving,
  readSpentHours,
  searchWorkflows,
  spentHourOf,
  statusCountOf,
} from './sql/search-workflows.ts';
import { BEGIN, COMMIT } from './sql-client.ts';
import { SqlHistory } from './sql-history.ts';

export abstract class SqlSearch extends SqlHistory implements SearchStore {
  async search(query: WorkflowSearch): Promise<readonly WorkflowListing[]> {
    if (!isScattered(query)) return this.readAll(searchWorkflows(query), listingOf);
    const [, , rows = []] = await this.client.run([BEGIN, byBitmap, searchWorkflows(query), COMMIT]);
    return rows.map(listingOf);
  }

  async statusCounts(tenant: TenantId | null): Promise<readonly StatusCount[]> {
    return this.readAll(countStatuses(tenant), statusCountOf);
  }

  async parkedCounts(limit: number): Promise<readonly ParkedCount[]> {
    const [, , rows = []] = await this.client.run([BEGIN, boundParked, countParked(limit), COMMIT]);
    return rows.map(parkedCountOf);
  }

  async failureCounts(
    of: Pick<WorkflowSearch, 'tenant' | 'definition'>,
    limit: number,
  ): Promise<readonly FailureCount[]> {
    return this.readAll(countFailures(of, limit), failureCountOf);
  }

  async queueCounts(tenant: TenantId | null, limit: number): Promise<readonly QueueCount[]> {
    return this.readAll(countQueues(tenant, limit), queueCountOf);
  }

  async generations(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, Generation>> {
    return new Map((await this.read(readGenerations(partitions))).map(generationOf));
  }

  async moving(since: ReadonlyMap<Partition, Generation>, limit: number): Promise<readonly WorkflowListing[]> {
    return this.readAll(readMoving(since, limit), listingOf);
  }

  spentHours(tenant: TenantId | null, sinceMs: number): Promise<readonly SpentHour[]> {
    return this.readAll(readSpentHours(tenant, sinceMs), spentHourOf);
  }
}
