/**
 * Owns folded state as plain JSON for rows and snapshots, and back. Exact: a fold that resumes from what was read gives what the
 * uninterrupted fold gives (I5). Each task is a text apart from the rest of the state, so that a large frontier is stored row by row.
 */

import { CorruptError } from './errors.ts';
import { LIFECYCLE_RULES_VERSION } from './event.ts';
import type { Generation, Offset, Partition, TaskId } from './ids.ts';
import type { Frontier, PartitionState, StreamState, TaskState } from './state.ts';
import { TaskList } from './task-list.ts';

/** Raised with every change of a shape in state.ts that every stream has. */
export const STATE_VERSION = 3;
/** For streams whose rules have a lifecycle: an older release would run a paused or cancelled workflow. */
const LIFECYCLE_STATE_VERSION = 4;

/** Whether this process can read state of this version. */
export const isReadableState = (version: unknown): boolean =>
  version === STATE_VERSION || version === LIFECYCLE_STATE_VERSION;

const versionOf = ({ rules }: Pick<StreamState, 'rules'>): number =>
  rules >= LIFECYCLE_RULES_VERSION ? LIFECYCLE_STATE_VERSION : STATE_VERSION;

/** The stream without its tasks, as JSON text. */
export function streamToJson(stream: StreamState): string {
  const { frontier: _, ...rest } = stream;
  return JSON.stringify({ stateVersion: versionOf(stream), ...rest });
}

export const taskToJson = (task: TaskState): string => JSON.stringify(task);

/**
 * The stream from its text and the texts of its pending tasks, in any order. Throws `CorruptError` (`state-version`) for a text of an
 * unreadable version: it could be misread, and rows can be rebuilt from the log.
 */
export function streamFromJson(state: string, tasks: readonly string[]): StreamState {
  const { stateVersion, ...rest } = JSON.parse(state) as Omit<StreamState, 'frontier'> & { stateVersion: number };
  if (!isReadableState(stateVersion)) {
    throw new CorruptError(
      'state-version',
      `Stored state of workflow ${rest.workflow} has version ${stateVersion}; this process reads ${STATE_VERSION}. Run the release that wrote it, or rebuild the rows from the log.`,
      { workflow: rest.workflow, stateVersion },
    );
  }
  return { ...rest, frontier: frontierOf(tasks.map((text) => JSON.parse(text) as TaskState)) };
}

/** Computes the indexes of the frontier from its tasks. */
function frontierOf(unordered: readonly TaskState[]): Frontier {
  const tasks = TaskList.from(unordered);
  const dependents = new Map<TaskId, TaskId[]>();
  const barriers: TaskId[] = [];
  for (const task of tasks) {
    if (task.barrierCount > 0) barriers.push(task.id);
    for (const other of task.after) {
      const known = dependents.get(other);
      if (known === undefined) dependents.set(other, [task.id]);
      else known.push(task.id);
    }
  }
  const waiting = TaskList.from([...dependents].map(([id, list]) => ({ id, dependents: list })));
  return { tasks, waiting, barriers };
}

/** A partition from its rows. */
export const partitionFrom = (
  partition: Partition,
  next: Offset,
  generation: Generation,
  streams: readonly StreamState[],
): PartitionState => ({
  partition,
  next,
  generation,
  streams: new Map(streams.map((stream) => [stream.workflow, stream])),
});
