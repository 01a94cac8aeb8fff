/** Owns the JSON Schema of a zod schema that leaves Tidemark: for models, assistants, generated clients and forms. */

import { InvalidError, type Json } from '@tidemark/core';
import { toJSONSchema, type ZodType } from 'zod';
import type { $ZodType } from 'zod/v4/core';
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
  const whole = toJSONSchema(schema as ZodType, {
    ...{ target: 'draft-7', io, reused: 'inline' },
    override: dropFlagged,
    unrepresentable: ({ path, message }) => {
      const place = path.filter((part) => part !== 'properties').join('.');
      throw new InvalidError(
        'schema-unrepresentable',
        `${place === '' ? '' : `at ${place}: `}${message.charAt(0).toLowerCase()}${message.slice(1)}`,
        { field: place },
      );
    },
  });
  return portableSchema(whole, options);
}

/** The schema with all that it says, but for patterns that other engines than JavaScript's don't read. For readers of whole schemas. */
export function withPortablePatterns<Schema>(schema: Schema): Schema {
  return portablePatterns(schema as Json) as Schema;
}

interface CheckDefinition {
  readonly checks?: readonly { readonly _zod: { readonly def: object } }[];
  readonly pattern?: RegExp;
}

/** For `override` of zod's `toJSONSchema`: it writes patterns without their flags, and `i` makes a pattern match more. */
export function dropFlagged({
  zodSchema,
  jsonSchema,
}: {
  readonly zodSchema: $ZodType;
  readonly jsonSchema: object;
}): void {
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
