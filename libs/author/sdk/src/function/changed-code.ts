/** Owns what people are told when a function asks for something else than it did before. */

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Json } from '@tidemark/core';
import { ParkError } from '@tidemark/runtime';
import type { CallId } from './outcome.ts';

/** Calls before the first difference, and from there on, that are shown. */
const SHOWN_COUNT = 5;

/** A call, with the place in the code that asks for it. */
interface Asked extends CallId {
  readonly stack: Error | undefined;
}

/** What the function has come to. */
interface Progressed {
  readonly asked: readonly CallId[];
  readonly fresh: readonly Asked[];
  readonly end: unknown;
  readonly decidedCount: number;
  find(id: CallId): Asked | undefined;
}

/** `recorded`: all calls that it has asked for before, in order; `missing`: the one that it doesn't ask for now. */
export function changedCode(live: Progressed, recorded: readonly CallId[], missing: CallId): ParkError {
  const at = live.decidedCount;
  const other = live.find(missing);
  const first = other ?? live.fresh[0];
  const line = first && lineOf(first.stack);
  const now =
    other !== undefined
      ? `asks for something else in ${spell(missing)}`
      : first !== undefined
        ? `asks for ${live.fresh.slice(0, SHOWN_COUNT).map(spell).join(', ')}`
        : live.end === undefined
          ? 'asks for nothing'
          : 'has ended';
  return new ParkError(
    'function-changed',
    `After ${at} recorded outcome${at === 1 ? '' : 's'} the function asked for ${spell(missing)} before, and now it ${now}${line === undefined ? '' : ` (${line})`}. Its code has changed, or it depends on something that nobody recorded: take ctx.now, ctx.random and ctx.uuid for time and chance, ctx.run for the rest. Bring the old code back and release the change as another version, guard the change with ctx.version, fork the run from before it, or begin anew.`,
    null,
    {
      missing: spell(missing),
      ...(line !== undefined && { line }),
      calls: sideBySide(recorded.map(spell), live.asked.map(spell)),
    },
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

/** The warning of a call that asks for something else than what was recorded of it, and whose record answers all the same. */
export function changedRequest(call: Asked, recorded: CallId): { readonly code: string; readonly result: string } {
  const line = lineOf(call.stack);
  return {
    code: 'request-changed',
    result: `${spell(call)} asks for something else than was recorded (${recorded.asks} is recorded, ${call.asks} was asked)${line === undefined ? '' : ` at ${line}`}. What is recorded counts.`,
  };
}

const spell = ({ name, place, member }: CallId): string =>
  `${name}${place === 0 ? '' : ` (${place + 1})`}${member === undefined ? '' : ` in ${member}`}`;

/** The user's line below the calls of this folder; undefined: the stack names none. */
function lineOf(stack: Error | undefined): string | undefined {
  // As stacks name it here: of the source where source maps are on, else of what was built.
  const own = placesIn(new Error())[0]?.file ?? '';
  const place = placesIn(stack).find(({ file }) => path.dirname(file) !== path.dirname(own));
  if (place === undefined) return undefined;
  const shown = path.relative(process.cwd(), place.file);
  return `${shown.startsWith('..') ? place.file : shown}:${place.line}`;
}

const placesIn = (error: Error | undefined): readonly { readonly file: string; readonly line: string }[] =>
  (error?.stack?.split('\n').slice(1) ?? []).flatMap((frame) => {
    // `at name (place:line:column)`, or without a name.
    const inner = frame.endsWith(')') ? frame.slice(frame.lastIndexOf('(') + 1, -1) : frame.trim().split(' ').at(-1)!;
    const [line = '', ...rest] = inner.split(':').toReversed().slice(1);
    const place = rest.toReversed().join(':');
    if (!/^\d+$/.test(line) || !/^(?:file:|\/)/.test(place)) return [];
    return [{ file: place.startsWith('file:') ? fileURLToPath(place) : place, line }];
  });
