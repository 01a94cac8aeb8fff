/** Owns pages of workflows that are listed with what they hold, the newest first. */

import type { TenantId } from '@tidemark/core';
import type { ProjectionStore, WorkflowListing, WorkflowQuery, WorkflowSummary } from '@tidemark/ports';

/** Where a page ends, and the next goes on. */
export type ListPlace = Pick<WorkflowListing, 'openedAtMs' | 'workflow'>;

interface PageQuery extends Omit<WorkflowQuery, 'tenant' | 'after'> {
  readonly tenant: TenantId | undefined;
  readonly after: ListPlace | undefined;
}

/** Of `limit` rows at most; one more is read to know whether there is a next page. */
export async function pageOf(
  store: Pick<ProjectionStore, 'workflows'>,
  { tenant, after, limit, ...query }: PageQuery,
): Promise<{ readonly rows: readonly WorkflowSummary[]; readonly next: ListPlace | null }> {
  const rows = await store.workflows({
    ...query,
    ...(tenant !== undefined && { tenant }),
    ...(after !== undefined && { after }),
    limit: limit + 1,
  });
  const page = rows.slice(0, limit);
  return { rows: page, next: rows.length > limit ? page.at(-1)! : null };
}
