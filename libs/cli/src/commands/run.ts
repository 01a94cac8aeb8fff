/**
 * Owns `tidemark run`: starts a workflow (the same id is the same run), shows how it goes, prints its output. It runs where
 * the state is: on the cluster, in the process that holds the folder, or in this one, which then holds the folder itself.
 */

import { canonicalJson } from '@tidemark/codec';
import { ConflictError, type Json, TidemarkError, UnavailableError } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { WorkflowSummary } from '@tidemark/ports';
import { outlivedReporter } from '../failures.ts';
import { type Change, isEnd } from '../follow/change.ts';
import { Follower } from '../follow/follower.ts';
import { Narrator } from '../follow/words.ts';
import { readInput } from '../input.ts';
import { CONCURRENCY_DEFAULT_COUNT, DRAIN_MS, STALL_NOTICE_MS } from '../limits.ts';
import { type Interruption, type Session, takeInterrupts } from '../session.ts';
import { pick, readDefinitions } from '../state/definitions.ts';
import type { Desk, News } from '../state/desk.ts';
import { HostDesk } from '../state/host-desk.ts';
import { holdFolder, openClusterDesk, shareFolder, type Target, targetOf } from '../state/open-desk.ts';
import { requireWorkflow } from '../state/require-workflow.ts';
import { serveSocket } from '../state/socket-server.ts';
import { jsonText } from '../text/json.ts';
import { progressBar } from '../text/progress.ts';
import { duration } from '../text/units.ts';
import { inputOf } from '../views/belief.ts';
import { endingOf } from '../views/ending.ts';
import { workflowJson } from '../views/workflow.ts';

export interface RunOptions {
  readonly input?: string | undefined;
  readonly id?: string | undefined;
  readonly tenant?: string | undefined;
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
  readonly follower: Follower | undefined;
  id: string | undefined;
  created: boolean;
}

export async function run(session: Session, name: string, options: RunOptions): Promise<number> {
  const target = targetOf(options.state, session.env, session.cwd);
  const input = await readInput(options.input, session);
  const interruption = takeInterrupts();
  const { id } = options;
  const current: Run = { session, interruption, name, input, options, target, follower: undefined, id, created: false };
  try {
    for (;;) {
      const code = await attempt(current);
      if (code !== 'holder-gone') return code;
      session.terminal.note('The process that ran it has ended; going on.');
    }
  } finally {
    interruption.release();
    session.terminal.status('');
  }
}

/** Runs it on one desk; when the process behind the desk ends first, another desk may go on. */
async function attempt(current: Run): Promise<number | 'holder-gone'> {
  const { interruption, session } = current;
  const desk = await openToRun(current);
  let drainMs = 0;
  try {
    const code = await startAndFollow(current, desk);
    if (interruption.signal.aborted) drainMs = DRAIN_MS;
    return code;
  } catch (error) {
    const isGone = error instanceof UnavailableError && error.code === 'holder-gone';
    if (!isGone || current.options.detach === true || interruption.signal.aborted) throw error;
    return 'holder-gone';
  } finally {
    if (drainMs > 0 && desk instanceof HostDesk && desk.place.kind === 'embedded') {
      session.terminal.note('Handing over; Ctrl-C again leaves at once.');
    }
    await desk.close(drainMs);
  }
}

async function openToRun({ session, target, name, input, options }: Run): Promise<Desk> {
  const { terminal, cwd } = session;
  const modules = options.workflows ?? [];
  if (target.kind === 'cluster') {
    const definitions = await readDefinitions(modules.length > 0 ? modules : target.config.workflowModules, cwd);
    pick(definitions, name, 'in the given modules').parseInput(input);
    return openClusterDesk(target.config, definitions);
  }
  return shareFolder(target, async () => {
    // What is wrong with the call shows before a folder is made or held.
    const definitions = await readDefinitions(modules, cwd);
    pick(definitions, name, 'in the given modules').parseInput(input);
    const onError = outlivedReporter(terminal);
    const desk = await holdFolder(target, { definitions, onError });
    if (options.detach === true) return desk;
    try {
      await desk.startWorker(CONCURRENCY_DEFAULT_COUNT, onError);
      const server = await serveSocket(desk, target.folder, 'run');
      desk.closeFirst(() => server.close());
      return desk;
    } catch (error) {
      await desk.close();
      throw error;
    }
  });
}

async function startAndFollow(current: Run, desk: Desk): Promise<number> {
  const { session, interruption, name, input, options } = current;
  const started = await stallNoticed(current, desk, () =>
    desk.start({ definition: name, input, id: current.id, tenant: options.tenant }),
  );
  if (started === undefined) return EXIT.interrupted;
  const isFirst = current.id !== started.workflow || !current.created;
  current.id = started.workflow;
  current.created ||= started.created;
  if (options.detach === true) return detached(current, desk);
  if (started.created) session.terminal.note(placeWords(current, desk));
  else if (isFirst) await tellFound(current, desk, started.workflow);
  return follow(current, desk, started.workflow, started.created, interruption);
}

