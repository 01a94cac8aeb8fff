/** Owns the metrics endpoint of a process: `GET /metrics`, and nothing else. It holds names and counts, never payloads. */

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hasBody } from '@tidemark/access/json-body';
import { ConfigError, messageOf } from '@tidemark/core';
import type { PrometheusRegistry } from '@tidemark/telemetry';
import { listenAddress } from './listen-address.ts';

export interface MetricsEndpoint {
  readonly port: number;
  close(): Promise<void>;
}

/** Longest request, in milliseconds. */
const REQUEST_MAX_MS = 10_000;
/** Connections at once; scrapers need one or two. */
const CONNECTIONS_MAX_COUNT = 32;

/** `host:port`; port 0: any. Throws `ConfigError` (`metrics-listen`) when it can't listen there. */
export async function openMetricsEndpoint(listen: string, registry: PrometheusRegistry): Promise<MetricsEndpoint> {
  const { host, port } = listenAddress(listen);
  const server = createServer({ requestTimeout: REQUEST_MAX_MS }, (request, response) => {
    const isAsked =
      request.url?.split('?')[0] === '/metrics' && (request.method === 'GET' || request.method === 'HEAD');
    if (isAsked && !hasBody(request)) void answer(response, registry);
    else response.writeHead(404, { connection: 'close' }).end();
  });
  server.maxConnections = CONNECTIONS_MAX_COUNT;
  try {
    await once(server.listen(port, host), 'listening');
  } catch (cause) {
    const message = `TIDEMARK_METRICS_LISTEN: can't listen on ${host}:${port} (${messageOf(cause)}).`;
    throw new ConfigError('metrics-listen', message, { cause });
  }
  // If a connection can't be accepted, one scrape fails, and nothing else.
  server.on('error', () => {}).unref();
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}

async function answer(response: ServerResponse, registry: PrometheusRegistry): Promise<void> {
  try {
    const text = await registry.text();
    response.writeHead(200, { 'content-type': registry.contentType }).end(text);
  } catch {
    response.writeHead(500).end();
  }
}
