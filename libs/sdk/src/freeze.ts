/**
 * Owns the freezing of what steps are handed. Belief is shared by the tasks of a workflow and its change is found by
 * comparing before and after, so an update in place would be lost without a word: frozen, it throws where it is made.
 */

/** Values frozen all the way down. Belief shares what a step didn't touch, so only what is new is visited. */
const frozen = new WeakSet<object>();

/** Freezes a JSON value all the way down, and returns it. */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || frozen.has(value)) return value;
  for (const member of Object.values(value)) freeze(member);
  frozen.add(Object.freeze(value));
  return value;
}

/** Whether `freeze` has frozen it. */
export const isFrozen = (value: unknown): boolean => typeof value === 'object' && value !== null && frozen.has(value);
