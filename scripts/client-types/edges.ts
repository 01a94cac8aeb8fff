/** Owns what the client knows of operations that are only passed on: their fields, and the declarations beside the routes. Pure. */

import type { ApiOperation, ApiSchema, ApiSchemas, OpenApiDocument } from '@tidemark/api';
import { REFERENCE, referredBy } from './types.ts';

export function edgesFile({ paths, components: { schemas } }: OpenApiDocument): string {
  const edges = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) => {
      const { tools, ...own } = operation['x-edges'] ?? {};
      if (tools === undefined && Object.keys(own).length === 0) return [];
      const output = whole(operation.responses[200]?.content?.['application/json']?.schema ?? {}, schemas);
      return [
        {
          endpoint: `${method.toUpperCase()} ${path}`,
          fields: fieldsOf(operation, schemas),
          ...own,
          ...(tools !== undefined && { tools: tools.map((tool) => ({ ...tool, output })) }),
        },
      ];
    }),
  );
  return `/** Owns the operations that edges only pass on. Made by \`node scripts/client-types.ts\` from the declarations of the routes. */

import type { Edge } from '../edges.ts';

export const EDGES: readonly Edge[] = [
${edges.map((edge) => JSON.stringify(edge)).join(',\n')},
];
`;
}

function fieldsOf({ parameters, requestBody }: ApiOperation, schemas: ApiSchemas): readonly object[] {
  const body = whole(requestBody?.content['application/json'].schema ?? {}, schemas);
  return [
    ...parameters.map(({ name, in: part, required, schema, description }) =>
      fieldOf([part === 'path' ? 'params' : 'query', name, required], {
        ...whole(schema, schemas),
        ...(description !== undefined && { description }),
      }),
    ),
    ...Object.entries(body.properties ?? {}).map(([name, schema]) =>
      fieldOf(['body', name, body.required?.includes(name) === true], schema),
    ),
  ];
}

function fieldOf([part, name, isNeeded]: readonly [string, string, boolean], schema: ApiSchema) {
  const { description: about = '', minimum: min, maximum, maxLength, enum: choices } = schema;
  return {
    name,
    part,
    about,
    isNeeded,
    ...kindOf(schema),
    min,
    max: maximum ?? maxLength,
    ...(choices !== undefined && { choices }),
  };
}

/** Names are checked where they are typed: at most so many characters, and none that steers a terminal. */
const NAME_MAX_CHARS = 200;

function kindOf({ type, enum: choices, const: only, items, format, maxLength, pattern }: ApiSchema): {
  readonly kind: string;
} {
  if (choices !== undefined) return { kind: String(choices) === 'true,false' ? 'switch' : 'choice' };
  if (type === 'boolean' || only === true) return { kind: 'flag' };
  if (type === 'integer' || type === 'number') return { kind: 'number' };
  if (type === 'array' && items?.type === 'string') return { kind: 'texts' };
  if (format === 'subject') return { kind: 'subject' };
  if (maxLength === NAME_MAX_CHARS && pattern !== undefined) return { kind: 'name' };
  return { kind: type === 'string' ? 'text' : 'json' };
}

/** With everything that it refers to. */
function whole(schema: ApiSchema, schemas: ApiSchemas): ApiSchema {
  const named = referredBy(schema);
  if (named !== undefined) return whole(schemas[named]!, schemas);
  return JSON.parse(JSON.stringify(schema), (_, value: unknown) => {
    const name = typeof value === 'object' && value !== null ? referredBy(value as ApiSchema) : undefined;
    return name === undefined ? value : whole({ $ref: `${REFERENCE}${name}` }, schemas);
  }) as ApiSchema;
}
