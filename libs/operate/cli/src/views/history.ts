/** Owns an event's summary in a few words, and what the end of a workflow left undone. Pure. */

import type { Event, WorkflowView } from '@tidemark/client';
import { TASKS_DROPPED } from '@tidemark/runtime/names';
import { counted } from '../text/units.ts';

const FORGOTTEN = '(forgotten)';

interface Dropped {
  readonly count: number;
  readonly tasks: readonly string[];
}

function droppedWords({ count, tasks }: Dropped): string {
  const more = count > tasks.length ? ` and ${count - tasks.length} more` : '';
  return `${counted(count, 'pending task')} ${count === 1 ? 'was' : 'were'} dropped: ${tasks.join(', ')}${more}`;
}

/** As its last checkpoint says, with the names of the steps; undefined: nothing, or it may not be shown. */
export function droppedByEnd({ last_checkpoint: last }: Pick<WorkflowView, 'last_checkpoint'>): string | undefined {
  const detail = last?.log?.find(({ action }) => action === TASKS_DROPPED)?.detail as Dropped | null | undefined;
  return Array.isArray(detail?.tasks) ? droppedWords(detail) : undefined;
}

/** The message of the error in an event's payload, or the reason of a request; forgotten or hidden ones have none. */
export function wordsIn({ payload }: Pick<Event, 'payload'>): string {
  const { error, why, value } = (payload ?? {}) as {
    error?: { message?: string };
    why?: string;
    value?: { why?: string };
  };
  return error?.message ?? why ?? value?.why ?? '';
}

/** An event's summary; without values of its payload, except an error's message. */
export function eventWords(event: Event): string {
  const { control } = event;
  const words = wordsIn(event) || FORGOTTEN;
  switch (event.type) {
    case 'StepFailed':
      return `task ${control.task}, attempt ${control.attempt}: ${words}`;
    case 'WorkflowFailed':
      return words;
    case 'WorkflowParked':
      return `${control.code}: ${words}`;
    case 'ApprovalDecided':
      return `${control.by} decided ${control.resolution}: ${words}`;
    case 'RetryDecided':
      return `retried on the build ${control.build}, which announced itself`;
    case 'EffectConfirmed':
      return `token ${control.token}: ${control.outcome}`;
    case 'CompensationStarted':
      return `${control.code}: compensated by ${control.undo}`;
    case 'CompensationFinished':
      return `${control.undo}: ${control.outcome}`;
    case 'CancelRequested':
      return `${control.code} by ${control.by}: ${words}`;
    case 'ChildClosed':
      return `${control.child}: ${control.outcome} (task ${control.task})`;
    case 'ApprovalGiven':
      return `${control.by} ${control.approved === true ? 'approved' : 'rejected'} ${control.name} (task ${control.task})`;
    case 'WorkflowTerminated':
    case 'PauseRequested':
    case 'ResumeRequested':
      return `by ${control.by}: ${words}`;
    case 'RecordJudged':
      return `${control.by} decided ${control.judgement} of the record at offset ${control.offset}: ${words}`;
    case 'VersionPinned':
      return `${control.pinned === true ? 'pinned' : 'unpinned'} by ${control.by}`;
    case 'WorkflowCompleted':
      return [
        ...(control.continued === undefined ? [] : [`continues as ${control.continued}`]),
        ...(control.dropped === undefined ? [] : [droppedWords(control.dropped as unknown as Dropped)]),
      ].join(', ');
    case 'RulesRaised':
      return `event rules version ${control.rules} from here on`;
    case 'SignalReceived':
      return String(control.name);
    case 'TimerFired':
      return String(control.timer);
    case 'LeaseRevoked':
      return `epoch ${control.epoch}: ${control.reason}${control.isGone === true ? ', gone' : ', silent'}`;
    default:
      return '';
  }
}
