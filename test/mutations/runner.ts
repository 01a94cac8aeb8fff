/**
 * Owns one vitest in a tree whose source is changed between runs: what it has transformed is used again, but for the files that
 * are told to have changed. A program: it answers each message with what the tests showed (see tree-runs.ts). No servers.
 */

import path from 'node:path';
import { createVitest, type TestModule } from 'vitest/node';
import { judge, type TestedRun, type TestRun } from './judge.ts';

export interface TestsOfFile {
  /** The test file, from the tree's root. */
  readonly file: string;
  /** A pattern of the names of the tests to run; all by default. */
  readonly test: string | undefined;
}

export interface RunRequest {
  /** They are run in one process, one after the other. */
  readonly files: readonly TestsOfFile[];
  /** Source files that were edited since the last run, from the tree's root. */
  readonly changed: readonly string[];
  /** What a failure's message has that shows the mutation, where no assertion does. */
  readonly failsWith: string | undefined;
}

/** Longer than any test of the list takes, in milliseconds, on a busy machine. */
const TEST_MAX_MS = 60_000;

/** How long a test waits for what a bug may keep from coming; it comes within a second otherwise. */
const WAIT_MAX_MS = 8_000;

const root = process.cwd();
process.env.TIDEMARK_TEST_WAIT_MS = String(WAIT_MAX_MS);
const vitest = await createVitest({
  root,
  watch: false,
  globalSetup: [],
  reporters: [{}],
  maxWorkers: 1,
  // What comes after the first failure shows no more, and may hang.
  bail: 1,
  testTimeout: TEST_MAX_MS,
  hookTimeout: TEST_MAX_MS,
  expect: { poll: { timeout: WAIT_MAX_MS } },
  api: false,
});

/** What each of the files showed, in their order. */
async function run({ files, changed, failsWith }: RunRequest): Promise<readonly TestRun[]> {
  for (const each of changed) vitest.invalidateFile(path.join(root, each));
  const specifications = files.map(({ file, test }) => {
    const options = test === undefined ? undefined : { testNamePattern: new RegExp(test) };
    return vitest.getRootProject().createSpecification(path.join(root, file), options);
  });
  const { unhandledErrors } = await vitest.runTestSpecifications(specifications);
  const outside = unhandledErrors.map(messageOf);
  return specifications.map(({ testModule: found }) =>
    found === undefined
      ? { kind: 'broken', why: 'the file was not run' }
      : judge({ ...showing(found), outside }, failsWith),
  );
}

/** Errors of other processes are objects without a prototype. */
const messageOf = (error: unknown): string => String((error as { readonly message?: unknown } | null)?.message);

function showing(found: TestModule): Omit<TestedRun, 'outside'> {
  const tests = [...found.children.allTests()].map((test) => ({ name: test.fullName, result: test.result() }));
  const suites = [...found.children.allSuites()].flatMap((suite) => suite.errors());
  return {
    passedCount: tests.filter(({ result }) => result.state === 'passed').length,
    failed: tests.flatMap(({ name, result }) => (result.state === 'failed' ? [{ name, errors: result.errors }] : [])),
    loading: [...found.errors(), ...suites].map(({ message }) => message),
    isFailed: found.state() === 'failed',
  };
}

process.on('message', (request: RunRequest) => {
  void run(request)
    .catch((error: unknown) => request.files.map((): TestRun => ({ kind: 'broken', why: String(error) })))
    .then((found) => process.send!(found));
});
// The one who asks is gone.
process.once('disconnect', () => process.exit(1));
