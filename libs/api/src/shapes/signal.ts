/**
 * Owns which signals callers may send: those that the workflow's definition declares, with a value that fits, as far as the definition is
 * known in this process. What the system sends itself doesn't come this way. Pure.
 */

import { InvalidError, SYSTEM_PREFIX } from '@tidemark/core';
import type { WorkflowSummary } from '@tidemark/ports';
import type { Definition } from '@tidemark/runtime';
import type { z } from 'zod';

type Signals = Readonly<Record<string, z.ZodType>>;

const PROBLEMS_TOLD_COUNT = 10;

/** What the SDK's workflows declare; undefined where only the runtime's part is known. */
export function signalsOf(definition: Definition): Signals | undefined {
  return (definition as { readonly schemas?: { readonly signals?: Signals } }).schemas?.signals;
}

/** Throws `InvalidError` (`signal-reserved`). */
export function checkSignalName(name: string): void {
  if (!name.startsWith(SYSTEM_PREFIX)) return;
  throw new InvalidError('signal-reserved', `name: signals that begin with '${SYSTEM_PREFIX}' are the system's own.`);
}

/** Throws `InvalidError` (`signal-reserved`, `signal-unknown`, `signal-unfit`). A newer version may be the one that takes it. */
export function checkSignal(
  definitions: readonly Definition[],
  { definition, version }: Pick<WorkflowSummary, 'definition' | 'version'>,
  name: string,
  value: unknown,
): void {
  checkSignalName(name);
  const loaded = definitions.filter((one) => one.name === definition && one.version >= version).map(signalsOf);
  const declared = loaded.filter((signals) => signals !== undefined);
  // Of one that isn't known here, the step checks it.
  if (declared.length === 0 || declared.length < loaded.length) return;
  const schemas = declared.filter((signals) => Object.hasOwn(signals, name)).map((signals) => signals[name]!);
  const [first] = schemas;
  if (first === undefined) throw unknownSignal(definition, declared);
  const found = first.safeParse(value);
  if (found.success || schemas.some((schema) => schema.safeParse(value).success)) return;
  throw unfit(name, first, value, found.error);
}

function unknownSignal(definition: string, declared: readonly Signals[]): InvalidError {
  const names = [...new Set(declared.flatMap((signals) => Object.keys(signals)))].sort();
  const list = names.length === 0 ? 'it declares none' : `it declares ${names.join(', ')}`;
  return new InvalidError('signal-unknown', `name: ${definition} has no such signal; ${list}.`, { declared: names });
}

function unfit(name: string, schema: z.ZodType, value: unknown, { issues }: z.ZodError): InvalidError {
  const fields = issues
    .slice(0, PROBLEMS_TOLD_COUNT)
    .map(({ path, message }) => ({ field: ['value', ...path.map(String)].join('.'), problem: message }));
  const list = fields.map(({ field, problem }) => `${field}: ${problem}`).join('; ');
  const remedy = value === null && schema.safeParse({}).success ? ' Without a value it is null: give {}.' : '';
  const message = `The value doesn't fit the signal '${name}': ${list}.${remedy}`;
  return new InvalidError('signal-unfit', message, { fields });
}
