/** Owns the errors of reading a segment: what is wrong with a file, and what to do. */

import { CorruptError } from '@tidemark/core';

export const damaged = (problem: string, cause?: unknown): CorruptError =>
  new CorruptError(
    'segment-damaged',
    `The segment is cut short or was changed: ${problem}. Restore the object from a copy.`,
    cause === undefined ? { problem } : { problem, cause },
  );

/** Throws `CorruptError` (`segment-damaged`). */
export function sound(condition: unknown, problem: string): asserts condition {
  if (!condition) throw damaged(problem);
}
