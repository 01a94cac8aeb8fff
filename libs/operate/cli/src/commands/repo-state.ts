/**
 * Owns `tidemark state init|checkpoint|resume|show|update|complete|migrate`: it passes the command line to the library of states, and
 * prints the results as text or JSON. Must not decide anything about a state.
 */

import path from 'node:path';
import { ConflictError, InvalidError, type Json } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import {
  type Checkpoint,
  findRepository,
  listStates,
  openRepoState,
  type RepoState,
  type RepoStateFile,
  type RepoStateOptions,
  type ResumeReport,
  type StagePlan,
  type StageStatus,
} from '@tidemark/repo-state';
import { readJson } from '../input.ts';
import type { StateOptions } from '../program/repo-state-options.ts';
import { type Session, takeInterrupts } from '../session.ts';
import { counted } from '../text/units.ts';
import { printable, printableLines } from '../text/width.ts';
import { checkLines, conflictLine, type LinesOptions, stateLines, statusWords } from './repo-state-lines.ts';

interface PlaceOptions {
  readonly dir?: string | undefined;
}

type PlanOptions = Pick<StateOptions['init'], 'stages' | 'check'>;

export async function stateInit(session: Session, name: string, options: StateOptions['init']): Promise<number> {
  const { version, shared, note } = options;
  const state = open(session, name, options);
  const result = await state.init({ stages: plan(options), version, shared, note, agent: agentOf(session, options) });
  const isOutside = folderOf(session, options) === undefined;
  const where = isOutside
    ? 'in no repository'
    : shared === true
      ? 'git sees it: commit it to share it'
      : 'git ignores it';
  session.terminal.answer(result);
  warn(session, result.warnings);
  session.terminal.line(
    `${printable(name)} begins with ${counted(result.state.stages.length, 'stage')}, in ${printable(result.file)} (${where}).`,
  );
  return EXIT.ok;
}

export async function stateCheckpoint(
  session: Session,
  name: string,
  stages: readonly string[],
  options: StateOptions['checkpoint'],
): Promise<number> {
  const change = await changeFrom(session, stages, options);
  const interrupts = takeInterrupts(session);
  const { checkTimeout: checkTimeoutMs, every: checkpointEvery } = options;
  const state = open(session, name, options, { checkTimeoutMs, checkpointEvery, signal: interrupts.signal });
  try {
    const result = await state.checkpoint(change);
    const { checks, passed, saved, file, warnings } = result;
    session.terminal.answer({ file, passed, saved, checks, state: result.state, warnings });
    warn(session, warnings);
    for (const { stage, evidence } of checks) session.terminal.lines(checkLines(stage, evidence, style(session)));
    session.terminal.line(checkpointWords(result.state, stages, change.status));
    if (!saved)
      session.terminal.line('It waits beside the file, which the next change or resume writes at the latest.');
    if (interrupts.signal.aborted) return EXIT.interrupted;
    return passed ? EXIT.ok : EXIT.failed;
  } finally {
    interrupts.release();
  }
}

function checkpointWords(state: RepoState, stages: readonly string[], status: StageStatus | undefined): string {
  const name = printable(state.workflow);
  if (stages.length === 0 || status === undefined) return `${name}: noted.`;
  const reported = stages.map((id) => {
    const now = state.stages.find((stage) => stage.id === id);
    return `${printable(id)} is ${now === undefined ? 'as it was' : statusWords(now.status)}`;
  });
  const next = state.current_stage;
  const then = next === null ? 'all stages are done' : stages.includes(next) ? '' : `next is ${printable(next)}`;
  return `${name}: ${reported.join(', ')}${then === '' ? '' : `; ${then}`}.`;
}

