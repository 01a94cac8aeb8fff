/**
 * Which placements have their opening in the log. Index: primary key; placements_unappended, which holds the few that are
 * under way. Cost: below 1 ms for 100.
 */

import type { WorkflowId } from '@tidemark/core';
import { textArray } from '../binary-array.ts';
import type { Statement } from '../sql-client.ts';

const mark = `
update placements p set appended = true
from (select unnest($1::text[]) as workflow) given
where p.workflow = given.workflow and not p.appended`;

const missing = `
select workflow, tenant, partition, generation, mode, opening, appended from placements
where not appended and placed_at <= clock_timestamp() - make_interval(secs => $1::float8 / 1000)
order by generation, partition limit $2`;

export const markAppended = (workflows: readonly WorkflowId[]): Statement => ({
  name: 'mark-appended',
  // In order, so that two callers never wait for each other in a circle.
  text: mark,
  values: [textArray([...workflows].sort())],
});

export const findUnappended = (ageMs: number, limit: number): Statement => ({
  name: 'find-unappended',
  text: missing,
  values: [String(ageMs), String(limit)],
});
