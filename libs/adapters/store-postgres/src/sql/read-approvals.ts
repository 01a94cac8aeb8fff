/**
 * Tasks that wait for a person's answer, the oldest first. Inputs: tenant, assignees, the place after which to begin, a limit. Locks: none.
 * Index: tasks_asking, whose rows of other tenants and assignees are skipped. Cost: 2 ms for 100 unfiltered.
 */

import { type TenantId, taskRank, type WorkflowId } from '@tidemark/core';
import type { ApprovalQuery, ApprovalRow } from '@tidemark/ports';
import { texts } from '../binary-array.ts';
import { numberAt, type Row, type Statement, textAt } from '../sql-client.ts';
import { taskOfRank } from './read-history.ts';

const asked = `
select t.workflow, t.rank, t.step, t.state, t.asked_at_ms, w.tenant, w.definition
from tasks t join workflows w on w.workflow = t.workflow
where t.asked_at_ms is not null and w.status = 'open' and w.reason is null
  and ($1::text is null or w.tenant = $1)
  and ($2::text[] is null or exists (select from unnest($2::text[]) assignee where position(assignee in t.state) > 0))
  and (t.asked_at_ms, t.workflow, t.rank) > ($3::bigint, $4 collate "C", $5::bigint)
order by t.asked_at_ms, t.workflow, t.rank limit $6`;

export const readApprovals = ({
  tenant,
  assignees,
  after,
  limit,
}: ApprovalQuery & { readonly limit: number }): Statement => ({
  name: 'read-approvals',
  text: asked,
  values: [
    tenant ?? null,
    assignees === undefined
      ? null
      : texts(
          assignees.map((assignee) => `"assignee":${JSON.stringify(assignee)}`),
          asIs,
        ),
    String(after?.askedAtMs ?? -1),
    after?.workflow ?? '',
    String(after === undefined ? 0 : taskRank(after.task)),
    String(limit),
  ],
});

const asIs = (text: string): string => text;

export const approvalOf = (row: Row): ApprovalRow => ({
  workflow: textAt(row, 0) as WorkflowId,
  task: taskOfRank(numberAt(row, 1)),
  step: textAt(row, 2),
  state: textAt(row, 3),
  askedAtMs: numberAt(row, 4),
  tenant: textAt(row, 5) as TenantId,
  definition: textAt(row, 6),
});
