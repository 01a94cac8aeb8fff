/** Owns the JSON Schema of a zod schema that leaves Tidemark: for models, assistants, generated clients and forms. */

import { InvalidError, type Json } from '@tidemark/core';
import { toJSONSchema, type ZodType } from 'zod';
import type { $ZodType, ToJSONSchemaParams } from 'zod/v4/core';
import { portablePattern } from './portable-pattern.ts';
import { type PortableOptions, type PortableSchema, portableSchema } from './portable-schema.ts';

export interface PublishedOptions extends PortableOptions {
  /** What a caller gives, before defaults and transformations, or what it receives. */
  readonly io: 'input' | 'output';
}

/**
 * The schema within the subset that all clients take. Throws `InvalidError` (`schema-unrepresentable`) that names the place of a type which
 * JSON doesn't have.
 */
export function publishedSchema(schema: $ZodType, { io, ...options }: PublishedOptions): PortableSchema {
  return portableSchema(written(schema, { target: 'draft-7', io }), options);
}

/**
 * The schema with all that it says, but for patterns that other engines than JavaScript's don't read: for forms, and whoever generates a
 * client. Throws as `publishedSchema`, unless a type that JSON doesn't have is to be any.
 */
export const wholeSchema = (
  schema: $ZodType,
  io: PublishedOptions['io'],
  unrepresentable: 'throw' | 'any' = 'throw',
): Json => portablePatterns(written(schema, { io, ...(unrepresentable === 'any' && { unrepresentable }) }));

function written(schema: $ZodType, options: ToJSONSchemaParams): Json {
  const { $schema: _, ...rest } = toJSONSchema(schema as ZodType, {
    reused: 'inline',
    override: dropFlagged,
    unrepresentable: ({ path, message }) => {
      const place = path.filter((part) => part !== 'properties').join('.');
      const said = `${message.charAt(0).toLowerCase()}${message.slice(1)}`;
      throw new InvalidError('schema-unrepresentable', `${place === '' ? '' : `at ${place}: `}${said}`, {
        field: place,
      });
    },
    ...options,
  });
  return rest as Json;
}

interface CheckDefinition {
  readonly checks?: readonly { readonly _zod: { readonly def: object } }[];
  readonly pattern?: RegExp;
}

/** zod writes patterns without their flags, and `i` makes a pattern match more. */
function dropFlagged({ zodSchema, jsonSchema }: { readonly zodSchema: $ZodType; readonly jsonSchema: object }): void {
  const { checks = [], pattern } = zodSchema._zod.def as CheckDefinition;
  const patterns = [pattern, ...checks.map(({ _zod }) => (_zod.def as CheckDefinition).pattern)];
  if (!patterns.some((one) => /[imsv]/.test(one?.flags ?? ''))) return;
  const written = jsonSchema as { pattern?: unknown; allOf?: unknown };
  delete written.pattern;
  delete written.allOf;
}

/** Values that a schema may name are no schemas, and names of its members no keywords. */
const VALUES: readonly string[] = ['const', 'default', 'enum', 'examples'];
const NAMED: readonly string[] = ['properties', 'patternProperties', 'definitions', '$defs'];

function portablePatterns(schema: Json, areNames = false): Json {
  if (Array.isArray(schema)) return schema.map((one: Json) => portablePatterns(one));
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, value]): [string, Json][] => {
      if (!areNames && VALUES.includes(name)) return [[name, value]];
      if (areNames || name !== 'pattern' || typeof value !== 'string') {
        return [[name, portablePatterns(value, !areNames && NAMED.includes(name))]];
      }
      const portable = portablePattern(value);
      return portable === undefined ? [] : [[name, portable]];
    }),
  );
}
