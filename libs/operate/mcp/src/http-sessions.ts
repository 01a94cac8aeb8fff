/**
 * Owns the sessions of clients over HTTP: one server each, found by its id, closed when its client says so, when nobody uses it for long,
 * or when the process ends. Their number is bounded: a new session replaces the one that was idle longest among those without a waiting
 * caller.
 */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Json } from '@tidemark/core';
import { SESSION_IDLE_MS, SESSIONS_MAX_COUNT } from './limits.ts';
import { type McpOptions, McpSession } from './server.ts';

/** HTTP: poll interval for unused sessions, in milliseconds. */
const SESSION_POLL_PERIOD_MS = 60_000;

interface OpenSession {
  readonly session: McpSession;
  readonly transport: StreamableHTTPServerTransport;
  /** Open responses: calls, and the stream for the server's own messages. */
  openCount: number;
  usedAtMs: number;
}

export interface SessionsOptions {
  readonly maxCount?: number | undefined;
  readonly idleMs?: number | undefined;
}

export class HttpSessions {
  readonly #options: McpOptions;
  readonly #maxCount: number;
  readonly #idleMs: number;
  readonly #open = new Map<string, OpenSession>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: McpOptions, { maxCount = SESSIONS_MAX_COUNT, idleMs = SESSION_IDLE_MS }: SessionsOptions = {}) {
    this.#options = options;
    this.#maxCount = maxCount;
    this.#idleMs = idleMs;
    this.#timer = setInterval(() => this.#closeIdle(), Math.min(SESSION_POLL_PERIOD_MS, idleMs));
    this.#timer.unref();
  }

  get count(): number {
    return this.#open.size;
  }

  /** `message`: the request's body. `full`: no session can begin now. `unknown`: no session has this id, or not any more. */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    message: Json | undefined,
  ): Promise<'handled' | 'full' | 'unknown'> {
    const id = request.headers['mcp-session-id'];
    if (id === undefined) return this.#begin(request, response, message);
    const open = typeof id === 'string' ? this.#open.get(id) : undefined;
    if (open === undefined) return 'unknown';
    await this.#pass(open, request, response, message);
    return 'handled';
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const all = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(all.map(({ session }) => session.close()));
  }

  async #begin(
    request: IncomingMessage,
    response: ServerResponse,
    message: Json | undefined,
  ): Promise<'handled' | 'full'> {
    if (this.#open.size >= this.#maxCount && !this.#makeRoom()) return 'full';
    const session = new McpSession(this.#options);
    // Until it is initialised, it has an id of its own.
    const id = randomUUID();
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => id });
    const open: OpenSession = { session, transport, openCount: 0, usedAtMs: performance.now() };
    this.#open.set(id, open);
    // The protocol, which takes `onclose` over, calls the existing handler.
    transport.onclose = () => this.#open.delete(id);
    // Its types allow for undefined where those of the protocol don't.
    await session.connect(transport as Parameters<McpSession['connect']>[0]);
    await this.#pass(open, request, response, message);
    // The message began no session.
    if (transport.sessionId === undefined) await session.close();
    return 'handled';
  }

  async #pass(
    open: OpenSession,
    request: IncomingMessage,
    response: ServerResponse,
    message: Json | undefined,
  ): Promise<void> {
    open.openCount += 1;
    response.once('close', () => {
      open.openCount -= 1;
      open.usedAtMs = performance.now();
    });
    await open.transport.handleRequest(request, response, message);
  }

  #closeIdle(): void {
    for (const open of this.#open.values()) {
      if (open.openCount === 0 && performance.now() - open.usedAtMs >= this.#idleMs) this.#drop(open);
    }
  }

  #makeRoom(): boolean {
    const idle = [...this.#open.values()].filter(({ openCount }) => openCount === 0);
    const [oldest] = idle.sort((a, b) => a.usedAtMs - b.usedAtMs);
    if (oldest === undefined) return false;
    this.#drop(oldest);
    return true;
  }

  #drop(open: OpenSession): void {
    for (const [id, one] of this.#open) if (one === open) this.#open.delete(id);
    open.session.close().catch((error: unknown) => this.#options.onError('session', error));
  }
}
