import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import type { Schema } from './schema.ts';
import { unstorable } from './storable.ts';

const paths = (schema: Schema) => unstorable(schema).map(({ path }) => path);
const tree: z.ZodType = z.object({
  name: z.string(),
  get children() {
    return z.array(tree);
  },
});

describe('unstorable', () => {
  it.each<[string, Schema]>([
    ['plain values', z.object({ s: z.string(), n: z.number(), b: z.boolean(), z: z.null(), i: z.int() })],
    ['formats and coercion', z.object({ at: z.iso.datetime(), id: z.uuid(), n: z.coerce.number() })],
    ['optional members', z.object({ a: z.string().optional(), b: z.undefined(), c: z.literal([1, undefined]) })],
    ['defaults', z.object({ a: z.string().default('x'), b: z.number().prefault(1), c: z.string().catch('x') })],
    ['nested', z.object({ a: z.array(z.record(z.string(), z.tuple([z.string(), z.number()]).rest(z.boolean()))) })],
    ['unions', z.union([z.string(), z.object({ a: z.string() }).and(z.object({ b: z.string() }))])],
    ['enums and literals', z.object({ a: z.enum(['x']), b: z.literal(1), c: z.templateLiteral(['a', z.number()]) })],
    ['recursion', tree],
    ['any JSON', z.json()],
    ['what is left open', z.object({ a: z.unknown(), b: z.any(), c: z.custom<string>() })],
    ['a pipe without a transform', z.string().pipe(z.string().min(1))],
    ['readonly, nullable, branded', z.object({ a: z.string().nullable().brand('A') }).readonly()],
    ['zod/mini', mini.object({ a: mini.optional(mini.string()) })],
  ])('accepts %s', (_, schema) => expect(unstorable(schema)).toEqual([]));

  it.each<[string, Schema]>([
    ['a date', z.date()],
    ['a coerced date', z.coerce.date()],
    ['a bigint', z.bigint()],
    ['a 64-bit integer', z.int64()],
    ['a map', z.map(z.string(), z.string())],
    ['a set', z.set(z.string())],
    ['a symbol', z.symbol()],
    ['a function', z.function() as unknown as Schema],
    ['a promise', z.promise(z.string())],
    ['a file', z.file()],
    ['NaN', z.nan()],
    ['a class', z.instanceof(URL)],
    ['a transform', z.string().transform((s) => s.length)],
    ['a preprocessor', z.preprocess((v) => v, z.string())],
    ['a codec', z.codec(z.string(), z.number(), { decode: Number, encode: String })],
    ['a string as a boolean', z.stringbool()],
    ['a bigint literal', z.literal(1n)],
    ['what may be undefined', z.string().optional()],
    ['undefined in a union', z.union([z.string(), z.undefined()])],
    ['a transform in zod/mini', mini.pipe(mini.string(), mini.transform(String))],
  ])('refuses %s, wherever it is', (_, schema) => {
    expect(paths(schema)).toContain('');
    expect(paths(z.object({ list: z.array(schema) }))).toContain('list[]');
  });

  it('names the path', () => {
    const schema = z.object({
      a: z.object({ when: z.date() }),
      byId: z.record(z.string(), z.bigint()),
      pair: z.tuple([z.string(), z.date()]).rest(z.set(z.string())),
      either: z.union([z.string(), z.object({ at: z.date().nullable() })]),
      lazy: z.lazy(() => z.array(z.map(z.string(), z.string()))),
      extra: z.object({}).catchall(z.date()),
      optional: z.date().optional(),
    });
    expect(paths(schema)).toEqual([
      'a.when',
      'byId.*',
      'pair[1]',
      'pair[]',
      'either.at',
      'lazy[]',
      'extra.*',
      'optional',
    ]);
  });

  it('says what to use instead', () => {
    expect(unstorable(z.object({ at: z.date() }))[0]?.problem).toContain('z.iso.datetime()');
    expect(unstorable(z.array(z.string().optional()))[0]?.problem).toContain('nullable()');
  });
});
