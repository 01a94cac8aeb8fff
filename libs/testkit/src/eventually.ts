/** Owns waiting in tests: for a condition, with a deadline, never for a time. */

export interface EventuallyOptions {
  /** Default 60,000: it only guards against hanging. */
  readonly timeoutMs?: number;
  /** The awaited condition, for the error. */
  readonly what?: string;
}

/** How long a test waits by default. A source with a mutation is waited for less (test/mutations/runner.ts). */
export const DEFAULT_TIMEOUT_MS = Number(process.env.TIDEMARK_TEST_WAIT_MS ?? 60_000);
/** Pause between two polls; grows to the greatest, since long waits need no fine grain. */
const FIRST_PAUSE_MS = 1;
const PAUSE_MAX_MS = 25;

/**
 * Resolves with the condition's value once that is neither false nor undefined. A throw counts as "not yet". After the
 * time it throws an error with the last throw as its cause.
 */
export async function eventually<T>(
  condition: () => T | Promise<T>,
  options: EventuallyOptions = {},
): Promise<Exclude<T, false | undefined>> {
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const deadline = performance.now() + timeoutMs;
  let pauseMs = FIRST_PAUSE_MS;
  for (;;) {
    let cause: unknown;
    try {
      const value = await condition();
      if (value !== false && value !== undefined) return value as Exclude<T, false | undefined>;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`not within ${timeoutMs} ms: ${options.what ?? textOf(condition)}`, { cause });
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS);
  }
}

/** The condition as it stands in the test, in one line; where it stands is in the error's stack. */
const textOf = (condition: () => unknown): string =>
  condition
    .toString()
    .replaceAll(/\s+/g, ' ')
    .replace(/__vi_import_\d+__\./g, '');
