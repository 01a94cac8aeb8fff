/**
 * Snapshots of streams for claims, all from one statement and so from one moment (P2): readiness, the streams with their partitions' next
 * offsets, pending tasks, and the places of the records that a worker needs to resume. Inputs: up to 1,000 workflows. Locks: none. Index:
 * primary keys, effects_key, events_inbox; `offset 0` and `limit 1` keep the planner from turning the loops round. The cost follows what is
 * pending and what belief has gained since its last snapshot, not the length of the history. Cost: 2.2 ms for 100 with two tasks and ten
 * checkpoints, as measured while these held 1 KB.
 */

import type { EffectKey, EffectState, EventId, Offset, Partition, Sequence, WorkflowId } from '@tidemark/core';
import type { JsonText, RecordPlace, StreamSnapshot } from '@tidemark/ports';
import { textArray } from '../binary-array.ts';
import { numberAt, placeAt, type Row, type Rows, type Statement, textAt } from '../sql-client.ts';

/** Rows are `(kind, workflow, order, name, text)`; the kind says what the others mean. */
const KIND = {
  ready: 0,
  stream: 1,
  task: 2,
  checkpoint: 3,
  intended: 4,
  done: 5,
  failed: 6,
  cause: 7,
  pending: 8,
} as const;
const STATUS: Readonly<Record<number, EffectState['status']>> = {
  [KIND.intended]: 'intended',
  [KIND.done]: 'done',
  [KIND.failed]: 'failed',
  [KIND.pending]: 'pending',
};

const text = `
with wanted as materialized (
  select w.workflow, w.partition, p.next, w.belief_sequence, w.state
  from workflows w
  cross join lateral (select from placements where workflow = w.workflow and partition = w.partition limit 1) placed
  cross join lateral (select next from partitions where partition = w.partition limit 1) p
  where w.workflow = any($1::text[])
), pending as materialized (
  select wanted.workflow, wanted.belief_sequence, t.rank, t.cause, t.state
  from wanted cross join lateral (select * from tasks where workflow = wanted.workflow offset 0) t
), creators as (
  select workflow, belief_sequence, 0::bigint as sequence from wanted
  union
  select workflow, belief_sequence, rank >> 20 from pending
)
select ${KIND.ready}, null, 0::bigint, null, null from meta where ready
union all
select ${KIND.stream}, workflow, next, partition::text, state from wanted
union all
select ${KIND.task}, workflow, rank, null, state from pending
union all
select ${KIND.checkpoint}, wanted.workflow, c.sequence, c.step_version::text, c.payload
from wanted cross join lateral (
  select sequence, step_version, payload from checkpoints
  where workflow = wanted.workflow and sequence >= wanted.belief_sequence and belief <> 'none' offset 0
) c
union all
select ${KIND.checkpoint}, creators.workflow, c.sequence, c.step_version::text, c.payload
from creators cross join lateral (
  select sequence, step_version, belief, payload from checkpoints
  where workflow = creators.workflow and sequence = creators.sequence limit 1
) c
where c.sequence < creators.belief_sequence or c.belief = 'none'
union all
select case e.status when 'done' then ${KIND.done} when 'failed' then ${KIND.failed}
    when 'pending' then ${KIND.pending} else ${KIND.intended} end,
  pending.workflow, e.position, e.key, e.payload
from pending cross join lateral (
  select * from effects where workflow = pending.workflow and task_rank = pending.rank offset 0
) e
union all
select ${KIND.cause}, pending.workflow, e.position, e.event, e.payload
from pending cross join lateral (
  select position, event, payload from events
  where workflow = pending.workflow and epoch = 0
    and hashtextextended(event, 0) = hashtextextended(pending.cause, 0) and event = pending.cause
  offset 0
) e
where pending.cause is not null`;

export const loadStreams = (workflows: readonly WorkflowId[]): Statement => ({
  name: 'load-streams',
  text,
  values: [textArray(workflows)],
});

interface Gathered {
  stream: Row | undefined;
  readonly tasks: Row[];
  readonly checkpoints: Row[];
  readonly effects: Row[];
  readonly causes: Row[];
}

/** Returns the snapshots in the order of the request, or undefined when the store is not ready. */
export function snapshotsOf(
  workflows: readonly WorkflowId[],
  rows: Rows,
): readonly StreamSnapshot<RecordPlace>[] | undefined {
  let ready = false;
  const gathered = new Map<string, Gathered>();
  for (const row of rows) {
    const kind = numberAt(row, 0);
    if (kind === KIND.ready) {
      ready = true;
      continue;
    }
    const workflow = textAt(row, 1);
    let one = gathered.get(workflow);
    if (one === undefined) {
      one = { stream: undefined, tasks: [], checkpoints: [], effects: [], causes: [] };
      gathered.set(workflow, one);
    }
    if (kind === KIND.stream) one.stream = row;
    else if (kind === KIND.task) one.tasks.push(row);
    else if (kind === KIND.checkpoint) one.checkpoints.push(row);
    else if (kind === KIND.cause) one.causes.push(row);
    else one.effects.push(row);
  }
  if (!ready) return undefined;
  return workflows.flatMap((workflow) => {
    const one = gathered.get(workflow);
    return one?.stream === undefined ? [] : [snapshot(workflow, one.stream, one)];
  });
}

const byOrder = (a: Row, b: Row): number => Number(a[2]) - Number(b[2]);
const nameOf = (row: Row): string => textAt(row, 3);
const stateOf = (row: Row): JsonText => textAt(row, 4);
const payloadOf = (row: Row): RecordPlace => placeAt(row, 4);

function snapshot(workflow: WorkflowId, stream: Row, parts: Gathered): StreamSnapshot<RecordPlace> {
  const { tasks, checkpoints, effects, causes } = parts;
  return {
    workflow,
    partition: Number(nameOf(stream)) as Partition,
    next: numberAt(stream, 2) as Offset,
    state: stateOf(stream),
    tasks: tasks.sort(byOrder).map(stateOf),
    checkpoints: checkpoints.sort(byOrder).map((row) => ({
      sequence: numberAt(row, 2) as Sequence,
      stepVersion: Number(nameOf(row)),
      payload: payloadOf(row),
    })),
    effects: effects.sort(byOrder).map((row) => ({
      key: nameOf(row) as EffectKey,
      status: STATUS[numberAt(row, 0)]!,
      payload: payloadOf(row),
    })),
    causes: causes.sort(byOrder).map((row) => ({ event: nameOf(row) as EventId, payload: payloadOf(row) })),
  };
}
