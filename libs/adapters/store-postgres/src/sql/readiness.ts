/**
 * P3: which partitions exist, up to where each must be folded before placements count as rebuilt, and whether it is. Locks: meta's only
 * row, so that adding partitions and declaring readiness don't cross. Cost: below 1 ms.
 */

import type { NewPartition } from '@tidemark/ports';
import { int4s, int8s } from '../binary-array.ts';
import type { Statement } from '../sql-client.ts';

const lock = 'select ready from meta for update';

const add = `
insert into partitions (partition, next, rebuild_to, generation, placed_generation)
select partition, next, rebuild_to, generation, generation
from unnest($1::int4[], $2::int8[], $3::int8[], $4::int8[]) as given (partition, next, rebuild_to, generation)
where $5::text is null or exists (select from meta where incarnation::text = $5)
on conflict (partition) do nothing`;

/** Unready as long as an added partition holds openings that are not folded. */
const settle = `
update meta set ready = rebuilt.done
from (
  select exists (select from partitions) and not exists (select from partitions where next < rebuild_to) as done
) rebuilt
where meta.ready <> rebuilt.done`;

const declare = `
update meta set ready = true
where not ready and exists (select from partitions) and not exists (select from partitions where next < rebuild_to)`;

const read = 'select ready from meta';

const none = { values: [] } as const;
export const lockReadiness: Statement = { name: 'lock-readiness', text: lock, ...none };
export const settleReadiness: Statement = { name: 'settle-readiness', text: settle, ...none };
export const declareReady: Statement = { name: 'declare-ready', text: declare, ...none };
export const readStoreId: Statement = {
  name: 'read-incarnation',
  text: 'select incarnation::text from meta',
  ...none,
};
export const readReadiness: Statement = { name: 'read-readiness', text: read, ...none };

export const insertPartitions = (rows: readonly NewPartition[], storeId: string | null): Statement => ({
  name: 'insert-partitions',
  text: add,
  values: [
    int4s(rows, (row) => row.partition),
    int8s(rows, (row) => row.start),
    int8s(rows, (row) => Math.max(row.rebuildTo, row.start)),
    int8s(rows, (row) => row.generation ?? 0),
    storeId,
  ],
});
