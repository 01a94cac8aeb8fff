/** Owns writing a JSON schema of the API as a type of TypeScript. Pure; throws at what it can't write, so that no type is a guess. */

import type { ApiSchema } from '@tidemark/api';

/** A request may hold any value that becomes JSON. An answer was JSON. */
export type Direction = 'sent' | 'answered';

export const REFERENCE = '#/components/schemas/';
/** Keywords that decide the type; all others (bounds, patterns, marks) narrow it in ways that types can't express. */
const TELLING = ['$ref', 'anyOf', 'const', 'enum', 'type', 'items', 'properties'] as const;

/** The name of the component that the schema refers to. */
export const referredBy = ({ $ref }: ApiSchema): string | undefined => $ref?.slice(REFERENCE.length);

/** Names of all components that it mentions, directly or within. */
export function namedIn(schema: ApiSchema): string[] {
  const own = referredBy(schema);
  const parts = [
    ...(schema.anyOf ?? []),
    ...Object.values(schema.properties ?? {}),
    ...[schema.items, schema.additionalProperties].filter((part) => typeof part === 'object'),
  ];
  return [...(own === undefined ? [] : [own]), ...parts.flatMap(namedIn)];
}

export function typeOf(schema: ApiSchema, direction: Direction): string {
  const name = referredBy(schema);
  if (name !== undefined) return name;
  if (schema.anyOf !== undefined) return schema.anyOf.map((each) => typeOf(each, direction)).join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((each) => JSON.stringify(each)).join(' | ');
  if (Array.isArray(schema.type)) {
    return schema.type.map((type: string) => typeOf({ ...schema, type }, direction)).join(' | ');
  }
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'number':
    case 'integer':
      return 'number';
    case 'array':
      return `readonly (${typeOf(schema.items!, direction)})[]`;
    case 'object':
      return objectOf(schema, direction);
    default:
      if (TELLING.some((keyword) => keyword in schema)) throw new Error(`No type for ${JSON.stringify(schema)}.`);
      return direction === 'sent' ? 'unknown' : 'Json';
  }
}

function objectOf({ properties, required = [], additionalProperties }: ApiSchema, direction: Direction): string {
  if (properties === undefined && typeof additionalProperties === 'object') {
    return `Readonly<Record<string, ${typeOf(additionalProperties, direction)}>>`;
  }
  const lines = Object.entries(properties ?? {}).map(([name, schema]) => {
    const type = typeOf(schema, direction);
    const field = required.includes(name) ? `${name}: ${type}` : `${name}?: ${optional(type)}`;
    return `${docOf(schema.description)}readonly ${field};`;
  });
  return `{\n${lines.join('\n')}\n}`;
}

/** `unknown` includes undefined already. */
const optional = (type: string): string => (type === 'unknown' ? type : `${type} | undefined`);

/** Does not repeat what the type says already. */
const SAID = new Set(['Any JSON value.']);

export const docOf = (description: string | undefined): string =>
  description === undefined || SAID.has(description) ? '' : `/** ${description.replaceAll('*/', '*\\/')} */\n`;
