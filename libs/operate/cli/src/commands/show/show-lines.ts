/** Owns how `tidemark show` reads on a terminal. Pure. */

import type { Answer, Checkpoint, Effect, Event, Task, Workflow, WorkflowView } from '@tidemark/client';
import { type Json, shownBelief } from '@tidemark/core';
import { describeEvent, wordsIn } from '@tidemark/core/timeline';
import { CANCELLING, PAUSED } from '@tidemark/runtime/names';
import { TASKS_SHOWN_COUNT } from '../../limits.ts';
import type { RunningOptions } from '../../program/running-options.ts';
import { atWords, commandLine, showCommand } from '../../text/shell.ts';
import type { Columns } from '../../text/table.ts';
import { ago, clockTime, count, counted, dateTime, duration, localTimes, spentWords } from '../../text/units.ts';
import { printable } from '../../text/width.ts';
import { ACTIVITY_COLOURS } from '../../views/activity.ts';
import { answersOf } from '../../views/answers.ts';
import { flowLines } from '../../views/flow.ts';
import { forkWords } from '../../views/fork.ts';
import { taskWords } from '../../views/frontier.ts';
import { droppedByEnd, eventWords } from '../../views/history.ts';
import { type Handover, handoverLines, memoryLines, statusWords } from '../../views/memory.ts';
import { INDENT, indented, type Style, section, sectionsLines, tableLines, valueLines } from '../../views/sections.ts';
import { causeWords, countWords } from '../../views/undo.ts';

/** Everything read of a workflow. Lists that were not requested are undefined. */
export interface Found {
  readonly view: WorkflowView;
  /** The undo that waits for a person, while the workflow is being compensated. */
  readonly waits: WorkflowView | undefined;
  readonly tasks: readonly Task[];
  /** The first ones. */
  readonly children: readonly Workflow[];
  readonly checkpoints: readonly Checkpoint[] | undefined;
  readonly uncommitted: Answer<'GET /v1/workflows/{workflow}/checkpoints'>['uncommitted'];
  readonly effects: readonly Effect[] | undefined;
  /** Between phases, the newest first. */
  readonly handovers: readonly Handover[] | undefined;
  /** The newest last. */
  readonly events: readonly Event[];
}

export type ShowOptions = RunningOptions['show'];

const FORGOTTEN_WORDS = 'What it held (input, belief, output) was forgotten for good: its key was destroyed.';

export function showLines(found: Found, options: ShowOptions, style: Style, nowMs: number): readonly string[] {
  const sections: (readonly string[])[] = [
    headLines(found, style, nowMs),
    waitLines(found, style, nowMs),
    endingLines(found, options, style),
    droppedLines(found.view),
    ...(found.view.forgotten
      ? [section('Forgotten', [`${INDENT}${FORGOTTEN_WORDS}`], style)]
      : [
          section('Input', valueLines(found.view.input, style), style),
          found.view.belief == null
            ? []
            : section('Belief', valueLines(shownBelief(found.view.belief as Json), style), style),
          memoryLines(found.view.memory_scope_snapshot, found.view.working_memory, style),
        ]),
    frontierLines(found, options, style, nowMs),
    childLines(found, style),
    lastLines(found, style, nowMs),
    found.view.flow === null ? [] : section('Flow', flowSection(found, style), style),
    checkpointLines(found, style),
    effectLines(found.effects, style),
    found.handovers === undefined ? [] : handoverLines(found.handovers, style),
    options.events === true ? eventLines(found, style) : [],
  ];
  return sectionsLines(sections);
}

