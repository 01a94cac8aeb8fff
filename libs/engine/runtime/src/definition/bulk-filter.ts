/** Owns which filters a job must be given. Pure. */

import { InvalidError } from '@tidemark/core';
import { searchWords, type WorkflowSearch } from '@tidemark/ports';

/** Which workflows a job is about. */
export type BulkFilter = Omit<WorkflowSearch, 'after' | 'limit'>;

/** Throws `InvalidError` (`filter-missing`): what is asked leaves no workflow of the tenant out, and nobody said that all are meant. */
export function checkMeant(filter: BulkFilter, everything = false): void {
  const { tenant: _, tags = [], text, ...others } = filter;
  if (everything || tags.length > 0 || searchWords(text).length > 0) return;
  if (Object.values(others).some((value) => value !== undefined)) return;
  throw new InvalidError(
    'filter-missing',
    'filter: give one beside the tenant, or say that all are meant (everything: true; --everything).',
  );
}
