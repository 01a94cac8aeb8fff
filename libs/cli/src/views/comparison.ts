/** Owns how the comparison of two workflows reads, on a terminal. Pure. */

import { totalsOf } from '@tidemark/api/shapes';
import { canonicalJson } from '@tidemark/codec';
import type { ComparedPoint, ComparedWorkflow, Comparison, Totals } from '@tidemark/runtime';
import type { Terminal } from '../terminal.ts';
import { jsonLines } from '../text/json.ts';
import { table } from '../text/table.ts';
import { cost, count, duration } from '../text/units.ts';
import { printable } from '../text/width.ts';
import { forkWords } from './fork.ts';

const INDENT = '  ';
const VALUE_LINES_MAX = 12;

type Look = Pick<Terminal, 'paint' | 'width'>;

export function comparisonLines(comparison: Comparison, look: Look): readonly string[] {
  const { workflows, isSameOutcome, firstDifference } = comparison;
  const row = (title: string, tell: (one: ComparedWorkflow) => string): readonly string[] => [
    title,
    ...workflows.map((one) => printable(tell(one))),
  ];
  const rows = [
    row('definition', ({ definition, version }) => `${definition} v${version}`),
    row('history', ({ fork }) => (fork === undefined ? 'its own' : forkWords(fork))),
    row('status', ({ status, reason }) => (reason === null ? status : `${status} (${reason})`)),
    row('checkpoints', (one) => withShared(one, ({ checkpointCount }) => count(checkpointCount))),
    row('effects', effectWords),
    row('tokens', (one) => withShared(one, ({ tokens }) => count(tokens))),
    row('cost', (one) => withShared(one, ({ costMicros }) => cost(costMicros))),
    row('took', ({ tookMs }) => duration(tookMs)),
  ];
  const columns = [{ title: '' }, ...workflows.map(({ workflow }) => ({ title: printable(workflow), shrinksTo: 16 }))];
  const outcome = isSameOutcome ? 'The outcome is the same.' : 'The outcomes differ.';
  return [
    ...table(columns, rows, { width: look.width, title: (text) => look.paint('bold', text) }),
    '',
    look.paint(isSameOutcome ? 'green' : 'yellow', outcome),
    ...(isSameOutcome ? [] : workflows.flatMap((one) => outputLines(one, look))),
    ...differenceLines(firstDifference, look),
  ];
}

/** `7 (2 shared)`. */
function withShared(one: ComparedWorkflow, tell: (totals: Totals) => string): string {
  const whole = tell(totalsOf(one));
  return one.fork === undefined ? whole : `${whole} (${tell(one.shared)} shared)`;
}

const effectWords = ({ effects: { calledCount, replayedCount } }: ComparedWorkflow): string =>
  replayedCount === 0 ? `${count(calledCount)} called` : `${count(replayedCount)} replayed`;

function outputLines({ workflow, output }: ComparedWorkflow, { width, paint }: Look): readonly string[] {
  if (output === undefined) return [];
  const lines = jsonLines(output, { indent: INDENT, linesMax: VALUE_LINES_MAX, columns: width });
  return [paint('dim', `Output of ${printable(workflow)}`), ...lines];
}

function differenceLines(difference: Comparison['firstDifference'], look: Look): readonly string[] {
  if (difference === null) return ['Every checkpoint has the same step, the same belief and the same output.'];
  const { at, points } = difference;
  const [one, other] = points;
  const isSameBelief = one !== null && other !== null && canonicalJson(one.belief) === canonicalJson(other.belief);
  const what = isSameBelief && one.step === other.step ? 'output' : 'belief';
  return [
    `They differ from checkpoint #${at} of the whole history on.`,
    ...points.flatMap((point) => pointLines(point, what, look)),
  ];
}

/** Where the other has ended, there is no point. */
function pointLines(point: ComparedPoint | null, what: 'belief' | 'output', { width, paint }: Look): readonly string[] {
  if (point === null) return [paint('dim', 'The other has no further checkpoint.')];
  const { workflow, sequence, step } = point;
  const where = sequence === 0 ? 'opened' : `#${sequence} ${printable(step ?? '')}`;
  return [
    paint('dim', `${printable(workflow)}, ${where}: ${what}`),
    ...jsonLines(point[what], { indent: INDENT, linesMax: VALUE_LINES_MAX, columns: width }),
  ];
}
