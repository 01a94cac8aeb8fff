/** Owns the check that a bulk job has a filter. Pure. */

import { InvalidError } from '@tidemark/core';
import { searchWords, type WorkflowSearch } from '@tidemark/ports';

/** The workflows that a job applies to. */
export type BulkFilter = Omit<WorkflowSearch, 'after' | 'limit'>;

/**
 * Throws `InvalidError` (`filter-missing`) for a filter that selects every workflow of the tenant, unless `everything` says that this is
 * meant.
 */
export function checkMeant(filter: BulkFilter, everything = false): void {
  const { tenant: _, roots: __, tags = [], text, ...others } = filter;
  if (everything || tags.length > 0 || searchWords(text).length > 0) return;
  if (Object.values(others).some((value) => value !== undefined)) return;
  throw new InvalidError(
    'filter-missing',
    'filter: give one beside the tenant, or say that all are meant (everything: true).',
  );
}
