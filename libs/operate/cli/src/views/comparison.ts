/** Owns how the comparison of two workflows reads, on a terminal. Pure. */

import type { Answer } from '@tidemark/client';
import { canonicalJson } from '@tidemark/codec';
import type { Json } from '@tidemark/core';
import { type Columns, tableOf } from '../text/table.ts';
import { cost, costCell, count, duration, tokenCell } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { forkWords } from './fork.ts';
import { type Style, valueLines } from './sections.ts';

type Comparison = Answer<'GET /v1/workflows/{workflow}/comparison/{other}'>;
type Compared = Comparison['workflows'][number];
type Row = readonly [title: string, report: (one: Compared) => string];
type Totals = Compared['own'];
type Point = NonNullable<Comparison['first_difference']>['checkpoints'][number];

const VALUE_LINES_MAX = 12;
/** So that both runs fit 23 columns. */
const RUN_MIN_COLUMNS = 4;

export function comparisonLines(comparison: Comparison, style: Style): readonly string[] {
  const { workflows, same_outcome: isSameOutcome, first_difference: difference } = comparison;
  const rows: readonly Row[] = [
    ['definition', (one) => `${one.definition} v${one.definition_version}`],
    ['history', ({ fork }) => (fork === undefined ? 'its own' : forkWords(fork))],
    ['status', ({ status, reason }) => (reason === null ? status : `${status} (${reason})`)],
    ['checkpoints', (one) => withShared(one, ({ checkpoints }) => count(checkpoints))],
    ['effects', effectWords],
    ['tokens', (one) => withShared(one, (totals) => tokenCell(totals) || '0')],
    ['cost', (one) => withShared(one, (totals) => costCell(totals) || cost(0))],
    ['took', ({ took_ms: tookMs }) => duration(tookMs)],
  ];
  const columns: Columns<Row> = [
    ['', ([title]) => title],
    ...workflows.map((one): Columns<Row>[number] => [
      printable(one.workflow),
      ([, report]) => report(one),
      RUN_MIN_COLUMNS,
    ]),
  ];
  const outcome = isSameOutcome ? 'The outcome is the same.' : 'The outcomes differ.';
  return [
    ...tableOf(columns, rows, style.width, (text) => style.paint('bold', text)),
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

function outputLines({ workflow, output }: Compared, style: Style): readonly string[] {
  if (output === undefined) return [];
  const lines = valueLines(output as Json, style, VALUE_LINES_MAX);
  return [style.paint('dim', `Output of ${printable(workflow)}`), ...lines];
}

function differenceLines(difference: Comparison['first_difference'], style: Style): readonly string[] {
  if (difference === null) return ['Every checkpoint has the same step, the same belief and the same output.'];
  const { sequence_number: at, checkpoints } = difference;
  const [one = null, other = null] = checkpoints;
  const spell = (point: Point, what: 'belief' | 'output') => point && canonicalJson((point[what] ?? null) as Json);
  const parts = (['belief', 'output'] as const).filter((what) => spell(one, what) !== spell(other, what));
  return [
    `They differ from checkpoint #${at} of the whole history on.`,
    ...checkpoints.flatMap((point) => pointLines(point, parts, style)),
  ];
}

/** Where the other has ended, there is no such point. */
function pointLines(point: Point, parts: readonly ('belief' | 'output')[], style: Style): readonly string[] {
  if (point === null) return [style.paint('dim', 'The other has no further checkpoint.')];
  const { workflow, sequence_number: sequence, step } = point;
  const where = sequence === 0 ? 'opened' : `#${sequence} ${printable(step ?? '')}`;
  const reached = `${printable(workflow)}, ${where}`;
  if (parts.length === 0) return [style.paint('dim', reached)];
  return parts.flatMap((what) => [
    style.paint('dim', `${reached}: ${what}`),
    ...valueLines((point[what] ?? null) as Json, style, VALUE_LINES_MAX),
  ]);
}
