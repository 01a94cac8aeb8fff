/** Owns making schemas of the JSON Schemas that a definition has said of itself. */

import { fromJSONSchema, z } from 'zod';
import type { Schema } from '../schema.ts';
import { unstorable } from '../storable.ts';

/** What zod can't read is checked by the worker alone. */
export function fromSchema(schema: unknown): Schema {
  return isReadable(schema) ? read(schema) : z.json();
}

const read = (schema: unknown): Schema => fromJSONSchema(closed(schema) as never) as Schema;

const isText = (schema: unknown): boolean => JSON.stringify(schema) === '{"type":"string"}';

/** Whether zod makes a schema of it that storable values fit. */
export function isReadable(schema: unknown): boolean {
  try {
    return unstorable(read(schema)).length === 0;
  } catch {
    return false;
  }
}

/** An object of the user's drops members that it doesn't name, unless its schema says so: here they are refused, as callers' are. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  // Any name is a text, and zod would make a transformation of it.
  const said = Object.entries(schema).filter(([name, value]) => name !== 'propertyNames' || !isText(value));
  const inner = Object.fromEntries(said.map(([name, value]) => [name, closed(value)]));
  return 'properties' in inner && inner.type === 'object' ? { additionalProperties: false, ...inner } : inner;
}
