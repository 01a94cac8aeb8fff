/**
 * Owns finding fields of a caller's value that its schema doesn't know: zod drops them without a word, so a misspelt optional field would
 * be lost. An object that takes further members (`looseObject`, `catchall`) is left alone, and so are alternatives. Pure.
 */

import type { $ZodTypes, SomeType } from 'zod/v4/core';
import { type Problem, pathText } from './parse.ts';

/** Levels of a value that are looked at. */
const DEPTH_MAX = 64;
/** Letters that may be wrong in a name for it to be the one that was meant, at most, and the part of its letters. */
const WRONG_LETTERS_MAX = 3;
const WRONG_SHARE_MAX = 0.4;
/** Characters of a name that are compared and shown. */
const NAME_MAX_CHARS = 100;
/** Unknown fields of one value that are told, and known names that are told of one object. */
const PROBLEMS_MAX_COUNT = 20;
const KNOWN_SHOWN_COUNT = 20;

/** The first of them, which are told; a value may have as many as it has bytes. */
export function unknownFields(schema: SomeType, value: unknown): readonly Problem[] {
  const found: Problem[] = [];
  for (const problem of unknownIn(schema, value, [])) {
    found.push(problem);
    if (found.length === PROBLEMS_MAX_COUNT) break;
  }
  return found;
}

function* unknownIn(schema: SomeType, value: unknown, path: readonly PropertyKey[]): Generator<Problem, undefined> {
  if (typeof value !== 'object' || value === null || path.length > DEPTH_MAX) return;
  const { def } = (schema as $ZodTypes)._zod;
  switch (def.type) {
    case 'object': {
      const { shape, catchall } = def;
      const known = Object.keys(shape);
      for (const [name, member] of Object.entries(value)) {
        if (Object.hasOwn(shape, name)) yield* unknownIn(shape[name]!, member, [...path, name]);
        else if (catchall === undefined || catchall._zod.def.type === 'never') {
          yield { path: pathText([...path, name]), problem: unknownText(name, known) };
        }
      }
      return;
    }
    case 'array':
      if (Array.isArray(value))
        for (const [at, item] of value.entries()) yield* unknownIn(def.element, item, [...path, at]);
      return;
    case 'record':
      for (const [name, member] of Object.entries(value)) yield* unknownIn(def.valueType, member, [...path, name]);
      return;
    case 'pipe':
      yield* unknownIn(def.in, value, path);
      return;
    case 'optional':
    case 'default':
    case 'prefault':
    case 'nonoptional':
    case 'nullable':
    case 'readonly':
      yield* unknownIn(def.innerType, value, path);
      return;
    case 'lazy':
      yield* unknownIn(def.getter(), value, path);
      return;
    default:
  }
}

function unknownText(name: string, known: readonly string[]): string {
  const nearest = known
    .map((other) => ({ other, wrong: distance(name.slice(0, NAME_MAX_CHARS), other) }))
    .filter(({ other, wrong }) => wrong <= Math.min(WRONG_LETTERS_MAX, Math.ceil(other.length * WRONG_SHARE_MAX)))
    .sort((a, b) => a.wrong - b.wrong)[0];
  return nearest === undefined
    ? `is no field (known: ${known.slice(0, KNOWN_SHOWN_COUNT).join(', ')}${known.length > KNOWN_SHOWN_COUNT ? ', …' : ''})`
    : `is no field (did you mean ${nearest.other}?)`;
}

/** Letters to change, add or leave out, to make one name of the other; case is none. */
function distance(one: string, other: string): number {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  let before = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      row.push(Math.min(before[j]! + 1, row[j - 1]! + 1, before[j - 1]! + (isSame ? 0 : 1)));
    }
    before = row;
  }
  return before[b.length]!;
}
