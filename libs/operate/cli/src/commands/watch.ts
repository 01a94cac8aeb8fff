/**
 * Owns `tidemark watch`: what happens, as it lands, a line for each event; the fleet on a terminal as a view of the whole screen. It holds a
 * folder only for one read, so that others can run workflows there; while nobody does, it waits.
 */

import type { WorkflowView } from '@tidemark/client';
import { UnavailableError } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { noState } from '../failures.ts';
import { type Change, isEnd, recordOf } from '../follow/change.ts';
import { FleetFollower, Followed, followOne } from '../follow/follower.ts';
import { heardBy, Spoken } from '../follow/spoken.ts';
import { Narrator } from '../follow/words.ts';
import { liveFleet } from '../live/live-fleet.ts';
import { failureOf } from '../place/api-failure.ts';
import { failIfHolderGone } from '../place/gone.ts';
import {
  awaitHolder,
  lastingPlace,
  nothingKept,
  openPlace,
  type Place,
  type Target,
  targetOf,
  within,
} from '../place/place.ts';
import type { RunningOptions } from '../program/running-options.ts';
import { type Session, takeInterrupts } from '../session.ts';
import { jsonText } from '../text/json.ts';
import { counted } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { ACTIVITY_COLOURS } from '../views/activity.ts';
import { isUnfinished, unfinished } from '../views/unfinished.ts';

interface Watch {
  readonly session: Session;
  readonly signal: AbortSignal;
  readonly options: RunningOptions['watch'];
  readonly narrator: Narrator;
}

export async function watch(
  session: Session,
  id: string | undefined,
  options: RunningOptions['watch'],
): Promise<number> {
  const { terminal } = session;
  const missing = await nothingKept(session, options);
  if (missing !== undefined) throw noState(missing);
  const canvas = options.lines === true || id !== undefined ? undefined : terminal.canvas;
  if (canvas !== undefined) return liveFleet(session, options, canvas);
  const target = await targetOf(options, session);
  const interruption = takeInterrupts(session);
  const { signal } = interruption;
  const narrator = new Narrator(terminal.paint, { showsWorkflow: id === undefined, at: options });
  const current: Watch = { session, signal, options, narrator };
  try {
    const code = id === undefined ? await watchAll(current, target) : await watchOne(current, target, id);
    return code ?? EXIT.interrupted;
  } catch (error) {
    throw failureOf(error);
  } finally {
    interruption.release();
    terminal.status('');
  }
}

/**
 * Works at each place that answers, one after the other, until there is a code; `alone` runs for a folder without a holder, before it waits
 * for one. Undefined: interrupted.
 */
async function throughPlaces(
  { session, signal }: Watch,
  target: Target,
  work: (place: Place) => Promise<number | undefined>,
  alone?: (place: Place) => Promise<number | undefined>,
): Promise<number | undefined> {
  while (!signal.aborted) {
    let place = await lastingPlace(session, target);
    if (place === undefined) {
      const code = alone && (await forOneRead(session, target, alone));
      if (code !== undefined) return code;
      place = await awaitHolder(session, target, signal);
    }
    if (place === undefined) break;
    try {
      const code = await work(place);
      if (code !== undefined) return code;
    } catch (error) {
      const failure = failureOf(error);
      if (!(failure instanceof UnavailableError) || place.kind === 'server') throw failure;
      session.terminal.note(failure.message);
    } finally {
      await place.close();
    }
  }
  return undefined;
}

async function watchAll(current: Watch, target: Target): Promise<number | undefined> {
  const { session, signal, narrator } = current;
  const { terminal } = session;
  const crowds = !terminal.json;
  const follower = new FleetFollower();
  await forOneRead(session, target, async ({ client }) => {
    const rows = await follower.baseline(client);
    const open = rows.filter(({ status }) => status === 'open').length;
    terminal.note(terminal.paintNote('dim', `${counted(open, 'open workflow')}.`));
  });
  return throughPlaces(current, target, async (place) => {
    for await (const change of follower.changes({
      client: place.client,
      signal,
      crowds,
      onLost: failIfHolderGone(place),
    })) {
      terminal.record(recordOf(change));
      terminal.line(narrator.line(change));
    }
    return undefined;
  });
}

async function watchOne(current: Watch, target: Target, id: string): Promise<number | undefined> {
  const { session, signal } = current;
  const { terminal } = session;
  const endedIn = async (place: Place, view: WorkflowView): Promise<number | undefined> =>
    isUnfinished(view) && waitingUndoOf(view) === null ? undefined : endCode(current, place, view);
  const ended = async (place: Place): Promise<number | undefined> =>
    endedIn(place, await place.client.run(id).get({ signal }));
  let followed: Followed | undefined;
  const first = await forOneRead(session, target, async (place) => {
    const view = await place.client.run(id).get({ signal });
    followed = new Followed(view, false);
    reportNow(current, view);
    return endedIn(place, view);
  });
  if (first !== undefined) return first;
  const crowds = !terminal.json;
  const spoken = new Spoken(terminal);
  const onSaid = heardBy(terminal, spoken, id);
  const work = async (place: Place): Promise<number | undefined> => {
    const { client } = place;
    const onLost = failIfHolderGone(place);
    for await (const change of followOne(id, followed!, { client, signal, crowds, onSaid, onLost })) {
      report(current, spoken, id, change);
      if (isEnd(change) && !signal.aborted) return endCode(current, place, await client.run(id).get());
    }
    // The stream is over: it had ended before.
    return signal.aborted ? undefined : ended(place);
  };
  return throughPlaces(current, target, work, ended);
}

const waitingUndoOf = ({ status, undo }: WorkflowView): string | null =>
  status === 'compensating' ? (undo?.waiting_workflow ?? null) : null;

function report({ session: { terminal }, narrator }: Watch, spoken: Spoken, id: string, change: Change): void {
  spoken.end(id);
  terminal.record(recordOf(change));
  terminal.line(narrator.line(change));
}

async function forOneRead<T>(session: Session, target: Target, work: (place: Place) => Promise<T>): Promise<T> {
  const place = await openPlace(session, target);
  try {
    return await within(place, () => work(place));
  } finally {
    await place.close();
  }
}

function reportNow({ session: { terminal } }: Watch, view: WorkflowView): void {
  const { workflow, definition, definition_version: version, activity, sequence_number: sequence } = view;
  const { paint } = terminal;
  terminal.record({ type: 'now', ...view });
  terminal.line(
    `${paint('bold', printable(workflow))}  ${printable(definition)} v${version}  ${paint(ACTIVITY_COLOURS[activity], activity)}, ${counted(sequence, 'checkpoint')}`,
  );
}

/** Says how it ended. */
async function endCode(
  { session: { terminal }, options }: Watch,
  { client }: Place,
  view: WorkflowView,
): Promise<number> {
  if (view.continued_as !== undefined) {
    const next = printable(view.continued_as);
    terminal.note(`It continues as ${next}: tidemark watch ${next} follows that.`);
    return EXIT.ok;
  }
  if (view.status === 'completed' && !view.forgotten) {
    terminal.line(jsonText(view.output ?? null));
    return EXIT.ok;
  }
  const { error, answers } = await unfinished(client, view, options);
  for (const line of answers) terminal.note(line);
  throw error;
}
