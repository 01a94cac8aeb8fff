/**
 * Owns `tidemark watch`: a line for each thing that happens, as it lands. It never holds a folder for longer than one look,
 * so that whoever wants to run workflows there can; while nobody does, it waits for somebody.
 */

import { activityOf, endingOf, workflowJson } from '@tidemark/api/shapes';
import { UnavailableError } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { WorkflowSummary } from '@tidemark/ports';
import { noState } from '../failures.ts';
import { type End, isEnd } from '../follow/change.ts';
import { Follower } from '../follow/follower.ts';
import { Spoken } from '../follow/spoken.ts';
import { changeJson, Narrator } from '../follow/words.ts';
import { FOLLOW_ONE_PERIOD_MS } from '../limits.ts';
import { liveFleet } from '../live/live-fleet.ts';
import { nothingKept } from '../place/place.ts';
import { type Session, takeInterrupts } from '../session.ts';
import { type Desk, isIdle } from '../state/desk.ts';
import { exists, type Folder, openClusterDesk, openToRead, type Target, targetOf } from '../state/open-desk.ts';
import { requireWorkflow } from '../state/require-workflow.ts';
import { connectSocket } from '../state/socket-desk.ts';
import { jsonText } from '../text/json.ts';
import { progressBar } from '../text/progress.ts';
import { counted } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { ACTIVITY_COLOURS } from '../views/activity.ts';
import { waitingUndo } from '../views/undo.ts';
import { unfinished } from '../views/unfinished.ts';

export interface WatchOptions {
  /** Lines, also on a terminal. */
  readonly lines?: boolean | undefined;
  readonly state?: string | undefined;
}

interface Watch {
  readonly session: Session;
  readonly signal: AbortSignal;
  readonly id: string | undefined;
  /** The folder as the user named it. */
  readonly state: string | undefined;
  readonly follower: Follower;
  readonly narrator: Narrator;
}

export async function watch(session: Session, id: string | undefined, options: WatchOptions): Promise<number> {
  const { canvas } = session.terminal;
  if (id === undefined && canvas !== undefined && options.lines !== true) {
    const missing = await nothingKept(session, options);
    if (missing !== undefined) throw noState(missing);
    return liveFleet(session, options, canvas);
  }
  const target = targetOf(options.state, session.env, session.cwd);
  if (target.kind === 'embedded' && !exists(target)) throw noState(target.shown);
  const interruption = takeInterrupts(session);
  const follower = new Follower({ workflow: id, crowds: !session.terminal.json });
  const narrator = new Narrator(session.terminal.paint, { showsWorkflow: id === undefined });
  const { signal } = interruption;
  const current: Watch = { session, signal, id, state: options.state, follower, narrator };
  try {
    return (await first(current, target)) ?? (await goOn(current, target)) ?? EXIT.interrupted;
  } finally {
    interruption.release();
    session.terminal.status('');
  }
}

/** The first look: what there is now. An exit code when there is nothing to wait for. */
async function first(current: Watch, target: Target): Promise<number | undefined> {
  const desk = await openToRead(target);
  try {
    if (current.id !== undefined) await requireWorkflow(desk, current.id);
    const rows = await current.follower.baseline(desk);
    return (await tellNow(current, desk, rows)) ?? (await undoWaits(current, desk, rows));
  } finally {
    await desk.close();
  }
}

async function tellNow(current: Watch, desk: Desk, rows: readonly WorkflowSummary[]): Promise<number | undefined> {
  const { terminal } = current.session;
  const { id } = current;
  const idle = isIdle(desk);
  const [row] = rows;
  if (id === undefined || row === undefined) {
    const open = rows.filter(({ status }) => status === 'open').length;
    terminal.note(terminal.paintNote('dim', `${counted(open, 'open workflow')}.`));
    return undefined;
  }
  const activity = activityOf(row, idle);
  const { paint } = terminal;
  terminal.record({ type: 'now', ...workflowJson(row, idle) });
  terminal.line(
    `${paint('bold', printable(row.workflow))}  ${printable(row.definition)} v${row.version}  ${paint(ACTIVITY_COLOURS[activity], activity)}, ${counted(row.sequence, 'checkpoint')}`,
  );
  return endingOf(row) === undefined ? undefined : endCode(current, desk, row);
}

