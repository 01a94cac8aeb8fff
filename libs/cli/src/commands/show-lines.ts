/** Owns how `tidemark show` reads on a terminal. Pure. */

import { activityOf, endingOf } from '@tidemark/api/shapes';
import type { EffectRow } from '@tidemark/ports';
import { CANCELLING, continuesFrom, PAUSED } from '@tidemark/runtime';
import { TASKS_SHOWN_COUNT } from '../limits.ts';
import type { Terminal } from '../terminal.ts';
import { jsonLines } from '../text/json.ts';
import { commandLine, showCommand, stateWords } from '../text/shell.ts';
import { table } from '../text/table.ts';
import { ago, clockTime, cost, count, counted, dateTime, duration } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { ACTIVITY_COLOURS } from '../views/activity.ts';
import { flowLines } from '../views/flow.ts';
import { forkWords } from '../views/fork.ts';
import { standsWords, taskWords } from '../views/frontier.ts';
import { eventWords } from '../views/history.ts';
import type { Asked } from '../views/question.ts';
import { causeWords, countWords } from '../views/undo.ts';
import type { Found, ShowOptions } from './show.ts';

const INDENT = '  ';
/** Lines of a value that are shown; all of it is in the JSON. */
const VALUE_LINES_MAX = 24;
const FORGOTTEN_WORDS = 'What it held (input, belief, output) was forgotten for good: its key was destroyed.';

type Look = Pick<Terminal, 'paint' | 'width'>;

export function showLines(found: Found, options: ShowOptions, look: Look, nowMs: number): readonly string[] {
  const sections: (readonly string[])[] = [
    headLines(found, look, nowMs),
    endingLines(found, options, look),
    ...(found.isForgotten
      ? [section('Forgotten', [`${INDENT}${FORGOTTEN_WORDS}`], look)]
      : [
          section('Input', valueLines(found.input, look), look),
          section('Belief', valueLines(found.belief, look), look),
        ]),
    frontierLines(found, options, look, nowMs),
    childLines(found, look),
    lastLines(found, look, nowMs),
    found.definition === undefined ? [] : section('Flow', flowSection(found, look), look),
    options.checkpoints === true ? checkpointLines(found, look) : [],
    options.effects === true ? effectLines(found.effects, look) : [],
    options.events === true ? eventLines(found, look) : [],
  ];
  return sections.filter((lines) => lines.length > 0).flatMap((lines, at) => (at === 0 ? lines : ['', ...lines]));
}

const section = (title: string, lines: readonly string[], { paint }: Look): readonly string[] => [
  paint('bold', title),
  ...lines,
];

const valueLines = (value: Found['belief'], { width }: Look): readonly string[] =>
  jsonLines(value, { indent: INDENT, linesMax: VALUE_LINES_MAX, columns: width });

const tableLines = (...given: Parameters<typeof table>): readonly string[] =>
  table(...given).map((line) => `${INDENT}${line}`);

const innerWidth = ({ width }: Look): number | undefined => (width === undefined ? undefined : width - INDENT.length);

function headLines({ row, idle }: Found, { paint }: Look, nowMs: number): readonly string[] {
  const activity = activityOf(row, idle);
  const holder =
    activity !== 'running' || row.holder === null ? '' : ` by ${printable(row.holder)} (epoch ${row.epoch})`;
  const reason = row.reason === null ? '' : ` (${printable(row.reason)})`;
  const spent = [
    counted(row.sequence, 'checkpoint'),
    ...(row.tokens > 0 ? [counted(row.tokens, 'token')] : []),
    ...(row.costMicros > 0 ? [cost(row.costMicros)] : []),
  ];
  return [
    `${paint('bold', printable(row.workflow))}  ${printable(row.definition)} v${row.version}  ${paint(ACTIVITY_COLOURS[activity], activity)}${reason}${holder}`,
    paint('dim', `opened ${dateTime(row.openedAtMs)}, changed ${ago(row.updatedAtMs, nowMs)}; ${spent.join(', ')}`),
    paint('dim', `tenant ${printable(row.tenant)}, partition ${row.partition}`),
    ...(row.fork === undefined ? [] : [paint('dim', forkWords(row.fork))]),
    ...chainLines(row).map((line) => paint('dim', line)),
  ];
}

/** Whose history it goes on from. */
function chainLines({ workflow }: Found['row']): readonly string[] {
  const before = continuesFrom(workflow);
  return before === undefined ? [] : [`goes on for ${printable(before)}, with a fresh history`];
}

/** Why, on what evidence, and with which commands it is answered. */
function questionLines(asked: Asked | undefined, reason: string, look: Look): readonly string[] {
  if (asked === undefined) return [`${INDENT}${printable(reason)}`];
  const { question, message, evidence, answers } = asked;
  return [
    `${INDENT}${printable(question.code)}: ${printable(message)}`,
    ...valueLines(evidence, look),
    `${INDENT}Answer it with one of these:`,
    ...answers.flatMap(({ command, means }) => [
      `${INDENT}${INDENT}${look.paint('cyan', printable(command))}`,
      look.paint('dim', `${INDENT}${INDENT}${INDENT}${printable(means)}`),
    ]),
  ];
}