/** Undefined when Ctrl-C came first. After a while says what may be missing. */
async function stallNoticed<T>(
  { session, interruption, target }: Run,
  desk: Desk,
  start: () => Promise<T>,
): Promise<T | undefined> {
  const timer = setTimeout(() => {
    const missing =
      target.kind === 'cluster' ? ' Is a coordinator running? tidemark doctor shows what is missing.' : '';
    session.terminal.note(
      `Still waiting for ${desk.place.kind === 'cluster' ? 'the cluster' : 'the state'}.${missing}`,
    );
  }, STALL_NOTICE_MS);
  const interrupted = new Promise<undefined>((resolve) => {
    interruption.signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const starting = start();
  starting.catch(() => {}); // after Ctrl-C nobody waits for it
  return Promise.race([starting, interrupted]).finally(() => clearTimeout(timer));
}

function detached({ session, id, created, name, options }: Run, desk: Desk): number {
  const { terminal } = session;
  terminal.document({ workflow: id, definition: name, created });
  terminal.line(id);
  const { place } = desk;
  const what = created ? 'Started' : 'Was started before';
  const idle = place.kind === 'embedded' && place.holder === null;
  const state = options.state === undefined ? '' : ` --state ${options.state}`;
  const where = idle
    ? `it goes on with the next tidemark dev or run on ${place.folder}`
    : `tidemark watch ${id}${state} follows it`;
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
async function tellFound(current: Run, desk: Desk, id: string): Promise<void> {
  const { session, name, input, options } = current;
  const row = await requireWorkflow(desk, id);
  if (row.definition !== name) {
    const message = `The id '${id}' belongs to a run of ${row.definition}, not of ${name}. Choose another --id.`;
    throw new ConflictError('workflow-differs', message);
  }
  if (options.input !== undefined && canonicalJson(await inputOf(desk.reads, row.workflow)) !== canonicalJson(input)) {
    session.terminal.warn(`${id} was started with another input, which stands; the one given here is not used.`);
  }
  session.terminal.note(`${placeWords(current, desk)}${foundWords(row)}`);
}

function foundWords(row: WorkflowSummary): string {
  if (row.status !== 'open') return '';
  return row.sequence === 0 ? ', was started before' : `, goes on from checkpoint #${row.sequence}`;
}

async function follow(
  current: Run,
  desk: Desk,
  id: string,
  created: boolean,
  { signal }: Interruption,
): Promise<number> {
  const { terminal } = current.session;
  const follower = new Follower({ workflow: id });
  const narrator = new Narrator(terminal.paintNote, { showsWorkflow: false });
  if (!created) {
    const [row] = await follower.baseline(desk);
    if (row !== undefined && row.status !== 'open') return ended(current, row);
  }
  const unsubscribe = await desk.onNews((news) => {
    follower.news(news);
    tellProgress(current, id, news);
  });
  try {
    for await (const change of follower.changes(desk, signal)) {
      if (change.type === 'crowd') continue;
      if (isEnd(change)) return await ended(current, await requireWorkflow(desk, id));
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
async function ended({ session, created }: Run, row: WorkflowSummary): Promise<number> {
  const { terminal } = session;
  const ending = endingOf(row);
  const { workflow } = row;
  switch (ending?.kind) {
    case 'completed': {
      const took = duration(row.updatedAtMs - row.openedAtMs);
      const spent = row.sequence === 1 ? '1 checkpoint' : `${row.sequence} checkpoints`;
      terminal.note(`${terminal.paintNote('green', 'completed')} in ${took}, ${spent}`);
      terminal.line(jsonText(ending.output));
      terminal.document({ ...workflowJson(row), created, output: ending.output });
      return EXIT.ok;
    }
    case 'failed': {
      const message = `${workflow} failed (${ending.reason}): ${ending.message}`;
      throw new TidemarkError('workflow-failed', message, { workflow });
    }
    default: {
      const reason = ending?.reason ?? row.reason;
      const message = `${workflow} waits for a person (${reason}); tidemark show ${workflow} --events tells why.`;
      throw new TidemarkError('workflow-parked', message, { workflow });
    }
  }
}

async function interrupted({ session, id, name, options, target }: Run, desk: Desk): Promise<number> {
  const { terminal } = session;
  const { place } = desk;
  const state = options.state === undefined ? '' : ` --state ${options.state}`;
  if (place.kind === 'embedded' && place.holder === null && target.kind === 'embedded') {
    const modules = (options.workflows ?? []).map((module) => ` --workflows ${module}`).join('');
    terminal.note(
      `Interrupted; goes on from its last checkpoint with: tidemark run ${name} --id ${id}${modules}${state}`,
    );
  } else terminal.note(`It goes on without this command; tidemark watch ${id}${state} follows it.`);
  return EXIT.interrupted;
}
