/** Owns the OpenAPI 3.1 document of the routes, generated from their declarations alone. Pure. */

import { wholeSchema } from '@tidemark/codec';
import type { z } from 'zod';
import type { ApiOperation, ApiParameter, ApiResponse, ApiSchema, OpenApiDocument } from './document.ts';
import { PROBLEM_TYPE, problemSchema } from './problem.ts';
import type { AnyRoute } from './route.ts';
import type { AnyStream } from './stream-route.ts';

/** As zod writes it: with its own name, and the names that it refers to. */
type Written = ApiSchema & {
  readonly id?: string;
  readonly $defs?: Record<string, Written>;
};

const INTRODUCTION =
  'Start, find, follow and steer workflows. Times are ISO 8601, sizes and costs say their unit. Failures are problem documents (RFC 9457) with stable codes. Fields marked `x-content` are present only for callers who may see content.';

/** Defines each schema once, and refers to it by name. */
class Components {
  readonly schemas: Record<string, ApiSchema> = {};

  of(schema: z.ZodType, io: 'input' | 'output'): ApiSchema {
    const { $defs = {}, ...own } = wholeSchema(schema, io, 'any') as Written;
    for (const [name, found] of Object.entries($defs)) this.#add(name, found);
    const name = own.id;
    if (name === undefined) return referring(own);
    this.#add(name, own);
    return { $ref: `#/components/schemas/${name}` };
  }

  #add(name: string, { id: _, ...schema }: Written): void {
    const found = referring(schema);
    const known = this.schemas[name];
    if (known !== undefined && JSON.stringify(known) !== JSON.stringify(found)) {
      throw new Error(`Two schemas of the API are named ${name}.`);
    }
    this.schemas[name] = found;
  }
}

/** Named ones are in the document's components. */
const referring = (schema: ApiSchema): ApiSchema =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as ApiSchema;

export function openApiOf(
  routes: readonly AnyRoute[],
  streams: readonly AnyStream[],
  version: string,
): OpenApiDocument {
  const components = new Components();
  const problems = { [PROBLEM_TYPE]: { schema: components.of(problemSchema, 'output') } };
  const paths: Record<string, Record<string, ApiOperation>> = {};
  const add = (
    route: AnyRoute | AnyStream,
    responses: ApiOperation['responses'],
    own: Pick<ApiOperation, 'x-events'> = {},
  ): void => {
    paths[route.path] ??= {};
    paths[route.path]![route.method.toLowerCase()] = {
      operationId: route.name,
      summary: route.summary,
      ...(route.description !== undefined && { description: route.description }),
      tags: [route.chapter],
      'x-right': route.right,
      ...('needs' in route &&
        route.needs !== undefined && { 'x-needs': route.needs.map(({ of, why }) => ({ of, why })) }),
      ...(route.problems !== undefined && { 'x-problems': route.problems }),
      ...('edges' in route && route.edges !== undefined && { 'x-edges': route.edges }),
      parameters: [...parametersOf('path', route.params), ...parametersOf('query', route.query)],
      ...('body' in route &&
        route.body !== undefined && {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: components.of(route.body, 'input') } },
          },
        }),
      responses: {
        ...responses,
        ...Object.fromEntries(
          Object.entries(REFUSALS).map(([status, description]) => [status, { description, content: problems }]),
        ),
      },
      ...own,
    };
  };
  for (const route of routes) {
    const answers = Object.entries(route.answers).map(([status, schema]): [string, ApiResponse] => [
      status,
      {
        description: ANSWERS[status] ?? 'Done',
        content: { 'application/json': { schema: components.of(schema, 'output') } },
      },
    ]);
    add(route, Object.fromEntries(answers));
  }
  for (const stream of streams) {
    const reported = Object.entries(stream.events).map(([name, { about }]) => `\`${name}\`: ${about}`);
    const events = Object.entries(stream.events).map(([name, { schema }]) => [name, components.of(schema, 'output')]);
    const responses = {
      200: {
        description: `Server-sent events. ${reported.join('; ')}.`,
        content: { 'text/event-stream': { schema: { type: 'string' } } },
      },
      ...(stream.mayEnd && { 204: { description: 'Nothing more will come: do not connect again.' } }),
    };
    add(stream, responses, { 'x-events': Object.fromEntries(events) });
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Tidemark', version, description: INTRODUCTION },
    servers: [{ url: '/' }],
    security: [{ bearer: [] }, {}],
    paths,
    components: {
      schemas: components.schemas,
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An API key or an OIDC token.' } },
    },
  };
}

/** Problems of every route. No document lists a 500: it is our fault. */
const REFUSALS: Readonly<Record<string, string>> = {
  '4XX': 'The request is refused',
  503: 'A server is unavailable, or the request takes too long: the problem says what a retry may do',
};

const ANSWERS: Readonly<Record<string, string>> = {
  200: 'Done',
  201: 'Made',
  202: 'Accepted: it continues in the background',
};

function parametersOf(place: 'path' | 'query', schema: z.ZodType | undefined): readonly ApiParameter[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = wholeSchema(schema, 'input', 'any') as ApiSchema;
  return Object.entries(properties).map(([name, { description, ...own }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(description !== undefined && { description }),
    schema: own,
  }));
}
