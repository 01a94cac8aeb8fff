/** Published schemas: each pattern compiles in Python, as OpenAI compiles them, and tools keep to the subset of decision 0079. */

import { execFileSync } from 'node:child_process';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { type Published, patternsOf, published, written } from './published.ts';

let all: Published;

beforeAll(async () => {
  all = await published();
});

/** Reads places and patterns, and prints those that it refuses. */
const PYTHON = `
import json, re, sys
for place, pattern in json.load(sys.stdin):
    try: re.compile(pattern)
    except re.error as error: print(f"{place}: {pattern}: {error}")
`;

it('compile in Python, and what does not is found (control)', (context) => {
  const patterns = patternsOf(all);
  expect(patterns.length).toBeGreaterThan(100);
  const input = JSON.stringify([...patterns, ['control', '\\p{L}']]);
  let said = '';
  try {
    said = execFileSync('python3', ['-c', PYTHON], { encoding: 'utf8', input });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || process.env.CI === 'true') throw error;
    return context.skip('python3 is not installed');
  }
  expect(said).toBe('control: \\p{L}: bad escape \\p at position 0\n');
});

const KEYWORDS: Readonly<Record<string, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties'],
  array: ['items', 'minItems', 'maxItems'],
  string: ['enum', 'minLength', 'maxLength', 'pattern'],
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  boolean: [],
  null: [],
};

/** What of a schema is outside of the subset. */
function outside(schema: unknown, place: string): string[] {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return [`${place}: ${String(schema)}`];
  const { type, description: _, anyOf, ...rest } = schema as Record<string, never>;
  const known = type === undefined ? [] : KEYWORDS[type];
  if (known === undefined) return [`${place}: type ${JSON.stringify(type)}`];
  const { properties = {}, required = [], items, additionalProperties: others = false } = rest as Record<string, never>;
  return [
    ...Object.keys(rest).flatMap((name) => (known.includes(name) ? [] : [`${place}: ${name}`])),
    ...(type === 'object' && rest.properties === undefined ? [`${place}: no properties`] : []),
    ...(required as string[]).flatMap((name) =>
      Object.hasOwn(properties, name) ? [] : [`${place}: requires ${name}`],
    ),
    ...Object.keys(properties).flatMap((name) => (/^[A-Za-z0-9_.-]{1,64}$/.test(name) ? [] : [`${place}: ${name}`])),
    ...Object.entries(properties).flatMap(([name, one]) => outside(one, `${place}.${name}`)),
    ...(type === 'array' ? typed(items, `${place}[]`) : []),
    ...(others === false ? [] : typed(others, `${place}.*`)),
    ...((anyOf as unknown[] | undefined) ?? []).flatMap((one, at) => typed(one, `${place}|${at}`)),
    ...((rest.enum as unknown[] | undefined) ?? ['x']).flatMap((one) =>
      typeof one === 'string' && one !== '' ? [] : [`${place}: value ${JSON.stringify(one)}`],
    ),
  ];
}

const typed = (schema: unknown, place: string): string[] => {
  const { type, anyOf } = (schema ?? {}) as Record<string, unknown>;
  return type === undefined && anyOf === undefined ? [`${place}: of any type`] : outside(schema, place);
};

it('keeps to the subset of JSON Schema that all clients take, with an object at the top', () => {
  const found = [...all.objects].flatMap(([name, schema]) => [
    ...((schema as { type?: unknown }).type === 'object' ? [] : [`${name}: no object`]),
    ...outside(schema, name),
  ]);
  expect(found).toEqual([]);
  expect(all.objects.size).toBe(43);
});

it('finds what is outside of the subset (control)', () => {
  const wrong = z.toJSONSchema(written, { target: 'draft-7', io: 'input', reused: 'inline' });
  expect(new Set(outside(wrong, '').map((found) => found.split(': ')[1]))).toEqual(
    new Set([
      '$schema',
      'definitions',
      'format',
      'oneOf',
      '$ref',
      'not',
      'of any type',
      'propertyNames',
      'exclusiveMinimum',
      'additionalItems',
      'no properties',
    ]),
  );
});
