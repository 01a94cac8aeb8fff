/**
 * Owns what a server of MCP lists: which tools, under which names for models, with which schemas. Invariants: a name for models is that of
 * one tool of the server whatever else is listed, since another is never given it; what is listed is bounded before it is used.
 */

import { type PortableSchema, portableSchema } from '@tidemark/codec';
import { InvalidError, LimitError } from '@tidemark/core';
import { sha256Digest } from '@tidemark/runtime';
import { z } from 'zod';
import {
  LISTED_DESCRIPTION_MAX_CHARS,
  LISTED_NAME_MAX_CHARS,
  LISTED_SCHEMA_MAX_CHARS,
  LISTING_TIMEOUT_MS,
  PAGES_MAX_COUNT,
  TOOLS_MAX_COUNT,
} from './limits.ts';

/** Characters of a tool's name for models, and of the digest that keeps changed names apart. */
const NAME_MAX_CHARS = 64;
const NAME_DIGEST_CHARS = 6;

/** What is used of a client: `Client` of @modelcontextprotocol/sdk has it, connected. */
export interface McpClient {
  request(
    request: { method: string; params?: Record<string, unknown> },
    resultSchema: z.ZodType,
    options?: { signal?: AbortSignal; timeout?: number },
  ): Promise<unknown>;
  getServerVersion?(): { readonly name: string } | undefined;
  /** Undefined: not connected. */
  readonly transport?: unknown;
}

export interface ListedTool {
  /** The server's own. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: PortableSchema;
  readonly isRepeatable: boolean;
}

type Members = Readonly<Record<string, unknown>>;

/**
 * All tools, or those of `only`. Throws `InvalidError` (`mcp-listing-invalid`, `mcp-tool-invalid`, `mcp-tool-twice`, `mcp-tool-missing`),
 * `LimitError` (`mcp-tools-too-many`, `mcp-schema-too-large`), and whatever the client throws.
 */
export async function listTools(
  client: McpClient,
  server: string,
  only: readonly string[] | undefined,
): Promise<readonly ListedTool[]> {
  const found = new Map<string, ListedTool>();
  const cursors = new Set<string>();
  for (let cursor: string | undefined, page = 0; page === 0 || cursor !== undefined; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const answer = await client.request({ method: 'tools/list', params }, z.unknown(), { timeout: LISTING_TIMEOUT_MS });
    const { tools, nextCursor } = membersOf(answer);
    if (!Array.isArray(tools))
      throw invalid(server, 'mcp-listing-invalid', 'its answer to tools/list has no list of tools');
    for (const given of tools) {
      const { name } = membersOf(given);
      if (only !== undefined && !only.includes(name as string)) continue;
      const tool = listed(given, server);
      if (found.has(tool.name)) throw invalid(server, 'mcp-tool-twice', `it lists the tool ${shown(name)} twice`);
      found.set(tool.name, tool);
      if (found.size > TOOLS_MAX_COUNT) throw tooMany(server, `more than ${TOOLS_MAX_COUNT} tools`);
    }
    cursor = typeof nextCursor === 'string' && nextCursor !== '' ? nextCursor : undefined;
    if (cursor !== undefined && cursors.has(cursor))
      throw invalid(server, 'mcp-listing-invalid', 'its list of tools leads back to a page that it had');
    if (cursors.size >= PAGES_MAX_COUNT) throw tooMany(server, `more than ${PAGES_MAX_COUNT} pages of tools`);
    if (cursor !== undefined) cursors.add(cursor);
  }
  const missing = only?.find((name) => !found.has(name));
  if (missing !== undefined)
    throw invalid(server, 'mcp-tool-missing', `it lists no tool ${shown(missing)}, which \`only\` names`);
  return [...found.values()];
}

function listed(given: unknown, server: string): ListedTool {
  const { name, title, description, inputSchema, annotations } = membersOf(given);
  if (typeof name !== 'string' || name === '' || name.length > LISTED_NAME_MAX_CHARS) {
    const what = typeof name === 'string' ? `a tool whose name has ${name.length} characters` : 'a tool without a name';
    throw invalid(server, 'mcp-tool-invalid', `it lists ${what}; 1 to ${LISTED_NAME_MAX_CHARS} are taken`);
  }
  refuseLarge(inputSchema, server, name);
  const schema = portableSchema(membersOf(inputSchema));
  refuseLarge(schema, server, name);
  const object =
    schema.type === undefined && schema.anyOf === undefined ? { type: 'object', properties: {}, ...schema } : schema;
  if (object.type !== 'object')
    throw invalid(server, 'mcp-tool-invalid', `the input of its tool ${shown(name)} is no object`);
  const said = [description, title].find((text) => typeof text === 'string' && text.trim() !== '');
  const { readOnlyHint, idempotentHint } = membersOf(annotations);
  return {
    name,
    description: said === undefined ? `The tool ${shown(name)} of ${server}.` : clean(said as string),
    inputSchema: object as PortableSchema,
    isRepeatable: readOnlyHint === true || idempotentHint === true,
  };
}

/**
 * The tool's name for models: its own where every provider takes that, else one with a digest of its own. It depends on nothing but the
 * tool, so a listing that changes never gives it to another.
 */
export function nameForModels(own: string, maxChars = NAME_MAX_CHARS): string {
  const fit = own
    .replaceAll(/[^A-Za-z0-9_-]+/g, '_')
    .replace(/^[0-9-]/, '_$&')
    .slice(0, maxChars);
  if (fit === own && own !== '__proto__') return own;
  const digest = sha256Digest.sha256(own).slice(0, NAME_DIGEST_CHARS);
  return `${fit.slice(0, maxChars - NAME_DIGEST_CHARS - 1)}-${digest}`;
}

/** What a model gives, checked before the server sees it. Patterns are left to the server: its own may take for ever here. */
export const inputOf = (schema: PortableSchema): z.ZodType => z.fromJSONSchema(withoutPatterns(schema) as never);

function withoutPatterns({
  pattern: _,
  properties,
  items,
  additionalProperties: others,
  anyOf,
  ...rest
}: PortableSchema): PortableSchema {
  return {
    ...rest,
    ...(properties !== undefined && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, withoutPatterns(one)])),
    }),
    ...(items !== undefined && { items: withoutPatterns(items) }),
    ...(others !== undefined && { additionalProperties: others === false ? others : withoutPatterns(others) }),
    ...(anyOf !== undefined && { anyOf: anyOf.map(withoutPatterns) }),
  };
}

