/** Owns the reference of the HTTP API for people, from its OpenAPI document. Pure. */

import type { ApiOperation, ApiParameter, ApiSchema, OpenApiDocument } from '@tidemark/api';

/** Markdown. `introduction` comes first. */
export function referenceOf(document: OpenApiDocument, introduction: string): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      ...operation,
    })),
  );
  const chapters = Map.groupBy(operations, ({ tags }) => tags[0]);
  const parts = [
    introduction.trim(),
    ...[...chapters].map(([title, list]) => [`## ${title}`, ...list.map(operationText)].join('\n\n')),
    ['## Types', ...Object.entries(document.components.schemas).map(([name, schema]) => typeText(name, schema))].join(
      '\n\n',
    ),
  ];
  return `${parts.join('\n\n')}\n`;
}

function operationText(operation: ApiOperation & { readonly path: string; readonly method: string }): string {
  const { method, path, summary, description, parameters, requestBody, responses } = operation;
  const body = requestBody?.content['application/json']?.schema;
  const answers = Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([status, { description: about, content = {} }]) => {
      const [schema] = Object.values(content).map((each) => each.schema);
      return `- Answers \`${status}\`: ${schema === undefined || 'text/event-stream' in content ? about : typeOf(schema)}`;
    });
  const problems = operation['x-problems'] ?? [];
  return [
    `### ${summary}`,
    `\`${method} ${path}\` · right \`${operation['x-right']}\` · \`${operation.operationId}\``,
    ...(description === undefined ? [] : [description]),
    [
      ...parameters.map(parameterText),
      ...(body === undefined ? [] : [`- Body: ${typeOf(body)}`]),
      ...answers,
      ...(operation['x-needs'] ?? []).map(({ of, why }) => `- Needs \`${of}\` besides. ${why}`),
      ...(problems.length === 0 ? [] : [`- Problems: ${problems.map((code) => `\`${code}\``).join(', ')}`]),
    ].join('\n'),
  ].join('\n\n');
}

function parameterText({ name, in: place, required, description, schema }: ApiParameter): string {
  const about = description === undefined ? '' : `: ${description}`;
  const must = required || place === 'path' ? '' : ', optional';
  return `- \`${name}\` (${place}, ${typeOf(schema)}${must}${boundsOf(schema)})${about}`;
}

function boundsOf({ minimum, maximum, default: given }: ApiSchema): string {
  const isBounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
  const range = isBounded ? `, ${minimum ?? 0} to ${maximum}` : '';
  return given === undefined ? range : `${range}, by default ${JSON.stringify(given)}`;
}

function typeText(name: string, schema: ApiSchema): string {
  const { properties, description } = schema;
  const head = [`### ${name}`, ...(description === undefined ? [] : [description])];
  if (properties === undefined) return [...head, typeOf(schema)].join('\n\n');
  const rows = Object.entries(properties).map(([field, each]) => {
    const optional = schema.required?.includes(field) === true ? '' : ', optional';
    const closed = each['x-content'] === true ? ' Content.' : '';
    return `| \`${field}\` | ${typeOf(each).replaceAll('|', '\\|')}${optional} | ${(each.description ?? '').replaceAll('|', '\\|')}${closed} |`;
  });
  return [...head, ['| field | type | what |', '| --- | --- | --- |', ...rows].join('\n')].join('\n\n');
}

function typeOf(schema: ApiSchema): string {
  const { $ref, type, enum: values, anyOf, oneOf, items, properties, additionalProperties } = schema;
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1)!;
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (values !== undefined) return values.map((value) => `\`${JSON.stringify(value)}\``).join(' or ');
  const options = anyOf ?? oneOf;
  if (options !== undefined) return [...new Set(options.map(typeOf))].join(' or ');
  if (items !== undefined) return `list of ${typeOf(items)}`;
  if (properties !== undefined) {
    const fields = Object.entries(properties).map(
      ([name, each]) => `${name}${schema.required?.includes(name) === true ? '' : '?'}: ${typeOf(each)}`,
    );
    return `{ ${fields.join(', ')} }`;
  }
  if (typeof additionalProperties === 'object') return `map to ${typeOf(additionalProperties)}`;
  if (type === undefined) return 'any JSON';
  return schema.format ?? [type].flat().join(' or ');
}