export async function stateResume(session: Session, name: string, options: StateOptions['resume']): Promise<number> {
  const state = open(session, name, options, { version: options.version });
  const otherwise = options.stages === undefined ? undefined : { stages: plan(options) };
  const report = await resumed(session, state, options.choose, otherwise);
  session.terminal.answer(report);
  warn(session, report.warnings);
  for (const conflict of report.conflicts) session.terminal.line(conflictLine(conflict, style(session)));
  session.terminal.line(session.terminal.paint('bold', `${printable(name)}: ${printable(report.line)}`));
  const note = report.state?.notes.at(-1);
  if (note !== undefined) {
    session.terminal.line(
      `last note${note.agent === undefined ? '' : ` of ${printable(note.agent)}`}: ${printable(note.text)}`,
    );
  }
  if (report.state === undefined) session.terminal.line(`Begin with: tidemark state init ${name} --stages …`);
  return EXIT.ok;
}

/** Equally new states: asks a person at a terminal, otherwise prints what to type. */
async function resumed(
  session: Session,
  state: RepoStateFile,
  choose: number | undefined,
  otherwise: { readonly stages: readonly (string | StagePlan)[] } | undefined,
): Promise<ResumeReport> {
  try {
    return await state.resume({ choose, otherwise });
  } catch (error) {
    if (!(error instanceof ConflictError) || error.code !== 'state-conflict') throw error;
    const answer = await ask(session, error.message);
    // Prints all of its lines, as for input.
    if (answer === undefined) throw new InvalidError(error.code, error.message, { cause: error });
    return state.resume({ choose: answer, otherwise });
  }
}

async function ask({ terminal, stdin }: Session, question: string): Promise<number | undefined> {
  const isPerson = (stdin as { isTTY?: boolean }).isTTY === true && terminal.width !== undefined && !terminal.json;
  if (!isPerson) return undefined;
  for (const line of printableLines(question).slice(0, -1)) terminal.note(line);
  terminal.note('Which one counts? Type its number, and Enter:');
  for await (const chunk of stdin) {
    const answer = String(chunk).trim();
    return /^[1-9]\d{0,3}$/.test(answer) ? Number(answer) : undefined;
  }
  return undefined;
}

export async function stateShow(
  session: Session,
  name: string | undefined,
  options: StateOptions['show'],
): Promise<number> {
  if (name === undefined) return showAll(session, options);
  const { state, file, warnings } = await open(session, name, options).show();
  session.terminal.answer({ file, state: state ?? null, warnings });
  warn(session, warnings);
  session.terminal.lines(
    state === undefined ? [`There is no state of ${printable(name)}.`] : stateLines(state, style(session)),
  );
  return EXIT.ok;
}

async function showAll(session: Session, options: StateOptions['show']): Promise<number> {
  const folder = folderOf(session, options);
  const names = await listStates(folder);
  session.terminal.answer({ folder: folder ?? null, names });
  session.terminal.lines(names.length === 0 ? ['There are no states here.'] : names.map(printable));
  return EXIT.ok;
}

export async function stateUpdate(
  session: Session,
  name: string,
  given: string,
  options: PlaceOptions,
): Promise<number> {
  const result = await open(session, name, options).patch(await objectFrom(session, 'the patch', given));
  session.terminal.answer(result);
  warn(session, result.warnings);
  session.terminal.line(`${printable(name)}: noted.`);
  return EXIT.ok;
}

export async function stateComplete(
  session: Session,
  name: string,
  options: StateOptions['complete'],
): Promise<number> {
  const result = await open(session, name, options).complete({ open: options.open });
  session.terminal.answer(result);
  warn(session, result.warnings);
  session.terminal.line(`${printable(name)} is archived in ${printable(result.archived)}.`);
  return EXIT.ok;
}

export async function stateMigrate(session: Session, name: string, options: StateOptions['migrate']): Promise<number> {
  const { to, stages } = options;
  const rename = Object.fromEntries(pairs(options.rename));
  const state = open(session, name, options);
  const known = stages === undefined && options.check !== undefined ? (await state.show()).state : undefined;
  const ids = known?.stages.map(({ id }) => rename[id] ?? id);
  const wanted = ids === undefined ? options : { ...options, stages: ids };
  const result = await state.migrate({ to, rename, ...(wanted.stages && { stages: plan(wanted) }) });
  session.terminal.answer(result);
  warn(session, result.warnings);
  session.terminal.line(
    `${printable(name)} is of version ${to} now; the file of version ${result.from} is kept as ${printable(result.backup)}.`,
  );
  return EXIT.ok;
}

