/** Owns how the result of a crash test reads: for people, as JSON, as Markdown and as JUnit's XML. Pure. */

import { type Columns, tableOf } from '../text/table.ts';
import { counted, duration } from '../text/units.ts';
import type { CrashTestResult, Judged } from './crash-test.ts';
import { isBad } from './judge.ts';
import type { Moment } from './receiver.ts';

const KILLED: Readonly<Record<Moment, string>> = {
  unreceived: 'before it was received',
  unanswered: 'before its answer',
  answered: 'after its answer',
};

const COLUMNS: Columns<Judged> = [
  ['CALL', ({ what, trial }) => `${trial.number} ${what}`, 16],
  ['KILLED', ({ trial }) => (trial.isKilled ? KILLED[trial.moment] : 'had ended')],
  ['DOUBLED', ({ doubled, other }) => figure(doubled.length + other.length), 'right'],
  ['SAME KEY', ({ deduplicable }) => figure(deduplicable.length), 'right'],
  ['MODEL', ({ modelAgainCount }) => figure(modelAgainCount), 'right'],
  ['LOST', ({ lost }) => figure(lost.length), 'right'],
  ['RESUMED', ({ trial }) => (trial.resumeMs === null ? '' : duration(trial.resumeMs)), 'right'],
];

const figure = (value: number): string => (value === 0 ? '-' : String(value));

export function summaryOf({ judged }: CrashTestResult) {
  const sum = (of: (each: Judged) => number): number => judged.reduce((total, each) => total + of(each), 0);
  const times = judged.flatMap(({ trial }) => (trial.resumeMs === null ? [] : [Math.round(trial.resumeMs)]));
  times.sort((one, other) => one - other);
  return {
    kills: judged.filter(({ trial }) => trial.isKilled).length,
    /** Calls that came twice under another key or none, and those that the calm run doesn't make. */
    doubled_calls: sum(({ doubled, other }) => doubled.length + other.length),
    deduplicable_calls: sum(({ deduplicable }) => deduplicable.length),
    model_calls_again: sum(({ modelAgainCount }) => modelAgainCount),
    lost: sum(({ lost }) => lost.length),
    /** Median, and the longest; null where no call came after any kill. */
    resume_ms: times[times.length >> 1] ?? null,
    resume_max_ms: times.at(-1) ?? null,
  };
}

export function summaryLine(result: CrashTestResult): string {
  const summary = summaryOf(result);
  const { momentCount, judged, calm } = result;
  const of = judged.length < momentCount ? ` (of ${momentCount} moments)` : '';
  return [
    `${counted(summary.kills, 'kill')}${of} at ${counted(calm.calls.length, 'call')}`,
    `${counted(summary.doubled_calls, 'call')} doubled`,
    `${summary.deduplicable_calls} again under the same key`,
    `${counted(summary.model_calls_again, 'model call')} again`,
    `${summary.lost} lost`,
    ...(summary.resume_ms === null
      ? []
      : [`resumed in ${duration(summary.resume_ms)} (median; at most ${duration(summary.resume_max_ms!)})`]),
  ].join(', ');
}

export const tableLines = (result: CrashTestResult, width: number | undefined): readonly string[] => [
  ...tableOf(COLUMNS, result.judged, width),
  '',
  ...problems(result).map(({ title, words }) => `${title}: ${words}`),
  `${summaryLine(result)}.`,
];

interface Problem {
  readonly title: string;
  /** Undefined: all is well. */
  readonly words: string | undefined;
}

const problemOf = (judged: Judged): Problem => {
  const { doubled, other, lost } = judged;
  const parts = [
    ...(doubled.length === 0 ? [] : [`doubled ${doubled.join(', ')}`]),
    ...(other.length === 0 ? [] : [`made what the calm run doesn't: ${other.join(', ')}`]),
    ...(lost.length === 0 ? [] : [`lost ${lost.join(', ')}`]),
  ];
  return { title: titleOf(judged), words: isBad(judged) ? parts.join('; ') : undefined };
};

const problems = ({ judged }: CrashTestResult): readonly Problem[] =>
  judged.map(problemOf).filter(({ words }) => words !== undefined);

const titleOf = ({ what, trial }: Judged): string => `call ${trial.number} ${what}, ${KILLED[trial.moment]}`;

export const jsonOf = (result: CrashTestResult) => ({
  calls: result.calm.calls.map(({ what, kind, key }) => ({ call: what, kind, has_key: key !== null })),
  took_ms: Math.round(result.calm.tookMs),
  moments: result.momentCount,
  trials: result.judged.map(({ trial, what, doubled, deduplicable, other, lost, modelAgainCount }) => ({
    number: trial.number,
    call: what,
    moment: trial.moment,
    killed: trial.isKilled,
    ...{ doubled, other, deduplicable, lost, model_calls_again: modelAgainCount },
    resume_ms: trial.resumeMs === null ? null : Math.round(trial.resumeMs),
  })),
  summary: summaryOf(result),
});

export function markdownOf(result: CrashTestResult): string {
  const row = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [
    `**${summaryLine(result)}.**`,
    '',
    row(COLUMNS.map(([title]) => title.toLowerCase())),
    row(COLUMNS.map(([, , how]) => (how === 'right' ? '---:' : '---'))),
    ...result.judged.map((each) => row(COLUMNS.map(([, text]) => text(each)))),
    '',
  ].join('\n');
}

export function junitOf(result: CrashTestResult): string {
  const cases = result.judged.map((each) => {
    const { title, words } = problemOf(each);
    const open = `  <testcase classname="crash-test" name="${xml(title)}" time="${((each.trial.resumeMs ?? 0) / 1_000).toFixed(3)}"`;
    return words === undefined ? `${open}/>` : `${open}><failure message="${xml(words)}"/></testcase>`;
  });
  const head = `<testsuite name="tidemark crash-test" tests="${cases.length}" failures="${problems(result).length}" errors="0">`;
  return ['<?xml version="1.0" encoding="UTF-8"?>', head, ...cases, '</testsuite>', ''].join('\n');
}

/** What XML can't say at all is left out. */
const xml = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '')
    .replaceAll(/[<>&"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
