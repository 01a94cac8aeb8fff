/**
 * Owns the list of test files that take longer than five seconds, and the time that `npm test` may take: whoever adds a slow
 * file says why it has to be one, and keeps the sum within the budget (held by test/stages.test.ts).
 */

/** A file that takes longer is on the list. */
export const SLOW_FILE_S = 5;
/** Seconds of all test files of `npm test` together, on a quiet machine of two cores. */
export const QUICK_BUDGET_S = 520;

export interface SlowFile {
  /** As measured in a run of its stage, on a quiet machine of two cores; files are begun in this order. */
  readonly seconds: number;
  /** Why it can't be quicker, or be divided. */
  readonly why: string;
}

export const SLOW_FILES: Readonly<Record<string, SlowFile>> = {};
