import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { portablePattern, portableSchema, publishedSchema } from './index.ts';

const input = (schema: z.ZodType) => publishedSchema(schema, { io: 'input' });

describe('a portable pattern', () => {
  it.each([
    ['^[0-9a-f]{12}$', '^[0-9a-f]{12}$'],
    ['^\\d+[\\w.-]?$', '^[0-9]+[A-Za-z0-9_.\\-]?$'],
    ['[^\\u0000-\\u001f]', '[^\\x00-\\x1f]'],
    ['^https\\:\\/\\/', '^https://'],
    ['[a[\\]&&~]', '[a\\[\\]\\x26\\x26\\x7e]'],
    ['(?<year>\\d{4})', '([0-9]{4})'],
    ['a{x}', 'a\\{x\\}'],
    ['é\\u{1F600}', 'é😀'],
  ])('of %s is %s', (source, portable) => {
    expect(portablePattern(source)).toBe(portable);
  });

  it.each([
    '^(?!x)',
    '(?=x)',
    '(?<=x)y',
    '(?<!x)y',
    '\\p{L}',
    '[^\\P{L}]',
    '(a)\\1',
    '(?<n>a)\\k<n>',
    '\\bword',
    '[^]',
    '[]',
    'a{1001}',
    '(?:a{100}){11}',
    '\\ud800',
    '[\\D]',
    '^*',
    'a'.repeat(1_001),
  ])('of %s is none', (source) => {
    expect(portablePattern(source)).toBeUndefined();
  });

  it.each(['i', 'm', 's', 'iu'])('is none where the flag %s changes what it means', (flags) => {
    expect(portablePattern('^a.b$', flags)).toBeUndefined();
  });

  it('matches what the given one matches', () => {
    const piece = fc.constantFrom(
      'a',
      '-',
      '\\d',
      '[\\w-]',
      '\\s',
      '(?:b|\\u00e9)',
      '[^\\d&]',
      '.',
      '\\/',
      '[a-f~]',
      '{',
      '\\x41',
    );
    const pattern = fc.array(fc.tuple(piece, fc.constantFrom('', '*', '+', '?', '{1,3}')), { maxLength: 6 });
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', '-', '1', '_', ' ', '\u00a0', 'é', '&', '~', '/', '{', 'A', '٣', '\n'),
      maxLength: 8,
    });
    fc.assert(
      fc.property(pattern, text, (pieces, value) => {
        const source = `^${pieces.map((parts) => parts.join('')).join('')}$`;
        const portable = portablePattern(source);
        expect(portable).toBeDefined();
        expect(new RegExp(portable!, 'u').test(value)).toBe(new RegExp(source).test(value));
      }),
    );
  });
});

