/**
 * Owns the live view of the fleet on a terminal: looks, draws, and tells below who came and went. It holds a folder for no longer than one
 * look: where nobody runs workflows, it looks once, and waits for somebody.
 */

import { UnavailableError } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import { FLEET_LOOK_MS, LIVE_LINES_MAX_COUNT } from '../limits.ts';
import { type Session, takeInterrupts } from '../session.ts';
import type { FleetTold } from '../state/control-desk.ts';
import type { Desk } from '../state/desk.ts';
import { openClusterDesk, openToRead, type Target } from '../state/open-desk.ts';
import { connectSocket } from '../state/socket-desk.ts';
import type { Stream } from '../terminal.ts';
import { clockTime } from '../text/units.ts';
import { cut, printable } from '../text/width.ts';
import { changesBetween, fleetLines } from './fleet-frame.ts';
import { Screen } from './screen.ts';

/** What is shown now. */
interface Shown {
  told: FleetTold | undefined;
  atMs: number;
  perSecond: number | null;
  note: string;
  /** What happened, the newest last. */
  readonly lines: string[];
  /** Workers of the first look; those that come later are new. */
  known: ReadonlySet<string>;
}

export async function liveFleet(session: Session, target: Target, canvas: Stream): Promise<number> {
  const screen = new Screen(canvas, session.stdin);
  const interruption = takeInterrupts(session);
  interruption.signal.addEventListener('abort', () => screen.leave('interrupted'), { once: true });
  const shown: Shown = { told: undefined, atMs: 0, perSecond: null, note: 'looking …', lines: [], known: new Set() };
  let desk: Desk | undefined;
  screen.take();
  try {
    screen.draw(frame(shown, screen, session));
    while (!screen.left.aborted) {
      try {
        desk ??= await lastingDesk(target);
        await look(shown, desk, target);
      } catch (error) {
        if (!(error instanceof UnavailableError)) throw error;
        shown.note = error.message;
        await desk?.close();
        desk = undefined;
      }
      screen.draw(frame(shown, screen, session));
      await screen.pause(FLEET_LOOK_MS);
    }
    return screen.left.reason === 'quit' ? EXIT.ok : EXIT.interrupted;
  } finally {
    screen.giveBack();
    interruption.release();
    await desk?.close();
  }
}

/** Undefined: nobody holds the folder. */
async function lastingDesk(target: Target): Promise<Desk | undefined> {
  return target.kind === 'cluster' ? openClusterDesk(target.config) : connectSocket(target.folder, target.shown);
}

async function look(shown: Shown, desk: Desk | undefined, target: Target): Promise<void> {
  if (desk === undefined && shown.told !== undefined) {
    shown.note = 'nobody runs workflows here now; as it was';
    return;
  }
  const own = desk ?? (await openToRead(target));
  try {
    const told = await own.control.fleet(null);
    const nowMs = performance.now();
    const before = shown.told;
    if (before === undefined) shown.known = new Set(told.workers.map(({ holder }) => holder));
    else {
      shown.perSecond = Math.max(((told.eventCount - before.eventCount) / (nowMs - shown.atMs)) * 1_000, 0);
      shown.lines.push(...changesBetween(before, told).map((line) => `${clockTime(Date.now())}  ${line}`));
      if (shown.lines.length > LIVE_LINES_MAX_COUNT) shown.lines.splice(0, shown.lines.length - LIVE_LINES_MAX_COUNT);
    }
    shown.told = told;
    shown.atMs = nowMs;
    shown.note = desk === undefined ? 'nobody runs workflows here now' : '';
  } finally {
    if (own !== desk) await own.close();
  }
}

function frame(shown: Shown, screen: Screen, { terminal }: Session): readonly string[] {
  const { told, note, perSecond, lines, known } = shown;
  const { columns: width, rows } = screen;
  const { paint } = terminal;
  const head = cut(`tidemark watch  ${clockTime(Date.now())}  ${printable(note)}`, width);
  const foot = paint('dim', cut('q leaves', width));
  const fleet = told === undefined ? [] : fleetLines(told, { width, paint, perSecond, known });
  const above = [paint('bold', head), ...fleet, ''];
  const room = Math.max(rows - above.length - 1, 0);
  const below = room === 0 ? [] : lines.slice(-room).map((line) => cut(line, width));
  return [...above.slice(0, Math.max(rows - 1, 1)), ...below, foot];
}
