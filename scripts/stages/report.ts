/** Owns the end of a run of stages: how long each took, what was missing, whether the budget held, and the closing line. */

import type { CheckResult } from '../checks.ts';
import type { Outcome, TestedFile } from '../run-tests.ts';
import { QUICK_BUDGET_S, SLOW_FILE_S, SLOW_FILES } from './slow-files.ts';
import { QUICK, stageOf } from './stages.ts';

/** Factor of the allowed seconds at which a run fails: a machine's moods are less. */
const FILE_FAILS_TIMES = 4;
const BUDGET_FAILS_TIMES = 2;

/** Prints the table and, as the last line, `N passed, N failed, N skipped`; a check counts as a test. Returns the exit code. */
export function finish(checks: readonly CheckResult[], outcomes: readonly Outcome[]): number {
  // A run of chosen files says nothing about a stage.
  const problems = outcomes.flatMap((outcome) => (outcome.isWhole ? timeProblems(outcome.files) : []));
  const lines = [...rowsOf(checks, outcomes)];
  const missing = outcomes.flatMap((outcome) => outcome.missing);
  if (missing.length > 0) lines.push('', 'Suites without their server:', ...missing.map((line) => `  ${line}`));
  if (problems.length > 0) lines.push('', ...problems.map((line) => `FAIL ${line}`));
  const passedChecks = checks.filter(({ passed }) => passed).length;
  const passed = sum(outcomes.map((outcome) => outcome.passed)) + passedChecks;
  const failed = sum(outcomes.map((outcome) => outcome.failed)) + checks.length - passedChecks + problems.length;
  const skipped = sum(outcomes.map((outcome) => outcome.skipped));
  process.stdout.write(`\n${lines.join('\n')}\n\n${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  return outcomes.find(({ code }) => code !== 0)?.code ?? (failed > 0 ? 1 : 0);
}

function rowsOf(checks: readonly CheckResult[], outcomes: readonly Outcome[]): string[] {
  const rows: (readonly [name: string, seconds: number, what: string])[] = [];
  for (const { name, seconds, passed } of checks) rows.push([name, seconds, passed ? 'ok' : 'FAILED']);
  const files = outcomes.flatMap((outcome) => outcome.files);
  for (const [stage, own] of Map.groupBy(files, ({ file }) => stageOf(file))) {
    const testCount = sum(own.map((file) => file.testCount));
    const budget = stage === QUICK ? `; budget ${QUICK_BUDGET_S} s` : '';
    rows.push([stage, secondsOf(own), `${testCount} tests in ${own.length} files${budget}`]);
  }
  for (const { name, seconds } of outcomes) rows.push([name, seconds, 'from its begin to its end']);
  const width = Math.max(...rows.map(([name]) => name.length));
  const cells = rows.map(([name, seconds, what]) => `${name.padEnd(width)} ${seconds.toFixed(1).padStart(8)}  ${what}`);
  return [`${'stage'.padEnd(width)}  seconds  what (of files: the sum of theirs, several at once)`, ...cells];
}

/**
 * What is so slow that it fails the run: a file that was not slow when times were recorded, and all such files of `npm test` together. Those
 * that were, whose usual times are known, show how fast this machine is now.
 */
export function timeProblems(files: readonly TestedFile[]): readonly string[] {
  const listed = files.filter(({ file }) => Object.hasOwn(SLOW_FILES, file));
  if (listed.length === 0) return [];
  const listedS = sum(listed.map(({ file }) => SLOW_FILES[file] ?? 0));
  const slowness = Math.max(1, secondsOf(listed) / listedS);
  const unlisted = files.filter((file) => !listed.includes(file));
  const problems = unlisted
    .filter(({ seconds }) => seconds > SLOW_FILE_S * FILE_FAILS_TIMES * slowness)
    .map(
      ({ file, seconds }) =>
        `${file} took ${seconds.toFixed(1)} s: make it quicker, or record it (npm run verify -- ${stageOf(file)} --record)`,
    );
  const quick = unlisted.filter(({ file }) => stageOf(file) === QUICK);
  const quickMaxS = (QUICK_BUDGET_S - quickListedS()) * BUDGET_FAILS_TIMES * slowness;
  if (secondsOf(quick) > quickMaxS) {
    const took = `${secondsOf(quick).toFixed(0)} s, and may ${quickMaxS.toFixed(0)} on this machine`;
    problems.push(`the files of npm test that were not slow before took ${took}: its budget is ${QUICK_BUDGET_S} s`);
  }
  return problems;
}

/** Seconds of the slow files of `npm test` together. */
export const quickListedS = (): number =>
  sum(Object.entries(SLOW_FILES).map(([file, seconds]) => (stageOf(file) === QUICK ? seconds : 0)));

const secondsOf = (files: readonly TestedFile[]): number => sum(files.map(({ seconds }) => seconds));
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
