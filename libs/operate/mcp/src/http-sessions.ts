/**
 * Owns the sessions of clients over HTTP: one server each, found by its id, closed when its client says so, when nobody uses it for long,
 * or when the process ends. Their number is bounded: a new session replaces the one that was idle longest among those without a waiting
 * caller.
 */

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Json } from '@tidemark/core';
import { SESSION_IDLE_MS, SESSION_POLL_PERIOD_MS, SESSIONS_MAX_COUNT } from './limits.ts';
import { type McpOptions, McpSession } from './server.ts';

interface Held {
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
  readonly #held = new Map<string, Held>();
  readonly #timer: NodeJS.Timeout;

  constructor(options: McpOptions, { maxCount = SESSIONS_MAX_COUNT, idleMs = SESSION_IDLE_MS }: SessionsOptions = {}) {
    this.#options = options;
    this.#maxCount = maxCount;
    this.#idleMs = idleMs;
    this.#timer = setInterval(() => this.#closeIdle(), Math.min(SESSION_POLL_PERIOD_MS, idleMs));
    this.#timer.unref();
  }

  get count(): number {
    return this.#held.size;
  }

  /** `message`: the request's body. `full`: no session can begin now. `unknown`: no session has this id, or not any more. */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    message: Json | undefined,
  ): Promise<'handled' | 'full' | 'unknown'> {
    const id = request.headers['mcp-session-id'];
    if (id === undefined) return this.#begin(request, response, message);
    const held = typeof id === 'string' ? this.#held.get(id) : undefined;
    if (held === undefined) return 'unknown';
    await this.#pass(held, request, response, message);
    return 'handled';
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    const all = [...this.#held.values()];
    this.#held.clear();
    await Promise.all(all.map(({ session }) => session.close()));
  }

  async #begin(
    request: IncomingMessage,
    response: ServerResponse,
    message: Json | undefined,
  ): Promise<'handled' | 'full'> {
    if (this.#held.size >= this.#maxCount && !this.#makeRoom()) return 'full';
    const session = new McpSession(this.#options);
    // Until it is initialised, it has an id of its own.
    const id = randomUUID();
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => id });
    const held: Held = { session, transport, openCount: 0, usedAtMs: performance.now() };
    this.#held.set(id, held);
    // The protocol, which takes `onclose` over, calls the existing handler.
    transport.onclose = () => this.#held.delete(id);
    // Its types allow for undefined where those of the protocol don't.
    await session.connect(transport as Parameters<McpSession['connect']>[0]);
    await this.#pass(held, request, response, message);
    // The message began no session.
    if (transport.sessionId === undefined) await session.close();
    return 'handled';
  }

  async #pass(
    held: Held,
    request: IncomingMessage,
    response: ServerResponse,
    message: Json | undefined,
  ): Promise<void> {
    held.openCount += 1;
    response.once('close', () => {
      held.openCount -= 1;
      held.usedAtMs = performance.now();
    });
    await held.transport.handleRequest(request, response, message);
  }

  #closeIdle(): void {
    for (const held of this.#held.values()) {
      if (held.openCount === 0 && performance.now() - held.usedAtMs >= this.#idleMs) this.#drop(held);
    }
  }

  #makeRoom(): boolean {
    const idle = [...this.#held.values()].filter(({ openCount }) => openCount === 0);
    const [oldest] = idle.sort((a, b) => a.usedAtMs - b.usedAtMs);
    if (oldest === undefined) return false;
    this.#drop(oldest);
    return true;
  }

  #drop(held: Held): void {
    for (const [id, one] of this.#held) if (one === held) this.#held.delete(id);
    held.session.close().catch((error: unknown) => this.#options.onError('session', error));
  }
}
