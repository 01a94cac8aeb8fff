/** Owns which step of a definition does a task. */

/** The name of the step that does the tasks of all names that no other step of the definition has. */
export const ANY_STEP = '*';

/** The step that does tasks of this name, under their own; undefined: there is none. */
export function stepNamed<Step extends object>(
  steps: ReadonlyMap<string, Step>,
  name: string,
): (Step & { readonly group?: string }) | undefined {
  const any = steps.get(ANY_STEP);
  return steps.get(name) ?? (any && { ...any, name, group: ANY_STEP });
}