/** Why, what came of it, the command that tells more, and what the undo itself asks a person. */
function undoLines(
  { row, undoing, undoAsked }: Found,
  { state }: ShowOptions,
  title: string,
  look: Look,
): readonly string[] {
  const { undo, why, counts, waits } = undoing!;
  const cause = `${INDENT}${printable(causeWords(row.reason ?? '', why))}`;
  const tells = `${printable(showCommand(undo, state))} tells what was`;
  const came = counts === undefined ? tells : `${countWords(counts)}; ${tells}`;
  const lines = section(title, [cause, `${INDENT}${came}`], look);
  if (waits === undefined) return lines;
  const waitTitle = `Its undo ${printable(waits.workflow)} waits for a person`;
  return [...lines, '', ...section(waitTitle, questionLines(undoAsked, waits.reason ?? '', look), look)];
}

function endingLines(found: Found, options: ShowOptions, look: Look): readonly string[] {
  const { row } = found;
  if (row.status === 'compensating') {
    return undoLines(found, options, 'Is being undone', look);
  }
  const ending = endingOf(row);
  switch (ending?.kind) {
    case 'completed':
      return section(
        `Output after ${duration(row.updatedAtMs - row.openedAtMs)}`,
        valueLines(ending.output, look),
        look,
      );
    case 'continued': {
      const tells = printable(showCommand(ending.as, options.state));
      return section(
        'Continued',
        [`${INDENT}It goes on as ${printable(ending.as)}; ${tells} tells how that stands.`],
        look,
      );
    }
    case 'failed':
      return section('Failed', [`${INDENT}${printable(ending.reason)}: ${printable(ending.message)}`], look);
    case 'compensated':
      return undoLines(found, options, found.undoing?.counts?.undone === 0 ? 'Ended, nothing undone' : 'Undone', look);
    case 'parked':
      return section('Waits for a person', questionLines(found.asked, row.reason ?? '', look), look);
    default:
      return askedLines(found, look);
  }
}

/** Who paused or cancelled it, and why. */
function askedLines({ row, events }: Found, look: Look): readonly string[] {
  if (row.reason !== PAUSED && row.reason !== CANCELLING) return [];
  const [title, wanted] =
    row.reason === PAUSED ? ['Paused', 'PauseRequested'] : ['Is being cancelled', 'CancelRequested'];
  const asked = events.findLast(({ type }) => type === wanted);
  return section(title, asked === undefined ? [] : [`${INDENT}${printable(eventWords(asked))}`], look);
}

function frontierLines(
  { row, idle, tasks, events }: Found,
  options: ShowOptions,
  look: Look,
  nowMs: number,
): readonly string[] {
  if (row.pendingCount === 0) return [];
  const steps = new Map(tasks.map(({ state }) => [state.id, state.step]));
  const isHeld = activityOf(row, idle) === 'running';
  const shown = options.tasks === true ? tasks : tasks.slice(0, TASKS_SHOWN_COUNT);
  const cells = shown.map((task) => {
    const failure = events.findLast(
      (event) => event.type === 'StepFailed' && JSON.parse(event.control).task === task.state.id,
    );
    const stands = standsWords(row.status);
    const words = stands ?? taskWords(task, steps, nowMs, isHeld);
    // The words of an event about a task begin with the task; here they stand in its line.
    const why = failure === undefined ? '' : `: ${eventWords(failure).replace(/^task [^:]*: /, '')}`;
    const colour = task.ready && stands === undefined ? 'cyan' : 'yellow';
    return [
      task.state.id,
      printable(task.state.step),
      { text: printable(`${words}${why}`), paint: (text: string) => look.paint(colour, text) },
    ];
  });
  const columns = [{ title: 'TASK' }, { title: 'STEP', shrinksTo: 8 }, { title: 'STATE', shrinksTo: 20 }];
  const lines = tableLines(columns, cells, { width: innerWidth(look), title: (text) => look.paint('dim', text) });
  const left = row.pendingCount - shown.length;
  const more =
    left > 0 ? [`${INDENT}… ${counted(left, 'more task')}${options.tasks === true ? '' : ' (--tasks)'}`] : [];
  const confirm = confirmLines(row.workflow, shown, options, look);
  return section(`Frontier: ${counted(row.pendingCount, 'task')} pending`, [...lines, ...more, ...confirm], look);
}

/** The command for the first effect that waits for its confirmation; the token of others stands in their line. */
function confirmLines(
  workflow: string,
  tasks: Found['tasks'],
  { state }: ShowOptions,
  { paint }: Look,
): readonly string[] {
  const wait = tasks.flatMap(({ blocked }) => blocked).find(({ on }) => on === 'confirmation');
  if (wait?.on !== 'confirmation') return [];
  const command = commandLine('tidemark', 'confirm', workflow, wait.token, ...stateWords(state));
  return [`${INDENT}What became of it is told with ${paint('cyan', `${command} --response JSON`)} (or --failed TEXT)`];
}

