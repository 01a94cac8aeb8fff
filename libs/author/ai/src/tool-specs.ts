/** Owns offering the AI SDK's tools to a model that a step calls. The step itself executes them. */

import { type PortableSchema, portableSchema, publishedSchema } from '@tidemark/codec';
import { InvalidError, type Json, portableName } from '@tidemark/core';
import type { ToolSpec } from '@tidemark/runtime';
import type { z } from 'zod';
import { plain } from './plain-json.ts';

/** As `tool({ description, inputSchema })` returns them, by name. */
export type AiSdkTools = Readonly<
  Record<string, { readonly description?: unknown; readonly inputSchema?: unknown; readonly type?: unknown }>
>;

/**
 * The tools as `ctx.model` takes them. Schemas may be zod's, or the SDK's `jsonSchema`. Throws `InvalidError` (`tool-unsupported`) that
 * names the tool: one that the provider runs itself, a description that is a function, a name that not every provider takes, an input that
 * is no object or has no JSON schema.
 */
export async function aiSdkTools(tools: AiSdkTools): Promise<ToolSpec[]> {
  return Promise.all(
    Object.entries(tools).map(async ([name, { description = '', inputSchema, type = 'function' }]) => {
      if (type !== 'function' && type !== 'dynamic') throw unsupported(name, 'the provider runs it itself');
      if (portableName(name) !== name)
        throw unsupported(name, 'a tool is named with 1 to 64 letters, digits, _ and -, the first a letter or _');
      if (typeof description !== 'string') throw unsupported(name, 'its description is computed for each call');
      return { name, description, inputSchema: await schemaOf(name, inputSchema) };
    }),
  );
}

const NO_INPUT: Json = { type: 'object', properties: {}, additionalProperties: false };

async function schemaOf(name: string, schema: unknown): Promise<Json> {
  if (schema === undefined) return NO_INPUT;
  const found: unknown = typeof schema === 'function' && !('~standard' in schema) ? schema() : schema;
  const own = isObject(found) && '_zod' in found ? publishedOf(name, found as unknown as z.ZodType) : undefined;
  const given = isObject(found) && 'jsonSchema' in found ? plain(await found.jsonSchema) : undefined;
  const published = own ?? (isObject(given) ? portableSchema(given) : undefined);
  if (published === undefined) throw unsupported(name, 'its input schema is neither of zod 4 nor of jsonSchema()');
  if (published.type !== 'object') throw unsupported(name, 'its input is no object');
  return published as Json;
}

function publishedOf(name: string, schema: z.ZodType): PortableSchema {
  try {
    return publishedSchema(schema, { io: 'input' });
  } catch (error) {
    throw unsupported(name, `its input schema has no JSON schema (${(error as Error).message})`);
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  (typeof value === 'object' || typeof value === 'function') && value !== null;

const unsupported = (name: string, why: string): InvalidError =>
  new InvalidError('tool-unsupported', `The tool ${JSON.stringify(name)} can't be given to ctx.model: ${why}.`, {
    name,
  });
