/**
 * Owns the live view of the fleet on a terminal: it polls, draws, and lists below which workers came and went. It holds a folder only for
 * one read: where nobody runs workflows, it reads once, and waits for a holder.
 */

import { UnavailableError } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { FLEET_POLL_MS } from '../limits.ts';
import { failureOf } from '../place/api-failure.ts';
import { lastingPlace, openPlace, type Place, type PlaceOptions, targetOf } from '../place/place.ts';
import { type Session, takeInterrupts } from '../session.ts';
import type { Stream } from '../terminal.ts';
import { clockTime } from '../text/units.ts';
import { cut, printable } from '../text/width.ts';
import { changesBetween, type FleetView, fleetLines, readFleet } from './fleet-frame.ts';
import { Screen } from './screen.ts';

/** Lines that a live view keeps to show. */
const LIVE_LINES_MAX_COUNT = 500;

/** What is shown now. */
interface Shown {
  reported: FleetView | undefined;
  note: string;
  /** What happened, the newest last. */
  readonly lines: string[];
  /** Workers of the first read; later ones are new. */
  known: ReadonlySet<string>;
}

export async function liveFleet(session: Session, options: PlaceOptions, canvas: Stream): Promise<number> {
  const target = await targetOf(options, session);
  const screen = new Screen(canvas, session.stdin);
  const interruption = takeInterrupts(session);
  interruption.signal.addEventListener('abort', () => screen.leave('interrupted'), { once: true });
  const shown: Shown = { reported: undefined, note: 'loading …', lines: [], known: new Set() };
  let place: Place | undefined;
  screen.take();
  try {
    screen.draw(frame(shown, screen, session));
    while (!screen.left.aborted) {
      try {
        place ??= await lastingPlace(session, target);
        await style(shown, place, () => openPlace(session, target));
      } catch (error) {
        const failure = failureOf(error);
        if (!(failure instanceof UnavailableError)) throw failure;
        shown.note = failure.message;
        await place?.close();
        place = undefined;
      }
      screen.draw(frame(shown, screen, session));
      await screen.pause(FLEET_POLL_MS);
    }
    return screen.left.reason === 'quit' ? EXIT.ok : EXIT.interrupted;
  } finally {
    screen.giveBack();
    interruption.release();
    await place?.close();
  }
}

async function style(shown: Shown, place: Place | undefined, open: () => Promise<Place>): Promise<void> {
  if (place === undefined && shown.reported !== undefined) {
    shown.note = 'no process runs workflows here now; this is the last state';
    return;
  }
  const own = place ?? (await open());
  try {
    const reported = await readFleet(own.client);
    const before = shown.reported;
    if (before === undefined) shown.known = new Set(reported.fleet.workers.map(({ holder }) => holder));
    else {
      shown.lines.push(...changesBetween(before, reported).map((line) => `${clockTime(Date.now())}  ${line}`));
      if (shown.lines.length > LIVE_LINES_MAX_COUNT) shown.lines.splice(0, shown.lines.length - LIVE_LINES_MAX_COUNT);
    }
    shown.reported = reported;
    shown.note = place === undefined ? 'no process runs workflows here now' : '';
  } finally {
    if (own !== place) await own.close();
  }
}

function frame(shown: Shown, screen: Screen, { terminal }: Session): readonly string[] {
  const { reported, note, lines, known } = shown;
  const { columns: width, rows } = screen;
  const { paint } = terminal;
  const head = cut(`tidemark watch  ${clockTime(Date.now())}  ${printable(note)}`, width);
  const foot = paint('dim', cut('q leaves', width));
  const fleet = reported === undefined ? [] : fleetLines(reported, { width, paint, known });
  const above = [paint('bold', head), ...fleet, ''];
  const room = Math.max(rows - above.length - 1, 0);
  const below = room === 0 ? [] : lines.slice(-room).map((line) => cut(line, width));
  return [...above.slice(0, Math.max(rows - 1, 1)), ...below, foot];
}
