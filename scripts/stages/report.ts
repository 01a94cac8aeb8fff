/** Owns what a run of stages prints at its end: what each took, what was missing, and the closing line. */

import type { CheckResult } from '../checks.ts';
import type { Outcome, TestedFile } from '../run-tests.ts';
import { QUICK_BUDGET_S, SLOW_FILE_S, SLOW_FILES } from './slow-files.ts';
import { QUICK, stageOf } from './stages.ts';

/** Checks and stages by name, with what each took; the wall clock of the tests; slow files that are on no list; suites without a server. */
export function tableOf(checks: readonly CheckResult[], outcomes: readonly Outcome[]): string {
  const files = outcomes.flatMap((outcome) => outcome.files);
  const missing = outcomes.flatMap((outcome) => outcome.missing);
  const rows: (readonly [name: string, seconds: number, what: string])[] = [];
  for (const { name, seconds, passed } of checks) rows.push([name, seconds, passed ? 'ok' : 'FAILED']);
  for (const [stage, own] of Map.groupBy(files, ({ file }) => stageOf(file))) {
    const testCount = sum(own.map((file) => file.testCount));
    const budget = stage === QUICK ? `; budget ${QUICK_BUDGET_S} s` : '';
    rows.push([stage, sum(own.map(({ seconds }) => seconds)), `${testCount} tests in ${own.length} files${budget}`]);
  }
  rows.push(['tests together', sum(outcomes.map(({ seconds }) => seconds)), 'wall clock']);
  const lines = rows.map(([name, seconds, what]) => `${name.padEnd(14)} ${seconds.toFixed(1).padStart(7)} s  ${what}`);
  for (const { file, seconds } of unlisted(files))
    lines.push(`  ${file} took ${seconds.toFixed(1)} s, and is not in scripts/stages/slow-files.ts`);
  if (missing.length > 0) lines.push('', 'Suites without their server:', ...missing.map((line) => `  ${line}`));
  return lines.map((line) => `${line}\n`).join('');
}

export const closingLine = (passed: number, failed: number, skipped: number): string =>
  `${passed} passed, ${failed} failed, ${skipped} skipped`;

const unlisted = (files: readonly TestedFile[]): readonly TestedFile[] =>
  files.filter(({ file, seconds }) => seconds > SLOW_FILE_S && !Object.hasOwn(SLOW_FILES, file));

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
