/**
 * Owns the tools of a server of the Model Context Protocol as tools of a definition: each call is an effect, by what the server says of the
 * tool. Invariant: what a server or a model can do wrong is an outcome for the model; what leaves open whether the call took place is the
 * effect's affair (I4).
 */

import { type EffectKey, InvalidError, type Json, REFUSED_STATUSES } from '@tidemark/core';
import { type EffectContext, NotDoneError, type ProbeResult } from '@tidemark/runtime';
import { z } from 'zod';
import { defineEffect } from '../effect.ts';
import type { Tool } from '../tool.ts';
import { inputOf, type ListedTool, listTools, type McpClient, nameForModels } from './listing.ts';
import { type McpOutcome, outcomeOf, outcomeSchema } from './result.ts';

/** Where a call's `_meta` has the effect's key, so that a server may answer a repeated call from its own records. */
export const MCP_KEY = 'tidemark/idempotency-key';
/** Time-out of one call by default, in milliseconds. */
const CALL_TIMEOUT_DEFAULT_MS = 60_000;
/** Characters of a server's name: with that of a tool it fits the name of an operation. */
const SERVER_NAME_MAX_CHARS = 32;
/** By how much the client's own time-out is longer than the effect's, which decides. */
const CLIENT_GRACE_MS = 1_000;
/** Codes of JSON-RPC: there is no such method, and the parameters are refused. */
const METHOD_UNKNOWN = -32_601;
const PARAMETERS_REFUSED = -32_602;
/** A server refuses its own result by the code of refused parameters: then the call took place. */
const OF_RESULT = /\b(results?|outputs?|structured)\b/i;
/** Words of the official servers, before any tool runs: the names of arguments that follow prove nothing of a result. */
const OF_INPUT = /^(MCP error -?\d+: )*(Input validation error|Invalid arguments|Invalid tools\/call request)\b/;
/** Nothing was sent: there was no connection. */
const UNSENT_CODES: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

export interface McpToolOptions {
  /** Instead of what the server's annotations say: they are its own claim. */
  readonly kind?: 'idempotent' | 'irreversible' | undefined;
  /** Finds out outside whether the call of this key took place: `done(text)` with a text for the model, `notDone()` or `unknown()`. */
  readonly probe?:
    | ((
        key: EffectKey,
        call: { readonly arguments: Json; readonly signal: AbortSignal },
      ) => ProbeResult<string> | Promise<ProbeResult<string>>)
    | undefined;
}

export interface McpToolsOptions {
  /** Names the server in operations, in the record; its own name by default. */
  readonly server?: string | undefined;
  /** Put before each name that models see. */
  readonly prefix?: string | undefined;
  /** The server's names of the tools to offer; all by default. */
  readonly only?: readonly string[] | undefined;
  /** By the server's names. */
  readonly tools?: Readonly<Record<string, McpToolOptions>> | undefined;
  /** Time-out of one call, in milliseconds; a minute by default. */
  readonly timeoutMs?: number | undefined;
}

const callSchema = z.object({ tool: z.string(), arguments: z.json() });
type McpCall = z.infer<typeof callSchema>;

/**
 * The tools of a connected server, for `tools` of a definition. A tool that the server marks as read-only or idempotent is an idempotent
 * effect, any other an irreversible one. Throws `InvalidError` and `LimitError` that name the server and the tool (`mcp-…`).
 */
export async function durableTools(
  client: McpClient,
  options: McpToolsOptions = {},
): Promise<Readonly<Record<string, Tool>>> {
  // Its name is its own claim as well: it stands in operations and errors.
  const said = options.server ?? client.getServerVersion?.()?.name ?? '';
  const server = nameForModels(said, SERVER_NAME_MAX_CHARS) || 'server';
  const listed = await listTools(client, server, options.only);
  const unknown = Object.keys(options.tools ?? {}).find((name) => !listed.some((tool) => tool.name === name));
  if (unknown !== undefined) {
    throw new InvalidError(
      'mcp-tool-missing',
      `The MCP server ${server}: it lists no tool ${JSON.stringify(unknown)}, which \`tools\` names.`,
      { server, tool: unknown },
    );
  }
  const tools: Record<string, Tool> = {};
  const names = new Map<string, string>();
  for (const tool of listed) {
    const name = nameForModels(`${options.prefix ?? ''}${tool.name}`);
    const other = names.get(name);
    if (other !== undefined) {
      throw new InvalidError(
        'mcp-tool-names-collide',
        `The MCP server ${server}: ${JSON.stringify(other)} and ${JSON.stringify(tool.name)} would both be ${name} to models. Leave one out with \`only\`.`,
        { server, tool: tool.name },
      );
    }
    names.set(name, tool.name);
    tools[name] = toolOf(client, tool, `mcp.${server}.${name}`, options);
  }
  return tools;
}

function toolOf(client: McpClient, listed: ListedTool, operation: string, options: McpToolsOptions): Tool {
  const { name, description, inputSchema, isRepeatable } = listed;
  const own = Object.hasOwn(options.tools ?? {}, name) ? options.tools![name]! : {};
  const { probe } = own;
  const timeoutMs = options.timeoutMs ?? CALL_TIMEOUT_DEFAULT_MS;
  const kind = own.kind ?? (isRepeatable ? 'idempotent' : 'irreversible');
  const effect = defineEffect({
    operation,
    kind,
    request: callSchema,
    response: outcomeSchema,
    timeoutMs,
    call: (request, context) => call(client, request, context, { timeoutMs, isRepeatable: kind === 'idempotent' }),
    probe:
      probe && (async (key, { request, signal }) => found(await probe(key, { arguments: request.arguments, signal }))),
  });
  return {
    description,
    input: inputOf(inputSchema),
    inputSchema: inputSchema as Json,
    effect,
    request: (given: unknown) => ({ tool: name, arguments: given }),
    outcome: (response) => response as McpOutcome,
  };
}

const found = (answer: ProbeResult<string>): ProbeResult<McpOutcome> =>
  answer.status === 'done' ? { status: 'done', response: { text: answer.response, isError: false } } : answer;

async function call(
  client: McpClient,
  { tool, arguments: given }: McpCall,
  { key, signal }: EffectContext,
  { timeoutMs, isRepeatable }: { readonly timeoutMs: number; readonly isRepeatable: boolean },
): Promise<McpOutcome> {
  if ('transport' in client && client.transport === undefined)
    throw new NotDoneError(`The MCP client is not connected, so ${tool} was not called. Connect it again.`);
  const params = { name: tool, arguments: given, _meta: { [MCP_KEY]: key } };
  try {
    const options = { signal, timeout: timeoutMs + CLIENT_GRACE_MS };
    return outcomeOf(await client.request({ method: 'tools/call', params }, z.unknown(), options));
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
    const told = String(message);
    const isOpen = !isRepeatable && OF_RESULT.test(told) && !OF_INPUT.test(told);
    if (code === METHOD_UNKNOWN || (code === PARAMETERS_REFUSED && !isOpen)) {
      return {
        text: `The server refused the call: ${String(message)}. The tool may have changed since it was listed.`,
        isError: true,
      };
    }
    if (isUnsent(error))
      throw new NotDoneError(`The MCP server was not reached, so ${tool} was not called.`, { cause: error });
    throw error;
  }
}

/** Refused by the transport, or never sent. */
function isUnsent(error: unknown): boolean {
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: { readonly code?: unknown } };
  return UNSENT_CODES.has(cause?.code ?? code) || REFUSED_STATUSES.has(code as number) || code === 429;
}
