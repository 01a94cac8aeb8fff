/**
 * Owns one client's server: its tools, their listing, and the calls under way. It speaks MCP through any transport, and stores nothing of
 * its own: what a client did is in the state it named.
 */

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { LimitError } from '@tidemark/core';
import { BUNDLE_TOOLS } from './bundle-tools.ts';
import { MEMORY_TOOLS } from './memory-tools.ts';
import { REPO_STATE_TOOLS } from './repo-state-tools.ts';
import { SESSION_TOOLS } from './session-tools.ts';
import type { Tool, ToolContext } from './tool.ts';
import { toolError } from './tool-error.ts';

/** Calls of one client under way at once; further ones are refused. */
const CALLS_MAX_COUNT = 32;
/** Longest wait for calls under way once their client is gone, or the server is ended, in milliseconds. */
const CLOSE_GRACE_MS = 10_000;

export interface McpOptions
  extends Partial<Pick<ToolContext, 'tenant' | 'user'>>,
    Pick<ToolContext, 'folder' | 'withMemory'> {
  /** Of Tidemark. */
  readonly version: string;
  /** Author of entries, where a call doesn't say; default: the client's name. */
  readonly agent?: string | undefined;
  /** Digests (`checkDigest`) of the checks of stages, which are commands, that may be set and run. */
  readonly allowedChecks: readonly string[];
  /** Called for faults; for logs. */
  readonly onError: (where: string, error: unknown) => void;
}

const TOOLS: readonly Tool[] = [...REPO_STATE_TOOLS, ...SESSION_TOOLS, ...BUNDLE_TOOLS, ...MEMORY_TOOLS];

const INSTRUCTIONS = `Tidemark keeps what you know and how far you are, so that the next agent (or you, after an interruption) can continue.
Work in stages: call state_resume first, state_checkpoint when a stage begins and when it ends, state_complete at the end.
For a session of a Tidemark agent: session_resume returns all that is needed to continue; session_continue starts its next workflow where none is live; session_handover passes it to somebody else.
recall finds what earlier sessions of a user left; remember keeps facts; user_state_* are standing preferences. Never store secrets.`;

export class McpSession {
  readonly #server: Server;
  readonly #context: ToolContext;
  #callCount = 0;
  #onIdle: (() => void) | undefined;

  constructor(options: McpOptions) {
    const server = new Server(
      { name: 'tidemark', title: 'Tidemark', version: options.version },
      { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
    );
    const { tenant, user, folder, withMemory, onError } = options;
    const allowedChecks = new Set(options.allowedChecks);
    const agent = (): string | undefined => options.agent ?? server.getClientVersion()?.name;
    this.#context = { tenant, user, agent, folder, allowedChecks, withMemory, onError };
    server.onerror = (error) => onError('protocol', error);
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: TOOLS.map(({ listed }) => listed) }));
    server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) =>
      this.#call(params.name, params.arguments, signal),
    );
    this.#server = server;
  }

  connect(transport: Transport): Promise<void> {
    return this.#server.connect(transport);
  }

  /** Waits for the calls under way, up to the limit, and informs their client. */
  async close(): Promise<void> {
    if (this.#callCount > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onIdle = resolve;
      const timer = setTimeout(resolve, CLOSE_GRACE_MS);
      await promise;
      clearTimeout(timer);
    }
    await this.#server.close();
  }

  async #call(name: string, given: unknown, signal: AbortSignal): Promise<CallToolResult> {
    const tool = TOOLS.find(({ listed }) => listed.name === name);
    if (tool === undefined)
      throw new McpError(ErrorCode.InvalidParams, 'There is no such tool; tools/list names them.');
    if (this.#callCount >= CALLS_MAX_COUNT) {
      const message = `${CALLS_MAX_COUNT} calls are under way; wait for one of them.`;
      return toolError(new LimitError('calls-too-many', message), () => {});
    }
    this.#callCount += 1;
    try {
      return await tool.call(given, this.#context, signal);
    } finally {
      this.#callCount -= 1;
      // After the answer was written, which the protocol does as soon as it has it.
      if (this.#callCount === 0) setImmediate(() => this.#onIdle?.());
    }
  }
}
