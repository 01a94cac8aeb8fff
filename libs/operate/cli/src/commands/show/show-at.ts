/** Owns how a workflow right after one of its checkpoints reads on a terminal. Pure. */

import type { Answer } from '@tidemark/client';
import { type Json, shownBelief } from '@tidemark/core';
import type { Columns } from '../../text/table.ts';
import { counted, dateTime, spentWords } from '../../text/units.ts';
import { printable } from '../../text/width.ts';
import { forkWords } from '../../views/fork.ts';
import { taskWords } from '../../views/frontier.ts';
import { memoryLines, statusWords } from '../../views/memory.ts';
import { INDENT, type Style, section, sectionsLines, tableLines, valueLines } from '../../views/sections.ts';

/** Fragments of a past state that are shown, the newest; all of them are in the JSON. */
const FRAGMENTS_SHOWN_COUNT = 10;

type Past = Answer<'GET /v1/workflows/{workflow}/at/{sequence}'>;

export function pastLines(past: Past, style: Style, nowMs: number): readonly string[] {
  const { paint } = style;
  const { sequence_number: sequence, newest_sequence_number: newest } = past;
  const where = sequence === 0 ? 'when it was opened' : `after checkpoint #${sequence} of ${newest}`;
  const spent = [counted(sequence, 'checkpoint'), ...spentWords(past)];
  const times = `opened ${dateTime(Date.parse(past.opened_at))}, then ${dateTime(Date.parse(past.at))}`;
  const sections = [
    [
      `${paint('bold', printable(past.workflow))}  ${printable(past.definition)} v${past.definition_version}  as it was ${where}`,
      paint('dim', `${times}; ${spent.join(', ')}`),
      ...(past.fork === undefined ? [] : [paint('dim', forkWords(past.fork))]),
    ],
    section('Input', valueLines(past.input, style), style),
    past.belief == null ? [] : section('Belief', valueLines(shownBelief(past.belief as Json), style), style),
    memoryLines(past.memory_scope_snapshot, past.working_memory, style),
    frontierLines(past, style, nowMs),
    lastLines(past, style),
    fragmentLines(past, style),
  ];
  return sectionsLines(sections);
}

function frontierLines({ frontier }: Past, style: Style, nowMs: number): readonly string[] {
  if (frontier.length === 0) return [style.paint('bold', 'Frontier: no task was pending')];
  const columns: Columns<Past['frontier'][number]> = [
    ['TASK', ({ task }) => task],
    ['STEP', ({ step }) => step, 8],
    ['STATE', (task) => taskWords(task, nowMs), 20],
  ];
  return section(`Frontier: ${counted(frontier.length, 'task')} pending`, tableLines(columns, frontier, style), style);
}

function lastLines({ last_checkpoint: last, last_action: action }: Past, { paint }: Style): readonly string[] {
  if (last === null) return [];
  const { sequence_number: sequence, step_definition_ref: step, task } = last;
  return [
    paint('bold', 'Checkpoint'),
    `${INDENT}#${sequence} ${printable(step ?? '')} (task ${task}), ${statusWords(last)}: ${printable(action)}`,
    paint('dim', `${INDENT}${last.checkpoint_id}, input ${last.input_state_hash.slice(0, 12)}…`),
  ];
}

/** The newest; all of them are in the JSON. */
function fragmentLines({ fragments }: Past, style: Style): readonly string[] {
  if (fragments.length === 0) return [];
  const shown = fragments.slice(-FRAGMENTS_SHOWN_COUNT);
  const columns: Columns<Past['fragments'][number]> = [
    ['PLACE', ({ place }) => place],
    ['TYPE', ({ type }) => type],
    ['TEXT', ({ text = '' }) => text.replace(/\s+/gu, ' ').slice(0, 200), 20],
  ];
  const left = fragments.length - shown.length;
  const more = left === 0 ? [] : [`${INDENT}… ${counted(left, 'earlier fragment')} (--json)`];
  const title = `Fragments: ${counted(fragments.length, 'fragment')}`;
  return section(title, [...more, ...tableLines(columns, shown, style)], style);
}
