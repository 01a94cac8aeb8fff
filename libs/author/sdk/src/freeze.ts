/**
 * Owns the freezing of what steps are handed. Belief is shared by the tasks of a workflow and its change is found by
 * comparing before and after, so an update in place would be lost without a word: frozen, it throws where it is made.
 */

/**
 * Freezes a JSON value all the way down, and returns it. What is frozen already counts as frozen below, so that belief,
 * which shares what a step didn't touch, costs only what is new.
 */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const key in value) freeze(value[key]);
  return Object.freeze(value);
}

/** The same for a value that someone else may have frozen at its surface, as `z.readonly()` does. */
export function freezeAll<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const key in value) freezeAll(value[key]);
  return Object.freeze(value);
}
