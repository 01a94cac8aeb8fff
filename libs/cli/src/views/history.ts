/** Owns what an event says in a few words. Pure. */

import { decodePayload } from '@tidemark/codec';
import type { EventRow } from '@tidemark/ports';

const FORGOTTEN = '(forgotten)';
/** An event whose key was destroyed has none. */
const messageOf = (error: { readonly message: string } | undefined): string => error?.message ?? FORGOTTEN;

/** What an event says, in a few words; without its payload's values, except an error's message. */
export function eventWords(row: EventRow): string {
  const control = JSON.parse(row.control) as Record<string, unknown>;
  switch (row.type) {
    case 'StepFailed': {
      const { error } = decodePayload('StepFailed', row.payload);
      return `task ${control.task}, attempt ${control.attempt}: ${messageOf(error)}`;
    }
    case 'WorkflowFailed':
      return messageOf(decodePayload('WorkflowFailed', row.payload).error);
    case 'WorkflowParked':
      return `${control.code}: ${messageOf(decodePayload('WorkflowParked', row.payload).error)}`;
    case 'ApprovalDecided':
      return `${control.by} decided ${control.resolution}: ${decodePayload('ApprovalDecided', row.payload).why ?? FORGOTTEN}`;
    case 'EffectConfirmed':
      return `token ${control.token}: ${control.outcome}`;
    case 'CompensationStarted':
      return `${control.code}: undone by ${control.undo}`;
    case 'CompensationFinished':
      return `${control.undo}: ${control.outcome}`;
    case 'CancelRequested':
      return `${control.code} by ${control.by}: ${decodePayload('CancelRequested', row.payload).why ?? FORGOTTEN}`;
    case 'ChildClosed':
      return `${control.child}: ${control.outcome} (task ${control.task})`;
    case 'ApprovalGiven':
      return `${control.by} ${control.approved === true ? 'approved' : 'rejected'} ${control.name} (task ${control.task})`;
    case 'WorkflowTerminated':
    case 'PauseRequested':
    case 'ResumeRequested':
      return `by ${control.by}: ${decodePayload(row.type, row.payload).why ?? FORGOTTEN}`;
    case 'RecordJudged':
      return `${control.by} decided ${control.judgement} of the record at offset ${control.offset}: ${decodePayload('RecordJudged', row.payload).why ?? FORGOTTEN}`;
    case 'VersionPinned':
      return `${control.pinned === true ? 'pinned' : 'let go'} by ${control.by}`;
    case 'WorkflowCompleted':
      return control.continued === undefined ? '' : `goes on as ${control.continued}`;
    case 'RulesRaised':
      return `from here on rules ${control.rules} hold`;
    case 'SignalReceived':
      return String(control.name);
    case 'TimerFired':
      return String(control.timer);
    case 'LeaseRevoked':
      return `epoch ${control.epoch}: ${control.reason}`;
    default:
      return '';
  }
}
