/** Owns what is reported of a workflow as it happens: for people a sentence, and for programs an object, as its accepted events tell. Pure. */

import type { Event, Workflow } from '@tidemark/client';
import { type Json, spendJson } from '@tidemark/core';
import { type CheckpointEntry, type Description, ENDINGS, type Entry } from '@tidemark/core/timeline';
import { duration, spentWords } from '../text/units.ts';
import { countWords, endedWords, type UndoCounts } from '../views/undo.ts';

/** The workflow of a change. */
export interface Of {
  readonly workflow: string;
  readonly definition: string;
}

/** What people read of a change; `figures` come last, and dim. */
export type ChangeDescription = Pick<Description, 'title'> &
  Partial<Description> & { readonly figures?: readonly string[] | undefined };

/** A change of one workflow; or of many at once, which nobody could read one by one: then it names none. */
export interface Change extends Partial<Of> {
  readonly type: string;
  readonly at: string;
  /** Further members of what programs get. */
  readonly facts: Readonly<Record<string, Json>>;
  readonly description: ChangeDescription;
}

/** What programs get. */
export const recordOf = ({ description: _, facts, ...about }: Change): object => ({ ...about, ...facts });

/** Undefined for an entry that `follow` does not report. */
export function changeOf(row: Of & Pick<Workflow, 'opened_at'>, { at }: Event, entry: Entry): Change | undefined {
  const { workflow, definition, opened_at: openedAt } = row;
  const about = { at, workflow, definition };
  if (entry.kind === 'checkpoint') return { ...about, type: 'checkpoint', ...checkpointOf(entry) };
  if (entry.kind === 'effect' || entry.description.facts === undefined) return undefined;
  const { kind, facts, ...description } = entry.description;
  if (!ENDINGS.has(kind)) {
    const again = typeof facts.retry_ms === 'number' ? [`again in ${duration(facts.retry_ms)}`] : [];
    return { ...about, type: kind, facts, description: { ...description, figures: again } };
  }
  const tookMs = Math.max(0, Date.parse(at) - Date.parse(openedAt));
  const took = kind === 'failed' || description.about !== undefined ? {} : { detail: `in ${duration(tookMs)}` };
  return { ...about, type: kind, facts: { ...facts, took_ms: tookMs }, description: { ...description, ...took } };
}

function checkpointOf(entry: CheckpointEntry): Pick<Change, 'facts' | 'description'> {
  const { sequence, checkpoint, task, step, lastAction, spent, sinceMs } = entry;
  const figures = [...(sinceMs === undefined ? [] : [duration(sinceMs)]), ...spentWords(spendJson(spent))];
  return {
    facts: {
      ...{ sequence_number: sequence, checkpoint_id: checkpoint, task, step, last_action: lastAction },
      ...(spendJson(spent) as unknown as Change['facts']),
      took_ms: sinceMs ?? null,
    },
    // The action is the step's name where the step gave none.
    description: {
      title: `#${sequence}`,
      tone: 'good',
      detail: step,
      words: lastAction === step ? '' : lastAction,
      figures,
    },
  };
}

export const resumed = (of: Of, at: string, sequence: number): Change => ({
  ...{ ...of, at, type: 'resumed', facts: { sequence_number: sequence } },
  description: {
    title: sequence === 0 ? 'resumes from its start' : `resumes from checkpoint #${sequence}`,
    tone: 'good',
  },
});

/** Adds how many effects the undo compensated and left; null where that isn't known. */
export function withCounts(change: Change, undo: Partial<UndoCounts> | null | undefined): Change {
  if (change.type !== 'compensated') return change;
  const { undone_count = null, left_count = null } = undo ?? {};
  const counts = { undone_count, left_count };
  const description = { ...change.description, title: endedWords(counts), words: countWords(counts) };
  return { ...change, facts: { ...change.facts, ...counts }, description };
}

/** A change that ends a run, or leaves it to a person. */
export const isEnd = ({ type }: Change): boolean => ENDINGS.has(type) || type === 'parked' || type === 'undo_parked';
