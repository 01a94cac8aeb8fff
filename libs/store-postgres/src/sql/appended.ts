/**
 * Which placements have their opening in the log. Index: primary key; placements_unappended, which holds the few that are
 * under way. Cost: below 1 ms for 100.
 */

import type { WorkflowId } from '@tidemark/core';
import { textArray } from '../binary-array.ts';
import type { Statement } from '../sql-client.ts';

const mark = `
update placements set appended = true where workflow = any($1::text[]) and not appended`;

const missing = `
select workflow, tenant, partition, generation, mode, opening, appended from placements
where not appended and placed_at <= clock_timestamp() - make_interval(secs => $1::float8 / 1000)
order by generation, partition limit $2`;

export const markAppended = (workflows: readonly WorkflowId[]): Statement => ({
  name: 'mark-appended',
  text: mark,
  values: [textArray(workflows)],
});

export const findUnappended = (ageMs: number, limit: number): Statement => ({
  name: 'find-unappended',
  text: missing,
  values: [String(ageMs), String(limit)],
});
