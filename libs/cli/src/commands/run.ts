/**
 * Owns `tidemark run`: starts a workflow (the same id is the same run), shows how it goes, prints its output. It runs where
 * the state is: on the cluster, in the process that holds the folder, or in this one, which then holds the folder itself.
 */

import { endingOf, workflowJson } from '@tidemark/api/shapes';
import {
  ConflictError,
  FencedError,
  type Json,
  type Priority,
  UnavailableError,
  type WorkflowId,
  workflowId,
} from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { WorkflowSummary } from '@tidemark/ports';
import { lastOf, UNDO_SUFFIX } from '@tidemark/runtime';
import { outlivedReporter } from '../failures.ts';
import { type Change, isEnd } from '../follow/change.ts';
import { Follower } from '../follow/follower.ts';
import { Spoken } from '../follow/spoken.ts';
import { Narrator } from '../follow/words.ts';
import { readInput } from '../input.ts';
import { DRAIN_MS } from '../limits.ts';
import { type Interruption, type Session, takeInterrupts } from '../session.ts';
import { noticeStall } from '../stall.ts';
import type { Desk, News, StartAnswer } from '../state/desk.ts';
import { type Target, targetOf } from '../state/open-desk.ts';
import { openToRun } from '../state/open-to-run.ts';
import { awaitWorkflow, requireWorkflow } from '../state/require-workflow.ts';
import { jsonText } from '../text/json.ts';
import { progressBar } from '../text/progress.ts';
import { shellWord, stateWords } from '../text/shell.ts';
import { duration } from '../text/units.ts';
import { unfinished } from '../views/unfinished.ts';

export interface RunOptions {
  readonly input?: string | undefined;
  readonly id?: string | undefined;
  readonly tenant?: string | undefined;
  readonly session?: string | undefined;
  readonly user?: string | undefined;
  readonly tag?: readonly string[] | undefined;
  readonly timeout?: string | undefined;
  readonly priority?: number | undefined;
  readonly workflows?: readonly string[] | undefined;
  readonly state?: string | undefined;
  readonly detach?: boolean | undefined;
}

/** One start: what it is of, and what it has come to. */
interface Run {
  readonly session: Session;
  readonly interruption: Interruption;
  readonly name: string;
  readonly input: Json;
  readonly options: RunOptions;
  readonly target: Target;
  id: string | undefined;
  created: boolean;
  isTakeover: boolean;
}

export async function run(session: Session, name: string, options: RunOptions): Promise<number> {
  const target = targetOf(options.state, session.env, session.cwd);
  const input = await readInput(options.input, session);
  const interruption = takeInterrupts(session);
  const { id } = options;
  const current: Run = { session, interruption, name, input, options, target, id, created: false, isTakeover: false };
  try {
    for (;;) {
      const code = await attempt(current);
      if (code !== 'holder-gone') return code;
      goOnHere(current);
    }
  } finally {
    interruption.release();
    session.terminal.status('');
  }
}

/** The process that ran it has ended. Throws `UnavailableError` where this one doesn't know the workflow. */
function goOnHere(current: Run): void {
  const { session, options, name, id } = current;
  if ((options.workflows ?? []).length === 0) {
    const message = `The process that ran ${id} has ended. It goes on with tidemark dev, or with this command and --workflows.`;
    throw new UnavailableError('holder-gone', message);
  }
  session.terminal.note(`The process that ran it has ended; ${name} goes on here.`);
  current.isTakeover = true;
}

/** Runs it on one desk; when the process behind the desk ends first, another desk may go on. */
async function attempt(current: Run): Promise<number | 'holder-gone'> {
  const { session, target, name, input, options, id, isTakeover } = current;
  const desk = await openToRun({
    target,
    name,
    input: id !== undefined && options.input === undefined ? undefined : input,
    modules: options.workflows ?? [],
    cwd: session.cwd,
    works: options.detach !== true,
    onError: runReporter(current),
    isTakeover,
  });
  try {
    return await startAndFollow(current, desk);
  } catch (error) {
    const isGone = error instanceof UnavailableError && error.code === 'holder-gone';
    if (!isGone || current.options.detach === true || current.interruption.signal.aborted) throw error;
    return 'holder-gone';
  } finally {
    await desk.close();
  }
}