function childLines({ children, idle }: Found, look: Look): readonly string[] {
  if (children.length === 0) return [];
  const shown = children.slice(0, TASKS_SHOWN_COUNT).map((row) => {
    const activity = activityOf(row, idle);
    return `${INDENT}${printable(row.workflow)}  ${printable(row.definition)}  ${look.paint(ACTIVITY_COLOURS[activity], activity)}`;
  });
  const more = children.length - shown.length;
  return section('Children', more > 0 ? [...shown, `${INDENT}… and ${count(more)} more`] : shown, look);
}

function lastLines({ lastCheckpoint, row }: Found, look: Look, nowMs: number): readonly string[] {
  if (lastCheckpoint === undefined) return section('Last checkpoint', [`${INDENT}none yet`], look);
  const { sequence, step, task, checkpoint, atMs, inputDigest } = lastCheckpoint;
  return section(
    'Last checkpoint',
    [
      `${INDENT}#${sequence} ${printable(step ?? '')} (task ${task}), ${ago(atMs, nowMs)}: ${printable(row.lastAction)}`,
      look.paint('dim', `${INDENT}${checkpoint}, input ${inputDigest.slice(0, 12)}…`),
    ],
    look,
  );
}

/** The flow with the number of pending tasks behind each step. */
function flowSection({ definition, tasks, lastCheckpoint }: Found, { paint }: Look): readonly string[] {
  const pending = new Map<string, number>();
  for (const { state } of tasks) pending.set(state.step, (pending.get(state.step) ?? 0) + 1);
  const marks = (step: string): string => {
    const waiting = pending.get(step);
    const last = lastCheckpoint?.step === step ? paint('green', '  ✓ last') : '';
    return `${last}${waiting === undefined ? '' : paint('yellow', `  ● ${waiting} pending`)}`;
  };
  return flowLines(definition!, marks).map((line) => `${INDENT}${line}`);
}

function checkpointLines({ checkpoints = [], row }: Found, look: Look): readonly string[] {
  let beforeMs = row.openedAtMs;
  const cells = checkpoints.map((checkpoint) => {
    const took = duration(checkpoint.atMs - beforeMs);
    beforeMs = checkpoint.atMs;
    return [
      count(checkpoint.sequence),
      clockTime(checkpoint.atMs),
      took,
      printable(checkpoint.step ?? ''),
      checkpoint.task ?? '',
      checkpoint.tokens === 0 ? '' : count(checkpoint.tokens),
      String(checkpoint.epoch),
      printable(checkpoint.lastAction),
    ];
  });
  const columns = [
    { title: '#', align: 'right' },
    { title: 'AT' },
    { title: 'TOOK', align: 'right' },
    { title: 'STEP', shrinksTo: 8 },
    { title: 'TASK' },
    { title: 'TOKENS', align: 'right' },
    { title: 'EPOCH', align: 'right' },
    { title: 'ACTION', shrinksTo: 12 },
  ] as const;
  const lines = tableLines(columns, cells, { width: innerWidth(look), title: (text) => look.paint('dim', text) });
  return section('Checkpoints', checkpoints.length === 0 ? [`${INDENT}none yet`] : lines, look);
}

function effectLines(effects: readonly EffectRow[], look: Look): readonly string[] {
  const cells = effects.map((effect) => [
    clockTime(effect.atMs),
    printable(effect.operation),
    effect.kind,
    {
      text: effect.status,
      paint: (text: string) => look.paint(effect.status === 'done' ? 'green' : 'yellow', text),
    },
    effect.requestDigest.slice(0, 12),
    effect.responseDigest?.slice(0, 12) ?? '',
    printable(effect.key),
  ]);
  const columns = [
    { title: 'AT' },
    { title: 'OPERATION', shrinksTo: 10 },
    { title: 'KIND' },
    { title: 'STATUS' },
    { title: 'REQUEST' },
    { title: 'RESPONSE' },
    { title: 'KEY', shrinksTo: 12 },
  ];
  const lines = tableLines(columns, cells, { width: innerWidth(look), title: (text) => look.paint('dim', text) });
  return section('Effects', effects.length === 0 ? [`${INDENT}none`] : lines, look);
}

function eventLines({ events }: Found, look: Look): readonly string[] {
  const cells = events.map((event) => [
    count(event.position),
    clockTime(event.atMs),
    event.type,
    event.epoch === 0 ? '' : String(event.epoch),
    printable(eventWords(event)),
  ]);
  const columns = [
    { title: 'POSITION', align: 'right' },
    { title: 'AT' },
    { title: 'TYPE' },
    { title: 'EPOCH', align: 'right' },
    { title: '', shrinksTo: 12 },
  ] as const;
  const lines = tableLines(columns, cells, { width: innerWidth(look), title: (text) => look.paint('dim', text) });
  return section('Events other than checkpoints and effects', events.length === 0 ? [`${INDENT}none`] : lines, look);
}
