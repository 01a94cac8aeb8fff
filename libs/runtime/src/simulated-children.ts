/** Owns what simulated rows owe to parents and children. Pure. */

import type { Condition, StreamState, TaskState, WorkflowId } from '@tidemark/core';
import type { ChildDuty, StreamRow, TaskRow } from '@tidemark/ports';

interface Rows {
  readonly stream: StreamRow;
  readonly tasks: ReadonlyMap<unknown, TaskRow>;
}

const isLive = ({ status }: StreamRow): boolean => status === 'open' || status === 'parked';

export const dutiesIn = (all: ReadonlyMap<WorkflowId, Rows>, limit: number): readonly ChildDuty[] =>
  [...all.values()].flatMap((rows) => [...owedBy(all, rows), ...owedTo(all, rows)]).slice(0, limit);

function owedBy(all: ReadonlyMap<WorkflowId, Rows>, { stream, tasks }: Rows): readonly ChildDuty[] {
  if (!isLive(stream)) return [];
  return [...tasks.values()].flatMap(({ task, state }): readonly ChildDuty[] => {
    const { when } = JSON.parse(state) as TaskState;
    const waited = when.find((one): one is Extract<Condition, { kind: 'child' }> => one.kind === 'child');
    if (waited === undefined) return [];
    const child = all.get(waited.child)?.stream;
    const about = { parent: stream.workflow, task, child: waited.child };
    if (child !== undefined)
      return isLive(child) || child.status === 'compensating' ? [] : [{ kind: 'tell', ...about }];
    return stream.reason === 'cancelling' || stream.reason === 'paused' ? [] : [{ kind: 'start', ...about }];
  });
}

function owedTo(all: ReadonlyMap<WorkflowId, Rows>, { stream }: Rows): readonly ChildDuty[] {
  if (!isLive(stream) || stream.reason === 'cancelling' || stream.state === '') return [];
  const { parent } = JSON.parse(stream.state) as StreamState;
  const of = parent === undefined ? undefined : all.get(parent.workflow)?.stream;
  if (parent === undefined || of === undefined || parent.onClose === 'abandon' || isLive(of)) return [];
  return [{ kind: 'end', parent: parent.workflow, task: parent.task, child: stream.workflow }];
}
