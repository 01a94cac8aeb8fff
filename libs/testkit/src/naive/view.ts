/**
 * Owns one plain shape for both folds' states, so that a deep comparison of the two says what differs. Must not leave anything out: no
 * property test checks a field that is missing here.
 */

import type { PartitionState, StreamState } from '@tidemark/core';
import type { NaivePartition } from './fold.ts';
import type { NaiveStream } from './stream.ts';

/** A stream as plain data: the frontier's lists become arrays. */
export function streamView(stream: StreamState): Record<string, unknown> {
  const { frontier, ...rest } = stream;
  return {
    ...rest,
    tasks: [...frontier.tasks],
    taskCount: frontier.tasks.size,
    waiting: [...frontier.waiting],
    barriers: [...frontier.barriers],
  };
}

/** An undefined member counts as missing. */
const plain = (view: Record<string, unknown>): Record<string, unknown> => JSON.parse(JSON.stringify(view));

export const partitionView = (state: PartitionState): Record<string, unknown> =>
  plain({
    partition: state.partition,
    next: state.next,
    generation: state.generation,
    streams: [...state.streams.values()].map(streamView).sort(byWorkflow),
  });

const byWorkflow = (a: Record<string, unknown>, b: Record<string, unknown>): number =>
  String(a.workflow) < String(b.workflow) ? -1 : 1;

export const naivePartitionView = (state: NaivePartition): Record<string, unknown> =>
  plain({
    partition: state.partition,
    next: state.next,
    generation: state.generation,
    streams: state.streams.map(naiveStreamView).sort(byWorkflow),
  });

/** Computes the indexes that core keeps by scanning. */
function naiveStreamView(stream: NaiveStream): Record<string, unknown> {
  const { tasks, ...rest } = stream;
  const named = (id: string): string[] =>
    tasks.filter((task) => !task.all && task.blockers.includes(id)).map((task) => task.id);
  return {
    ...rest,
    tasks: tasks.map(({ all, blockers, ...task }) => ({
      ...task,
      after: all ? [] : blockers,
      barrierCount: all ? blockers.length : 0,
    })),
    taskCount: tasks.length,
    waiting: tasks
      .map((task) => ({ id: task.id, dependents: named(task.id) }))
      .filter((one) => one.dependents.length > 0),
    barriers: tasks.filter((task) => task.all && task.blockers.length > 0).map((task) => task.id),
  };
}