/** That the run which is followed waits for a person is told as its end. */
function runReporter(current: Run): (where: string, error: unknown) => void {
  const report = outlivedReporter(current.session.terminal);
  return (where, error) => {
    const isParked = error instanceof FencedError && error.code === 'parked';
    if (!isParked || current.id === undefined || !isOf(where, current.id)) report(where, error);
  };
}

/** Of the workflow, or of what undoes it. */
const isOf = (where: string, id: string): boolean =>
  where === `workflow ${id}` || where.startsWith(`workflow ${id}${UNDO_SUFFIX}`);

async function startAndFollow(current: Run, desk: Desk): Promise<number> {
  const { session, interruption, options } = current;
  const started = await stallNoticed(current, desk, () => start(current, desk));
  if (started === undefined) return EXIT.interrupted;
  const isFirst = current.id !== started.workflow || !current.created;
  current.id = started.workflow;
  current.created ||= started.created;
  if (options.detach === true) {
    // So that a command after this one sees it; nobody needs to know when that takes longer.
    await awaitWorkflow(desk, started.workflow);
    return detached(current, desk);
  }
  if (started.created) session.terminal.note(placeWords(current, desk));
  else if (isFirst) await tellFound(current, desk, started);
  return followAll(current, desk, started, interruption);
}

/** The run of the given id, where there is one and no input is given; else a start, which needs one. */
async function start({ name, input, id, options }: Run, desk: Desk): Promise<StartAnswer> {
  if (id !== undefined && options.input === undefined) {
    const row = await desk.reads.workflow(workflowId(id));
    if (row !== undefined) return { workflow: id, created: false, sameInput: true };
  }
  const { tenant, session, user, tag: tags, timeout } = options;
  const priority = options.priority as Priority | undefined;
  return desk.start({ definition: name, input, id, tenant, session, user, tags, timeout, priority });
}

