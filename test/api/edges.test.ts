/** What is declared of commands, tools and forms beside an operation: each place in a text is a field that is there. */

import { type ApiSchema, documentOf } from '@tidemark/api';
import { EDGES } from '@tidemark/client/declared-edges';
import { inWords, requestOf, type Words } from '@tidemark/client/edges';
import { expect, it } from 'vitest';

const document = documentOf();

/** Names of all fields of an object, or of a list's items. */
function schemaAt(schema: ApiSchema | undefined, path: readonly string[]): ApiSchema | undefined {
  if (schema?.$ref !== undefined) return schemaAt(document.components.schemas[schema.$ref.split('/').at(-1)!], path);
  const [first, ...rest] = path;
  if (schema === undefined || first === undefined) return schema;
  if (schema.anyOf !== undefined) {
    const found = schema.anyOf.map((each) => schemaAt(each, path));
    return found.find((each) => each !== undefined);
  }
  if (schema.type === 'array') return schemaAt(schema.items, /^\d+$/.test(first) ? rest : path);
  return schemaAt(schema.properties?.[first], rest);
}

const textsIn = (words: Words | undefined): readonly string[] =>
  words === undefined
    ? []
    : typeof words === 'string'
      ? [words]
      : words.flatMap((each) => (typeof each === 'string' ? [each] : [`{${each[0].replace('!', '')}}`, each[1]]));

const placesIn = (words: Words | undefined): readonly string[] =>
  textsIn(words).flatMap((text) => [...text.matchAll(/\{([\w.]+)/g)].map(([, place]) => place!));

it.each(EDGES.map((edge) => [edge.endpoint, edge] as const))(
  '%s',
  (endpoint, { fields, commands = [], tools = [], forms = [] }) => {
    const [method, path] = endpoint.split(' ') as [string, string];
    const { responses } = document.paths[path]![method.toLowerCase()]!;
    const answer = Object.entries(responses).find(([status]) => status.startsWith('2'))![1].content![
      'application/json'
    ]!.schema;
    const given = [...fields.map(({ name }) => name), 'holder'];
    const unknown = (words: Words | undefined, item: readonly string[] = []) =>
      placesIn(words).filter((place) => {
        const isGiven = item.length === 0 && given.includes(place);
        return !isGiven && schemaAt(answer, [...item, ...place.split('.')]) === undefined;
      });
    for (const { says, warns, rows } of commands) {
      expect(unknown(says)).toEqual([]);
      if (warns !== undefined) expect(unknown(warns[1], [warns[0]])).toEqual([]);
      if (rows === undefined) continue;
      expect(unknown(rows.none)).toEqual([]);
      for (const [, words] of rows.columns) expect(unknown(words, [rows.of])).toEqual([]);
      if (rows.each !== undefined) expect(unknown([rows.each], [rows.of])).toEqual([]);
    }
    for (const { says, each } of tools) {
      expect(unknown(says)).toEqual([]);
      if (each !== undefined) expect(unknown(each[1], [each[0]])).toEqual([]);
    }
    for (const { sends = {} } of forms) expect(Object.keys(sends).filter((name) => !given.includes(name))).toEqual([]);
  },
);

it('an empty list says what it was narrowed to', () => {
  const filters = EDGES.flatMap(({ commands = [] }) =>
    commands.flatMap(({ name, takes = {}, options = {}, rows }) =>
      rows === undefined || name === 'jobs show'
        ? []
        : [
            ...Object.entries(takes).flatMap(([field, [shown] = ['']]) => (shown.startsWith('[') ? [field] : [])),
            ...Object.entries(options).flatMap(([field, about]) => (about === 'of this tenant only' ? [field] : [])),
          ].map((field) => ({ name, field, none: rows.none })),
    ),
  );
  expect(filters.length).toBeGreaterThan(3);
  for (const { name, field, none } of filters)
    expect([name, placesIn(none)]).toEqual([name, expect.arrayContaining([field])]);
});

it('a tool asks for its own tenant alone, and for one user where the server serves one', () => {
  const own = EDGES.filter(({ tools = [] }) => tools.length > 0);
  expect(own.length).toBeGreaterThan(3);
  for (const { endpoint, fields } of own) {
    expect([endpoint, fields.map(({ name }) => name)]).toEqual([endpoint, expect.arrayContaining(['tenant'])]);
    expect([endpoint, fields.some(({ name, kind }) => name === 'user' || kind === 'subject')]).toEqual([
      endpoint,
      true,
    ]);
  }
});

it('no field has a name that means something else in the words of a command', () => {
  for (const { endpoint, fields } of EDGES)
    expect([endpoint, fields.find(({ name }) => name === 'holder')]).toEqual([endpoint, undefined]);
});

it('a text that names no field is found (control)', () => {
  expect(schemaAt(document.components.schemas.Queue, ['held', 'whom'])).toBeUndefined();
  expect(schemaAt(document.components.schemas.Queue, ['held', 'by'])).toBeDefined();
});

it('words are those of the first condition that holds; lists stand with commas, and what is missing has its own text', () => {
  const of = [
    {
      held: [
        { by: 'ana', tenant: null },
        { by: 'ben', tenant: null },
      ],
      changed: false,
      next: ['a', 'b'],
    },
  ];
  const shown = (_: string, value: unknown) => String(value);
  const words = [
    ['changed', 'no'],
    ['!next', 'no'],
    ['held', '{held.by} for {held.tenant|all}, {next.0}{none}'],
  ] as const;
  expect(inWords(words, of, shown)).toBe('ana, ben for all, a');
  expect(inWords([['changed', 'x']], of, shown)).toBe('');
});

it('a request has each value where the operation takes it, and nothing else', () => {
  const pause = EDGES.find(({ endpoint }) => endpoint === 'POST /v1/queues/{queue}/pause')!;
  expect(requestOf(pause, { queue: 'q', why: 'w', more: 1 })).toEqual({ params: { queue: 'q' }, body: { why: 'w' } });
  const list = EDGES.find(({ endpoint }) => endpoint === 'GET /v1/queues')!;
  expect(requestOf(list, { content: false }).query).toEqual({ content: 'false' });
});
