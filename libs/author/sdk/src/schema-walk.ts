/** Owns visiting a schema: every schema within it, with its path. Reads schemas, runs none. */

import type { $ZodTypes, SomeType } from 'zod/v4/core';

/** Levels of nested schemas that the start-time check follows. */
const SCHEMA_DEPTH_MAX = 64;

export interface SchemaPosition {
  readonly path: string;
  /** Whether undefined is allowed here: a member of an object is then left out. */
  readonly mayBeAbsent: boolean;
}

type Visit = (schema: SomeType, place: SchemaPosition) => void;

/** Visits each schema once, so that a recursive one ends. */
export function walkSchema(schema: SomeType, visit: Visit): void {
  walk(schema, { path: '', mayBeAbsent: false }, 0, { visit, seen: new Set() });
}

interface Walk {
  readonly visit: Visit;
  readonly seen: Set<SomeType>;
}

function walk(schema: SomeType, place: SchemaPosition, depth: number, state: Walk): void {
  if (state.seen.has(schema) || depth > SCHEMA_DEPTH_MAX) return;
  state.seen.add(schema);
  state.visit(schema, place);
  for (const [child, path, mayBeAbsent] of children((schema as $ZodTypes)._zod.def, place)) {
    walk(child, { path, mayBeAbsent }, depth + 1, state);
  }
}

/** The schemas within one, with their paths. */
function children(def: $ZodTypes['_zod']['def'], { path, mayBeAbsent }: SchemaPosition): [SomeType, string, boolean][] {
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
