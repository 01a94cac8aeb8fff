/** Owns the pending work between parents and children in simulated rows. Pure. */

import {
  CONTINUED,
  type Condition,
  continuationId,
  type StreamState,
  SUPERSEDED,
  type TaskState,
  taskOrder,
  type WorkflowId,
} from '@tidemark/core';
import type { ChildWork, StreamRow, TaskRow } from '@tidemark/ports';

interface Rows {
  readonly stream: StreamRow;
  readonly tasks: ReadonlyMap<unknown, TaskRow>;
}

const isLive = ({ status }: StreamRow): boolean => status === 'open' || status === 'parked';

/** A page of parents at a time, each one's in the order of its tasks. */
export function childWorkIn(all: ReadonlyMap<WorkflowId, Rows>): readonly ChildWork[] {
  const pending = [...all.values()].flatMap((rows) => [...pendingOfParent(all, rows), ...pendingOfChild(all, rows)]);
  const turns = [...Map.groupBy(pending, ({ parent }) => parent).values()].flatMap((of) =>
    of.sort(inOrder).map((work, turn) => ({ work, turn })),
  );
  const byTurn = turns.sort((a, b) => a.turn - b.turn || (a.work.child < b.work.child ? -1 : 1));
  return byTurn.map(({ work }) => work);
}

function inOrder(a: ChildWork, b: ChildWork): number {
  const [first, second] = [rankOf(a), rankOf(b)];
  return first[0] - second[0] || first[1] - second[1] || (a.child < b.child ? -1 : 1);
}

/** Children to be ended come first. */
const rankOf = ({ kind, task }: ChildWork) => (kind === 'end' ? ([0, 0] as const) : taskOrder(task));

const isGoingOn = ({ status, reason }: StreamRow): boolean =>
  status === 'completed' && (reason === CONTINUED || reason === SUPERSEDED);

/** Of the child, or of the last run that continues it. */
function lastIn(all: ReadonlyMap<WorkflowId, Rows>, child: WorkflowId): StreamRow | undefined {
  const row = all.get(child)?.stream;
  return row !== undefined && isGoingOn(row) ? (lastIn(all, continuationId(child)) ?? row) : row;
}

function pendingOfParent(all: ReadonlyMap<WorkflowId, Rows>, { stream, tasks }: Rows): readonly ChildWork[] {
  if (!isLive(stream)) return [];
  return [...tasks.values()].flatMap(({ task, state }): readonly ChildWork[] => {
    const { when } = JSON.parse(state) as TaskState;
    const waited = when.find((one): one is Extract<Condition, { kind: 'child' }> => one.kind === 'child');
    if (waited === undefined) return [];
    const child = lastIn(all, waited.child);
    const about = { parent: stream.workflow, task, child: waited.child };
    if (child !== undefined)
      return isLive(child) || child.status === 'compensating' || isGoingOn(child) ? [] : [{ kind: 'report', ...about }];
    return ['cancelling', 'paused', 'undoing'].includes(stream.reason ?? '') ? [] : [{ kind: 'start', ...about }];
  });
}

function pendingOfChild(all: ReadonlyMap<WorkflowId, Rows>, { stream }: Rows): readonly ChildWork[] {
  if (!isLive(stream) || stream.reason === 'cancelling' || stream.state === '') return [];
  const { parent } = JSON.parse(stream.state) as StreamState;
  const of = parent === undefined ? undefined : all.get(parent.workflow)?.stream;
  if (parent === undefined || of === undefined || parent.onClose === 'abandon' || isLive(of)) return [];
  return [{ kind: 'end', parent: parent.workflow, task: parent.task, child: stream.workflow }];
}
