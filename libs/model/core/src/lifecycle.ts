/**
 * Owns what the fold makes of a workflow's lifecycle: cancelled, ended from outside, paused, resumed, out of time. Must not
 * decide what is undone: the holder does, once it has read that the workflow is cancelled.
 *
 * L1 Whoever holds a workflow that is ended from outside holds nothing any more: its later events are rejected as of a closed one.
 * L2 What is being undone is neither cancelled nor ended nor paused: its undo is a workflow of its own.
 */

import { type Envelope, LIFECYCLE_RULES_VERSION, type TaskDeclaration } from './event.ts';
import type { StreamState } from './state.ts';
import type { RejectReason } from './verdict.ts';

/** Name of the timer that cancels a workflow; those of tasks have a colon. */
export const WORKFLOW_TIMER = 'timeout';
/** Why a workflow is cancelled whose time is up. */
export const TIMED_OUT = 'timed-out';
/** Why one is whose vital child didn't complete, and one whose parent has ended. */
export const CHILD_FAILED = 'child-failed';
export const PARENT_CLOSED = 'parent-closed';

export const declaresChild = (tasks: readonly TaskDeclaration[]): boolean =>
  tasks.some(({ when }) => when.some(({ kind }) => kind === 'child'));

type LifecycleEnvelope = Envelope<'CancelRequested' | 'WorkflowTerminated' | 'PauseRequested' | 'ResumeRequested'>;

export function foldLifecycle(
  stream: StreamState,
  { id, type, control, atMs }: LifecycleEnvelope,
): StreamState | RejectReason {
  if (stream.status === 'compensating') return 'not-asked';
  const { by } = control;
  switch (type) {
    case 'CancelRequested':
      return cancelled(stream, { code: control.code, by, event: id });
    case 'WorkflowTerminated':
      return {
        ...unpaused(stream),
        status: 'failed',
        reason: control.code,
        question: null,
        ruling: null,
        lease: null,
      };
    case 'PauseRequested':
      if (stream.paused !== undefined || stream.ruling === 'cancel') return 'not-asked';
      return raised({ ...stream, paused: { by, event: id, atMs } });
    case 'ResumeRequested':
      return stream.paused === undefined ? 'not-asked' : unpaused(stream);
  }
}

/** Once: what was asked for first stands. An undo is not cancelled, nor what runs elsewhere. */
export function cancelled(stream: StreamState, cancel: NonNullable<StreamState['cancel']>): StreamState | RejectReason {
  if (stream.ruling === 'cancel' || stream.compensates !== null || stream.shadow) return 'not-asked';
  return raised({
    ...unpaused(stream),
    status: 'open',
    reason: null,
    question: null,
    ruling: 'cancel',
    cancel,
  });
}

/** Its time is up. Where nothing is to be cancelled any more, the timer has done its duty all the same. */
export function timedOut({ deadline: _, ...stream }: StreamState, event: Envelope['id']): StreamState {
  if (stream.status === 'compensating') return stream;
  const outcome = cancelled(stream, { code: TIMED_OUT, by: WORKFLOW_TIMER, event });
  return typeof outcome === 'string' ? stream : outcome;
}

const unpaused = ({ paused: _, ...stream }: StreamState): StreamState => stream;

const raised = (stream: StreamState): StreamState =>
  stream.rules >= LIFECYCLE_RULES_VERSION ? stream : { ...stream, rules: LIFECYCLE_RULES_VERSION };
