/**
 * Owns the check that a value survives JSON unchanged. (Canonical JSON, over which digests are taken, is core's.)
 */

import { InvalidError, type Json } from '@tidemark/core';

/** Depth at which a value is refused, so that a hostile one can't exhaust the stack. */
export const JSON_DEPTH_MAX = 256;

/**
 * The value as JSON; members that are undefined are left out, as JSON does. Throws `InvalidError` (`not-serialisable`)
 * that names the place of what JSON can't hold: a function, a bigint, a symbol, NaN, an infinity, a date, a map, a cycle.
 * `what` begins the message: "belief", "input of task price".
 */
export function toJson(value: unknown, what: string): Json {
  return check(value, what, '', 0);
}

function refuse(what: string, path: string, problem: string): never {
  throw new InvalidError(
    'not-serialisable',
    `${what}${path === '' ? '' : ` at ${path}`}: ${problem} can't be stored as JSON. Return plain objects, arrays, strings, finite numbers, booleans or null.`,
    { what, path },
  );
}

function check(value: unknown, what: string, path: string, depth: number): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : refuse(what, path, String(value));
  if (typeof value !== 'object') return refuse(what, path, value === undefined ? 'undefined' : `a ${typeof value}`);
  if (depth >= JSON_DEPTH_MAX)
    return refuse(what, path.slice(0, 100), `a cycle, or more than ${JSON_DEPTH_MAX} levels,`);
  if (Array.isArray(value)) return mapArray(value, what, path, depth);
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    return refuse(what, path, `a ${value.constructor?.name ?? 'class instance'}`);
  }
  return mapObject(value as Record<string, unknown>, what, path, depth);
}

/** The same array when nothing in it had to change, so that identity still tells what a step didn't touch. */
function mapArray(value: readonly unknown[], what: string, path: string, depth: number): Json {
  let copy: Json[] | undefined;
  for (let at = 0; at < value.length; at++) {
    const item = check(value[at], what, `${path}[${at}]`, depth + 1);
    if (copy === undefined && item !== value[at]) copy = value.slice(0, at) as Json[];
    copy?.push(item);
  }
  return copy ?? (value as readonly Json[]);
}

function mapObject(value: Record<string, unknown>, what: string, path: string, depth: number): Json {
  const keys = Object.keys(value);
  let changed = false;
  const entries: [string, Json][] = [];
  for (const key of keys) {
    const member = value[key];
    if (member === undefined) {
      changed = true;
      continue;
    }
    const item = check(member, what, path === '' ? key : `${path}.${key}`, depth + 1);
    changed ||= item !== member;
    entries.push([key, item]);
  }
  return changed ? Object.fromEntries(entries) : (value as { readonly [key: string]: Json });
}
