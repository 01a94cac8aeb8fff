/** Owns `tidemark fork` and `tidemark compare`: a workflow that goes on from a checkpoint of another, and what became of the two. */

import { comparisonJson } from '@tidemark/api/shapes';
import type { Fork, Json } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { Forked } from '@tidemark/runtime';
import { compareWorkflows } from '@tidemark/runtime';
import { readJson } from '../input.ts';
import type { Session } from '../session.ts';
import { atDesk } from '../state/at-desk.ts';
import { readDefinitions } from '../state/definitions.ts';
import type { Desk } from '../state/desk.ts';
import { awaitWorkflow, requireWorkflow } from '../state/require-workflow.ts';
import { commandLine, shellWord, stateWords } from '../text/shell.ts';
import { printable } from '../text/width.ts';
import { comparisonLines } from '../views/comparison.ts';
import { forkWords } from '../views/fork.ts';
import { COMMAND_SOURCE } from './memory-place.ts';

export interface ForkCommandOptions {
  readonly at: number;
  readonly effects: Fork['effects'];
  /** The belief to begin with: JSON, a file, or `-`. */
  readonly with?: string | undefined;
  readonly version?: number | undefined;
  readonly id?: string | undefined;
  readonly by?: string | undefined;
  readonly workflows?: readonly string[] | undefined;
  readonly state?: string | undefined;
}

export interface CompareOptions {
  readonly state?: string | undefined;
}

export async function fork(session: Session, id: string, options: ForkCommandOptions): Promise<number> {
  const { terminal, cwd } = session;
  const { at, effects, version, by = COMMAND_SOURCE } = options;
  const belief = options.with === undefined ? undefined : await readBelief(options.with, session);
  const named = options.workflows ?? [];
  const definitions = named.length === 0 ? [] : await readDefinitions(named, cwd);
  return atDesk(session, { state: options.state, how: 'look', definitions: async () => definitions }, async (desk) => {
    const { workflow } = await requireWorkflow(desk, id);
    const given = { ...(belief !== undefined && { belief }), ...(version !== undefined && { version }) };
    const forked = await desk.past.fork(workflow, { at, effects, by, id: options.id, ...given });
    // So that a command after this one sees it; nobody needs to know when that takes longer.
    await awaitWorkflow(desk, forked.workflow);
    terminal.document(forkedJson(forked));
    terminal.line(forked.workflow);
    for (const line of notesOn(forked, desk, options)) terminal.note(terminal.paintNote('dim', line));
    return EXIT.ok;
  });
}

/** JSON itself, `-`, or a file, with or without `@`. */
function readBelief(given: string, session: Session): Promise<Json> {
  const isJson = /^\s*[[{"@]|^-$|^(null|true|false|-?\d+(\.\d+)?)$/.test(given);
  return readJson('--with', isJson ? given : `@${given}`, session);
}

const forkedJson = ({ workflow, created, base, definition, version, tasks, begun }: Forked) => ({
  workflow,
  created,
  fork: { workflow: base.workflow, sequence_number: base.sequence, effects: base.effects },
  definition,
  definition_version: version,
  tasks: tasks.map((task) => ({ task: task.task, base_task: task.base, step: task.step })),
  begun_effects: begun.map(({ task, operation, status }) => ({ base_task: task, operation, status })),
});

/** What it is, what begins anew in it, and how it goes on. */
function* notesOn(forked: Forked, { place }: Desk, { state, workflows = [] }: ForkCommandOptions): Iterable<string> {
  const { workflow, created, base, definition, begun } = forked;
  const what = `${created ? 'Started' : 'Was started before'}: ${forkWords(base)}`;
  const isIdle = place.kind === 'embedded' && place.holder === null;
  if (isIdle) {
    const modules = workflows.length === 0 ? ' MODULES' : workflows.map((module) => ` ${shellWord(module)}`).join('');
    const run = commandLine('tidemark', 'run', definition, '--id', workflow, ...stateWords(state));
    yield `${what}. It goes on with the next tidemark dev or run on ${place.folder}:`;
    yield `  ${run} --workflows${modules}`;
  } else yield `${what}. ${commandLine('tidemark', 'watch', workflow, ...stateWords(state))} follows it.`;
  for (const { task, operation, status } of begun) {
    const anew =
      base.effects === 'live' ? 'it is called again, under a key of its own' : 'what was recorded answers it';
    const was = status === 'intended' ? 'under way' : status;
    yield `${printable(operation)} of task ${task} was ${was} there; the task begins anew, and ${anew}.`;
  }
}

export function compare(session: Session, a: string, b: string, options: CompareOptions): Promise<number> {
  const { terminal } = session;
  return atDesk(session, { state: options.state, how: 'look' }, async (desk) => {
    const [left, right] = [await requireWorkflow(desk, a), await requireWorkflow(desk, b)];
    const comparison = await compareWorkflows(desk.reads, left.workflow, right.workflow);
    terminal.document(comparisonJson(comparison));
    if (!terminal.json) terminal.lines(comparisonLines(comparison, terminal));
    return EXIT.ok;
  });
}