/** Undefined when Ctrl-C came first. After a while says what may be missing. */
async function stallNoticed<T>(
  { session, interruption }: Run,
  desk: Desk,
  start: () => Promise<T>,
): Promise<T | undefined> {
  if (interruption.signal.aborted) return undefined;
  const interrupted = new Promise<undefined>((resolve) => {
    interruption.signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const starting = start();
  starting.catch(() => {}); // after Ctrl-C nobody waits for it
  return noticeStall(session.terminal, desk.place, Promise.race([starting, interrupted]));
}

function detached({ session, id, created, name, options }: Run, desk: Desk): number {
  const { terminal } = session;
  terminal.document({ workflow: id, definition: name, created });
  terminal.line(id);
  const { place } = desk;
  const what = created ? 'Started' : 'Was started before';
  const idle = place.kind === 'embedded' && place.holder === null;
  const state = stateWords(options.state)
    .map((word) => ` ${shellWord(word)}`)
    .join('');
  const where = idle
    ? `it goes on with the next tidemark dev or run on ${place.folder}`
    : `tidemark watch ${shellWord(String(id))}${state} follows it`;
  terminal.note(terminal.paintNote('dim', `${what}; ${where}.`));
  return EXIT.ok;
}

function placeWords({ session, id, name }: Run, { place }: Desk): string {
  const dim = (text: string): string => session.terminal.paintNote('dim', text);
  if (place.kind === 'cluster') return `${id}  ${name}  ${dim(`on topic ${place.topic}`)}`;
  const where = place.holder === null ? 'here' : `by process ${place.holder.pid} (tidemark ${place.holder.command})`;
  return `${id}  ${name}  ${dim(`run ${where}, state in ${place.folder}`)}`;
}

/** The id was there before: says so, and where what was asked for differs from what there is. */
async function tellFound(current: Run, desk: Desk, { workflow: id, sameInput }: StartAnswer): Promise<void> {
  const { session, name } = current;
  const row = await requireWorkflow(desk, id);
  if (row.definition !== name) {
    const message = `Workflow id ${id} is a run of '${row.definition}', not of '${name}'. Choose another id.`;
    throw new ConflictError('workflow-differs', message);
  }
  if (!sameInput) {
    session.terminal.warn(`${id} was started with another input, which stands; the one given here is not used.`);
  }
  const goesOn = endingOf(row) === undefined;
  const head = goesOn ? `${placeWords(current, desk)}, ` : `${id}  ${name}  `;
  session.terminal.note(`${head}${foundWords(row)}`);
}

function foundWords(row: WorkflowSummary): string {
  if (row.status === 'parked') return 'waits for a person';
  if (endingOf(row) !== undefined) return 'has ended before';
  if (row.status === 'compensating') return 'is being undone';
  return row.sequence === 0 ? 'was started before' : `goes on from checkpoint #${row.sequence}`;
}

/** To the end of the last, where one goes on for another. */
async function followAll(
  current: Run,
  desk: Desk,
  started: Pick<StartAnswer, 'workflow' | 'created'>,
  interruption: Interruption,
): Promise<number> {
  const row = started.created ? undefined : await desk.reads.workflow(workflowId(started.workflow));
  const last = row && (await lastOf(desk.reads, row));
  let end: number | WorkflowId = workflowId(last?.workflow ?? started.workflow);
  for (let isNew = started.created; typeof end !== 'number'; isNew = true) {
    end = await follow(current, desk, end, isNew, interruption);
  }
  return end;
}

/** The exit code; where another goes on for it, that one. */
async function follow(
  current: Run,
  desk: Desk,
  id: string,
  created: boolean,
  { signal }: Interruption,
): Promise<number | WorkflowId> {
  const { terminal } = current.session;
  const follower = new Follower({ workflow: id, crowds: true });
  const narrator = new Narrator(terminal.paintNote, { showsWorkflow: false });
  if (!created) {
    const [row] = await follower.baseline(desk);
    if (row !== undefined && endingOf(row) !== undefined) return ended(current, desk, row);
  }
  const spoken = new Spoken(terminal);
  const unsubscribe = await desk.onNews((news) => {
    follower.news(news);
    tellProgress(current, id, news);
    if (news.type === 'said' && news.workflow === id && !terminal.json) spoken.hear(news);
  }, id);
  try {
    for await (const change of follower.changes(desk, signal)) {
      if (change.type === 'crowd') continue;
      spoken.end(id);
      if (isEnd(change)) return await ended(current, desk, await requireWorkflow(desk, id));
      if (change.type !== 'started') terminal.note(narrator.line(change satisfies Change));
    }
  } finally {
    unsubscribe();
    terminal.status('');
  }
  return interrupted(current, desk);
}

function tellProgress({ session }: Run, id: string, news: News): void {
  if (news.type !== 'progress' || news.workflow !== id) return;
  session.terminal.status(progressBar(news));
}

/** Prints the output, or throws what the run ended with. */
async function ended(
  { session, created, options }: Run,
  desk: Desk,
  row: WorkflowSummary,
): Promise<number | WorkflowId> {
  const { terminal } = session;
  const ending = endingOf(row);
  if (ending?.kind === 'continued') {
    terminal.note(`${terminal.paintNote('green', 'goes on')} as ${ending.as}`);
    return ending.as;
  }
  if (ending?.kind !== 'completed') {
    const { error, answers } = await unfinished(desk.reads, row, options.state);
    for (const line of answers) terminal.note(line);
    throw error;
  }
  const took = duration(row.updatedAtMs - row.openedAtMs);
  const spent = row.sequence === 1 ? '1 checkpoint' : `${row.sequence} checkpoints`;
  terminal.note(`${terminal.paintNote('green', 'completed')} in ${took}, ${spent}`);
  terminal.line(jsonText(ending.output));
  terminal.document({ ...workflowJson(row, false), created, output: ending.output });
  return EXIT.ok;
}

/** Lets go of the run: it goes on elsewhere, or with the next command that holds the folder. */
async function interrupted({ session, id, name, options }: Run, desk: Desk): Promise<number> {
  const { terminal } = session;
  const state = stateWords(options.state)
    .map((word) => ` ${shellWord(word)}`)
    .join('');
  if (!desk.runsWorker) {
    terminal.note(`It goes on without this command; tidemark watch ${shellWord(String(id))}${state} follows it.`);
    return EXIT.interrupted;
  }
  terminal.note('Handing over; Ctrl-C again leaves at once.');
  await desk.close(DRAIN_MS);
  const modules = (options.workflows ?? []).map((module) => ` ${shellWord(module)}`).join('');
  terminal.note(`Interrupted. It goes on from its last checkpoint with:
  tidemark run ${name} --id ${shellWord(String(id))}${state} --workflows${modules}`);
  return EXIT.interrupted;
}
