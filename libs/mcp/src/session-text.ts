/** Owns how a session reads to whoever goes on with it: one text with everything that matters, in the order of need. Pure. */

import type { HandOverBrief, QuestionBrief, SessionBrief, TaskBrief, WorkflowBrief } from '@tidemark/runtime';
import { TEXT_VALUE_MAX_CHARS, VALUE_CUT_CHARS, VALUE_MAX_CHARS } from './limits.ts';

/** Tasks that are told one by one; all that were read are in the structured part. */
const TASKS_TOLD_COUNT = 12;

export function sessionText(brief: SessionBrief): string {
  const { workflow, handovers, summaries, earlier } = brief;
  const [newest] = handovers;
  const sections = [
    headLine(brief),
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

function headLine({ session, is_live, workflow, user }: SessionBrief): string {
  const whose = user === null ? '' : ` of ${user}`;
  if (workflow === null) return `Session ${session}${whose}: no workflow of it was started yet.`;
  const { workflow: id, definition, definition_version, status, reason } = workflow;
  const how = `${definition} v${definition_version}, ${status}${reason === null ? '' : `: ${reason}`}`;
  return is_live
    ? `Session ${session}${whose} goes on in workflow ${id} (${how}).`
    : `Session ${session}${whose} has no workflow that goes on; the newest was ${id} (${how}).`;
}

function handOverText({ from, to, message, artifacts, at }: HandOverBrief): string {
  const made = artifacts.length === 0 ? '' : ` With: ${artifacts.join(', ')}.`;
  return `Handed over from ${from} to ${to}, ${at}: ${message}${made}`;
}

function workflowSections(workflow: WorkflowBrief): readonly string[] {
  const { question, goal, constraints, summary, last_action, checkpoint_note, belief, output, error } = workflow;
  return [
    ...(question === null ? [] : [questionText(question)]),
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

const questionText = ({ code, message, resolutions }: QuestionBrief): string =>
  `It waits for a person (${code}): ${message.replace(/[^.!?]$/, '$&.')} They may decide: ${resolutions.join(', ')}.`;

function frontierLines({ frontier, pending_task_count, next_task }: WorkflowBrief): readonly string[] {
  if (frontier.length === 0) return [];
  const told = frontier.slice(0, TASKS_TOLD_COUNT).map((task) => taskLine(task, next_task));
  const left = pending_task_count - told.length;
  return [`Pending tasks: ${pending_task_count}`, ...told, ...(left > 0 ? [`- and ${left} more`] : [])];
}

function taskLine({ task, step, state, why, effects, failure_count }: TaskBrief, next: string | null): string {
  const stands = why ?? (task === next ? `${state}, the next one` : state);
  const failed = failure_count === 0 ? '' : `; failed ${failure_count} ${failure_count === 1 ? 'time' : 'times'}`;
  const begun = effects.map(({ operation, status }) => `; effect ${operation} is ${status}`).join('');
  return `- ${task} ${step}: ${stands}${failed}${begun}`;
}

function valueText(value: unknown): string {
  const text = JSON.stringify(value);
  if (text.length <= TEXT_VALUE_MAX_CHARS) return text;
  return `${text.slice(0, TEXT_VALUE_MAX_CHARS)}… (${text.length} characters in all)`;
}

/** The same with values that are too large for an answer cut; they say so. */
export function fittingBrief(brief: SessionBrief): SessionBrief {
  const { workflow } = brief;
  if (workflow === null) return brief;
  const { input, belief, output, frontier } = workflow;
  const tasks = frontier.map((task) => ({ ...task, input: fitting(task.input) }));
  const fits = { input: fitting(input), belief: fitting(belief), output: fitting(output), frontier: tasks };
  return { ...brief, workflow: { ...workflow, ...fits } };
}

/** What is too large for an answer is cut, and says so. */
export function fitting<T>(
  value: T,
): T | { readonly is_cut: true; readonly chars: number; readonly beginning: string } {
  const text = JSON.stringify(value);
  if (text.length <= VALUE_MAX_CHARS) return value;
  return { is_cut: true, chars: text.length, beginning: text.slice(0, VALUE_CUT_CHARS) };
}
