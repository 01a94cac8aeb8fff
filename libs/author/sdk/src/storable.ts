/**
 * Owns the start-time check that a schema's values can be stored: that they are JSON, and that validating one again gives the same value,
 * since it is validated at every border. Reads schemas, runs none. Open types (`z.unknown()`, `z.custom()`) are checked value by value when
 * they are stored.
 */

import type { $ZodTypes, SomeType } from 'zod/v4/core';
import type { Problem } from './parse.ts';
import type { Schema } from './schema.ts';
import { type SchemaPosition, walkSchema } from './schema-walk.ts';
import { isMarkedEarly, isSecret } from './secret.ts';

/** Types that JSON doesn't have, and what to use instead. */
const REFUSED: { readonly [type: string]: string } = {
  date: "a date can't be stored as JSON; use an ISO string, z.iso.datetime()",
  bigint: "a bigint can't be stored as JSON; use a string",
  map: "a map can't be stored as JSON; use z.record()",
  set: "a set can't be stored as JSON; use z.array()",
  symbol: "a symbol can't be stored as JSON; use a string",
  function: "a function can't be stored",
  promise: "a promise can't be stored; await it first",
  file: "a file can't be stored; keep its path and digest",
  nan: "NaN can't be stored as JSON; use z.null()",
  transform: 'a transform would run again at every border; transform in a step',
  success: 'z.success() would judge its own result again; use a boolean',
};

/** Why values of the schema can't be stored, each with its path; empty when they can. */
export function unstorable(schema: Schema): readonly Problem[] {
  const problems: Problem[] = [];
  walkSchema(schema, (each, place) => {
    const { type } = (each as $ZodTypes)._zod.def;
    const refused = Object.hasOwn(REFUSED, type) ? REFUSED[type] : undefined;
    if (refused !== undefined) report(problems, place, refused);
    else checkOpen(each, place, problems);
    if (isMarkedEarly(each))
      report(
        problems,
        place,
        'a check after secret() would see what is stored; put it inside: secret(z.string().min(8))',
      );
  });
  return problems;
}

/** Types whose answer depends on more than their name. */
function checkOpen(schema: SomeType, place: SchemaPosition, problems: Problem[]): void {
  const def = (schema as $ZodTypes)._zod.def;
  const absent = "may be undefined, which JSON doesn't have; use nullable()";
  switch (def.type) {
    case 'undefined':
    case 'void':
    case 'optional':
      if (!place.mayBeAbsent) report(problems, place, absent);
      return;
    case 'literal':
      if (def.values.some((value) => value === undefined) && !place.mayBeAbsent) report(problems, place, absent);
      if (def.values.some((value) => typeof value === 'bigint')) report(problems, place, REFUSED.bigint!);
      return;
    case 'pipe':
      if (def.transform !== undefined)
        report(problems, place, 'a codec would decode its own result again; decode in a step');
      return;
    case 'record':
      if (isSecret(def.keyType))
        report(problems, place, "a name can't be secret, only what it names; put secret() there");
      return;
    case 'custom': {
      const wanted: unknown = schema._zod.bag?.Class;
      if (typeof wanted === 'function')
        report(problems, place, `a ${wanted.name} can't be stored as JSON; use a plain object`);
      return;
    }
  }
}

const report = (problems: Problem[], { path }: SchemaPosition, problem: string): void => {
  problems.push({ path, problem });
};
