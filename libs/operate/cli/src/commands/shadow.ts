/** Owns `tidemark shadow status|report|promote`: the progress of observing an agent that runs elsewhere, the comparison's findings, and the next share. */

import type { Answer } from '@tidemark/client';
import { EXIT } from '@tidemark/host/exit-codes';
import type { ShadowShare } from '@tidemark/runtime';
import { LIST_DEFAULT_COUNT } from '../limits.ts';
import { atPlace, type PlaceOptions } from '../place/place.ts';
import type { Session } from '../session.ts';
import { counted, dateTime, duration } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface ShadowPromoteOptions extends PlaceOptions {
  readonly to: ShadowShare;
  readonly by?: string | undefined;
  /** Milliseconds. */
  readonly observe: number;
  readonly runs: number;
}

type Shadow = Answer<'GET /v1/shadows/{definition}'>;

const asked = (session: Session, definition: string, options: PlaceOptions, query: { readonly differences?: 'true' }) =>
  atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    client.ask('GET /v1/shadows/{definition}', { params: { definition }, query }),
  );

/** The state of the roll-out, and the comparison of its runs in numbers. */
export async function shadowStatus(session: Session, definition: string, options: PlaceOptions): Promise<number> {
  const shadow = await asked(session, definition, options, {});
  session.terminal.answer(shadow);
  session.terminal.lines([...rolloutLines(shadow, Date.now()), ...countLines(shadow)]);
  return EXIT.ok;
}

/** The comparison with its differences; exits with 1 when there is one. */
export async function shadowReport(session: Session, definition: string, options: PlaceOptions): Promise<number> {
  const shadow = await asked(session, definition, options, { differences: 'true' });
  const { terminal } = session;
  terminal.answer(shadow);
  terminal.lines([...countLines(shadow), ...differenceLines(shadow)]);
  return shadow.difference_count === 0 ? EXIT.ok : EXIT.failed;
}

/** Sets the share; exits with 1 when that is refused. */
export async function shadowPromote(
  session: Session,
  definition: string,
  options: ShadowPromoteOptions,
): Promise<number> {
  const { to, observe, runs } = options;
  const body = { to, observe_ms: observe, runs };
  const done = await atPlace(session, { ...options, how: 'read' }, ({ client }) =>
    client.ask('POST /v1/shadows/{definition}/promotions', { params: { definition }, body }),
  );
  const { promoted, from, refusals, shadow } = done;
  const { terminal } = session;
  terminal.answer(done);
  const name = printable(definition);
  if (promoted) terminal.line(`${name}: ${to} % of its workflows are observed from now on (before: ${from} %).`);
  else {
    terminal.line(`${name} stays at ${from} %:`);
    terminal.lines(refusals.map(({ message }) => `  - ${message}`));
    terminal.lines(differenceLines(shadow, LIST_DEFAULT_COUNT));
  }
  return promoted ? EXIT.ok : EXIT.failed;
}

function rolloutLines(shadow: Shadow, nowMs: number): readonly string[] {
  const name = printable(shadow.definition);
  const { share, since, by, observe_ms: observeMs, runs_min: runsMin } = shadow;
  if (since === null) return [`${name} is not observed: tidemark shadow promote ${name} --to 1 begins.`];
  const needed =
    observeMs === null ? '' : `, after ${duration(observeMs)} of observation and ${counted(runsMin ?? 0, 'run')}`;
  const sinceMs = Date.parse(since);
  return [
    `${name}: ${share} % of its workflows are observed`,
    `  since ${dateTime(sinceMs)} (${duration(nowMs - sinceMs)}), set by ${printable(by ?? '')}${needed}`,
  ];
}

const countLines = ({ steps, agreed, differing, open, incomplete, cut }: Shadow): readonly string[] => [
  `  ${counted(steps, 'step')} compared`,
  `  ${counted(agreed, 'run')} ended and agree, ${differing} differ, ${open} have not ended, ${incomplete} lost reports`,
  ...(cut ? ['  older runs were not looked at'] : []),
];

function differenceLines({ differences = [], difference_count }: Shadow, max = differences.length): readonly string[] {
  const lines = differences
    .slice(0, max)
    .map(
      ({ workflow, sequence, path, what }) =>
        `  ${printable(workflow)} at ${sequence}: ${printable(path)} ${printable(what)}`,
    );
  const left = difference_count - lines.length;
  return left > 0 ? [...lines, `  … and ${counted(left, 'more difference')}`] : lines;
}
