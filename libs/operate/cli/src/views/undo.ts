/** Owns the text that says that a workflow is being or was compensated: why, and what its undo did and left. Pure. */

/** Outcome of an undo; null until it has completed. */
export interface UndoCounts {
  readonly undone_count: number | null;
  readonly left_count: number | null;
}

/** `2 compensated, 1 left as it is`, after `before`; empty where it isn't known. */
export function countWords({ undone_count: compensated, left_count: left }: UndoCounts, before = ''): string {
  if (compensated === null || left === null) return '';
  return `${before}${compensated} compensated, ${left} left as ${left === 1 ? 'it is' : 'they are'}`;
}

/** How a workflow ended that was to be compensated. It names compensated items only when there are any. */
export const endedWords = ({ undone_count: compensated }: UndoCounts): string =>
  compensated === 0 ? 'ended with nothing compensated' : 'was compensated';

/** Why it is being or was compensated: code and words. */
export const causeWords = (reason: string, why: string): string => (why === '' ? reason : `${reason}: ${why}`);
