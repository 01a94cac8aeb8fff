/**
 * Owns `tidemark run`: starts a workflow (the same id is the same run), shows its progress, prints its output. It runs where the state is:
 * at a server, in the process that holds the folder, or in this one, which then holds the folder itself.
 */

import { type Client, TidemarkApiError, type WorkflowView } from '@tidemark/client';
import { ConflictError, FencedError, type Json, type Priority, UNDO_SUFFIX, UnavailableError } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { pick, readDefinitions } from '../definitions.ts';
import { outlivedReporter } from '../failures.ts';
import { isEnd } from '../follow/change.ts';
import { Followed, followOne } from '../follow/follower.ts';
import { heardBy, Spoken } from '../follow/spoken.ts';
import { Narrator } from '../follow/words.ts';
import { readInput } from '../input.ts';
import { DRAIN_MS, FOLDER_WAIT_MS, MIRRORS_END_MS } from '../limits.ts';
import { failureOf } from '../place/api-failure.ts';
import type { Folder } from '../place/folder.ts';
import { failIfHolderGone } from '../place/gone.ts';
import type { HeldFolder } from '../place/held-folder.ts';
import {
  openPlace,
  ownName,
  ownPlace,
  type Place,
  placeOf,
  placeOr,
  type Target,
  targetOf,
  waitingFor,
} from '../place/place.ts';
import { noticeStall } from '../place/stall.ts';
import { awaitMirrors } from '../place/turn.ts';
import type { RunningOptions } from '../program/running-options.ts';
import { type Interruption, type Session, takeInterrupts } from '../session.ts';
import { jsonText } from '../text/json.ts';
import { atWords, shellWord } from '../text/shell.ts';
import { duration } from '../text/units.ts';
import { droppedByEnd } from '../views/history.ts';
import { isUnfinished, unfinished } from '../views/unfinished.ts';

/** One start: its definition, and its outcome so far. */
interface Run {
  readonly session: Session;
  readonly interruption: Interruption;
  readonly name: string;
  readonly input: Json;
  readonly options: RunningOptions['run'];
  readonly target: Target;
  id: string | undefined;
  created: boolean;
  isTakeover: boolean;
}

export async function run(session: Session, name: string, options: RunningOptions['run']): Promise<number> {
  const target = await targetOf(options, session);
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
  if (options.workflows.length === 0) {
    const message = `The process that ran ${id} has ended. It resumes with tidemark dev, or with this command and --workflows.`;
    throw new UnavailableError('holder-gone', message);
  }
  session.terminal.note(`The process that ran it has ended; ${name} resumes here.`);
  current.isTakeover = true;
}

/** A place to run it, and the folder where this process holds that. */
interface Opened {
  readonly place: Place;
  readonly held: HeldFolder | undefined;
}

/** Runs it at one place; when the process behind the place ends first, another may continue it. */
async function attempt(current: Run): Promise<number | 'holder-gone'> {
  const opened = await open(current);
  try {
    return await startAndFollow(current, opened);
  } catch (error) {
    const failure = failureOf(error, opened.place.fault?.());
    const isGone = failure instanceof UnavailableError && opened.place.holder !== null && opened.held === undefined;
    if (isGone && current.options.detach === true && failure.code === 'unreachable')
      throw unsure(current, opened, failure);
    if (!isGone || current.options.detach === true || current.interruption.signal.aborted) throw failure;
    return 'holder-gone';
  } finally {
    await opened.place.close();
    await opened.held?.close();
  }
}

/** The holder of the folder has ended before it answered: nobody knows whether the start is in the log. */
function unsure({ options: { id } }: Run, { place: { holder, shown } }: Opened, cause: unknown): UnavailableError {
  const repeated =
    id === undefined
      ? 'tidemark ls shows whether the run was started; with --id the same command is safe to repeat.'
      : `The same command with the same --id ${shellWord(id)} is safe to repeat: it starts the run once.`;
  const message = `Process ${holder?.pid} (tidemark ${holder?.command}), which held ${shown}, has ended before it answered. ${repeated}`;
  return new UnavailableError('holder-gone', message, { pid: holder?.pid, cause });
}

async function open(current: Run): Promise<Opened> {
  const { session, target, isTakeover } = current;
  if (target.kind === 'server') return { place: await openPlace(session, target), held: undefined };
  const name = ownName(session.env);
  // The previous holder of the folder has just ended, and may still be handing over.
  const waitMs = FOLDER_WAIT_MS + (isTakeover ? DRAIN_MS : 0);
  const found = await placeOr(target, name, () => hold(current, target, name), { waitMs });
  return 'client' in found ? { place: found, held: undefined } : found;
}

