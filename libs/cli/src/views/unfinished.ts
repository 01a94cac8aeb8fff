/** Owns how it is told that a run which was waited for did not complete: what happened, and which commands go on. */

import { endingOf } from '@tidemark/api/shapes';
import { TidemarkError } from '@tidemark/core';
import type { WorkflowSummary } from '@tidemark/ports';
import { historyForgotten } from '@tidemark/runtime';
import type { Reads } from '../state/desk.ts';
import { showCommand } from '../text/shell.ts';
import { printable } from '../text/width.ts';
import { askedIn } from './question.ts';
import { causeWords, countWords, endedWords, undoingOf } from './undo.ts';

export interface Unfinished {
  readonly error: TidemarkError;
  /** Commands with what they mean, for people. */
  readonly answers: readonly string[];
}

/** `state`: the folder as the user named it. */
export async function unfinished(reads: Reads, row: WorkflowSummary, state: string | undefined): Promise<Unfinished> {
  const { workflow } = row;
  const ending = endingOf(row);
  if (ending?.kind === 'forgotten') return { error: historyForgotten(workflow), answers: [] };
  if (ending?.kind === 'failed') {
    return told('workflow-failed', `${workflow} failed (${ending.reason}): ${ending.message}`, workflow);
  }
  if (ending?.kind === 'compensated') {
    const { undo, why, counts } = (await undoingOf(reads, row))!;
    const did = counts === undefined ? '' : `: ${countWords(counts)}`;
    const message = `${workflow} ${endedWords(counts)} (${causeWords(ending.reason, why)})${did}; ${showCommand(undo, state)} tells what was.`;
    return told('workflow-compensated', message, workflow);
  }
  if (row.status === 'compensating') return undoParked(reads, row, state);
  const show = showCommand(workflow, state);
  const message = `${workflow} waits for a person (${row.reason}); ${show} tells why, and how to answer.`;
  return told('workflow-parked', message, workflow);
}

const told = (code: string, message: string, workflow: string): Unfinished => ({
  error: new TidemarkError(code, message, { workflow }),
  answers: [],
});

async function undoParked(reads: Reads, row: WorkflowSummary, state: string | undefined): Promise<Unfinished> {
  const { workflow } = row;
  const waits = (await undoingOf(reads, row))?.waits;
  if (waits === undefined) return told('workflow-parked', `${workflow} is being undone.`, workflow);
  const undo = waits.workflow;
  const asked = await askedIn(reads, undo, state);
  const why = causeWords(waits.reason ?? '', asked?.message ?? '');
  const message = `${workflow} is being undone, and its undo ${undo} waits for a person (${why}); ${showCommand(undo, state)} tells more.`;
  const commands = (asked?.answers ?? []).flatMap(({ command, means }) => [
    `  ${printable(command)}`,
    `    ${printable(means)}`,
  ]);
  return {
    ...told('workflow-parked', message, workflow),
    answers: commands.length === 0 ? [] : [`Answer ${printable(undo)} with one of these:`, ...commands],
  };
}
