/** Owns an event's summary in a few words, and what the end of a workflow left undone. Pure. */

import type { Event, WorkflowView } from '@tidemark/client';
import { type Dropped, describeEvent, droppedWords } from '@tidemark/core/timeline';
import { TASKS_DROPPED } from '@tidemark/runtime/names';
import { descriptionLine } from '../follow/words.ts';

/** Reads it from the workflow's last checkpoint, with the names of the steps. Undefined: nothing was left, or it may not be shown. */
export function droppedByEnd({ last_checkpoint: last }: Pick<WorkflowView, 'last_checkpoint'>): string | undefined {
  const detail = last?.log?.find(({ action }) => action === TASKS_DROPPED)?.detail as Dropped | null | undefined;
  return Array.isArray(detail?.tasks) ? droppedWords(detail) : undefined;
}

/** Returns an event's summary, which has no value of its payload except an error's message. */
export function eventWords(event: Event): string {
  const what = describeEvent(event);
  return what === undefined ? '' : descriptionLine(what);
}