function open(
  session: Session,
  name: string,
  options: PlaceOptions & { readonly agent?: string | undefined },
  more: Pick<RepoStateOptions, 'version' | 'checkTimeoutMs' | 'checkpointEvery' | 'signal'> = {},
): RepoStateFile {
  const folder = folderOf(session, options);
  // It may have come with the repository: a person sees it, and can interrupt it.
  const onCheck = (stage: string, command: string): void =>
    session.terminal.note(`check of ${printable(stage)}: ${printable(command)}`);
  return openRepoState({ folder, name, now: () => Date.now(), agent: agentOf(session, options), onCheck, ...more });
}

/** Undefined: in no repository. */
export const folderOf = ({ cwd }: Pick<Session, 'cwd'>, { dir }: PlaceOptions): string | undefined =>
  dir === undefined ? findRepository(cwd) : path.resolve(cwd, dir);

const agentOf = ({ env }: Session, { agent }: { readonly agent?: string | undefined }): string | undefined =>
  agent ?? (env.TIDEMARK_AGENT || undefined);

const style = ({ terminal }: Session): LinesOptions => ({
  paint: terminal.paint,
  width: terminal.width,
  nowMs: Date.now(),
});

function warn({ terminal }: Session, warnings: readonly string[]): void {
  for (const warning of warnings) terminal.warn(printableLines(warning).join('\n'));
}

/** Stages with their checks. A check of a stage that isn't listed is a mistake. */
function plan({ stages = [], check }: PlanOptions): readonly StagePlan[] {
  const ids = stages.flatMap((each) => each.split(',')).filter((id) => id !== '');
  const checks = new Map(pairs(check));
  for (const id of checks.keys()) {
    if (!ids.includes(id)) throw new InvalidError('stage-unknown', `--check names '${id}', which is not in --stages.`);
  }
  return ids.map((id) => ({ id, check: checks.get(id) }));
}

const pairs = (given: readonly string[] = []): [string, string][] =>
  given.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]);

async function changeFrom(
  session: Session,
  stages: readonly string[],
  options: StateOptions['checkpoint'],
): Promise<Checkpoint> {
  const { start, done, fail, reset, check, note, add, take, artifact, evidence } = options;
  const status = start ? 'in_progress' : done ? 'done' : fail ? 'failed' : reset ? 'pending' : undefined;
  const ofStages = status !== undefined || check !== undefined || evidence !== undefined;
  if (ofStages && stages.length === 0) {
    throw new InvalidError('stage-missing', 'Name the stages that are meant, after the name of the workflow.');
  }
  if (!ofStages && stages.length > 0 && add !== true) {
    throw new InvalidError('status-missing', 'Say what the stages are: --start, --done, --fail or --reset.');
  }
  if (!ofStages && stages.length === 0 && note === undefined && artifact === undefined) {
    throw new InvalidError(
      'checkpoint-empty',
      'Say what is to be kept: stages with --start or --done, --note, or --artifact.',
    );
  }
  return {
    stages,
    status,
    check,
    note,
    add,
    take,
    evidence: evidence === undefined ? undefined : await evidenceFrom(session, evidence),
    artifacts: artifact && Object.fromEntries(pairs(artifact)),
  };
}

async function evidenceFrom(session: Session, given: string): Promise<Record<string, Json>> {
  if (!/^(?:\s*\{|@|-$)/.test(given)) return { text: given };
  return objectFrom(session, '--evidence', given);
}

async function objectFrom(session: Session, what: string, given: string): Promise<Record<string, Json>> {
  const value = await readJson(what, given, session);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidError('object-expected', `${what} must be a JSON object.`);
  }
  return value as Record<string, Json>;
}
