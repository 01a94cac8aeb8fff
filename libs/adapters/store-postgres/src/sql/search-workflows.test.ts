/** Each set of filters has a statement of its own, with a name that Postgres distinguishes from all others. */

import type { StreamStatus, TenantId } from '@tidemark/core';
import type { WorkflowSearch } from '@tidemark/ports';
import { expect, it } from 'vitest';
import { searchWorkflows } from './search-workflows.ts';

/** Bytes of a prepared statement's name that Postgres reads. */
const NAME_MAX_BYTES = 63;

const FILTERS: Partial<WorkflowSearch>[] = [
  { tenant: 'acme' as TenantId },
  { definition: 'refund' },
  { status: 'open' as StreamStatus },
  { reason: 'paused' },
  { session: 's' },
  { user: 'ana' },
  { tags: ['a', 'b'] },
  { openedFromMs: 0 },
  { openedToMs: 1 },
  { text: 'words' },
  { after: { openedAtMs: 1, workflow: 'w' } } as Partial<WorkflowSearch>,
];

it('has a name of its own for each set of filters, as long as Postgres reads', () => {
  const texts = new Map<string, string>();
  for (let set = 0; set < 2 ** FILTERS.length; set++) {
    const chosen = FILTERS.filter((_, index) => (set & (1 << index)) !== 0);
    const { name, text } = searchWorkflows(Object.assign({ limit: 10 }, ...chosen) as WorkflowSearch);
    expect(Buffer.byteLength(name!)).toBeLessThanOrEqual(NAME_MAX_BYTES);
    expect(texts.get(name!) ?? text).toBe(text);
    texts.set(name!, text);
  }
  expect(texts.size).toBe(2 ** FILTERS.length);
});
