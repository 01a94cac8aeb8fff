/** Owns how the comparison of two workflows reads, on a terminal. Pure. */

import type { Answer } from '@tidemark/client';
import { canonicalJson } from '@tidemark/codec';
import type { Json } from '@tidemark/core';
import type { Terminal } from '../terminal.ts';
import { jsonLines } from '../text/json.ts';
import { table } from '../text/table.ts';
import { cost, count, duration } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { forkWords } from './fork.ts';

type Comparison = Answer<'GET /v1/workflows/{workflow}/comparison/{other}'>;
type Compared = Comparison['workflows'][number];
type Totals = Compared['own'];
type Point = NonNullable<Comparison['first_difference']>['checkpoints'][number];

const INDENT = '  ';
const VALUE_LINES_MAX = 12;

type Style = Pick<Terminal, 'paint' | 'width'>;

export function comparisonLines(comparison: Comparison, style: Style): readonly string[] {
  const { workflows, same_outcome: isSameOutcome, first_difference: difference } = comparison;
  const row = (title: string, report: (one: Compared) => string): readonly string[] => [
    title,
    ...workflows.map((one) => printable(report(one))),
  ];
  const rows = [
    row('definition', (one) => `${one.definition} v${one.definition_version}`),
    row('history', ({ fork }) => (fork === undefined ? 'its own' : forkWords(fork))),
    row('status', ({ status, reason }) => (reason === null ? status : `${status} (${reason})`)),
    row('checkpoints', (one) => withShared(one, ({ checkpoints }) => count(checkpoints))),
    row('effects', effectWords),
    row('tokens', (one) => withShared(one, ({ tokens }) => count(tokens))),
    row('cost', (one) => withShared(one, ({ cost_micros: micros }) => cost(micros))),
    row('took', ({ took_ms: tookMs }) => duration(tookMs)),
  ];
  const columns = [{ title: '' }, ...workflows.map(({ workflow }) => ({ title: printable(workflow), shrinksTo: 16 }))];
  const outcome = isSameOutcome ? 'The outcome is the same.' : 'The outcomes differ.';
  return [
    ...table(columns, rows, { width: style.width, title: (text) => style.paint('bold', text) }),
    '',
    style.paint(isSameOutcome ? 'green' : 'yellow', outcome),
    ...(isSameOutcome ? [] : workflows.flatMap((one) => outputLines(one, style))),
    ...differenceLines(difference, style),
  ];
}

/** `7 (2 shared)`. */
function withShared(one: Compared, report: (totals: Totals) => string): string {
  const whole = report(one);
  return one.fork === undefined ? whole : `${whole} (${report(one.shared)} shared)`;
}

const effectWords = ({ called_effects: called, replayed_effects: replayed }: Compared): string =>
  replayed === 0 ? `${count(called)} called` : `${count(replayed)} replayed`;

function outputLines({ workflow, output }: Compared, { width, paint }: Style): readonly string[] {
  if (output === undefined) return [];
  const lines = jsonLines(output as Json, { indent: INDENT, linesMax: VALUE_LINES_MAX, columns: width });
  return [paint('dim', `Output of ${printable(workflow)}`), ...lines];
}

function differenceLines(difference: Comparison['first_difference'], style: Style): readonly string[] {
  if (difference === null) return ['Every checkpoint has the same step, the same belief and the same output.'];
  const { sequence_number: at, checkpoints } = difference;
  const [one = null, other = null] = checkpoints;
  const beliefOf = (point: NonNullable<Point>): string => canonicalJson((point.belief ?? null) as Json);
  const isSameBelief = one !== null && other !== null && beliefOf(one) === beliefOf(other);
  const what = isSameBelief && one.step === other.step ? 'output' : 'belief';
  return [
    `They differ from checkpoint #${at} of the whole history on.`,
    ...checkpoints.flatMap((point) => pointLines(point, what, style)),
  ];
}

/** Where the other has ended, there is no such point. */
function pointLines(point: Point, what: 'belief' | 'output', { width, paint }: Style): readonly string[] {
  if (point === null) return [paint('dim', 'The other has no further checkpoint.')];
  const { workflow, sequence_number: sequence, step } = point;
  const where = sequence === 0 ? 'opened' : `#${sequence} ${printable(step ?? '')}`;
  return [
    paint('dim', `${printable(workflow)}, ${where}: ${what}`),
    ...jsonLines((point[what] ?? null) as Json, { indent: INDENT, linesMax: VALUE_LINES_MAX, columns: width }),
  ];
}
