/**
 * Workflows for people: one, the newest that fit a query, or the ids of all open ones, page by page. Inputs: id; filters, a limit, the last
 * of the page before. Locks: none. Index: primary key; workflows_newest, whose rows that don't fit are skipped. Cost: 0.2 ms for one, 1 ms
 * for 100 unfiltered.
 */

import type {
  CheckpointId,
  Epoch,
  Fork,
  Generation,
  HolderId,
  Lamport,
  Partition,
  Position,
  Sequence,
  StreamState,
  StreamStatus,
  TenantId,
  WorkflowId,
} from '@tidemark/core';
import type { ChildQuery, WorkflowListing, WorkflowQuery, WorkflowSummary } from '@tidemark/ports';
import { storable, textArray } from '../binary-array.ts';
import { booleanAt, nullableNumber, nullableText, numberAt, type Row, type Statement, textAt } from '../sql-client.ts';
import { spendPartsAt } from './spend-columns.ts';

/** Columns of lists: no payload, no state, and nothing that needs a search. */
export const listedColumns = `workflow, tenant, partition, generation, definition, version, status, reason, position, sequence, checkpoint,
  belief_sequence, epoch, holder, lamport, opened_at_ms, updated_at_ms, tokens, cost_micros, last_action, runnable,
  pending_count, closed_in_generation, pinned, fork_of, fork_at, fork_effects, session, user_id,
  nullif(array_to_string(tags, E'\\x1f'), ''), spend_parts`;
const LISTED_COUNT = 31;

const columns = `${listedColumns}, result, case when status = 'parked' then state end`;

export const readWorkflowsOf = (workflows: readonly WorkflowId[]): Statement => ({
  name: 'read-workflows-of',
  text: `select ${columns} from workflows where workflow = any($1::text[])`,
  values: [textArray(workflows)],
});

const newest = `
select ${columns} from workflows
where ($1::text is null or tenant = $1)
  and (definition = $2 or ($2::text is null and not starts_with(definition, 'tidemark.'))) and ($3::text is null or status = $3)
  and ($4::text is null or reason = $4)
  and opened_at_ms <= $6::float8 and (opened_at_ms < $6 or workflow > $7)
order by opened_at_ms desc, workflow limit $5`;

const open = `
select workflow from workflows
where closed_in_generation is null and workflow > $1 collate "C" and not starts_with(definition, 'tidemark.')
order by workflow limit $2`;

/** Reads the primary key page by page, and skips closed ones. */
export const readOpen = (after: WorkflowId | null, limit: number): Statement => ({
  name: 'read-open-workflows',
  text: open,
  values: [after ?? '', String(limit)],
});

const children = `
select ${listedColumns} from workflows
where workflow > $1 || '~' collate "C" and workflow < $1 || chr(127) collate "C" and workflow > $2 collate "C"
  and substr(workflow, length($1) + 2) ~ '^[0-9]+[.][0-9]+$'
order by workflow limit $3`;

/** Reads the primary key, which keeps a workflow's whole kin together, and skips those that aren't its own children. */
export const readChildren = ({ parent, after, limit }: ChildQuery): Statement => ({
  name: 'read-children',
  text: children,
  values: [parent, after ?? '', String(limit)],
});

/** Only a parked stream's state holds one. */
function questionIn(state: string | null): Pick<WorkflowSummary, 'question' | 'failedOn'> {
  if (state === null) return { question: null };
  const { question, failedOn } = JSON.parse(state) as Pick<StreamState, 'question' | 'failedOn'>;
  return { question, ...(question !== null && failedOn !== undefined && { failedOn }) };
}

/** This status is queried constantly and has an index, which a parameter would keep the planner from. */
const compensating = newest.replace('($3::text is null or status = $3)', `status = $3 and status = 'compensating'`);

/** These are few among many, with an index of their own. */
const schedules = newest
  .replace('(definition = $2 or', "(definition like '%~schedule' and $2::text is null or")
  .replace("or ($2::text is null and not starts_with(definition, 'tidemark.'))", '');

const variantOf = ({ schedules: isSchedules, status }: WorkflowQuery): Pick<Statement, 'name' | 'text'> => {
  if (isSchedules === true) return { name: 'read-schedules', text: schedules };
  if (status === 'compensating') return { name: 'read-compensating', text: compensating };
  return { name: 'read-workflows', text: newest };
};

/** Newest first. */
export const readWorkflows = (query: WorkflowQuery): Statement => ({
  ...variantOf(query),
  values: [
    query.tenant ?? null,
    query.definition ?? null,
    query.status ?? null,
    query.reason ?? null,
    String(query.limit),
    String(query.after?.openedAtMs ?? 'Infinity'),
    storable(query.after?.workflow ?? ''),
  ],
});

export const workflowOf = (row: Row): WorkflowSummary => ({
  ...listingOf(row),
  result: nullableText(row, LISTED_COUNT),
  ...questionIn(nullableText(row, LISTED_COUNT + 1)),
});

export const listingOf = (row: Row): WorkflowListing => ({
  workflow: textAt(row, 0) as WorkflowId,
  tenant: textAt(row, 1) as TenantId,
  partition: numberAt(row, 2) as Partition,
  generation: numberAt(row, 3) as Generation,
  definition: textAt(row, 4),
  version: numberAt(row, 5),
  status: textAt(row, 6) as StreamStatus,
  reason: nullableText(row, 7),
  position: numberAt(row, 8) as Position,
  sequence: numberAt(row, 9) as Sequence,
  checkpoint: nullableText(row, 10) as CheckpointId | null,
  beliefSequence: numberAt(row, 11) as Sequence,
  epoch: numberAt(row, 12) as Epoch,
  holder: nullableText(row, 13) as HolderId | null,
  lamport: numberAt(row, 14) as Lamport,
  openedAtMs: numberAt(row, 15),
  updatedAtMs: numberAt(row, 16),
  tokens: numberAt(row, 17),
  costMicros: numberAt(row, 18),
  lastAction: textAt(row, 19),
  runnable: booleanAt(row, 20),
  pendingCount: numberAt(row, 21),
  closedInGeneration: nullableNumber(row, 22) as Generation | null,
  pinned: booleanAt(row, 23),
  ...forkIn(row),
  ...namesIn(row),
  ...spendPartsAt(row, 30),
});

const forkIn = (row: Row): Pick<WorkflowListing, 'fork'> => {
  const workflow = nullableText(row, 24) as WorkflowId | null;
  if (workflow === null) return {};
  return { fork: { workflow, sequence: numberAt(row, 25) as Sequence, effects: textAt(row, 26) as Fork['effects'] } };
};

const namesIn = (row: Row): Pick<WorkflowListing, 'session' | 'user' | 'tags'> => {
  const [session, user, tags] = [nullableText(row, 27), nullableText(row, 28), nullableText(row, 29)];
  return {
    ...(session !== null && { session }),
    ...(user !== null && { user }),
    ...(tags !== null && { tags: tags.split('\x1f') }),
  };
};