function headLines({ view }: Found, { paint }: Style, nowMs: number): readonly string[] {
  const { activity, holder: by } = view;
  const holder = activity !== 'running' || by === null ? '' : ` by ${printable(by)} (epoch ${view.epoch})`;
  const reason = view.reason === null ? '' : ` (${printable(view.reason)})`;
  const spent = [counted(view.sequence_number, 'checkpoint'), ...spentWords(view)];
  const times = `opened ${dateTime(Date.parse(view.opened_at))}, changed ${ago(Date.parse(view.updated_at), nowMs)}`;
  const chain = view.continues === undefined ? [] : [`continues ${printable(view.continues)}, as a new run`];
  return [
    `${paint('bold', printable(view.workflow))}  ${printable(view.definition)} v${view.definition_version}  ${paint(ACTIVITY_COLOURS[activity], activity)}${reason}${holder}`,
    paint('dim', `${times}; ${spent.join(', ')}`),
    paint('dim', `tenant ${printable(view.tenant)}, partition ${view.partition}`),
    ...(view.fork === undefined ? [] : [paint('dim', forkWords(view.fork))]),
    ...chain.map((line) => paint('dim', line)),
  ];
}

/** The reason, the evidence, and the commands that answer it. */
function questionLines(view: WorkflowView, at: ShowOptions, style: Style): readonly string[] {
  const { question, reason } = view;
  if (question === null) return [`${INDENT}${printable(reason ?? '')}`];
  return [
    `${INDENT}${printable(question.code)}: ${printable(question.message ?? '')}`,
    ...valueLines(question.evidence, style),
    `${INDENT}Answer it with one of these:`,
    ...answersOf(view.workflow, view.tenant, question, at).flatMap(({ command, means }) => [
      `${INDENT}${INDENT}${style.paint('cyan', printable(command))}`,
      style.paint('dim', `${INDENT}${INDENT}${INDENT}${printable(means)}`),
    ]),
  ];
}

/** The reason, the outcome, the command that shows more, and the undo's own question. */
function undoLines({ view, waits }: Found, options: ShowOptions, title: string, style: Style): readonly string[] {
  const undo = view.undo!;
  const cause = `${INDENT}${printable(causeWords(view.reason ?? '', undo.why ?? ''))}`;
  const reports = `${printable(showCommand(undo.workflow, options))} says what was`;
  const came = countWords(undo);
  const lines = section(title, [cause, `${INDENT}${came === '' ? reports : `${came}; ${reports}`}`], style);
  if (waits === undefined) return lines;
  const waitTitle = `Its undo ${printable(waits.workflow)} waits for a person`;
  return [...lines, '', ...section(waitTitle, questionLines(waits, options, style), style)];
}

function endingLines(found: Found, options: ShowOptions, style: Style): readonly string[] {
  const { view } = found;
  if (view.continued_as === undefined) return ownEndingLines(found, options, style);
  const next = view.continued_as;
  const reports = printable(showCommand(next, options));
  if (view.reason === 'continued') {
    return section('Continued', [`${INDENT}It continues as ${printable(next)}; ${reports} shows how that is.`], style);
  }
  const words = [`${INDENT}It was reset: ${printable(next)} supersedes it; ${reports} shows how that is.`];
  const own = view.reason === 'superseded' ? [] : ownEndingLines(found, options, style);
  return [...section('Superseded', words, style), ...(own.length > 0 ? ['', ...own] : [])];
}

function ownEndingLines(found: Found, options: ShowOptions, style: Style): readonly string[] {
  const { view } = found;
  switch (view.status) {
    case 'compensating':
      return undoLines(found, options, 'Is being compensated', style);
    case 'completed': {
      const took = duration(Date.parse(view.updated_at) - Date.parse(view.opened_at));
      return view.forgotten ? [] : section(`Output after ${took}`, valueLines(view.output, style), style);
    }
    case 'failed': {
      const words = `${printable(view.reason ?? '')}: ${printable(view.error?.message ?? '')}`;
      return view.forgotten ? [] : section('Failed', [`${INDENT}${words}`], style);
    }
    case 'compensated':
      return undoLines(
        found,
        options,
        view.undo?.undone_count === 0 ? 'Ended, nothing compensated' : 'Compensated',
        style,
      );
    case 'parked':
      return section('Waits for a person', questionLines(view, options, style), style);
    default:
      return controlLines(found, style);
  }
}

function droppedLines(view: WorkflowView): readonly string[] {
  const undone = droppedByEnd(view);
  return undone === undefined ? [] : [`${printable(undone)}.`];
}