/** Mistakes in the call (no such workflow, its input) are thrown before anything is created or held. */
async function hold(current: Run, target: Folder, name: string): Promise<Opened> {
  const { session, options } = current;
  const definitions = await readDefinitions(options.workflows, session.cwd);
  const definition = pick(definitions, current.name, 'in the given modules');
  if (options.input !== undefined || options.id === undefined) definition.parseInput(current.input);
  const [{ holdNoticed, noteStaysPlain }, { checkedStart }] = await Promise.all([
    import('../place/held-folder.ts'),
    import('@tidemark/runtime'),
  ]);
  const { id = 'new', session: conversation, user, tag: tags, timeout } = options;
  checkedStart({ id, session: conversation, user, tags, timeout });
  const held = await holdNoticed(session, target, { definitions, onError: runReporter(current) });
  noteStaysPlain(session, held);
  if (options.detach === true) return { place: await placeOf(held, name), held };
  try {
    await held.serve('run');
    // It follows events over the folder's socket, as other commands do.
    return { place: await ownPlace(target, name), held };
  } catch (error) {
    await held.close();
    throw error;
  }
}

/** Counts a wait for a person as the end of the followed run. */
function runReporter(current: Run): (where: string, error: unknown) => void {
  const report = outlivedReporter(current.session.terminal);
  return (where, error) => {
    const isParked = error instanceof FencedError && error.code === 'parked';
    if (!isParked || current.id === undefined || !isOf(where, current.id)) report(where, error);
  };
}

/** Of the workflow, or of its compensation. */
const isOf = (where: string, id: string): boolean =>
  where === `workflow ${id}` || where.startsWith(`workflow ${id}${UNDO_SUFFIX}`);

interface Started {
  readonly id: string;
  readonly created: boolean;
  readonly sameInput: boolean;
}

async function startAndFollow(current: Run, opened: Opened): Promise<number> {
  const { session, options } = current;
  const { place } = opened;
  const started = await unlessInterrupted(current, place, () => start(current, place.client));
  if (started === undefined) return EXIT.interrupted;
  const isFirst = current.id !== started.id || !current.created;
  current.id = started.id;
  current.created ||= started.created;
  if (options.detach === true) {
    // A later command should see it; a longer wait is not worth a message.
    await isKnown(place.client, started.id).catch(() => {});
    if (!started.sameInput) warnOfInput(current, started.id);
    return detached(current, opened);
  }
  if (started.created) session.terminal.note(placeWords(current, opened));
  else if (isFirst) await reportFound(current, opened, started);
  // It was reported when it was found.
  await opened.held?.startWorker({ onError: runReporter(current) });
  return followAll(current, opened, started);
}

/** The existing run of the given id where no input is given; else a start, which needs one. */
async function start({ name, input, id, options }: Run, client: Client): Promise<Started> {
  if (id !== undefined && options.input === undefined && (await isKnown(client, id))) {
    return { id, created: false, sameInput: true };
  }
  const { tenant, session, user, tag: tags, timeout } = options;
  const priority = options.priority as Priority | undefined;
  return client.start(name, input, { id, tenant, session, user, tags, timeout, priority });
}

async function isKnown(client: Client, id: string): Promise<boolean> {
  try {
    await client.run(id).get({ content: false });
    return true;
  } catch (error) {
    if (error instanceof TidemarkApiError && error.code === 'workflow-unknown') return false;
    throw error;
  }
}

/** Undefined when Ctrl-C came first. After a while it says what may be missing. */
async function unlessInterrupted<T>(
  { session, interruption: { signal } }: Run,
  place: Place,
  start: () => Promise<T>,
): Promise<T | undefined> {
  if (signal.aborted) return undefined;
  const interrupted = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const starting = start();
  starting.catch(() => {}); // after Ctrl-C nobody waits for it
  return noticeStall(session, waitingFor(place), Promise.race([starting, interrupted]));
}

function detached({ session, id, created, name, options }: Run, { place }: Opened): number {
  const { terminal } = session;
  terminal.answer({ workflow: id, definition: name, created });
  terminal.line(id);
  const what = created ? 'Started' : 'Was started before';
  const where = place.isIdle
    ? `it resumes with the next tidemark dev or run on ${place.shown}`
    : `tidemark watch ${shellWord(String(id))}${atText(options)} follows it`;
  terminal.note(terminal.paintNote('dim', `${what}; ${where}.`));
  return EXIT.ok;
}

const atText = (options: RunningOptions['run']): string =>
  atWords(options)
    .map((word) => ` ${shellWord(word)}`)
    .join('');

function placeWords({ session, id, name }: Run, { place, held }: Opened): string {
  const dim = (text: string): string => session.terminal.paintNote('dim', text);
  if (place.kind === 'server') return `${id}  ${name}  ${dim(`at ${place.shown}`)}`;
  const where = held !== undefined ? 'here' : `by process ${place.holder?.pid} (tidemark ${place.holder?.command})`;
  return `${id}  ${name}  ${dim(`run ${where}, state in ${place.shown}`)}`;
}

const warnOfInput = ({ session }: Run, id: string): void =>
  session.terminal.warn(`${id} was started with another input, which it keeps; the one given here is not used.`);