function refuseLarge(schema: unknown, server: string, name: string): void {
  const size = sizeOf(schema);
  if (size <= LISTED_SCHEMA_MAX_CHARS) return;
  throw new LimitError(
    'mcp-schema-too-large',
    `The MCP server ${server}: the schema of its tool ${shown(name)} has ${size === Number.POSITIVE_INFINITY ? 'too many levels' : `${size} characters`}, and ${LISTED_SCHEMA_MAX_CHARS} are taken. Leave the tool out: name those that you want in \`only\`.`,
    { server, tool: name },
  );
}

/** Characters as JSON; infinite for what is nested too deeply to be written. */
export function sizeOf(value: unknown): number {
  try {
    return JSON.stringify(value)?.length ?? 0;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Control characters do something where a text is shown. */
const clean = (text: string): string =>
  text
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .toWellFormed()
    .slice(0, LISTED_DESCRIPTION_MAX_CHARS);

export const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};

/** As JSON, so that control characters are seen and do nothing. */
const shown = (name: unknown): string => JSON.stringify(String(name).slice(0, LISTED_NAME_MAX_CHARS));

const invalid = (server: string, code: string, what: string): InvalidError =>
  new InvalidError(code, `The MCP server ${server}: ${what}.`, { server });

const tooMany = (server: string, what: string): LimitError =>
  new LimitError(
    'mcp-tools-too-many',
    `The MCP server ${server} lists ${what}. Name those that you want in \`only\`.`,
    {
      server,
    },
  );
