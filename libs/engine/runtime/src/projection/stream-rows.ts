/** Owns the rows of a stream and its tasks. Pure. */

import {
  type Dispatch,
  type Epoch,
  type EventType,
  firstUnblocked,
  isClosed,
  isUnblocked,
  type Offset,
  plusSpend,
  type StreamState,
  streamToJson,
  type TaskState,
  taskRank,
  taskToJson,
  undoId,
  type WorkflowId,
} from '@tidemark/core';
import type { Job, RunnableStream, StreamRow, TaskRow, Telemetry } from '@tidemark/ports';
import { CANCELLING, PAUSED, queueSpan, traceParentOf, UNDOING, UNREADABLE } from '../kernel/index.ts';
import { queuedAs } from '../lease/index.ts';

/** A stream as a row, which is also what dispatch needs. */
export function streamRow(stream: StreamState, partition: StreamRow['partition']): StreamRow {
  return {
    workflow: stream.workflow,
    tenant: stream.tenant,
    partition,
    generation: stream.generation,
    definition: stream.definition,
    version: stream.version,
    pinned: stream.pinned,
    // A person judges an unreadable record, whatever the workflow's own status.
    status: stream.unreadable?.problem === undefined ? stream.status : 'parked',
    reason: stream.unreadable?.problem ?? stream.reason ?? lifecycleReason(stream),
    position: stream.position,
    sequence: stream.head.sequence,
    checkpoint: stream.head.checkpoint,
    beliefSequence: stream.beliefSequence,
    epoch: stream.epoch,
    holder: stream.lease?.holder ?? null,
    lamport: stream.lamport,
    openedAtMs: stream.openedAtMs,
    updatedAtMs: stream.updatedAtMs,
    ...plusSpend(stream, undefined),
    lastAction: stream.lastAction,
    runnable: isRunnable(stream),
    pendingCount: isClosed(stream) ? 0 : stream.frontier.tasks.size,
    closedInGeneration: stream.closedInGeneration,
    ...(stream.session !== undefined && { session: stream.session }),
    ...(stream.user !== undefined && { user: stream.user }),
    ...(stream.tags !== undefined && { tags: stream.tags }),
    ...(stream.fork !== undefined && { fork: stream.fork }),
    ...(stream.dispatch !== undefined && { dispatch: stream.dispatch }),
    state: streamToJson(stream),
  };
}

/** Why an open workflow does not run as usual. */
function lifecycleReason({ status, paused, ruling, unreadable, fork }: StreamState): string | null {
  if (status !== 'open') return null;
  if (unreadable !== null) return UNREADABLE;
  if (ruling === 'cancel') return CANCELLING;
  if (fork !== undefined && paused?.by === undoId(fork.workflow)) return UNDOING;
  return paused === undefined ? null : PAUSED;
}

/** Whether a worker has something to do. */
export const isRunnable = (stream: StreamState): boolean =>
  stream.status === 'open' &&
  stream.lease === null &&
  stream.unreadable === null &&
  stream.paused === undefined &&
  !stream.shadow &&
  (stream.ruling !== null || firstUnblocked(stream.frontier) !== undefined);

/**
 * Whether a worker may claim it as soon as it is opened, before rows show it; who opens it then sends its first job. What a fork or a reset
 * goes on from is read from its rows.
 */
export const beginsAtOnce = ({ fork }: Pick<StreamState, 'fork'>): boolean => fork === undefined;

const WOKEN_BY: ReadonlySet<EventType> = new Set([
  'SignalReceived',
  'ApprovalGiven',
  'ApprovalDecided',
  'EffectConfirmed',
]);

/** Whether a caller who writes such an event sends the job of what it wakes, before rows show it (see WorkflowInbox). */
export const isWokenByWriter = (type: EventType): boolean => WOKEN_BY.has(type);

export const taskRow = (workflow: WorkflowId, task: TaskState): TaskRow => ({
  workflow,
  task: task.id,
  rank: taskRank(task.id),
  step: task.step,
  unblocked: isUnblocked(task),
  cause: task.cause?.event ?? null,
  state: taskToJson(task),
});

/**
 * The job for a stream that is runnable once the log is folded up to this offset. Its trace context is the queue span that the next claim
 * ends.
 */
export function jobOf(
  stream: Omit<RunnableStream, 'next'>,
  offset: Offset,
  { traceRatio }: Pick<Telemetry, 'traceRatio'>,
): Job {
  const { workflow, tenant, definition, version, pinned, partition, lamport } = stream;
  const dispatch = dispatchOf(stream);
  return {
    ...{ workflow, tenant, definition: queuedAs(definition), version, pinned, partition, offset, lamport },
    ...(dispatch !== undefined && { dispatch }),
    ...(traceRatio !== undefined && {
      trace: traceParentOf(workflow, queueSpan(workflow, (stream.epoch + 1) as Epoch), traceRatio),
    }),
  };
}

/** A workflow that was claimed before does not count against a rate again. */
function dispatchOf({ dispatch, epoch }: Pick<RunnableStream, 'dispatch' | 'epoch'>): Dispatch | undefined {
  if (dispatch?.limits === undefined || epoch === 0) return dispatch;
  const limits = dispatch.limits.flatMap(({ rate: _, ...limit }) => (limit.concurrency === undefined ? [] : [limit]));
  return { ...dispatch, limits };
}
