/** Owns which tasks of simulated rows wait for a person's answer, and their order. Pure. */

import type { Condition, TaskState } from '@tidemark/core';
import { taskRank } from '@tidemark/core';
import type { ApprovalPlace, ApprovalQuery, ApprovalRow, StreamRow, TaskRow } from '@tidemark/ports';

interface Rows {
  readonly stream: StreamRow;
  readonly tasks: ReadonlyMap<unknown, TaskRow>;
}

interface Asked {
  readonly row: ApprovalRow;
  readonly assignee: string | undefined;
}

export function approvalsIn(
  all: readonly Rows[],
  { tenant, assignees, after, limit }: ApprovalQuery & { readonly limit: number },
): readonly ApprovalRow[] {
  return all
    .filter(({ stream }) => stream.status === 'open' && stream.reason === null)
    .filter(({ stream }) => tenant === undefined || stream.tenant === tenant)
    .flatMap(({ stream, tasks }) => [...tasks.values()].flatMap((task) => parkedQuestion(stream, task)))
    .filter(({ assignee }) => assignees === undefined || (assignee !== undefined && assignees.includes(assignee)))
    .map(({ row }) => row)
    .filter((row) => after === undefined || byAsking(row, after) > 0)
    .sort(byAsking)
    .slice(0, limit);
}

function parkedQuestion({ workflow, tenant, definition }: StreamRow, { task, step, state }: TaskRow): readonly Asked[] {
  const { when, after, barrierCount } = JSON.parse(state) as Partial<TaskState>;
  const asking = when?.find((one): one is Extract<Condition, { kind: 'approval' }> => one.kind === 'approval');
  if (asking === undefined || after!.length > 0 || barrierCount! > 0) return [];
  const { askedAtMs, assignee } = asking;
  return [{ row: { workflow, tenant, definition, task, step, state, askedAtMs }, assignee }];
}

/** The oldest first. */
const byAsking = (a: ApprovalPlace, b: ApprovalPlace): number =>
  a.askedAtMs - b.askedAtMs ||
  (a.workflow < b.workflow ? -1 : a.workflow > b.workflow ? 1 : taskRank(a.task) - taskRank(b.task));
