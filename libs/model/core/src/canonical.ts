/**
 * Owns canonical JSON (RFC 8785: members sorted by UTF-16 code units, ECMAScript number form). Digests are taken over this form. Callers
 * pass values that are JSON; nothing here checks that. A member that is undefined is omitted, as `JSON.stringify` does, so that a value and
 * what is read back of it have one digest.
 */

import type { Json } from './belief.ts';

/** The canonical text of a JSON value. When all members are in order already, `JSON.stringify` writes it several times faster. */
export const canonicalJson = (value: Json): string => (isInOrder(value) ? JSON.stringify(value) : sorted(value));

function sorted(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(sorted).join(',')}]`;
  const members = value as { readonly [key: string]: Json };
  const parts = Object.keys(members)
    .filter((key) => members[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${sorted(members[key]!)}`);
  return `{${parts.join(',')}}`;
}

function isInOrder(value: Json): boolean {
  if (value === null || typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.every(isInOrder);
  const members = value as { readonly [key: string]: Json };
  const keys = Object.keys(members);
  return keys.every((key, at) => (at === 0 || keys[at - 1]! < key) && isInOrder(members[key]!));
}
