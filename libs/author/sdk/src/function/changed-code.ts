/** Owns what a person is told when a function asks for something else than it did before. */

import type { Json } from '@tidemark/core';
import { ParkError } from '@tidemark/runtime';
import type { CallId } from './outcome.ts';

/** Calls before the first difference, and from there on, that are shown. */
const SHOWN_COUNT = 5;

/** What the function has come to. */
interface Progressed {
  readonly asked: readonly CallId[];
  readonly fresh: readonly CallId[];
  readonly end: unknown;
  readonly decidedCount: number;
}

/** `recorded`: all calls that it has asked for before, in order; `missing`: the one that it doesn't ask for now. */
export function changedCode(live: Progressed, recorded: readonly CallId[], missing: CallId): ParkError {
  const at = live.decidedCount;
  const other = live.asked.find(({ name, place }) => name === missing.name && place === missing.place);
  const fresh = live.fresh.map(spell);
  const now =
    other !== undefined
      ? `asks for something else in ${spell(missing)}`
      : `${fresh.length === 0 ? (live.end === undefined ? 'asks for nothing' : 'has ended') : `asks for ${fresh.slice(0, SHOWN_COUNT).join(', ')}`}`;
  return new ParkError(
    'function-changed',
    `After ${at} recorded outcome${at === 1 ? '' : 's'} the function asked for ${spell(missing)} before, and now it ${now}. Its code has changed, or it depends on something that nobody recorded (the time, chance, a file). Pin the run to the build that began it, guard the change with ctx.version, or fork it from before the change.`,
    null,
    { missing: spell(missing), calls: sideBySide(recorded.map(spell), live.asked.map(spell)) },
  );
}

/** The calls around the first difference. */
function sideBySide(recorded: readonly string[], asked: readonly string[]): Json {
  const differs = recorded.findIndex((call, at) => call !== asked[at]);
  const from = Math.max(0, (differs < 0 ? recorded.length : differs) - SHOWN_COUNT);
  return Array.from({ length: 2 * SHOWN_COUNT }, (_, n) => ({
    recorded: recorded[from + n] ?? null,
    asked_now: asked[from + n] ?? null,
  })).filter((row) => row.recorded !== null || row.asked_now !== null);
}

const spell = ({ name, place }: CallId): string => (place === 0 ? name : `${name} (${place + 1})`);
