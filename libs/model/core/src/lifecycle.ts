/**
 * Owns what the fold does with a workflow's lifecycle: cancel, terminate, pause, resume, time out. Must not decide what is compensated: the
 * holder does, once it has read that the workflow is cancelled.
 *
 * L1 The holder of a terminated workflow has lost it: its later events are rejected, as for any closed workflow.
 * L2 A workflow under compensation can't be cancelled, terminated or paused: its undo is a workflow of its own.
 */

import type { Envelope, TaskDeclaration } from './event.ts';
import type { StreamState } from './state.ts';
import type { RejectReason } from './verdict.ts';

/** Name of the timer that cancels a workflow. Names of tasks' timers contain a colon. */
export const WORKFLOW_TIMER = 'timeout';
/** The reason of a workflow that is cancelled by its timeout. */
const TIMED_OUT = 'timed-out';
/** The reasons of workflows that are cancelled because a vital child didn't complete, or because the parent ended. */
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
      return { ...stream, paused: { by, event: id, atMs } };
    case 'ResumeRequested':
      return stream.paused === undefined ? 'not-asked' : unpaused(stream);
  }
}

/** The first request stands. An undo workflow can't be cancelled, nor can a shadow. */
export function cancelled(stream: StreamState, cancel: NonNullable<StreamState['cancel']>): StreamState | RejectReason {
  if (stream.ruling === 'cancel' || stream.compensates !== null || stream.shadow) return 'not-asked';
  return { ...unpaused(stream), status: 'open', reason: null, question: null, ruling: 'cancel', cancel };
}

/** The timeout has fired. Even when there is nothing left to cancel, the timer is used up. */
export function timedOut({ deadline: _, ...stream }: StreamState, event: Envelope['id']): StreamState {
  if (stream.status === 'compensating') return stream;
  const outcome = cancelled(stream, { code: TIMED_OUT, by: WORKFLOW_TIMER, event });
  return typeof outcome === 'string' ? stream : outcome;
}

const unpaused = ({ paused: _, ...stream }: StreamState): StreamState => stream;
