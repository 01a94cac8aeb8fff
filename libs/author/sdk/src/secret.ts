/**
 * Owns the mark of a schema whose values are secret, and its meaning to a parser: none by default; where the caller stores the result, each
 * such value becomes what the caller makes of it. Must not know how values are sealed.
 */

import type { Json } from '@tidemark/core';
import type { Seal } from '@tidemark/runtime';
import { _overwrite, type $ZodCheck, clone, type SomeType } from 'zod/v4/core';
import type { Schema } from './schema.ts';
import { walkSchema } from './schema-walk.ts';

const marks = new WeakSet<object>();

/** Of the current parser: schemas are synchronous, so there is one at a time. */
let sealing: Seal | undefined;

/**
 * Marks a schema's values as secret: steps and effects receive the value, and everything stored (log, rows, segments) has it sealed with a
 * key of its own, so that only callers who may use that key can read it. Put checks into the given schema: `secret(z.string().min(8))`.
 */
export function secret<S extends Schema>(schema: S): S {
  const mark = _overwrite<unknown>((value) =>
    sealing === undefined || value === undefined ? value : sealing(value as Json),
  );
  marks.add(mark);
  const { def } = schema._zod;
  return clone(schema, { ...def, checks: [...(def.checks ?? []), mark] } as S['_zod']['def']);
}

const checksOf = (schema: SomeType): readonly $ZodCheck<never>[] => (schema as Schema)._zod.def.checks ?? [];

/** Whether this very schema is marked. */
export const isSecret = (schema: SomeType): boolean => checksOf(schema).some((check) => marks.has(check));

/** Whether a check follows the mark. */
export function isMarkedEarly(schema: SomeType): boolean {
  const checks = checksOf(schema);
  const at = checks.findIndex((check) => marks.has(check));
  return at >= 0 && checks.slice(at).some((check) => !marks.has(check));
}

/** Whether it, or any schema within it, is marked. */
export function hasSecrets(schema: SomeType): boolean {
  let isMarked = false;
  walkSchema(schema, (each) => {
    isMarked ||= isSecret(each);
  });
  return isMarked;
}

/** Runs `parse`, with secret values as the caller makes them. */
export function whileSealing<T>(seal: Seal | undefined, parse: () => T): T {
  const outer = sealing;
  sealing = seal;
  try {
    return parse();
  } finally {
    sealing = outer;
  }
}
