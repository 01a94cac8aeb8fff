/** Owns how a workflow right after one of its checkpoints reads on a terminal. Pure. */

import type { Answer } from '@tidemark/client';
import { FRAGMENTS_SHOWN_COUNT } from '../../limits.ts';
import type { Terminal } from '../../terminal.ts';
import { jsonLines } from '../../text/json.ts';
import { table } from '../../text/table.ts';
import { cost, counted, dateTime } from '../../text/units.ts';
import { printable } from '../../text/width.ts';
import { forkWords } from '../../views/fork.ts';
import { stepNames, taskWords } from '../../views/frontier.ts';
import { memoryLines, statusWords } from '../../views/memory.ts';

type Past = Answer<'GET /v1/workflows/{workflow}/at/{sequence}'>;
type ShownWorkflow = Pick<Terminal, 'paint' | 'width'>;

const INDENT = '  ';
const VALUE_LINES_MAX = 24;

export function pastLines(past: Past, style: ShownWorkflow, nowMs: number): readonly string[] {
  const { paint, width } = style;
  const { sequence_number: sequence, newest_sequence_number: newest, tokens, cost_micros: micros } = past;
  const where = sequence === 0 ? 'when it was opened' : `after checkpoint #${sequence} of ${newest}`;
  const spent = [
    counted(sequence, 'checkpoint'),
    ...(tokens > 0 ? [counted(tokens, 'token')] : []),
    ...(micros > 0 ? [cost(micros)] : []),
  ];
  const value = (json: Past['belief']) =>
    jsonLines(json ?? null, { indent: INDENT, linesMax: VALUE_LINES_MAX, columns: width });
  const times = `opened ${dateTime(Date.parse(past.opened_at))}, then ${dateTime(Date.parse(past.at))}`;
  const sections = [
    [
      `${paint('bold', printable(past.workflow))}  ${printable(past.definition)} v${past.definition_version}  as it was ${where}`,
      paint('dim', `${times}; ${spent.join(', ')}`),
      ...(past.fork === undefined ? [] : [paint('dim', forkWords(past.fork))]),
    ],
    [paint('bold', 'Input'), ...value(past.input)],
    [paint('bold', 'Belief'), ...value(past.belief)],
    memoryLines(past.memory_scope_snapshot, past.working_memory, style),
    frontierLines(past, style, nowMs),
    lastLines(past, style),
    fragmentLines(past, style),
  ];
  return sections.filter((lines) => lines.length > 0).flatMap((lines, at) => (at === 0 ? lines : ['', ...lines]));
}

const indented = (lines: readonly string[]): readonly string[] => lines.map((line) => `${INDENT}${line}`);
const inner = ({ width }: ShownWorkflow): number | undefined =>
  width === undefined ? undefined : width - INDENT.length;

function frontierLines({ frontier }: Past, style: ShownWorkflow, nowMs: number): readonly string[] {
  if (frontier.length === 0) return [style.paint('bold', 'Frontier: no task was pending')];
  const steps = stepNames(frontier);
  const cells = frontier.map((task) => [task.task, printable(task.step), printable(taskWords(task, steps, nowMs))]);
  const columns = [{ title: 'TASK' }, { title: 'STEP', shrinksTo: 8 }, { title: 'STATE', shrinksTo: 20 }];
  const options = { width: inner(style), title: (text: string) => style.paint('dim', text) };
  return [
    style.paint('bold', `Frontier: ${counted(frontier.length, 'task')} pending`),
    ...indented(table(columns, cells, options)),
  ];
}

function lastLines({ last_checkpoint: last, last_action: action }: Past, { paint }: ShownWorkflow): readonly string[] {
  if (last === null) return [];
  const { sequence_number: sequence, step_definition_ref: step, task } = last;
  return [
    paint('bold', 'Checkpoint'),
    `${INDENT}#${sequence} ${printable(step ?? '')} (task ${task}), ${statusWords(last)}: ${printable(action)}`,
    paint('dim', `${INDENT}${last.checkpoint_id}, input ${last.input_state_hash.slice(0, 12)}…`),
  ];
}

/** The newest; all of them are in the JSON. */
function fragmentLines({ fragments }: Past, style: ShownWorkflow): readonly string[] {
  if (fragments.length === 0) return [];
  const shown = fragments.slice(-FRAGMENTS_SHOWN_COUNT);
  const cells = shown.map(({ place, type, text = '' }) => [
    place,
    type,
    printable(text.replace(/\s+/gu, ' ').slice(0, 200)),
  ]);
  const columns = [{ title: 'PLACE' }, { title: 'TYPE' }, { title: 'TEXT', shrinksTo: 20 }];
  const left = fragments.length - shown.length;
  const more = left === 0 ? [] : [`${INDENT}… ${counted(left, 'earlier fragment')} (--json)`];
  const options = { width: inner(style), title: (text: string) => style.paint('dim', text) };
  return [
    style.paint('bold', `Fragments: ${counted(fragments.length, 'fragment')}`),
    ...more,
    ...indented(table(columns, cells, options)),
  ];
}
