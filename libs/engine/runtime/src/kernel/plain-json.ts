/** Owns what of a value from elsewhere can be kept as JSON, and names the first place that can't. */

import { InvalidError, type Json } from '@tidemark/core';

export interface PlainJsonOptions {
  /** What stands for bytes; absent: they are refused. */
  readonly bytes?: (bytes: Uint8Array) => Json;
  /** The name under which a member is kept. */
  readonly key?: (key: string) => string;
}

/**
 * A copy of the value. Members that are undefined are left out, as JSON does; all else that JSON would lose or change is refused: dates, maps,
 * class instances, functions, numbers without a value, holes, cycles, hidden members. Throws `InvalidError` (`not-json`), which quotes nothing but the place.
 */
export function plainJson(value: unknown, place: string, options: PlainJsonOptions = {}): Json {
  return copied(value, place, options, new Set());
}

function copied(value: unknown, place: string, options: PlainJsonOptions, above: Set<object>): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value !== 'object') throw notJson(place, typeof value === 'number' ? String(value) : typeof value);
  if (value instanceof Uint8Array && options.bytes !== undefined) return options.bytes(value);
  if (above.has(value)) throw notJson(place, 'a cycle');
  above.add(value);
  const copy = Array.isArray(value) ? items(value, place, options, above) : members(value, place, options, above);
  above.delete(value);
  return copy;
}

/** Holes are undefined, and refused as such. */
const items = (list: readonly unknown[], place: string, options: PlainJsonOptions, above: Set<object>): Json =>
  Array.from(list, (item, at) => copied(item, `${place}[${at}]`, options, above));

function members(of: object, place: string, options: PlainJsonOptions, above: Set<object>): Json {
  const prototype: unknown = Object.getPrototypeOf(of);
  if (prototype !== null && prototype !== Object.prototype)
    throw notJson(place, `a ${of.constructor?.name ?? 'class'}`);
  const found: [string, Json][] = [];
  for (const key of Reflect.ownKeys(of)) {
    const at = `${place}.${String(key)}`;
    const member = Object.getOwnPropertyDescriptor(of, key);
    if (typeof key !== 'string' || member?.enumerable !== true || !('value' in member)) throw notJson(at, 'hidden');
    if (member.value === undefined) continue;
    found.push([options.key?.(key) ?? key, copied(member.value, at, options, above)]);
  }
  return Object.fromEntries(found);
}

const notJson = (place: string, found: string): InvalidError =>
  new InvalidError('not-json', `${place} can't be kept as JSON: it is ${found}.`, { place });
