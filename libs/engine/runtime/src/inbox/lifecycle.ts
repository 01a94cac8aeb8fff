/**
 * Owns a caller's changes of a workflow's life: cancel, terminate, pause, resume. A repeated request has no further effect. It writes inbox
 * events and waits until the fold has judged them. It does not decide what is compensated: the next holder does.
 */

import {
  ConflictError,
  type Controls,
  type EventId,
  eventId,
  InvalidError,
  isClosed,
  type StreamState,
  type WorkflowId,
} from '@tidemark/core';
import type { WorkflowSummary } from '@tidemark/ports';
import { checkName, checkText } from '../lease/index.ts';
import { closed, type WorkflowInbox } from './workflow-inbox.ts';

/** Who requests the change, and why: both are kept in the history. */
export interface LifecycleAsk {
  readonly by: string;
  readonly why: string;
}

export const LIFECYCLE_ACTS = ['cancel', 'terminate', 'pause', 'resume'] as const;
export type LifecycleAct = (typeof LIFECYCLE_ACTS)[number];

export interface LifecycleDone {
  readonly workflow: WorkflowId;
  /** False: the workflow was already in that state, and nothing changed. */
  readonly changed: boolean;
}

/** Reasons that cancelled and terminated workflows end with. */
export const CANCELLED = 'cancelled';
export const TERMINATED = 'terminated';

export class Lifecycle {
  readonly #inbox: WorkflowInbox;

  constructor(inbox: WorkflowInbox) {
    this.#inbox = inbox;
  }

  /** See `Client.cancel`, `Client.terminate`, `Client.pause` and `Client.resume`. */
  async ask(id: string, act: LifecycleAct, ask: LifecycleAsk): Promise<LifecycleDone> {
    const by = checkName('by', ask.by);
    checkText('why', ask.why);
    const { row, state } = await this.#inbox.find(id);
    if (isInState(state, act)) return { workflow: row.workflow, changed: false };
    refuse(row, state, act);
    const event = eventId(`${act}:${this.#inbox.uuid()}`);
    if (await this.#write(row, event, act, { by, why: ask.why })) return { workflow: row.workflow, changed: true };
    // Another request was first, or the workflow has ended meanwhile.
    const now = await this.#inbox.find(id);
    // A new run continues the workflow: the request goes to that run.
    if (now.row.workflow !== row.workflow) return this.ask(id, act, ask);
    if (isInState(now.state, act)) return { workflow: row.workflow, changed: false };
    refuse(now.row, now.state, act);
    throw new ConflictError('not-asked', `Workflow ${id} is ${now.state.status}: '${act}' was not accepted.`, {
      workflow: id,
    });
  }

  #write(row: WorkflowSummary, id: EventId, act: LifecycleAct, ask: LifecycleAsk): Promise<boolean> {
    const guard = this.#inbox.guard(row);
    const { by } = ask;
    const name = guard.names('by', by);
    const content = guard.content('decision', act, { why: ask.why });
    switch (act) {
      case 'cancel':
        return this.#inbox.write(
          row,
          'CancelRequested',
          name.as(() => ({ id, control: { code: CANCELLED, by } })),
          content,
        );
      case 'terminate':
        return this.#inbox.write(
          row,
          'WorkflowTerminated',
          name.as(() => ({ id, control: { code: TERMINATED, by } })),
          content.as(({ why }) => terminatedPayload(by, why)),
        );
      case 'pause':
      case 'resume': {
        const type = act === 'pause' ? 'PauseRequested' : 'ResumeRequested';
        return this.#inbox.write(
          row,
          type,
          name.as(() => ({ id, control: { by } })),
          content,
        );
      }
    }
  }
}

/** The error that callers who wait for the workflow's result receive. */
export const terminatedPayload = (by: Controls['WorkflowTerminated']['by'], why: string) => ({
  why,
  error: { name: 'WorkflowTerminated', code: TERMINATED, message: `${by} ended it: ${why}` },
});

/** Whether the workflow is already in the requested state. */
function isInState(state: StreamState, act: LifecycleAct): boolean {
  switch (act) {
    case 'cancel':
      return state.ruling === 'cancel' || (state.cancel !== undefined && state.status !== 'completed');
    case 'terminate':
      return state.status === 'failed' && state.reason === TERMINATED;
    case 'pause':
      return state.paused !== undefined;
    case 'resume':
      return state.paused === undefined && !isClosed(state);
  }
}

/** Throws where the fold would reject the request, and says what to do instead. */
function refuse(row: WorkflowSummary, state: StreamState, act: LifecycleAct): void {
  const { workflow } = row;
  if (isClosed(state)) throw closed(row);
  if (state.status === 'compensating') {
    const message = `Workflow ${workflow} is being compensated by ${state.undo}: '${act}' that one instead.`;
    throw new ConflictError('workflow-compensating', message, { workflow, undo: state.undo });
  }
  if (act === 'cancel' && state.compensates !== null) {
    const message = `Workflow ${workflow} compensates ${state.compensates.workflow}, and can't be cancelled. Terminate it, and the rest stays uncompensated.`;
    throw new InvalidError('cancel-of-undo', message, { workflow });
  }
  if (state.shadow && act !== 'terminate') {
    const message = `Workflow ${workflow} is a shadow run: its agent runs elsewhere, and can't be stopped from here.`;
    throw new InvalidError('workflow-is-shadow', message, { workflow });
  }
  if (act === 'pause' && state.ruling === 'cancel') {
    throw new ConflictError('workflow-cancelling', `Workflow ${workflow} is being cancelled.`, { workflow });
  }
}
