/** Owns how a state of a repository reads. Pure. */

import type { CheckEvidence, RepoState, ResolvedConflict, Stage } from '@tidemark/repo-state';
import type { Painter } from '../terminal.ts';
import { type Columns, tableOf } from '../text/table.ts';
import { ago, duration } from '../text/units.ts';
import { printable } from '../text/width.ts';

export interface LinesOptions {
  readonly paint: Painter;
  readonly width: number | undefined;
  readonly nowMs: number;
}

/** Notes that are shown; the others are counted. */
const NOTES_SHOWN_COUNT = 10;

const COLOURS = { pending: 'dim', in_progress: 'cyan', done: 'green', failed: 'red' } as const;

export const statusWords = (status: Stage['status']): string => status.replace('_', ' ');

export function stateLines(state: RepoState, options: LinesOptions): readonly string[] {
  const done = state.stages.filter(({ status }) => status === 'done').length;
  const head = `${printable(state.workflow)} v${state.version}, ${done} of ${state.stages.length} stages done, changed ${since(state.updated_at, options)}`;
  return [
    options.paint('bold', head),
    ...stageLines(state.stages, options),
    ...artifactLines(state.artifacts, options),
    ...noteLines(state.notes, options),
  ];
}

const since = (at: string, { nowMs }: LinesOptions): string => ago(Date.parse(at), nowMs);

function stageLines(stages: readonly Stage[], options: LinesOptions): readonly string[] {
  if (stages.length === 0) return [];
  const { paint, width } = options;
  const columns: Columns<Stage> = [
    ['', (stage) => String(stages.indexOf(stage) + 1), 'right'],
    ['STAGE', ({ id }) => id, 8],
    ['STATUS', ({ status }) => statusWords(status), undefined, ({ status }, text) => paint(COLOURS[status], text)],
    ['BY', ({ agent }) => agent ?? '', 6],
    ['CHANGED', ({ updated_at: at }) => (at === undefined ? '' : since(at, options))],
    ['CHECK', checkWords, 10],
  ];
  return tableOf(columns, stages, width, (text) => paint('dim', text));
}

function checkWords({ check, evidence }: Stage): string {
  if (check === undefined) return '';
  const ran = evidence?.check;
  const how = ran === undefined || ran.command !== check ? '' : ran.passed ? ' (passed)' : ` (${failure(ran)})`;
  return `${check}${how}`;
}

const failure = ({ exit_code, ended_by }: CheckEvidence): string =>
  ended_by === undefined ? `failed with ${exit_code}` : `ended: ${ended_by}`;

function artifactLines(artifacts: RepoState['artifacts'], { paint, width }: LinesOptions): readonly string[] {
  const rows = Object.entries(artifacts);
  if (rows.length === 0) return [];
  const columns: Columns<(typeof rows)[number]> = [
    ['ARTIFACT', ([name]) => name, 8],
    ['', ([, value]) => (typeof value === 'string' ? value : JSON.stringify(value)), 10],
  ];
  return ['', ...tableOf(columns, rows, width, (text) => paint('dim', text))];
}

function noteLines(notes: RepoState['notes'], options: LinesOptions): readonly string[] {
  if (notes.length === 0) return [];
  const { paint, width } = options;
  const shown = notes.slice(-NOTES_SHOWN_COUNT);
  const columns: Columns<(typeof shown)[number]> = [
    ['NOTE', ({ at }) => (at === undefined ? '' : since(at, options))],
    ['', ({ agent }) => agent ?? '', 6],
    ['', ({ text }) => text, 10],
  ];
  const left = notes.length - shown.length;
  const more = left === 0 ? [] : [paint('dim', `and ${left} older (all of them with --json)`)];
  return ['', ...tableOf(columns, shown, width, (text) => paint('dim', text)), ...more];
}

export function checkLines(stage: string, evidence: CheckEvidence, { paint }: LinesOptions): readonly string[] {
  const took = duration(evidence.duration_ms);
  const said = `${printable(stage)}: ${printable(evidence.command)}`;
  if (evidence.passed) return [`${paint('green', 'passed')}  ${said} (${took})`];
  const output = evidence.output.map((line) => `  ${paint('dim', printable(line))}`);
  return [`${paint('red', 'failed')}  ${said} (${failure(evidence)}, ${took})`, ...output];
}

export const conflictLine = (conflict: ResolvedConflict, options: LinesOptions): string =>
  `conflict resolved ${since(conflict.at, options)}: ${printable(conflict.kept)} was kept, for ${printable(conflict.because)}; the other is in ${printable(conflict.archived)}`;
