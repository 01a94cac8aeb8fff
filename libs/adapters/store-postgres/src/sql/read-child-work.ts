/**
 * Pending work between parents and children, a page of parents at a time. Inputs: a limit, how many to skip. Locks: none. Index:
 * tasks_of_children, workflows_bound. The cost follows the tasks that wait for children and the children that continue: 20 ms for 2,000.
 */

import type { TaskId, WorkflowId } from '@tidemark/core';
import type { ChildWork } from '@tidemark/ports';
import { type Row, type Statement, textAt } from '../sql-client.ts';

/**
 * The id of a child follows from the task that waits for it: see childId in the runtime. A child that continued as a new run has ended once
 * the last run of its chain has, `{child}~2`, `{child}~3` …
 */
const pendingWork = `
select kind, parent, child from (
select kind, parent, child, row_number() over (partition by parent order by rank, child) as turn from (
select case when c.workflow is null then 'start' else 'report' end as kind, t.workflow as parent,
  t.workflow || '~' || (t.rank >> 20) || '.' || (t.rank & 1048575) as child, t.rank as rank
from tasks t
join workflows p on p.workflow = t.workflow
left join workflows c on c.workflow = t.workflow || '~' || (t.rank >> 20) || '.' || (t.rank & 1048575)
where t.waits_child and p.status in ('open', 'parked')
  and ((c.status in ('completed', 'failed', 'compensated') and (c.status <> 'completed' or coalesce(c.reason, '') not in ('continued', 'superseded')))
    or (c.status = 'completed' and c.reason in ('continued', 'superseded') and exists (
      select from workflows n
      where n.workflow > c.workflow || '~' collate "C" and n.workflow < c.workflow || '~:' collate "C"
        and substr(n.workflow, length(c.workflow) + 2) ~ '^[0-9]+$'
        and n.status in ('completed', 'failed', 'compensated') and (n.status <> 'completed' or coalesce(n.reason, '') not in ('continued', 'superseded'))
      offset 0))
    or (c.workflow is null and coalesce(p.reason, '') not in ('cancelling', 'paused', 'undoing')))
union all
select 'end', p.workflow, c.workflow, 0
from workflows c
join workflows p on p.workflow = regexp_replace(c.workflow, '~[0-9]+[.][0-9]+(~[0-9]+)?$', '')
where c.is_bound and c.closed_in_generation is null and c.status in ('open', 'parked')
  and coalesce(c.reason, '') <> 'cancelling' and p.status not in ('open', 'parked')
) owed) turns
order by turn, child
limit $1 offset $2`;

export const readChildWork = (limit: number, skip: number): Statement => ({
  name: 'read-child-work',
  text: pendingWork,
  values: [String(limit), String(skip)],
});

export const childWorkOf = (row: Row): ChildWork => {
  const child = textAt(row, 2);
  return {
    kind: textAt(row, 0) as ChildWork['kind'],
    parent: textAt(row, 1) as WorkflowId,
    task: /~([0-9]+[.][0-9]+)(?:~[0-9]+)?$/.exec(child)?.[1] as TaskId,
    child: child as WorkflowId,
  };
};
