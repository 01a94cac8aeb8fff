/**
 * Closes workflows: the placement stops being live, and tasks and timers are deleted. Runs after the batch's other rows were written.
 * Inputs: workflows, and their partitions. Locks: the rows, all of this batch's partitions but for the placements. Index: primary keys,
 * timers_key. Cost: 15 ms for 1,000 with one task each. `countLive` then sets the partitions' `live` and `tenant` by their placements.
 */

import type { Partition } from '@tidemark/core';
import type { ProjectionBatch } from '@tidemark/ports';
import { int4Array, int4s, texts } from '../binary-array.ts';
import type { Statement } from '../sql-client.ts';

const placements = `
update placements set live = false where workflow = any($1::text[]) and partition = any($2::int4[]) and live`;
const tasks = 'delete from tasks where workflow = any($1::text[])';
const timers = 'delete from timers where workflow = any($1::text[])';

export function closeWorkflows(rows: ProjectionBatch['closed']): readonly Statement[] {
  const workflows = texts(rows, (row) => row.workflow);
  const partitions = int4s(rows, (row) => row.partition);
  return [
    { name: 'close-placements', text: placements, values: [workflows, partitions] },
    { name: 'close-tasks', text: tasks, values: [workflows] },
    { name: 'close-timers', text: timers, values: [workflows] },
  ];
}

const counted = `
with given as (select unnest($1::int4[]) as partition)
insert into partitions (partition, next, rebuild_to, live, tenant)
select given.partition, 0, 0, count(l.workflow), min(l.tenant)
from given left join placements l on l.partition = given.partition and l.live
group by given.partition
on conflict (partition) do update set live = excluded.live, tenant = excluded.tenant`;

/**
 * Counts again each time, so that the numbers can't drift. Runs in the transaction that inserted or closed placements, which holds the
 * partitions' locks already, so all of them exist. Index: placements_live. Cost: 5 ms for 1,000 partitions with one live workflow each.
 */
export function countLive(partitions: ReadonlySet<Partition>): Statement {
  return { name: 'count-live', text: counted, values: [int4Array([...partitions].sort((a, b) => a - b))] };
}
