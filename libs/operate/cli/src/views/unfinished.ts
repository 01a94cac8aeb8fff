/** Owns the text about an awaited run that did not complete: what happened, and which commands continue it. */

import type { Client, WorkflowView } from '@tidemark/client';
import { TidemarkError, workflowId } from '@tidemark/core';
import { historyForgotten } from '@tidemark/runtime/names';
import { type At, showCommand } from '../text/shell.ts';
import { printable } from '../text/width.ts';
import { answersOf } from './answers.ts';
import { causeWords, countWords, endedWords } from './undo.ts';

export interface Unfinished {
  readonly error: TidemarkError;
  /** Commands with what they mean, for people. */
  readonly answers: readonly string[];
}

/** It may resume by itself. */
export const isUnfinished = ({ status }: Pick<WorkflowView, 'status'>): boolean =>
  status === 'open' || status === 'compensating';

/** `at`: the place of the question. */
export async function unfinished(client: Client, view: WorkflowView, at: At): Promise<Unfinished> {
  const { workflow, status, undo } = view;
  const reason = view.reason ?? '';
  if (view.forgotten) return { error: historyForgotten(workflowId(workflow)), answers: [] };
  if (status === 'failed') {
    return reported('workflow-failed', `${workflow} failed (${reason}): ${view.error?.message ?? ''}`, workflow);
  }
  if (status === 'compensated' && undo !== null) {
    const came = `${endedWords(undo)} (${causeWords(reason, undo.why ?? '')})${countWords(undo, ': ')}`;
    const message = `${workflow} ${came}; ${showCommand(undo.workflow, at)} says what was.`;
    return reported('workflow-compensated', message, workflow);
  }
  if (status === 'compensating') return undoParked(client, view, at);
  const show = showCommand(workflow, at);
  const asked = view.question?.message ?? '';
  const message = `${workflow} waits for a person (${reason}); ${show} says why, and how to answer.${asked === '' ? '' : ` ${asked}`}`;
  return reported('workflow-parked', message, workflow);
}

const reported = (code: string, message: string, workflow: string): Unfinished => ({
  error: new TidemarkError(code, message, { workflow }),
  answers: [],
});

async function undoParked(client: Client, { workflow, undo }: WorkflowView, at: At): Promise<Unfinished> {
  const waiting = undo?.waiting_workflow ?? null;
  if (waiting === null) return reported('workflow-parked', `${workflow} is being compensated.`, workflow);
  const waits = await client.run(waiting).get();
  const why = causeWords(waits.reason ?? '', waits.question?.message ?? '');
  const message = `${workflow} is being compensated, and its undo ${waiting} waits for a person (${why}); ${showCommand(waiting, at)} shows more.`;
  const answers = waits.question === null ? [] : answersOf(waiting, waits.tenant, waits.question, at);
  const commands = answers.flatMap(({ command, means }) => [`  ${printable(command)}`, `    ${printable(means)}`]);
  return {
    ...reported('workflow-parked', message, workflow),
    answers: commands.length === 0 ? [] : [`Answer ${printable(waiting)} with one of these:`, ...commands],
  };
}
