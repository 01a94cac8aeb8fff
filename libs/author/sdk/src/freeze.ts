/**
 * Owns freezing the values that steps receive. The tasks of a workflow share its belief, and its change is found by comparing before and
 * after, so an update in place would be silently lost: frozen, it throws where it is made.
 */

/**
 * Freezes a JSON value all the way down, and returns it. A frozen value counts as frozen below, so that belief, which shares what a step
 * didn't touch, costs only its new parts.
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
