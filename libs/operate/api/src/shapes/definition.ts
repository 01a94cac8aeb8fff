/** Owns what a definition says of itself, for people and programs. Pure. */

import type { Json } from '@tidemark/core';
import type { Definition } from '@tidemark/runtime';

export interface DefinitionCard {
  readonly name: string;
  readonly version: number;
  /** What `begin` may add, and what each step may add; null where only the runtime's part is known. */
  readonly starts: readonly string[] | null;
  readonly flow: Readonly<Record<string, readonly string[]>>;
  readonly warnings: readonly string[];
  /** Operations of the effects that it lists, whose responses can be checked. */
  readonly effects: readonly string[];
  /** Signals that it accepts: the JSON Schema of each value, by name; null where only the runtime's part is known. */
  readonly signals: Readonly<Record<string, Json>> | null;
}

/** What the SDK's workflows declare beside what the runtime needs. */
interface Declared {
  readonly starts: readonly string[];
  readonly flow: Readonly<Record<string, readonly string[]>>;
  readonly warnings: readonly { readonly message: string }[];
}

const isDeclared = (definition: object): definition is Declared =>
  'flow' in definition && 'starts' in definition && 'warnings' in definition;

export function cardOf(definition: Definition): DefinitionCard {
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
