/** Owns one run of vitest on one test file in a tree, what it shows of a mutation, and that no process of it outlives this one. */

import { type ChildProcess, spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';

/** A run that takes longer, in milliseconds, is ended; the slowest of the list take some ten seconds. */
const RUN_MAX_MS = 180_000;
/** How much of what vitest printed is told where it left no report, in characters. */
const OUTPUT_TOLD_CHARS = 2_000;

/** What vitest's JSON report says, as far as it is read here. */
export interface VitestReport {
  readonly success: boolean;
  readonly testResults: readonly {
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[] | null;
    }[];
  }[];
}

export type TestRun =
  | { readonly kind: 'passed'; readonly testCount: number }
  /** `test`: the first that failed. */
  | { readonly kind: 'failed'; readonly test: string }
  /** The file could not be run, which shows nothing of any promise. */
  | { readonly kind: 'broken'; readonly why: string };

/** A test failed, and the report does not say which. */
interface Unnamed {
  readonly kind: 'unnamed';
  readonly why: string;
}

/** What no sound source throws: the edit itself is wrong. */
const BADLY_WRITTEN = /^(SyntaxError|ReferenceError|RolldownError|Error: Transform failed)/;

export function judge({ success, testResults }: VitestReport): TestRun | Unnamed {
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const failed = tests.find(({ status }) => status === 'failed');
  if (failed !== undefined) {
    const why = failed.failureMessages?.[0]?.split('\n')[0] ?? '';
    return BADLY_WRITTEN.test(why) ? { kind: 'broken', why } : { kind: 'failed', test: failed.fullName };
  }
  const file = testResults.find(({ status }) => status === 'failed');
  if (file?.message === '') return { kind: 'unnamed', why: 'no test is named as failed' };
  if (file !== undefined) return { kind: 'broken', why: `the file could not be run: ${file.message.split('\n')[0]}` };
  if (!success) return { kind: 'broken', why: 'the run failed outside of any test' };
  const testCount = tests.filter(({ status }) => status === 'passed').length;
  return testCount === 0 ? { kind: 'broken', why: 'no test was run' } : { kind: 'passed', testCount };
}

const running = new Set<ChildProcess>();

/** Ends all runs, with the processes that they started: each leads a group of its own. */
export function endRuns(): void {
  for (const { pid } of running) {
    if (pid === undefined) continue;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile.
    }
  }
}

/** `test`: a pattern of the names of the tests to run. */
export async function runTestFile(tree: string, file: string, test?: string): Promise<TestRun> {
  const args = ['run', file, ...(test === undefined ? [] : ['--testNamePattern', test])];
  const found = await reportedRun(tree, [...args, '--bail', '1']);
  // Of tests that run at the same time, a run that ends at the first failure reports none.
  return found.kind === 'unnamed' ? named(await reportedRun(tree, args)) : found;
}

const named = (found: TestRun | Unnamed): TestRun => (found.kind === 'unnamed' ? { ...found, kind: 'broken' } : found);

async function reportedRun(tree: string, args: readonly string[]): Promise<TestRun | Unnamed> {
  const report = path.join(tree, 'report.json.tmp');
  await rm(report, { force: true });
  const output = await runVitest(tree, [...args, '--reporter=json', `--outputFile=${report}`]);
  if (output === undefined) return { kind: 'broken', why: `the run did not end within ${RUN_MAX_MS} ms` };
  const text = await readFile(report, 'utf8').catch(() => undefined);
  if (text === undefined) return { kind: 'broken', why: `vitest left no report: ${output}` };
  return judge(JSON.parse(text) as VitestReport);
}

/** The end of what it printed; undefined when it took too long. */
async function runVitest(tree: string, args: readonly string[]): Promise<string | undefined> {
  const program = path.join(tree, 'node_modules/vitest/vitest.mjs');
  const child = spawn(process.execPath, [program, ...args], {
    cwd: tree,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let output = '';
  const take = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-OUTPUT_TOLD_CHARS);
  };
  child.stdout.on('data', take);
  child.stderr.on('data', take);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    process.kill(-child.pid!, 'SIGKILL');
  }, RUN_MAX_MS);
  try {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    child.once('error', reject).once('close', () => resolve());
    await promise;
    return isLate ? undefined : output;
  } finally {
    clearTimeout(timer);
    running.delete(child);
  }
}