/** What it waits for, since when, what would end that, and whether it is there. */
function waitLines({ view: { waits_for: wait } }: Found, { paint }: Style, nowMs: number): readonly string[] {
  if (wait == null) return [];
  const since = wait.since === null ? '' : `, since ${localTimes(wait.since, nowMs)}`;
  const ends = `Ends by ${wait.ends_by}${wait.is_there === false ? ', and none is there' : ''}.`;
  const colour = wait.is_there === false ? 'red' : 'dim';
  return [printable(`${localTimes(wait.text, nowMs)}${since}`), paint(colour, printable(ends))];
}

/** Who paused or cancelled it, and why. */
function controlLines({ view: { reason }, events }: Found, style: Style): readonly string[] {
  const wanted = reason === PAUSED ? 'PauseRequested' : reason === CANCELLING ? 'CancelRequested' : undefined;
  const asked = wanted && events.findLast(({ type }) => type === wanted);
  const what = asked && describeEvent(asked);
  if (what === undefined) return [];
  return section(what.title, [`${INDENT}${printable(`${what.detail}: ${what.words}`)}`], style);
}

function frontierLines(
  { view, tasks, events }: Found,
  options: ShowOptions,
  style: Style,
  nowMs: number,
): readonly string[] {
  const { pending_task_count: pendingCount, activity } = view;
  if (pendingCount === 0) return [];
  const stateOf = (task: Task): string => {
    const failure = events.findLast(({ type, control }) => type === 'StepFailed' && control.task === task.task);
    const words = taskWords(task, nowMs, activity === 'running');
    return `${words}${failure === undefined ? '' : `: ${wordsIn(failure.payload)}`}`;
  };
  const columns: Columns<Task> = [
    ['TASK', ({ task }) => task],
    ['STEP', ({ step }) => step, 8],
    ['STATE', stateOf, 20, ({ state }, text) => style.paint(state === 'ready' ? 'cyan' : 'yellow', text)],
  ];
  const lines = tableLines(columns, tasks, style);
  const left = pendingCount - tasks.length;
  const more =
    left > 0 ? [`${INDENT}… ${counted(left, 'more task')}${options.tasks === true ? '' : ' (--tasks)'}`] : [];
  const confirm = confirmLines(view.workflow, tasks, options, style);
  return section(`Frontier: ${counted(pendingCount, 'task')} pending`, [...lines, ...more, ...confirm], style);
}

/** The command for the first effect that waits for its confirmation; the token of others stands in their line. */
function confirmLines(
  workflow: string,
  tasks: Found['tasks'],
  options: ShowOptions,
  { paint }: Style,
): readonly string[] {
  const wait = tasks.flatMap(({ blocked_on }) => blocked_on).find(({ on }) => on === 'confirmation');
  if (wait?.on !== 'confirmation' || wait.token === undefined) return [];
  const command = commandLine('tidemark', 'confirm', workflow, wait.token, ...atWords(options));
  return [`${INDENT}Report its outcome with ${paint('cyan', `${command} --response JSON`)} (or --failed TEXT)`];
}

function childLines({ children }: Found, style: Style): readonly string[] {
  if (children.length === 0) return [];
  const shown = children
    .slice(0, TASKS_SHOWN_COUNT)
    .map(
      ({ workflow, definition, activity }) =>
        `${INDENT}${printable(workflow)}  ${printable(definition)}  ${style.paint(ACTIVITY_COLOURS[activity], activity)}`,
    );
  const isAll = children.length === shown.length;
  return section('Children', isAll ? shown : [...shown, `${INDENT}… and more (tidemark children)`], style);
}

function lastLines({ view: { last_checkpoint: last, last_action: action } }: Found, style: Style, nowMs: number) {
  if (last === null) return section('Last checkpoint', [`${INDENT}none yet`], style);
  const { sequence_number: sequence, step_definition_ref: step, task } = last;
  return section(
    'Last checkpoint',
    [
      `${INDENT}#${sequence} ${printable(step ?? '')} (task ${task}), ${ago(Date.parse(last.at), nowMs)}: ${printable(action)}`,
      style.paint('dim', `${INDENT}${last.checkpoint_id}, input ${last.input_state_hash.slice(0, 12)}…`),
    ],
    style,
  );
}

