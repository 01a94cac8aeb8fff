/**
 * What a model call saw, at any sequence: fragments with their texts, trace, working memory; and the workflows of a session. Inputs:
 * workflow and sequence. Locks: none. Index: primary keys, fragments_directives, sessions_newest. The cost follows what the newest summary
 * doesn't cover, and for the trace's counts the length of the history (1 ms for 10,000 checkpoints). Rows that steps build on come with the
 * store's readiness in the last column.
 */

import {
  CorruptError,
  type CoveredRange,
  type FragmentType,
  type Lamport,
  type Sequence,
  type Sha256,
  type TenantId,
  type WorkflowId,
} from '@tidemark/core';
import type {
  FragmentRow,
  FragmentWithText,
  ScopeRow,
  SessionWorkflow,
  TraceEntry,
  UserWorkflow,
} from '@tidemark/ports';
import { textArray } from '../binary-array.ts';
import {
  booleanAt,
  nullableNumber,
  nullableText,
  numberAt,
  type Row,
  type Rows,
  type Statement,
  textAt,
} from '../sql-client.ts';

const DIRECTIVES = `('task_goal', 'constraint', 'summary', 'checkpoint_note')`;

const fragments = `
with newest as (
  select covered_sequence, covered_index from fragments
  where workflow = $1 and type = 'summary' and sequence <= $2 and covered_sequence is not null
  order by sequence desc, index desc limit 1
)
select f.sequence, f.index, f.type, f.digest, f.call, f.tool, f.covers, t.text, f.parts, p.text, meta.ready
from meta left join lateral (
  select * from fragments
  where workflow = $1 and sequence <= $2 and (
    type in ${DIRECTIVES} or not exists (select from newest)
    or (sequence, index) > (select covered_sequence, covered_index from newest))
) f on true
left join texts t on t.workflow = $1 and t.digest = f.digest
left join texts p on f.parts is not null and p.workflow = $1 and p.digest = (f.parts::json ->> 'digest') collate "C"
order by f.sequence, f.index`;

export const readFragments = (workflow: WorkflowId, upTo: Sequence): Statement => ({
  name: 'read-fragments',
  text: fragments,
  values: [workflow, String(upTo)],
});

export const fragmentOf =
  (workflow: WorkflowId) =>
  (row: Row): FragmentWithText => {
    const [sequence, index] = [numberAt(row, 0) as Sequence, numberAt(row, 1)];
    const text = nullableText(row, 7);
    const [parts, partsText] = [nullableText(row, 8), nullableText(row, 9)];
    if (text === null || (parts !== null && partsText === null)) {
      throw new CorruptError(
        'rows-incomplete',
        `Workflow ${workflow}: the text of its fragment ${sequence}.${index} is missing. Rebuild the rows from the log.`,
        { workflow, sequence, index },
      );
    }
    const covers = nullableText(row, 6);
    return {
      sequence,
      index,
      type: textAt(row, 2) as FragmentType,
      digest: textAt(row, 3),
      call: nullableText(row, 4),
      tool: nullableText(row, 5),
      covers: covers === null ? null : (JSON.parse(covers) as CoveredRange),
      text,
      parts: parts === null ? null : { ...(JSON.parse(parts) as NonNullable<FragmentRow['parts']>), text: partsText! },
    };
  };

export const readTexts = (workflow: WorkflowId, digests: readonly Sha256[]): Statement => ({
  name: 'read-texts',
  text: 'select digest, text from texts where workflow = $1 and digest = any($2::text[])',
  values: [workflow, textArray(digests)],
});

/** The last entries, newest first, then counts by step of the earlier ones (sequence null). */
const trace = `
(select sequence, step, last_action, null::int8, ready from meta cross join lateral (
  select sequence, step, last_action from checkpoints
  where workflow = $1 and sequence between greatest(1, $2::int8 - $3::int8 + 1) and $2
  order by sequence
) c)
union all
(select null, step, null, count(*), bool_and(ready) from meta cross join lateral (
  select step from checkpoints where workflow = $1 and sequence between 1 and $2::int8 - $3::int8
) c group by step)`;

export const readTrace = (workflow: WorkflowId, upTo: Sequence, count: number): Statement => ({
  name: 'read-trace',
  text: trace,
  values: [workflow, String(upTo), String(count)],
});

export function traceOf(rows: Rows): { recent: readonly TraceEntry[]; earlier: Record<string, number> } | undefined {
  const recent: TraceEntry[] = [];
  const earlier: Record<string, number> = {};
  for (const row of rows) {
    if (!booleanAt(row, 4)) return undefined;
    const sequence = nullableNumber(row, 0);
    if (sequence === null) earlier[textAt(row, 1)] = numberAt(row, 3);
    else recent.push({ sequence: sequence as Sequence, step: textAt(row, 1), action: textAt(row, 2) });
  }
  return { recent: recent.sort((a, b) => a.sequence - b.sequence), earlier };
}

const scopes = `
select s.sequence, s.is_whole, s.change, meta.ready
from meta left join lateral (
  select * from scopes
  where workflow = $1 and sequence <= $2 and sequence >= coalesce(
    (select max(sequence) from scopes where workflow = $1 and sequence <= $2 and is_whole), 0)
) s on true
order by s.sequence`;

export const readScopes = (workflow: WorkflowId, upTo: Sequence): Statement => ({
  name: 'read-scopes',
  text: scopes,
  values: [workflow, String(upTo)],
});

export const scopeOf =
  (workflow: WorkflowId) =>
  (row: Row): ScopeRow => ({
    workflow,
    sequence: numberAt(row, 0) as Sequence,
    isWhole: booleanAt(row, 1),
    change: textAt(row, 2),
  });

export const readSession = (tenant: TenantId, session: string, limit: number): Statement => ({
  name: 'read-session',
  text: `
select s.workflow, w.definition, w.status, w.sequence, w.opened_at_ms, s.lamport, s.user_id
from sessions s join workflows w on w.workflow = s.workflow
where s.tenant = $1 and hashtextextended(s.session, 0) = hashtextextended($2, 0) and s.session = $2
order by s.lamport desc, s.workflow limit $3`,
  values: [tenant, session, String(limit)],
});

export const sessionWorkflowOf = (row: Row): SessionWorkflow => ({
  workflow: textAt(row, 0) as WorkflowId,
  definition: textAt(row, 1),
  status: textAt(row, 2),
  sequence: numberAt(row, 3) as Sequence,
  openedAtMs: numberAt(row, 4),
  lamport: numberAt(row, 5) as Lamport,
  user: nullableText(row, 6),
});

/** The state of an archived workflow is no JSON. Reads all rows of the tenant by the primary key: it runs when somebody is forgotten. */
const usersWorkflows = `
select w.workflow, coalesce(s.session, case when w.state <> '' then w.state::json ->> 'session' end),
  w.closed_in_generation is null
from workflows w left join sessions s on s.workflow = w.workflow
where w.tenant = $1 and w.workflow > $3 collate "C"
  and (s.user_id = $2 or case when w.state <> '' then w.state::json ->> 'user' = $2 else false end)
order by w.workflow limit $4`;

export const readUserWorkflows = (
  tenant: TenantId,
  user: string,
  after: WorkflowId | null,
  limit: number,
): Statement => ({
  name: 'read-user-workflows',
  text: usersWorkflows,
  values: [tenant, user, after ?? '', String(limit)],
});

export const userWorkflowOf = (row: Row): UserWorkflow => ({
  workflow: textAt(row, 0) as WorkflowId,
  session: nullableText(row, 1),
  isOpen: booleanAt(row, 2),
});
