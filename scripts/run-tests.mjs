/**
 * Owns one run of vitest and its counts. Must not decide what is run: arguments go to vitest as they are.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { root, runNode } from './run-program.mjs';

/**
 * @typedef {{ passed: number, failed: number, skipped: number, code: number, missing: readonly string[] }} Outcome
 * `missing` names the suites that were skipped because a server can't be had, with reason and remedy.
 */

/**
 * @param {readonly string[]} args
 * @returns {Promise<Outcome>}
 */
export async function runTests(args) {
  const folder = path.join(root, '.cache');
  mkdirSync(folder, { recursive: true });
  const report = path.join(folder, `tests-${process.pid}.json.tmp`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const { code } = await runNode(['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...args]);
  try {
    return count(JSON.parse(readFileSync(report, 'utf8')), code);
  } catch {
    // vitest ended before it could report.
    return { passed: 0, failed: code === 0 ? 0 : 1, skipped: 0, code, missing: [] };
  } finally {
    rmSync(report, { force: true });
  }
}

function count(report, code) {
  const files = report.testResults;
  // A file that can't be loaded has no failed test of its own.
  const broken = files.filter((file) => file.status === 'failed' && !file.assertionResults.some(isFailed)).length;
  const failed = report.numFailedTests + broken;
  const tests = files.flatMap((file) => file.assertionResults.map((test) => ({ test, file: file.name })));
  const missing = tests.filter(({ test }) => test.status !== 'passed' && test.title.startsWith('needs a server'));
  return {
    passed: report.numPassedTests,
    // An error outside of any test fails the run too.
    failed: failed === 0 && code !== 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
    code,
    missing: missing.map(({ test, file }) => describeMissing(test, file)),
  };
}

function isFailed(test) {
  return test.status === 'failed';
}

function describeMissing(test, file) {
  const why = test.title.replace(/^needs a server(: )?/, '') || test.failureMessages[0]?.split('\n')[0];
  return `${path.relative(root, file)} ${test.ancestorTitles.join(' > ')}: ${why}`;
}
