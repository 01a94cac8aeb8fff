/**
 * Owns the start-time check that what a schema lets through can be stored: that it is JSON, and that validating it again
 * gives the same value, since it is validated at every border. Reads schemas, runs none. What a schema leaves open
 * (`z.unknown()`, `z.custom()`) is checked value by value when it is stored.
 */

import type { $ZodTypes, SomeType } from 'zod/v4/core';
import { SCHEMA_DEPTH_MAX } from './limits.ts';
import type { Problem } from './parse.ts';
import type { Schema } from './schema.ts';

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
  walk(schema, { path: '', depth: 0, mayBeAbsent: false }, { problems, seen: new Set() });
  return problems;
}

interface Place {
  readonly path: string;
  readonly depth: number;
  /** Whether undefined is fine here: a member of an object is then left out. */
  readonly mayBeAbsent: boolean;
}

interface Walk {
  readonly problems: Problem[];
  /** A schema is looked at once, so that a recursive one ends. */
  readonly seen: Set<SomeType>;
}

function walk(schema: SomeType, place: Place, state: Walk): void {
  if (state.seen.has(schema) || place.depth > SCHEMA_DEPTH_MAX) return;
  state.seen.add(schema);
  const def = (schema as $ZodTypes)._zod.def;
  const refused = Object.hasOwn(REFUSED, def.type) ? REFUSED[def.type] : undefined;
  if (refused !== undefined) report(state, place, refused);
  else checkOpen(schema, place, state);
  for (const [child, path, mayBeAbsent] of children(def, place)) {
    walk(child, { path, depth: place.depth + 1, mayBeAbsent }, state);
  }
}

/** What depends on more than the type's name. */
function checkOpen(schema: SomeType, place: Place, state: Walk): void {
  const def = (schema as $ZodTypes)._zod.def;
  const absent = "may be undefined, which JSON doesn't have; use nullable()";
  switch (def.type) {
    case 'undefined':
    case 'void':
    case 'optional':
      if (!place.mayBeAbsent) report(state, place, absent);
      return;
    case 'literal':
      if (def.values.some((value) => value === undefined) && !place.mayBeAbsent) report(state, place, absent);
      if (def.values.some((value) => typeof value === 'bigint')) report(state, place, REFUSED.bigint!);
      return;
    case 'pipe':
      if (def.transform !== undefined)
        report(state, place, 'a codec would decode its own result again; decode in a step');
      return;
    case 'custom': {
      const wanted: unknown = schema._zod.bag?.Class;
      if (typeof wanted === 'function')
        report(state, place, `a ${wanted.name} can't be stored as JSON; use a plain object`);
      return;
    }
  }
}

/** The schemas within one, with their paths. */
function children(def: $ZodTypes['_zod']['def'], { path, mayBeAbsent }: Place): [SomeType, string, boolean][] {
  switch (def.type) {
    case 'object': {
      const members = Object.entries(def.shape).map(([key, member]): [SomeType, string, boolean] => [
        member,
        path === '' ? key : `${path}.${key}`,
        true,
      ]);
      return def.catchall === undefined ? members : [...members, [def.catchall, `${path}.*`, true]];
    }
    case 'record':
      return [[def.valueType, path === '' ? '*' : `${path}.*`, true]];
    case 'array':
      return [[def.element, `${path}[]`, false]];
    case 'tuple': {
      const items = def.items.map((item, at): [SomeType, string, boolean] => [item, `${path}[${at}]`, false]);
      return def.rest === null ? items : [...items, [def.rest, `${path}[]`, false]];
    }
    case 'union':
      return def.options.map((option) => [option, path, mayBeAbsent]);
    case 'intersection':
      return [
        [def.left, path, mayBeAbsent],
        [def.right, path, mayBeAbsent],
      ];
    case 'pipe':
      return [
        [def.in, path, mayBeAbsent],
        [def.out, path, mayBeAbsent],
      ];
    case 'optional':
    case 'default':
    case 'prefault':
    case 'nonoptional':
      return [[def.innerType, path, true]];
    case 'nullable':
    case 'readonly':
    case 'catch':
      return [[def.innerType, path, mayBeAbsent]];
    case 'lazy':
      return [[def.getter(), path, mayBeAbsent]];
    default:
      return [];
  }
}

const report = (state: Walk, { path }: Place, problem: string): void => {
  state.problems.push({ path, problem });
};
