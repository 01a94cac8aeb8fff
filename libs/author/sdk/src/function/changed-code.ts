/** Owns what a person is told when a function asks for something else than it did before. */

import type { Json } from '@tidemark/core';
import { ParkError } from '@tidemark/runtime';
import type { CallId } from './outcome.ts';

/** Calls around the first difference that are shown of either list. */
const SHOWN_COUNT = 5;

/** What the function has come to. */
interface Progressed {
  readonly asked: readonly CallId[];
  readonly fresh: readonly CallId[];
  readonly end: unknown;
  readonly decidedCount: number;
}

/** `recorded`: all decided calls, in order; `missing`: the one that the function doesn't ask for now. */
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
    `After ${at} recorded outcomes the function asked for ${spell(missing)} before, and now it ${now}. Its code has changed, or it depends on something that nobody recorded (the time, chance, a file). Pin the run to the build that began it, guard the change with ctx.version, or fork it from before the change.`,
    null,
    {
      recorded: recorded.slice(Math.max(0, at - SHOWN_COUNT), at + SHOWN_COUNT).map(spell),
      asked: live.asked.slice(Math.max(0, at - SHOWN_COUNT), at + SHOWN_COUNT).map(spell),
      missing: spell(missing),
    } satisfies Json,
  );
}

const spell = ({ name, place }: CallId): string => (place === 0 ? name : `${name} (${place + 1})`);
