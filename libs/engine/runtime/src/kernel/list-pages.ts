/** Owns pages of workflow rows, newest first. */

import type { TenantId } from '@tidemark/core';
import type { ProjectionStore, WorkflowListing, WorkflowQuery, WorkflowSummary } from '@tidemark/ports';

/** The last row of a page: the next page begins after it. */
export type ListPlace = Pick<WorkflowListing, 'openedAtMs' | 'workflow'>;

interface PageQuery extends Omit<WorkflowQuery, 'tenant' | 'after'> {
  readonly tenant: TenantId | undefined;
  readonly after: ListPlace | undefined;
}

/** At most `limit` rows. It reads one more to find out whether there is a next page. */
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
