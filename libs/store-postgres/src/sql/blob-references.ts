/**
 * Texts that name blobs, in whatever columns they stand. Inputs: the text to go on behind; how many. Locks: none.
 * Index: `…_blob` of each column, which hold these alone. Cost: below 1 ms for 100 among any number of rows.
 */

import type { Statement } from '../sql-client.ts';

const COLUMNS = [
  ['placements', 'opening'],
  ['workflows', 'result'],
  ['checkpoints', 'payload'],
  ['effects', 'payload'],
  ['effects', 'request'],
  ['events', 'payload'],
  ['texts', 'text'],
  ['scopes', 'change'],
  ['memories', 'value'],
] as const;

/** As the indexes have it, word by word, or they would not be used. */
const named = COLUMNS.map(
  ([table, column]) => `
(select distinct ${column} collate "C" as name from ${table}
 where left(${column}, 5) = 'blob:' and ${column} collate "C" > $1 order by 1 limit $2)`,
).join(' union');

export const readBlobReferences = (after: string | null, limit: number): Statement => ({
  name: 'read-blob-references',
  text: `select name from (${named}) all_names order by name limit $2`,
  values: [after ?? '', String(limit)],
});
