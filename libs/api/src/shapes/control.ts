/**
 * Owns what of an event's clear part is told to whom. It is clear where it is stored, so that folds and queues can read it; two members of it
 * hold what steps say in words and what definitions make of inputs, and whoever may not see content is not told those. Pure.
 */

/** Without words of steps, and without keys of limits, for who may not see content. */
export function toldControl(control: object, seesContent: boolean): Readonly<Record<string, unknown>> {
  if (seesContent) return control as Readonly<Record<string, unknown>>;
  const { lastAction, dispatch, ...rest } = control as Readonly<Record<string, unknown>>;
  const { limits: _, ...turns } = (dispatch ?? {}) as Readonly<Record<string, unknown>>;
  return {
    ...rest,
    ...(lastAction !== undefined && { lastAction: '' }),
    ...(dispatch !== undefined && { dispatch: turns }),
  };
}
