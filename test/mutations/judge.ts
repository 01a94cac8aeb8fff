/** Owns what a run of one test file shows of a mutation: an assertion that failed shows it, a crash shows nothing. */

export interface FoundError {
  readonly name?: string;
  readonly message: string;
  readonly cause?: unknown;
}

export interface FailedTest {
  readonly name: string;
  readonly errors: readonly FoundError[];
}

export interface TestedRun {
  readonly passedCount: number;
  readonly failed: readonly FailedTest[];
  /** Errors of the file itself and of hooks around its tests. */
  readonly loading: readonly string[];
  /** Whether the file failed, whatever failed in it. */
  readonly isFailed: boolean;
  /** Errors outside of any test. */
  readonly outside: readonly string[];
}

export type TestRun =
  | { readonly kind: 'passed'; readonly testCount: number }
  /** `test`: the first that failed by an assertion; `why`: the first line of its message. */
  | { readonly kind: 'failed'; readonly test: string; readonly why: string }
  /** Nothing was shown: the file could not be run, or its tests failed otherwise than by an assertion. */
  | { readonly kind: 'broken'; readonly why: string };

/** How deep causes are looked into: fast-check and waits tell the assertion as theirs. */
const CAUSES_MAX = 4;

/** `failsWith`: part of the message of an error that shows the mutation too, though no assertion does. */
export function judge({ passedCount, failed, loading, isFailed, outside }: TestedRun, failsWith?: string): TestRun {
  for (const { name, errors } of failed) {
    const shown = errors.find((error) => isShown(error, failsWith));
    if (shown !== undefined) return { kind: 'failed', test: name, why: firstLine(shown.message) };
  }
  const [first] = failed;
  if (first !== undefined) {
    const { name = 'error', message } = first.errors[0] ?? { message: 'no error' };
    return { kind: 'broken', why: `${first.name}: no assertion failed, but ${name}: ${firstLine(message)}` };
  }
  if (loading[0] !== undefined) return { kind: 'broken', why: `the file could not be run: ${firstLine(loading[0])}` };
  if (outside[0] !== undefined) return { kind: 'broken', why: `outside of any test: ${firstLine(outside[0])}` };
  // Of tests that run at the same time, those that a failure ends are told and the failure is not.
  if (isFailed) return { kind: 'broken', why: 'no test is told as failed: name one (`test`)' };
  return passedCount === 0 ? { kind: 'broken', why: 'no test was run' } : { kind: 'passed', testCount: passedCount };
}

function isShown(error: FoundError, failsWith: string | undefined, depth = 0): boolean {
  if (error.name === 'AssertionError' || (failsWith !== undefined && error.message.includes(failsWith))) return true;
  const { cause } = error;
  return typeof cause === 'object' && cause !== null && depth < CAUSES_MAX
    ? isShown({ message: '', ...cause } as FoundError, failsWith, depth + 1)
    : false;
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';