/** The id existed: says so, and where the request differs from the run. */
async function reportFound(current: Run, opened: Opened, { id, sameInput }: Started): Promise<void> {
  const { session, name } = current;
  const view = await opened.place.client.run(id).get({ content: false });
  if (view.definition !== name) {
    const message = `Workflow id ${id} is a run of '${view.definition}', not of '${name}'. Choose another id.`;
    throw new ConflictError('workflow-differs', message);
  }
  if (!sameInput) warnOfInput(current, id);
  const head = isUnfinished(view) ? `${placeWords(current, opened)}, ` : `${id}  ${name}  `;
  session.terminal.note(`${head}${foundWords(view)}`);
}

function foundWords({ status, sequence_number: sequence }: WorkflowView): string {
  if (status === 'parked') return 'waits for a person';
  if (status === 'compensating') return 'is being compensated';
  if (status !== 'open') return 'has ended before';
  return sequence === 0 ? 'was started before' : `resumes from checkpoint #${sequence}`;
}

/** Follows to the end of the last run, where one continues as another. */
async function followAll(current: Run, opened: Opened, { id, created }: Started): Promise<number> {
  try {
    let end: number | string = created ? id : (await opened.place.client.run(id).outcome()).workflow;
    for (let isNew = created; typeof end !== 'number'; isNew = true) end = await follow(current, opened, end, isNew);
    return end;
  } finally {
    await mirrored(current, opened);
  }
}

/** Without this process a mirror has to open the folder itself, and shows the end of the run seconds later. */
async function mirrored({ session, interruption }: Run, { held }: Opened): Promise<void> {
  if (held === undefined || interruption.signal.aborted) return;
  const { folder, shown } = held.target;
  if (await awaitMirrors(folder, Date.now() + 1, MIRRORS_END_MS, interruption.signal)) return;
  session.terminal.note(
    `A mirror of ${shown} (tidemark files mirror) doesn't show the end of it yet, and goes on by itself.`,
  );
}

/** The exit code; of the last run where it continues as another. */
async function follow(current: Run, opened: Opened, id: string, isNew: boolean): Promise<number | string> {
  const { session, interruption } = current;
  const { terminal } = session;
  const { signal } = interruption;
  const { client } = opened.place;
  const run = client.run(id);
  const row = await run.get({ content: false, signal });
  if (!isNew && !isUnfinished(row)) return ended(current, client, await run.get());
  const followed = new Followed(row, isNew);
  const narrator = new Narrator(terminal.paintNote, { showsWorkflow: false, at: current.options });
  const spoken = new Spoken(terminal);
  const onLost = failIfHolderGone(opened.place, opened.held);
  const onSaid = terminal.json ? undefined : heardBy(terminal, spoken, id);
  try {
    for await (const change of followOne(id, followed, { client, signal, onLost, onSaid, crowds: true })) {
      spoken.end(id);
      if (isEnd(change)) {
        if (signal.aborted) break;
        return await ended(current, client, await run.get());
      }
      if (change.type !== 'started') terminal.note(narrator.line(change));
    }
  } finally {
    terminal.status('');
  }
  // The stream is over: it had ended, or Ctrl-C came.
  return signal.aborted ? interrupted(current, opened) : ended(current, client, await run.get());
}

/** Prints the output, or throws the failure of the run. */
async function ended({ session, created, options }: Run, client: Client, view: WorkflowView): Promise<number | string> {
  const { terminal } = session;
  const { continued_as: next, status, sequence_number: sequence } = view;
  const undone = droppedByEnd(view);
  if (undone !== undefined) terminal.warn(`${undone}.`);
  if (next !== undefined) {
    terminal.note(`${terminal.paintNote('green', 'continues')} as ${next}`);
    return next;
  }
  if (status !== 'completed' || view.forgotten) {
    const { error, answers } = await unfinished(client, view, options);
    for (const line of answers) terminal.note(line);
    throw error;
  }
  const took = duration(Date.parse(view.updated_at) - Date.parse(view.opened_at));
  const spent = sequence === 1 ? '1 checkpoint' : `${sequence} checkpoints`;
  terminal.note(`${terminal.paintNote('green', 'completed')} in ${took}, ${spent}`);
  terminal.line(jsonText(view.output ?? null));
  terminal.answer({ ...view, created });
  return EXIT.ok;
}

/** Releases the run: it continues elsewhere, or with the next command that holds the folder. */
async function interrupted({ session, id, name, options }: Run, { held }: Opened): Promise<number> {
  const { terminal } = session;
  if (held === undefined) {
    const watch = `tidemark watch ${shellWord(String(id))}${atText(options)}`;
    terminal.note(`It keeps running without this command; ${watch} follows it.`);
    return EXIT.interrupted;
  }
  terminal.note('Handing over; Ctrl-C again stops at once.');
  await held.close(DRAIN_MS);
  const modules = options.workflows.map((module) => ` ${shellWord(module)}`).join('');
  terminal.note(`Interrupted. It resumes from its last checkpoint with:
  tidemark run ${name} --id ${shellWord(String(id))}${atText(options)} --workflows${modules}`);
  return EXIT.interrupted;
}
