/** Owns one run of vitest, or of the mutations, and its counts. Must not choose what runs: the caller gives arguments and stages. */

import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { ROOT, runNode } from './run-program.ts';
import { MUTATIONS } from './stages/stages.ts';

export interface TestedFile {
  /** From the project's root, with `/` on every system. */
  readonly file: string;
  /** From its first test to its last, set-up included. */
  readonly seconds: number;
  readonly testCount: number;
}

export interface Outcome {
  readonly name: string;
  /** Whether it ran everything of its stages. */
  readonly isWhole: boolean;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Exit code of vitest. */
  readonly code: number;
  /** Suites that were skipped because a server is unavailable, with reason and remedy. */
  readonly missing: readonly string[];
  readonly files: readonly TestedFile[];
  /** Wall clock of the run. */
  readonly seconds: number;
}

interface ReportedTest {
  readonly status: string;
  readonly title: string;
  readonly ancestorTitles: readonly string[];
  readonly failureMessages: readonly string[];
}

interface ReportedFile {
  readonly name: string;
  readonly status: string;
  readonly startTime: number;
  readonly endTime: number;
  readonly assertionResults: readonly ReportedTest[];
}

interface Report {
  readonly testResults: readonly ReportedFile[];
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
}

/** Runs the files that the arguments match, of the given stages; without stages: of all. */
export async function runTests(args: readonly string[], stages: readonly string[] = []): Promise<Outcome> {
  const folder = path.join(ROOT, '.cache');
  mkdirSync(folder, { recursive: true });
  const report = path.join(folder, `tests-${process.pid}-${stages.join('-')}.json.tmp`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const startedMs = performance.now();
  const { code } = await runNode(['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...args], {
    env: { TIDEMARK_TEST_STAGES: stages.join(',') },
  });
  const seconds = (performance.now() - startedMs) / 1000;
  const run = { name: 'tests together', isWhole: stages.length > 0 && args.length === 0, code, seconds };
  try {
    return { ...run, ...count(JSON.parse(readFileSync(report, 'utf8')) as Report, code) };
  } catch {
    // vitest ended before it could report.
    return { ...run, passed: 0, failed: 1, skipped: 0, missing: [], files: [] };
  } finally {
    rmSync(report, { force: true });
  }
}

/** Runs all mutations; each counts as a test. Their rows are printed as they come where nothing else prints, and else together. */
export async function runMutations({ isAlone }: { readonly isAlone: boolean }): Promise<Outcome> {
  const startedMs = performance.now();
  const { code, output } = await runNode(['test/mutations/main.ts'], isAlone ? { keep: true } : { capture: true });
  if (!isAlone) process.stdout.write(output);
  const seconds = (performance.now() - startedMs) / 1000;
  const closing = [...output.matchAll(/^(\d+) passed, (\d+) failed, 0 skipped$/gm)].at(-1);
  const [passed, failed] = [Number(closing?.[1] ?? 0), Number(closing?.[2] ?? 0)];
  const counts = { passed, failed: code === 0 ? failed : Math.max(failed, 1), skipped: 0 };
  return { name: MUTATIONS, isWhole: true, ...counts, code, missing: [], files: [], seconds };
}

function count(report: Report, code: number): Pick<Outcome, 'passed' | 'failed' | 'skipped' | 'missing' | 'files'> {
  const files = report.testResults;
  // A file that can't be loaded has no failed test of its own.
  const broken = files.filter((file) => file.status === 'failed' && !file.assertionResults.some(isFailed)).length;
  const failed = report.numFailedTests + broken;
  const tests = files.flatMap((file) => file.assertionResults.map((test) => ({ test, file: fromRoot(file) })));
  const missing = tests.filter(({ test }) => test.status !== 'passed' && test.title.startsWith('needs a server'));
  return {
    passed: report.numPassedTests,
    // An error outside of any test fails the run too.
    failed: failed === 0 && code !== 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
    missing: missing.map(({ test, file }) => describeMissing(test, file)),
    files: files.map((file) => ({
      file: fromRoot(file),
      seconds: (file.endTime - file.startTime) / 1000,
      testCount: file.assertionResults.length,
    })),
  };
}

const isFailed = (test: ReportedTest): boolean => test.status === 'failed';

const fromRoot = (file: ReportedFile): string => path.relative(ROOT, file.name).replaceAll(path.sep, '/');

function describeMissing(test: ReportedTest, file: string): string {
  const why = test.title.replace(/^needs a server(: )?/, '') || test.failureMessages[0]?.split('\n')[0];
  return `${file} ${test.ancestorTitles.join(' > ')}: ${why}`;
}
