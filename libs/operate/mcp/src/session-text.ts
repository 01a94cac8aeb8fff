/** Owns how a session reads to the one who continues it: one text with everything that matters, in the order of need. Pure. */

import type { Answer } from '@tidemark/client';
import { TEXT_VALUE_MAX_CHARS } from './limits.ts';

/** Characters of a value (belief, input, output) as JSON beyond which answers cut it; and characters shown of a cut one. */
const VALUE_MAX_CHARS = 65_536;
const VALUE_CUT_CHARS = 4_096;

/** Tasks in the text; all that were read are in the structured part. */
const TASKS_REPORTED_COUNT = 12;

export type Session = Answer<'GET /v1/sessions/{session}'>;
type Workflow = NonNullable<Session['workflow']>;

export function sessionText(found: Session): string {
  const { workflow = null, handovers = [], summaries = [], earlier } = found;
  const [newest] = handovers;
  const sections = [
    headLine(found),
    ...(newest === undefined ? [] : [handOverText(newest)]),
    ...(workflow === null ? [] : workflowSections(workflow)),
    ...(summaries.length === 0
      ? []
      : [`What ended before: ${summaries.map((one) => one.task_description).join('; ')}`]),
    ...(earlier.length === 0
      ? []
      : [`Earlier workflows: ${earlier.map((one) => `${one.workflow} (${one.status})`).join(', ')}`]),
  ];
  return sections.join('\n');
}

function headLine({ session, is_live, workflow = null, user }: Session): string {
  const whose = user === null ? '' : ` of ${user}`;
  if (workflow === null) return `Session ${session}${whose}: no workflow of it was started yet.`;
  const { workflow: id, definition, definition_version, status, reason } = workflow;
  const how = `${definition} v${definition_version}, ${status}${reason === null ? '' : `: ${reason}`}`;
  return is_live
    ? `Session ${session}${whose} continues in workflow ${id} (${how}).`
    : `Session ${session}${whose} has no live workflow; the newest was ${id} (${how}).`;
}

function handOverText({ from, to, message, artifacts, at }: NonNullable<Session['handovers']>[number]): string {
  const made = artifacts.length === 0 ? '' : ` With: ${artifacts.join(', ')}.`;
  return `Handed over from ${from} to ${to}, ${at}: ${message}${made}`;
}

function workflowSections(workflow: Workflow): readonly string[] {
  const { question, waits_for, goal, constraints, summary, last_action, checkpoint_note, belief, output, error } =
    workflow;
  return [
    ...(question === null ? [] : [questionText(question)]),
    ...(waits_for === null ? [] : [waitText(waits_for)]),
    ...goal.map((text) => `Goal: ${text}`),
    ...constraints.map((text) => `Constraint: ${text}`),
    ...(summary === null ? [] : [`Summary so far: ${summary}`]),
    ...(last_action === '' ? [] : [`Last action (checkpoint ${workflow.sequence_number}): ${last_action}`]),
    ...(checkpoint_note === null ? [] : [`Note of the last checkpoint: ${checkpoint_note}`]),
    ...frontierLines(workflow),
    ...(output === null ? [] : [`Output: ${valueText(output)}`]),
    ...(error === null ? [] : [`It failed: ${error}`]),
    `Belief: ${valueText(belief)}`,
  ];
}

const questionText = ({ code, message, resolutions }: NonNullable<Workflow['question']>): string =>
  `It waits for a person (${code}): ${message.replace(/[^.!?]$/, '$&.')} They may decide: ${resolutions.join(', ')}.`;

const waitText = ({ text, since, ends_by: by, is_there: isThere }: NonNullable<Workflow['waits_for']>): string =>
  `Now: ${text}${since === null ? '' : `, since ${since}`}; ends by ${by}${isThere === false ? ', and none is there' : ''}.`;

function frontierLines({ frontier, pending_task_count, next_task }: Workflow): readonly string[] {
  if (frontier.length === 0) return [];
  const reported = frontier.slice(0, TASKS_REPORTED_COUNT).map((task) => taskLine(task, next_task));
  const left = pending_task_count - reported.length;
  return [`Pending tasks: ${pending_task_count}`, ...reported, ...(left > 0 ? [`- and ${left} more`] : [])];
}

function taskLine(of: Workflow['frontier'][number], next: string | null): string {
  const { task, step, state, why, effects, failure_count } = of;
  const blocked = why ?? (task === next ? `${state}, the next one` : state);
  const failed = failure_count === 0 ? '' : `; failed ${failure_count} ${failure_count === 1 ? 'time' : 'times'}`;
  const begun = effects.map(({ operation, status }) => `; effect ${operation} is ${status}`).join('');
  return `- ${task} ${step}: ${blocked}${failed}${begun}`;
}

function valueText(value: unknown): string {
  // What may not be shown is absent.
  const text = JSON.stringify(value) ?? '';
  if (text.length <= TEXT_VALUE_MAX_CHARS) return text;
  return `${text.slice(0, TEXT_VALUE_MAX_CHARS)}… (${text.length} characters in all)`;
}

/** Replaces a value that is too large for an answer. */
interface Cut {
  readonly is_cut: true;
  readonly chars: number;
  readonly beginning: string;
}

/** Values of a shape that may be cut. */
type Fitting<T, Keys> = { readonly [Key in keyof T]: Key extends Keys ? T[Key] | Cut : T[Key] };
type FittingTask = Fitting<Workflow['frontier'][number], 'input'>;
type FittingWorkflow = Fitting<Omit<Workflow, 'frontier'>, 'input' | 'belief' | 'output'> & {
  readonly frontier: readonly FittingTask[];
};
export type FittingSession = Omit<Session, 'workflow'> & { readonly workflow: FittingWorkflow | null };

/** The same with too large values cut, and marked as such. */
export function fittingSession(found: Session): FittingSession {
  const { workflow = null } = found;
  if (workflow === null) return { ...found, workflow };
  const { input, belief, output, frontier } = workflow;
  const tasks = frontier.map((task) => ({ ...task, input: fitting(task.input) }));
  const fits = { input: fitting(input), belief: fitting(belief), output: fitting(output), frontier: tasks };
  return { ...found, workflow: { ...workflow, ...fits } };
}

/** Cuts a value that is too large for an answer, and marks it. */
export function fitting<T>(value: T): T | Cut {
  // What may not be shown is absent.
  const text = JSON.stringify(value) ?? '';
  if (text.length <= VALUE_MAX_CHARS) return value;
  return { is_cut: true, chars: text.length, beginning: text.slice(0, VALUE_CUT_CHARS) };
}