/** The flow with the number of pending tasks behind each step. */
function flowSection({ view: { flow, frontier, last_checkpoint: last } }: Found, { paint }: Style): readonly string[] {
  const pending = new Map<string, number>();
  for (const { step } of frontier) pending.set(step, (pending.get(step) ?? 0) + 1);
  const marks = (step: string): string => {
    const waiting = pending.get(step);
    const mark = last?.step_definition_ref === step ? paint('green', '  ✓ last') : '';
    return `${mark}${waiting === undefined ? '' : paint('yellow', `  ● ${waiting} pending`)}`;
  };
  return indented(flowLines({ starts: flow!.starts, flow: flow!.steps }, marks));
}

function checkpointLines({ checkpoints, uncommitted, view }: Found, style: Style): readonly string[] {
  if (checkpoints === undefined) return [];
  const tookOf = new Map<Checkpoint, number>();
  let beforeMs = Date.parse(view.opened_at);
  for (const checkpoint of checkpoints) {
    const atMs = Date.parse(checkpoint.at);
    tookOf.set(checkpoint, atMs - beforeMs);
    beforeMs = atMs;
  }
  const columns: Columns<Checkpoint> = [
    ['#', (one) => count(one.sequence_number), 'right'],
    ['AT', ({ at }) => clockTime(Date.parse(at))],
    ['TOOK', (one) => duration(tookOf.get(one) ?? 0), 'right'],
    ['STEP', (one) => one.step_definition_ref ?? '', 8],
    ['TASK', ({ task }) => task ?? ''],
    ['TOKENS', ({ tokens }) => (tokens === 0 ? '' : count(tokens)), 'right'],
    ['EPOCH', ({ epoch }) => String(epoch), 'right'],
    ['STATUS', statusWords],
    [
      'ACTION',
      ({ last_action: action, supersedes }) => (supersedes === null ? action : `${action} (corrects #${supersedes})`),
      12,
    ],
  ];
  const lines = checkpoints.length === 0 ? [`${INDENT}none yet`] : tableLines(columns, checkpoints, style);
  const open = uncommitted.map(
    ({ status, step_definition_ref: step, task, checkpoint_id: id, effect_log: effects }) => {
      const states = effects.map((one) => `, ${one.operation} is ${one.status}`).join('');
      return `${INDENT}${status}: ${printable(step)} (task ${task}), ${id}${printable(states)}`;
    },
  );
  return section('Checkpoints', [...lines, ...open], style);
}

function effectLines(effects: readonly Effect[] | undefined, style: Style): readonly string[] {
  if (effects === undefined) return [];
  const columns: Columns<Effect> = [
    ['AT', ({ at }) => clockTime(Date.parse(at))],
    ['OPERATION', ({ operation }) => operation, 10],
    ['KIND', ({ kind }) => kind],
    [
      'STATUS',
      ({ status }) => status,
      undefined,
      ({ status }, text) => style.paint(status === 'done' ? 'green' : 'yellow', text),
    ],
    ['REQUEST', (effect) => effect.request_digest.slice(0, 12)],
    ['RESPONSE', (effect) => effect.response_digest?.slice(0, 12) ?? ''],
    ['KEY', (effect) => effect.idempotency_key, 12],
  ];
  const lines = tableLines(columns, effects, style);
  return section('Effects', effects.length === 0 ? [`${INDENT}none`] : lines, style);
}

function eventLines({ events }: Found, style: Style): readonly string[] {
  const columns: Columns<Event> = [
    ['POSITION', ({ position }) => count(position), 'right'],
    ['AT', ({ at }) => clockTime(Date.parse(at))],
    ['TYPE', ({ type }) => type],
    ['EPOCH', ({ epoch }) => (epoch === 0 ? '' : String(epoch)), 'right'],
    ['', eventWords, 12],
  ];
  const lines = tableLines(columns, events, style);
  return section('Events other than checkpoints and effects', events.length === 0 ? [`${INDENT}none`] : lines, style);
}
