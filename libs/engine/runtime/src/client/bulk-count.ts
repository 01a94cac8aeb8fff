/** Owns the preview of a bulk job: it counts the workflows that the job would act on, by the job's own rule. It changes nothing. */

import type { ProjectionStore, WorkflowListing } from '@tidemark/ports';
import { type BulkInput, isMeant } from '../control/index.ts';

/** Workflows in one page of a bulk job's preview, and ids that it shows. */
const BULK_COUNT_PAGE_COUNT = 5_000;
const BULK_COUNT_SHOWN_COUNT = 5;

/** The count so far; `hasMore` when the limit was reached before the end. */
export interface BulkCount {
  readonly count: number;
  readonly hasMore: boolean;
  /** Counts by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Ids of the newest. */
  readonly some: readonly string[];
}

/** Reads about `maxCount` of the workflows that the filter finds, and no more. */
export async function countMeant(
  store: Pick<ProjectionStore, 'search'>,
  filter: BulkInput['filter'],
  maxCount: number,
  shownCount = BULK_COUNT_SHOWN_COUNT,
): Promise<BulkCount> {
  const statuses: Record<string, number> = {};
  const some: string[] = [];
  let [count, readCount] = [0, 0];
  for (let last: WorkflowListing | undefined; readCount < maxCount; ) {
    const limit = Math.min(BULK_COUNT_PAGE_COUNT, maxCount);
    const after = last === undefined ? {} : { after: { openedAtMs: last.openedAtMs, workflow: last.workflow } };
    const page = await store.search({ ...filter, limit, ...after });
    for (const row of page) {
      if (!isMeant(filter, row)) continue;
      count++;
      statuses[row.status] = (statuses[row.status] ?? 0) + 1;
      if (some.length < shownCount) some.push(row.workflow);
    }
    if (page.length < limit) return { count, hasMore: false, statuses, some };
    readCount += page.length;
    last = page.at(-1);
  }
  return { count, hasMore: true, statuses, some };
}
