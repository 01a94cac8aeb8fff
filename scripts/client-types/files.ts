/** Owns which file of the client has which types of the API: one per chapter of its reference. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { ApiOperation, ApiSchema, ApiSchemas, OpenApiDocument } from '@tidemark/api';
import { edgesFile } from './edges.ts';
import { type Direction, docOf, namedIn, REFERENCE, referredBy, typeOf } from './types.ts';

interface Endpoint {
  /** `GET /v1/workflows/{workflow}`. */
  readonly name: string;
  readonly summary: string;
  readonly chapter: string;
  readonly isStream: boolean;
  /** Beside what the path names. */
  readonly sent: readonly (readonly [part: 'query' | 'body', ApiSchema])[];
  /** For a stream, events by their names; else one answer for each status of success. */
  readonly answered: readonly (readonly [name: string, ApiSchema])[];
}

/** For shapes of more than one chapter. */
const SHAPES_FILE = 'shapes.ts';
/** The event that only says that no more will come: the client ends there. */
const LAST_EVENT = 'end';

/** Each file by its name, its text not yet formatted. Shapes of more than one chapter have a file of their own; chapters import nothing of each other. */
export function clientTypeFiles(document: OpenApiDocument): ReadonlyMap<string, string> {
  const components = document.components.schemas;
  const endpoints = endpointsOf(document);
  const byChapter = Map.groupBy(endpoints, ({ chapter }) => chapter);
  const used = new Map([...byChapter].map(([chapter, own]) => [chapter, usedBy(own, components)]));
  const homeOf = (name: string): string => {
    const users = [...used].filter(([, shapes]) => shapes.has(name));
    return users.length === 1 ? fileName(users[0]![0]) : SHAPES_FILE;
  };
  const directions = new Map([...used.values()].flatMap((shapes) => [...shapes]));
  const shapesIn = (file: string): string[] =>
    [...directions]
      .filter(([name]) => homeOf(name) === file)
      .map(([name, direction]) => shapeOf(name, components, direction));
  const files = [...byChapter].map(([chapter, own]): readonly [string, string] => {
    const [streams, asked] = [own.filter(({ isStream }) => isStream), own.filter(({ isStream }) => !isStream)];
    const text = [
      tableOf(`${pascal(chapter)}Endpoints`, asked, components),
      tableOf(`${pascal(chapter)}Streams`, streams, components),
      ...shapesIn(fileName(chapter)),
    ].join('\n');
    const shared = [...used.get(chapter)!.keys()].filter(
      (name) => homeOf(name) === SHAPES_FILE && mentions(text, name),
    );
    return [fileName(chapter), headed(`the types of the API's chapter "${chapter}"`, text, shared)];
  });
  const shapes = headed('the types that several chapters of the API share', shapesIn(SHAPES_FILE).join('\n'), []);
  return new Map([
    ...files,
    [SHAPES_FILE, shapes],
    ['table.ts', tableFile(endpoints)],
    ['edges.ts', edgesFile(document)],
  ]);
}

/** The shapes that endpoints need, also indirectly, each with its direction. */
function usedBy(endpoints: readonly Endpoint[], components: ApiSchemas): ReadonlyMap<string, Direction> {
  const found = new Map<string, Direction>();
  const use = (schema: ApiSchema, direction: Direction): void => {
    for (const name of namedIn(schema)) {
      if (found.has(name)) continue;
      found.set(name, direction);
      use(components[name]!, direction);
      const base = baseOf(components[name]!, components);
      if (base !== undefined) use({ $ref: `${REFERENCE}${base}` }, direction);
    }
  };
  for (const { sent, answered } of endpoints) {
    for (const [, schema] of sent) use(schema, 'sent');
    for (const [, schema] of answered) use(schema, 'answered');
  }
  return found;
}

/** Properties that a shape has at least, so that another one extends it. */
const BASE_MIN_COUNT = 5;

/** The largest shape of which this one has every property, and more. */
function baseOf({ properties = {}, required = [] }: ApiSchema, components: ApiSchemas): string | undefined {
  const own = Object.keys(properties);
  const sizeOf = ({ properties: of = {} }: ApiSchema): number => Object.keys(of).length;
  return Object.entries(components)
    .filter(([, base]) => sizeOf(base) >= BASE_MIN_COUNT && sizeOf(base) < own.length)
    .filter(([, { properties: of, required: needs = [] }]) =>
      Object.entries(of!).every(
        ([name, schema]) =>
          isDeepStrictEqual(properties[name], schema) && required.includes(name) === needs.includes(name),
      ),
    )
    .toSorted(([, a], [, b]) => sizeOf(b) - sizeOf(a))[0]?.[0];
}

const mentions = (text: string, name: string): boolean =>
  new RegExp(`(?<!interface)[ (]${name}\\b`).test(text.replaceAll(/\/\*\*.*?\*\//g, ''));

function endpointsOf({ paths }: OpenApiDocument): Endpoint[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => {
      const events = operation['x-events'];
      const body = operation.requestBody?.content['application/json'].schema;
      return {
        name: `${method.toUpperCase()} ${path}`,
        summary: operation.summary,
        chapter: operation.tags[0],
        isStream: events !== undefined,
        sent: [...queryOf(operation), ...(body === undefined ? [] : [['body', body] as const])],
        answered: events === undefined ? answersOf(operation) : Object.entries(events),
      };
    }),
  );
}

