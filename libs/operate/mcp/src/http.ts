/**
 * Owns the server over HTTP (MCP's streamable transport) at `/mcp`: listening, who may call, what is refused before any of it is read, and
 * an orderly end. By default only this machine reaches it.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { ambiguityOf, type HttpGuard, isLoopback, LOOPBACK_HOSTS, refusalOf } from '@tidemark/access/http-guard';
import { Bodies, hasBody } from '@tidemark/access/json-body';
import { ConfigError, InvalidError, type Json, LimitError, TidemarkError } from '@tidemark/core';
import { HttpSessions, type SessionsOptions } from './http-sessions.ts';
import { CONNECTIONS_MAX_COUNT, MESSAGE_MAX_BYTES } from './limits.ts';
import type { McpOptions } from './server.ts';

/** HTTP: how long, in milliseconds, a client may take to send its headers, and its whole request. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 60_000;
/** Fewest characters of a token that clients must show. */
const TOKEN_MIN_CHARS = 16;

export interface HttpOptions extends McpOptions {
  /** 0: a free one. */
  readonly port: number;
  /** Default 127.0.0.1. Any address but this machine's own needs a token. */
  readonly host?: string | undefined;
  /** Further names of the server. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** Origins of web pages that may call it, beside its own. */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** Clients show it as `Authorization: Bearer …`. */
  readonly token?: string | undefined;
  readonly sessions?: SessionsOptions | undefined;
}

export interface HttpServer {
  readonly url: string;
  /** Sessions that clients have now. */
  readonly sessionCount: number;
  /** Waits for calls under way, then closes sessions and connections. */
  close(): Promise<void>;
}

const PATH = '/mcp';
/** JSON-RPC's code. */
const PARSE_ERROR = -32700;

/** Throws `ConfigError` (`mcp-token-missing`, `mcp-token-short`, `mcp-port-taken`, `mcp-host-unknown`). */
export async function serveHttp(options: HttpOptions): Promise<HttpServer> {
  const { port, host: given = '127.0.0.1', allowedHosts = [], allowedOrigins, token } = options;
  // Another process could have the second address of a name with two.
  const host = given === 'localhost' ? '127.0.0.1' : given;
  requireToken(host, token);
  const sessions = new HttpSessions(options, options.sessions);
  const name = isIP(host) === 6 ? `[${host}]` : host;
  const guard = { hosts: [...LOOPBACK_HOSTS, name, ...allowedHosts], origins: allowedOrigins, token };
  const bodies = new Bodies({ bodyMaxBytes: MESSAGE_MAX_BYTES });
  const server = createServer((request, response) => {
    answer(request, response, guard, { sessions, bodies }).catch((error: unknown) => {
      options.onError('http', error);
      if (!response.headersSent) refuse(response, 500, 'The server failed. Its own log says more.');
      else response.destroy();
    });
  });
  server.maxConnections = CONNECTIONS_MAX_COUNT;
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = REQUEST_TIMEOUT_MS;
  try {
    await listen(server, port, host);
  } catch (error) {
    await sessions.close();
    throw error;
  }
  return {
    url: `http://${name}:${(server.address() as AddressInfo).port}${PATH}`,
    get sessionCount() {
      return sessions.count;
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      await sessions.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function requireToken(host: string, token: string | undefined): void {
  if (token !== undefined && token.length < TOKEN_MIN_CHARS) {
    const message = `TIDEMARK_MCP_TOKEN has ${token.length} characters; give at least ${TOKEN_MIN_CHARS}, chosen at random.`;
    throw new ConfigError('mcp-token-short', message);
  }
  if (token !== undefined || isLoopback(host)) return;
  throw new ConfigError(
    'mcp-token-missing',
    `On ${host} other machines reach this server: set TIDEMARK_MCP_TOKEN to a token that clients send.`,
  );
}

async function listen(server: Server, port: number, host: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => reject(listenError(cause, port, host)));
    server.listen({ port, host }, resolve);
  });
}

function listenError(cause: NodeJS.ErrnoException, port: number, host: string): ConfigError {
  if (cause.code === 'EADDRINUSE') {
    return new ConfigError('mcp-port-taken', `Port ${port} of ${host} is taken. Choose another, or 0 for a free one.`, {
      cause,
    });
  }
  return new ConfigError('mcp-host-unknown', `Can't listen on ${host}, port ${port}: ${cause.message}.`, { cause });
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { token, ...guard }: HttpGuard & Pick<HttpOptions, 'token'>,
  { sessions, bodies }: { readonly sessions: HttpSessions; readonly bodies: Bodies },
): Promise<void> {
  const ambiguity = ambiguityOf(request);
  if (ambiguity !== undefined) return refuse(response, 400, ambiguity.message);
  const refusal = refusalOf(request.headers, guard);
  if (refusal !== undefined) return refuse(response, 403, refusal.message);
  if (token !== undefined && !isShown(token, request.headers.authorization)) {
    response.setHeader('WWW-Authenticate', 'Bearer');
    return refuse(response, 401, 'Send the token of this server: Authorization: Bearer …');
  }
  if (request.url?.split('?', 1)[0] !== PATH) {
    return refuse(response, 404, `There is nothing here; the server is at ${PATH}.`);
  }
  let message: Json | undefined;
  try {
    message = await messageIn(request, response, bodies);
  } catch (error) {
    return refuseMessage(response, error);
  }
  const came = await sessions.handle(request, response, message);
  if (came === 'unknown') refuse(response, 404, 'There is no such session (any more): begin another.', -32001);
  if (came === 'full') {
    response.setHeader('Retry-After', '60');
    refuse(response, 503, 'No further session can be begun now.');
  }
}

/** Undefined: the request has none. */
async function messageIn(
  request: IncomingMessage,
  response: ServerResponse,
  bodies: Bodies,
): Promise<Json | undefined> {
  if (!hasBody(request)) return undefined;
  if (request.method !== 'POST') throw new InvalidError('body-unexpected', 'Messages are sent by POST alone.');
  const body = bodies.open(request, response, request.socket.remoteAddress ?? '');
  return body.value((text) => JSON.parse(text) as Json);
}

function refuseMessage(response: ServerResponse, error: unknown): void {
  if (!(error instanceof TidemarkError)) refuse(response, 400, 'The message is not JSON.', PARSE_ERROR);
  else if (!(error instanceof LimitError)) refuse(response, 400, error.message, PARSE_ERROR);
  else if (error.code !== 'bodies-too-many') refuse(response, 413, error.message);
  else {
    response.setHeader('Retry-After', '1');
    refuse(response, 503, error.message);
  }
}

/** In the protocol's form; the rest of the request isn't waited for. */
function refuse(response: ServerResponse, status: number, message: string, code = -32000): void {
  response.writeHead(status, { 'Content-Type': 'application/json', Connection: 'close' });
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }));
}

/** Whether a client shows the server's token. In constant time: digests have one length, whatever was shown. */
function isShown(token: string, authorization: string | undefined): boolean {
  const [, shown = ''] = /^bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
  return timingSafeEqual(digest(shown), digest(token));
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