/** What is being undone and waits for a person doesn't go on by itself, so it isn't waited for. */
async function undoWaits(current: Watch, desk: Desk, [row]: readonly WorkflowSummary[]): Promise<number | undefined> {
  if (current.id === undefined || row === undefined) return undefined;
  return (await waitingUndo(desk.reads, row)) === undefined ? undefined : endCode(current, desk, row);
}

async function endCode({ session: { terminal }, state }: Watch, desk: Desk, row: WorkflowSummary): Promise<number> {
  const ending = endingOf(row);
  if (ending?.kind === 'completed') {
    terminal.line(jsonText(ending.output));
    return EXIT.ok;
  }
  if (ending?.kind === 'continued') {
    terminal.note(`It goes on as ${printable(ending.as)}: tidemark watch ${printable(ending.as)} follows that.`);
    return EXIT.ok;
  }
  const { error, answers } = await unfinished(desk.reads, row, state);
  for (const line of answers) terminal.note(line);
  throw error;
}

/** Follows through one desk after the other. Undefined: interrupted. */
async function goOn(current: Watch, target: Target): Promise<number | undefined> {
  const { signal } = current;
  while (!signal.aborted) {
    const desk = target.kind === 'cluster' ? await openClusterDesk(target.config) : await awaitHolder(current, target);
    if (desk === undefined) return undefined;
    try {
      const code = await follow(current, desk);
      if (code !== undefined) return code;
    } catch (error) {
      if (!(error instanceof UnavailableError) || error.code !== 'holder-gone') throw error;
      current.session.terminal.note(error.message);
    } finally {
      await desk.close();
    }
  }
  return undefined;
}

async function awaitHolder({ session, signal }: Watch, target: Folder): Promise<Desk | undefined> {
  let told = false;
  while (!signal.aborted) {
    const desk = await connectSocket(target.folder, target.shown);
    if (desk !== undefined) return desk;
    if (!told) session.terminal.note(`Nobody runs workflows in ${target.shown} now; waiting for tidemark dev or run.`);
    told = true;
    await new Promise((resolve) => setTimeout(resolve, FOLLOW_ONE_PERIOD_MS));
  }
  return undefined;
}

async function follow(current: Watch, desk: Desk): Promise<number | undefined> {
  const { session, signal, id, follower, narrator } = current;
  const { terminal } = session;
  const spoken = new Spoken(terminal);
  const unsubscribe = await desk.onNews((news) => {
    follower.news(news);
    if (news.type === 'said' && (id === undefined || news.workflow === id)) spoken.hear(news);
    if (news.type === 'progress' && (id === undefined || news.workflow === id)) terminal.status(progressBar(news));
  }, id);
  try {
    for await (const change of follower.changes(desk, signal)) {
      if (change.type !== 'crowd') spoken.end(change.workflow);
      terminal.record(changeJson(change));
      terminal.line(narrator.line(change));
      if (id !== undefined && change.type !== 'crowd' && isEnd(change)) return await endOf(current, desk, change);
    }
    return undefined;
  } finally {
    unsubscribe();
    terminal.status('');
  }
}

/** The line has told it already. */
async function endOf({ session: { terminal }, state }: Watch, desk: Desk, change: End): Promise<number> {
  if (change.type === 'undo_parked') {
    const { answers } = await unfinished(desk.reads, await requireWorkflow(desk, change.workflow), state);
    for (const line of answers) terminal.note(line);
  }
  if (change.type !== 'completed') return EXIT.failed;
  terminal.line(jsonText(change.output));
  return EXIT.ok;
}