const answersOf = ({ responses }: ApiOperation): Endpoint['answered'] =>
  Object.entries(responses)
    .filter(([status]) => /^2\d\d$/.test(status))
    .map(([status, { content }]) => [status, content!['application/json']!.schema] as const);

function queryOf({ parameters }: ApiOperation) {
  const own = parameters.filter((parameter) => parameter.in === 'query');
  if (own.length === 0) return [];
  const properties = own.map(({ name, description, schema }) =>
    description === undefined ? ([name, schema] as const) : ([name, { ...schema, description }] as const),
  );
  const required = own.filter((parameter) => parameter.required).map(({ name }) => name);
  return [['query', { type: 'object', properties: Object.fromEntries(properties), required }] as const];
}

function tableOf(name: string, endpoints: readonly Endpoint[], components: ApiSchemas): string {
  if (endpoints.length === 0) return '';
  const rows = endpoints.map((endpoint) => {
    const sent = endpoint.sent.map(([part, schema]) => {
      const type = typeOf(schema, 'sent');
      return isOptional(schema, components) ? `readonly ${part}?: ${type} | undefined;` : `readonly ${part}: ${type};`;
    });
    const input = sent.length === 0 ? 'unknown' : `{ ${sent.join('\n')} }`;
    return `${docOf(endpoint.summary)}readonly '${endpoint.name}': { readonly input: ${input}; ${outputType(endpoint)} };`;
  });
  return `export interface ${name} {\n${rows.join('\n')}\n}\n`;
}

function outputType({ isStream, answered }: Endpoint): string {
  if (!isStream)
    return `readonly answer: ${[...new Set(answered.map(([, of]) => typeOf(of, 'answered')))].join(' | ')}`;
  const events = answered.filter(([name]) => name !== LAST_EVENT);
  const types = events.map(([name, of]) => `{ readonly name: '${name}'; readonly data: ${typeOf(of, 'answered')} }`);
  return `readonly event: ${types.join(' | ')}`;
}

/** Whether it may be left out altogether. */
function isOptional(schema: ApiSchema, components: ApiSchemas): boolean {
  const name = referredBy(schema);
  const { anyOf, required = [] } = name === undefined ? schema : components[name]!;
  return anyOf === undefined && required.length === 0;
}

function shapeOf(name: string, components: ApiSchemas, direction: Direction): string {
  const schema = components[name]!;
  const base = baseOf(schema, components);
  if (base !== undefined) {
    const further = Object.entries(schema.properties!).filter(([of]) => !(of in components[base]!.properties!));
    const type = typeOf({ ...schema, properties: Object.fromEntries(further) }, direction);
    return `${docOf(schema.description)}export interface ${name} extends ${base} ${type}\n`;
  }
  const type = typeOf(schema, direction);
  const declared =
    type.startsWith('{\n') && schema.anyOf === undefined ? `interface ${name} ${type}` : `type ${name} = ${type};`;
  return `${docOf(schema.description)}export ${declared}\n`;
}

const MADE = 'Made by `node scripts/client-types.ts` from the declarations of the routes.';

function headed(owns: string, text: string, shared: readonly string[]): string {
  const imports = [
    ...(mentions(text, 'Json') ? [`import type { Json } from '../json.ts';`] : []),
    ...(shared.length > 0 ? [`import type { ${shared.toSorted().join(', ')} } from './${SHAPES_FILE}';`] : []),
  ];
  return `/** Owns ${owns}. ${MADE} */\n\n${imports.join('\n')}\n\n${text}`;
}

function tableFile(endpoints: readonly Endpoint[]): string {
  const tables = (ofStreams: boolean): { readonly chapter: string; readonly name: string }[] => {
    const chapters = new Set(endpoints.filter(({ isStream }) => isStream === ofStreams).map(({ chapter }) => chapter));
    return [...chapters].map((chapter) => ({
      chapter,
      name: `${pascal(chapter)}${ofStreams ? 'Streams' : 'Endpoints'}`,
    }));
  };
  const [asked, followed] = [tables(false), tables(true)];
  const imports = [...asked, ...followed].map(
    ({ chapter, name }) => `import type { ${name} } from './${fileName(chapter)}';`,
  );
  const names = (list: typeof asked): string => list.map(({ name }) => name).join(', ');
  return `/** Owns the table of all endpoints by method and path. ${MADE} */

${imports.sort().join('\n')}

export interface Endpoints extends ${names(asked)} {}

export interface Streams extends ${names(followed)} {}
`;
}

const words = (chapter: string): string[] => chapter.toLowerCase().split(/\s+/);
const fileName = (chapter: string): string => `${words(chapter).join('-')}.ts`;
const pascal = (chapter: string): string =>
  words(chapter)
    .map((word) => `${word[0]!.toUpperCase()}${word.slice(1)}`)
    .join('');
