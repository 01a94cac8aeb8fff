/** Owns `tidemark show --at`: a workflow as it stood after one of its checkpoints, from whichever tier has its history. */

import { type PastView, pastJson, pendingState } from '@tidemark/api/shapes';
import type { Sequence, TaskState } from '@tidemark/core';
import type { FragmentWithText, WorkflowSummary } from '@tidemark/ports';
import { FRAGMENTS_SHOWN_COUNT } from '../limits.ts';
import type { Desk } from '../state/desk.ts';
import { requireWorkflow } from '../state/require-workflow.ts';
import type { Terminal } from '../terminal.ts';
import { jsonLines } from '../text/json.ts';
import { table } from '../text/table.ts';
import { cost, counted, dateTime } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { forkWords } from '../views/fork.ts';
import { taskWords } from '../views/frontier.ts';

const INDENT = '  ';
const VALUE_LINES_MAX = 24;

export async function showAt(desk: Desk, terminal: Terminal, id: string, at: number): Promise<void> {
  const row = await requireWorkflow(desk, id);
  const past = await desk.past.at(row.workflow, at as Sequence);
  const { task } = past.checkpoint;
  const effects = task === null ? [] : await desk.reads.effects(row.workflow, { task });
  terminal.document(pastJson(row, past, effects));
  if (!terminal.json) terminal.lines(pastLines(row, past, terminal, Date.now()));
}

type Look = Pick<Terminal, 'paint' | 'width'>;

function pastLines(row: WorkflowSummary, past: PastView, look: Look, nowMs: number): readonly string[] {
  const { paint, width } = look;
  const { checkpoint, tokens, costMicros } = past;
  const { sequence } = checkpoint;
  const where = sequence === 0 ? 'when it was opened' : `after checkpoint #${sequence} of ${row.sequence}`;
  const spent = [
    counted(sequence, 'checkpoint'),
    ...(tokens > 0 ? [counted(tokens, 'token')] : []),
    ...(costMicros > 0 ? [cost(costMicros)] : []),
  ];
  const value = (json: PastView['belief']) =>
    jsonLines(json, { indent: INDENT, linesMax: VALUE_LINES_MAX, columns: width });
  const sections = [
    [
      `${paint('bold', printable(row.workflow))}  ${printable(row.definition)} v${past.version}  as it was ${where}`,
      paint('dim', `opened ${dateTime(past.openedAtMs)}, then ${dateTime(checkpoint.atMs)}; ${spent.join(', ')}`),
      ...(row.fork === undefined ? [] : [paint('dim', forkWords(row.fork))]),
    ],
    [paint('bold', 'Input'), ...value(past.input)],
    [paint('bold', 'Belief'), ...value(past.belief)],
    frontierLines(past.tasks, look, nowMs),
    lastLines(past, look),
    fragmentLines(past.fragments, look),
  ];
  return sections.filter((lines) => lines.length > 0).flatMap((lines, at) => (at === 0 ? lines : ['', ...lines]));
}

const indented = (lines: readonly string[]): readonly string[] => lines.map((line) => `${INDENT}${line}`);
const inner = ({ width }: Look): number | undefined => (width === undefined ? undefined : width - INDENT.length);

function frontierLines(tasks: readonly TaskState[], look: Look, nowMs: number): readonly string[] {
  if (tasks.length === 0) return [look.paint('bold', 'Frontier: nothing was left to be done')];
  const steps = new Map(tasks.map(({ id, step }) => [id, step]));
  const cells = tasks.map((task) => [
    task.id,
    printable(task.step),
    printable(taskWords(pendingState(task), steps, nowMs)),
  ]);
  const columns = [{ title: 'TASK' }, { title: 'STEP', shrinksTo: 8 }, { title: 'STATE', shrinksTo: 20 }];
  const options = { width: inner(look), title: (text: string) => look.paint('dim', text) };
  return [
    look.paint('bold', `Frontier: ${counted(tasks.length, 'task')} pending`),
    ...indented(table(columns, cells, options)),
  ];
}

function lastLines({ checkpoint, lastAction }: PastView, { paint }: Look): readonly string[] {
  const { sequence, step, task, inputDigest } = checkpoint;
  if (sequence === 0) return [];
  return [
    paint('bold', 'Checkpoint'),
    `${INDENT}#${sequence} ${printable(step ?? '')} (task ${task}): ${printable(lastAction)}`,
    paint('dim', `${INDENT}${checkpoint.checkpoint}, input ${inputDigest.slice(0, 12)}…`),
  ];
}

/** The newest; all of them are in the JSON. */
function fragmentLines(fragments: readonly FragmentWithText[], look: Look): readonly string[] {
  if (fragments.length === 0) return [];
  const shown = fragments.slice(-FRAGMENTS_SHOWN_COUNT);
  const cells = shown.map(({ sequence, index, type, text }) => [
    `${sequence}.${index}`,
    type,
    printable(text.replace(/\s+/gu, ' ').slice(0, 200)),
  ]);
  const columns = [{ title: 'PLACE' }, { title: 'TYPE' }, { title: 'TEXT', shrinksTo: 20 }];
  const left = fragments.length - shown.length;
  const more = left === 0 ? [] : [`${INDENT}… ${counted(left, 'earlier fragment')} (--json)`];
  const options = { width: inner(look), title: (text: string) => look.paint('dim', text) };
  return [
    look.paint('bold', `Fragments: ${counted(fragments.length, 'fragment')}`),
    ...more,
    ...indented(table(columns, cells, options)),
  ];
}