describe('a published schema', () => {
  it('leaves out what some clients refuse, and says it', () => {
    const schema = z.object({
      name: z.string().regex(/^(?!\s*$)[^\p{Cc}]*$/u),
      code: z.string().regex(/^ab$/i),
      mail: z.email(),
      pair: z.tuple([z.string(), z.number()]),
      some: z.array(z.unknown()),
      any: z.json(),
      above: z.number().gt(3).multipleOf(0.5),
      level: z.literal([1, 2]).default(1),
      kind: z.union([z.literal('a'), z.enum(['b', 'c'])]),
      none: z.never().optional(),
      byName: z.record(z.enum(['x', 'y']), z.int()),
      'not a name': z.string(),
    });
    expect(input(schema)).toEqual({
      type: 'object',
      description: 'Takes as well: "not a name" (string).',
      properties: {
        name: { type: 'string', description: 'Matches /^(?!\\s*$)[^\\p{Cc}]*$/.' },
        code: { type: 'string' },
        mail: { type: 'string', description: 'Format: email.' },
        pair: {
          type: 'array',
          description: 'A list of 2, in this order: string, number.',
          items: { anyOf: [{ type: 'string' }, { type: 'number' }] },
          minItems: 2,
          maxItems: 2,
        },
        some: { description: 'A list.' },
        any: {},
        above: { type: 'number', description: 'More than 3.\nA multiple of 0.5.', minimum: 3 },
        level: { type: 'number', description: 'One of 1, 2.\nDefault: 1.' },
        kind: { type: 'string', enum: ['a', 'b', 'c'] },
        byName: {
          type: 'object',
          properties: { x: { type: 'integer' }, y: { type: 'integer' } },
          required: ['x', 'y'],
          additionalProperties: false,
        },
      },
      required: ['name', 'code', 'mail', 'pair', 'some', 'any', 'above', 'kind', 'byName'],
    });
  });

  it('makes one object of several forms, at the top', () => {
    const schema = z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('file'), path: z.string() }),
      z.strictObject({ kind: z.literal('line'), path: z.string(), line: z.int().optional() }),
    ]);
    expect(input(schema)).toEqual({
      type: 'object',
      description:
        'One of these forms: {"kind":"file","path":"string"} or {"kind":"line","path":"string","line?":"integer"}.',
      properties: {
        kind: { type: 'string', enum: ['file', 'line'] },
        path: { type: 'string' },
        line: { type: 'integer' },
      },
      required: ['kind', 'path'],
      additionalProperties: false,
    });
    expect(input(z.object({ at: schema })).properties!.at!.anyOf).toHaveLength(2);
  });

  it('unfolds a recursive schema once, and ends', () => {
    const tree: z.ZodType = z.object({
      name: z.string(),
      get kids() {
        return z.array(tree);
      },
    });
    const again = { type: 'object', description: 'The same form again.', properties: {} };
    const kids = (items: object) => ({ type: 'array', items });
    const whole = (items: object) => ({
      type: 'object',
      properties: { name: { type: 'string' }, kids: kids(items) },
      required: ['name', 'kids'],
    });
    expect(input(tree)).toEqual(whole(whole(again)));
  });

  it.each([
    ['a bigint', z.object({ order: z.object({ cents: z.bigint() }) }), 'order.cents'],
    ['a date', z.object({ at: z.date() }), 'at'],
    ['a transformation, received', z.object({ n: z.string().transform(Number) }), 'n'],
  ])('refuses %s by its place', (_, schema, place) => {
    expect(() => publishedSchema(schema, { io: 'output' })).toThrow(
      expect.objectContaining({ code: 'schema-unrepresentable', message: expect.stringContaining(`at ${place}: `) }),
    );
  });

  it('closes objects where it is told to, but for those that are open on purpose', () => {
    const schema = z.object({ a: z.object({}), b: z.looseObject({}), c: z.record(z.string(), z.string().min(1)) });
    expect(publishedSchema(schema, { io: 'input', isClosed: true })).toEqual({
      type: 'object',
      properties: {
        a: { type: 'object', properties: {}, additionalProperties: false },
        b: { type: 'object', properties: {} },
        c: {
          type: 'object',
          properties: {},
          additionalProperties: { type: 'string', description: 'Has at least 1 characters.' },
        },
      },
      required: ['a', 'b', 'c'],
      additionalProperties: false,
    });
  });

  it('takes each value that the given schema takes', () => {
    const leaf: fc.Arbitrary<readonly [z.ZodType, fc.Arbitrary<unknown>]> = fc.constantFrom(
      [z.string().min(1).max(3), fc.string({ minLength: 1, maxLength: 3 })] as const,
      [z.int().min(-2).lt(9), fc.integer({ min: -2, max: 8 })] as const,
      [z.number().gt(1).multipleOf(2), fc.integer({ min: 1, max: 9 }).map((n) => n * 2)] as const,
      [z.literal(['a', 7, null]), fc.constantFrom('a', 7, null)] as const,
      [z.enum(['', 'x']), fc.constantFrom('', 'x')] as const,
      [z.json(), fc.jsonValue()] as const,
      [z.string().regex(/^[A-F]\d$/i), fc.constantFrom('a1', 'F2')] as const,
      [z.email(), fc.constant('a@b.example')] as const,
      [z.boolean().nullable(), fc.constantFrom(true, null)] as const,
      [z.array(z.unknown()), fc.array(fc.jsonValue())] as const,
    );
    const schema = fc.letrec<{ any: readonly [z.ZodType, fc.Arbitrary<unknown>] }>((tie) => ({
      any: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        leaf,
        tie('any').map(([one, value]) => [z.array(one).max(2), fc.array(value, { maxLength: 2 })] as const),
        fc.tuple(tie('any'), tie('any')).map(([[a, x], [b, y]]) => [z.tuple([a, b]), fc.tuple(x, y)] as const),
        fc.tuple(tie('any'), tie('any')).map(([[a, x], [b, y]]) => [z.union([a, b]), fc.oneof(x, y)] as const),
        fc
          .tuple(tie('any'), tie('any'))
          .map(
            ([[a, x], [b, y]]) =>
              [z.object({ a, b: b.optional() }), fc.record({ a: x, b: y }, { requiredKeys: ['a'] })] as const,
          ),
        fc
          .tuple(tie('any'), tie('any'))
          .map(
            ([[a, x], [b, y]]) =>
              [z.intersection(z.object({ a }), z.object({ b })), fc.record({ a: x, b: y })] as const,
          ),
        tie('any').map(
          ([one, value]) => [z.record(z.string(), one), fc.dictionary(fc.constantFrom('p', 'q r'), value)] as const,
        ),
        tie('any').map(([one, value]) => [z.strictObject({ ü: one }), fc.record({ ü: value })] as const),
      ),
    }));
    const cases = schema.any.chain(([one, value]) => value.map((given) => [one, given] as const));
    fc.assert(
      fc.property(cases, ([one, value]) => {
        fc.pre(one.safeParse(value).success);
        const portable = input(one);
        const judge = z.fromJSONSchema(portable as never);
        expect(judge.safeParse(value), JSON.stringify({ portable, value })).toMatchObject({ success: true });
      }),
    );
  });

  it('is portable already where it is, and takes whatever it is given', () => {
    const words = fc.constantFrom<unknown>(
      'string',
      'object',
      'array',
      ['string', 'null'],
      7,
      null,
      'x',
      '#',
      '#/properties/a',
      true,
    );
    const schema = fc.letrec<{ any: unknown }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        words,
        fc.dictionary(
          fc.constantFrom(
            'type',
            '$ref',
            'items',
            'additionalProperties',
            'not',
            'const',
            'pattern',
            'format',
            'minimum',
            'propertyNames',
          ),
          tie('any'),
        ),
        fc.record(
          {
            type: words,
            properties: fc.dictionary(fc.constantFrom('a', 'ü', '__proto__', 'x y'), tie('any')),
            required: fc.array(words, { maxLength: 3 }),
            anyOf: fc.array(tie('any'), { maxLength: 3 }),
            allOf: fc.array(tie('any'), { maxLength: 3 }),
            enum: fc.array(words, { maxLength: 3 }),
            prefixItems: fc.array(tie('any'), { maxLength: 3 }),
            description: words,
            default: words,
          },
          { requiredKeys: [] },
        ),
      ),
    }));
    fc.assert(
      fc.property(schema.any, fc.boolean(), (given, isClosed) => {
        const portable = portableSchema(given as object, { isClosed });
        expect(portableSchema(portable)).toEqual(portable);
      }),
      { numRuns: 200 },
    );
  });

  it('is bounded, whatever refers to what', () => {
    const names = Array.from({ length: 30 }, (_, at) => `d${at}`);
    const properties = Object.fromEntries(names.map((name) => [name, { $ref: `#/$defs/${name}` }]));
    const bomb = {
      type: 'object',
      properties,
      $defs: Object.fromEntries(names.map((name) => [name, { type: 'object', properties }])),
    };
    expect(JSON.stringify(portableSchema(bomb)).length).toBeLessThan(200_000);
    const loop = {
      allOf: [{ $ref: '#' }, { $ref: '#' }],
      anyOf: [{ $ref: '#' }],
      properties: { a: { $ref: '#/properties/a' } },
    };
    expect(portableSchema(loop)).toBeDefined();
    for (const within of [(of: object) => ({ type: 'array', items: of }), (of: object) => ({ allOf: [of] })]) {
      let deep: object = { type: 'string' };
      for (let at = 0; at < 20_000; at++) deep = within(deep);
      expect(JSON.stringify(portableSchema(deep)).length).toBeLessThan(2_000);
    }
    expect(portableSchema({ type: 'object', allOf: Array.from({ length: 5_000 }, () => ({ $ref: '#' })) })).toEqual({
      type: 'object',
      properties: {},
    });
  });

  it.each([
    ['a schema that is true', { type: 'object', properties: { a: true } }, { type: 'object', properties: { a: {} } }],
    [
      'a list without items',
      { type: 'object', properties: { a: { type: 'array' } } },
      { type: 'object', properties: { a: { description: 'A list.' } } },
    ],
    [
      'a list of types',
      { type: 'object', properties: { a: { type: ['array', 'null'], items: { type: ['string', 'null'] } } } },
      {
        type: 'object',
        properties: {
          a: { anyOf: [{ type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'null' }] } }, { type: 'null' }] },
        },
      },
    ],
    [
      'conditions',
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        if: {},
        not: { required: ['c'] },
        anyOf: [{ required: ['a'] }, { required: ['b'] }],
      },
      { type: 'object', properties: { a: { type: 'string' } } },
    ],
    ['required members that are not there', { type: 'object', required: ['x'] }, { type: 'object', properties: {} }],
    ['no schema at all', 'text', {}],
  ])('takes %s', (_, given, portable) => {
    expect(portableSchema(given as object)).toEqual(portable);
  });
});
