/** Owns finding workflows among very many on a SQL client; the caller names faults. */

import type { Generation, Partition, TenantId } from '@tidemark/core';
import type {
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
  countParked,
  countQueues,
  countStatuses,
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
import { BEGIN, COMMIT, type Rows, type SqlClient, type Statement } from './sql-client.ts';

export class SqlSearch implements SearchStore {
  readonly #client: SqlClient;

  constructor(client: SqlClient) {
    this.#client = client;
  }

  async search(query: WorkflowSearch): Promise<readonly WorkflowListing[]> {
    if (!isScattered(query)) return (await this.#read(searchWorkflows(query))).map(listingOf);
    const [, , rows = []] = await this.#client.run([BEGIN, byBitmap, searchWorkflows(query), COMMIT]);
    return rows.map(listingOf);
  }

  async statusCounts(tenant: TenantId | null): Promise<readonly StatusCount[]> {
    return (await this.#read(countStatuses(tenant))).map(statusCountOf);
  }

  async parkedCounts(limit: number): Promise<readonly ParkedCount[]> {
    const [, , rows = []] = await this.#client.run([BEGIN, boundParked, countParked(limit), COMMIT]);
    return rows.map(parkedCountOf);
  }

  async queueCounts(tenant: TenantId | null, limit: number): Promise<readonly QueueCount[]> {
    return (await this.#read(countQueues(tenant, limit))).map(queueCountOf);
  }

  async generations(partitions?: readonly Partition[]): Promise<ReadonlyMap<Partition, Generation>> {
    return new Map((await this.#read(readGenerations(partitions))).map(generationOf));
  }

  async moving(since: ReadonlyMap<Partition, Generation>, limit: number): Promise<readonly WorkflowListing[]> {
    return (await this.#read(readMoving(since, limit))).map(listingOf);
  }

  async spentHours(tenant: TenantId | null, sinceMs: number): Promise<readonly SpentHour[]> {
    return (await this.#read(readSpentHours(tenant, sinceMs))).map(spentHourOf);
  }

  async #read(statement: Statement): Promise<Rows> {
    const [rows = []] = await this.#client.run([statement]);
    return rows;
  }
}
