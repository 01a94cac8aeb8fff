import { expect, it } from 'vitest';
import { type Draft, draftOf, fieldOf, problemsAfter, problemsOf, readForm } from './fields.ts';

/** As the SDK draws up a form of zod's. */
const schema = {
  type: 'object',
  properties: {
    cents: { type: 'integer', minimum: 1, maximum: 5_000 },
    note: { type: 'string', maxLength: 20 },
    urgent: { type: 'boolean' },
    how: { default: 'card', type: 'string', enum: ['bank', 'card'] },
    level: {
      anyOf: [
        {
          anyOf: [
            { type: 'number', const: 1 },
            { type: 'number', const: 2 },
          ],
        },
        { type: 'null' },
      ],
    },
    lines: {
      minItems: 1,
      type: 'array',
      items: {
        type: 'object',
        properties: { sku: { type: 'string', minLength: 1 }, count: { type: 'integer' } },
        required: ['sku'],
      },
    },
    extra: { type: 'object', propertyNames: { type: 'string' }, additionalProperties: {} },
  },
  required: ['cents', 'urgent', 'level', 'lines'],
};
const field = fieldOf(schema);
const filled = (more: Readonly<Record<string, Draft>> = {}): Draft => ({
  ...(draftOf(field) as Readonly<Record<string, Draft>>),
  ...{ cents: '12', urgent: 'true', lines: [{ sku: 'a', count: '' }] },
  ...more,
});

it('makes fields of a schema, and a value of what is typed into them', () => {
  const kinds = field.kind === 'group' ? field.members.map(({ name, field: { kind } }) => [name, kind]) : [];
  expect(kinds).toEqual([
    ['cents', 'number'],
    ['note', 'text'],
    ['urgent', 'flag'],
    ['how', 'choice'],
    ['level', 'choice'],
    ['lines', 'list'],
    ['extra', 'json'],
  ]);
  expect(readForm(field, filled())).toEqual({
    value: { cents: 12, urgent: true, how: 'card', level: null, lines: [{ sku: 'a' }] },
    problems: new Map(),
  });
  const { value } = readForm(field, filled({ level: '1', extra: '{"a": [1]}', note: 'x', urgent: 'false', how: '0' }));
  expect(value).toMatchObject({ level: 2, extra: { a: [1] }, note: 'x', urgent: false, how: 'bank' });
});

it('names each place that is wrong', () => {
  const draft = filled({
    cents: '9000',
    urgent: '',
    note: 'x'.repeat(21),
    extra: '{',
    lines: [{ sku: '', count: '1.5' }],
  });
  expect([...readForm(field, draft).problems]).toEqual([
    ['/cents', 'It must be at most 5000.'],
    ['/note', 'At most 20 characters; these are 21.'],
    ['/urgent', 'Choose one.'],
    ['/lines/0/sku', 'Required.'],
    ['/lines/0/count', 'This is not a whole number.'],
    ['/extra', 'This is not JSON.'],
  ]);
  expect(problemsOf([{ field: 'value/lines/0/sku', problem: 'is too short' }])).toEqual(
    new Map([['/lines/0/sku', 'is too short']]),
  );
});

it('replaces what was told of a field as soon as something else stands in it', () => {
  const before = filled({ cents: '', urgent: '', lines: [{ sku: '', count: '' }] });
  const reported = new Map([...readForm(field, before).problems, ['/note', 'the server’s word']]);
  const after = { ...(before as object), cents: '9000', lines: [{ sku: 'a', count: '' }] } as Draft;
  expect([...problemsAfter(reported, field, before, after)]).toEqual([
    ['/cents', 'It must be at most 5000.'],
    ['/urgent', 'Choose one.'],
    ['/note', 'the server’s word'],
  ]);
  expect(problemsAfter(reported, field, before, { ...(after as object), note: 'b' } as Draft).has('/note')).toBe(false);
});

it('asks for what it does not know as JSON, and takes no schema at its word', () => {
  for (const odd of [null, true, 3, {}, { $ref: 'https://example.org/x' }, { allOf: [] }, { type: 'array' }]) {
    expect(fieldOf(odd).kind).toBe('json');
  }
  const loop = { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' };
  expect(['json', 'group']).toContain(fieldOf(loop).kind);
  const deep = { $defs: { n: { type: 'object', properties: { next: { $ref: '#/$defs/n' } } } }, $ref: '#/$defs/n' };
  expect(JSON.stringify(fieldOf(deep)).length).toBeLessThan(10_000);
  const { value } = readForm(
    fieldOf({ type: 'object', properties: { __proto__: {}, constructor: { type: 'string' } } }),
    {
      constructor: 'x',
    },
  );
  expect(value).toEqual({ constructor: 'x' });
  expect(
    readForm(fieldOf({ type: 'number' }), '0x10').problems.size +
      readForm(fieldOf({ type: 'number' }), 'NaN').problems.size,
  ).toBe(1);
});
