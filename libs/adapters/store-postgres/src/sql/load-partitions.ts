/**
 * Where the projector resumes: partitions with their open streams and those that closed since the last opening, from one statement (P2).
 * Inputs: partitions. Locks: none. Index: workflows_open, workflows_closed, primary keys; `offset 0` keeps the planner from turning the
 * loops round. Cost: 4 ms for 100 partitions with one stream of two tasks each.
 */

import type { Generation, Offset, Partition } from '@tidemark/core';
import type { FoldedPartition, FoldedStream } from '@tidemark/ports';
import { int4Array } from '../binary-array.ts';
import { numberAt, type Rows, type Statement, textAt } from '../sql-client.ts';

const KIND = { partition: 0, stream: 1, task: 2 } as const;

const text = `
with wanted as materialized (
  select partition, next, generation from partitions where partition = any($1::int4[])
), streams as materialized (
  select wanted.partition, w.workflow, w.generation, w.state
  from wanted cross join lateral (
    select * from workflows where partition = wanted.partition and closed_in_generation is null offset 0
  ) w
  union all
  select wanted.partition, w.workflow, w.generation, w.state
  from wanted cross join lateral (
    select * from workflows where partition = wanted.partition and closed_in_generation = wanted.generation offset 0
  ) w
)
select ${KIND.partition}, partition, next, generation, null, null from wanted
union all
select ${KIND.stream}, partition, 0, generation, workflow, state from streams
union all
select ${KIND.task}, s.partition, t.rank, 0, s.workflow, t.state
from streams s cross join lateral (select rank, state from tasks where workflow = s.workflow offset 0) t
order by 1, 2, 4, 5, 3`;

export const loadPartitions = (partitions: readonly Partition[]): Statement => ({
  name: 'load-partitions',
  text,
  values: [int4Array(partitions)],
});

/** Orders by partition; streams by generation, then id; tasks by creation. */
export function partitionsOf(rows: Rows): readonly FoldedPartition[] {
  const partitions = new Map<number, FoldedPartition & { readonly streams: FoldedStream[] }>();
  const tasks = new Map<string, string[]>();
  for (const row of rows) {
    const kind = numberAt(row, 0);
    const partition = numberAt(row, 1) as Partition;
    if (kind === KIND.partition) {
      const next = numberAt(row, 2) as Offset;
      partitions.set(partition, { partition, next, generation: numberAt(row, 3) as Generation, streams: [] });
    } else if (kind === KIND.stream) {
      const pending: string[] = [];
      tasks.set(textAt(row, 4), pending);
      partitions.get(partition)?.streams.push({ state: textAt(row, 5), tasks: pending });
    } else {
      tasks.get(textAt(row, 4))?.push(textAt(row, 5));
    }
  }
  return [...partitions.values()];
}
