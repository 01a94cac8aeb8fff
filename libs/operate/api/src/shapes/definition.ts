/** Owns what a definition says of itself, for people and programs. Pure. */

import type { Definition } from '@tidemark/runtime';

/** What the SDK's workflows declare beside what the runtime needs. */
interface Declared {
  readonly starts: readonly string[];
  readonly flow: Readonly<Record<string, readonly string[]>>;
  readonly warnings: readonly { readonly message: string }[];
}

const isDeclared = (definition: object): definition is Declared =>
  'flow' in definition && 'starts' in definition && 'warnings' in definition;

/**
 * `starts`: what `begin` may add, null where only the runtime's part is known; `flow`: what each step may add; `effects`: operations whose
 * responses can be checked; `signals`: the JSON Schema of each value by name, null where only the runtime's part is known.
 */
export function cardOf(definition: Definition) {
  const { name, version } = definition;
  const effects = definition.effects.map(({ operation }) => operation);
  const signals =
    definition.signals && Object.fromEntries([...definition.signals].map(([of, { schema }]) => [of, schema]));
  const both = { effects, signals: signals ?? null };
  if (isDeclared(definition)) {
    const warnings = definition.warnings.map((warning) => warning.message);
    return { name, version, starts: definition.starts, flow: definition.flow, warnings, ...both };
  }
  const steps = [...definition.steps.values()];
  const flow = Object.fromEntries(steps.map((step) => [step.name, [...step.mayAdd]]));
  return { name, version, starts: null, flow, warnings: [], ...both };
}
