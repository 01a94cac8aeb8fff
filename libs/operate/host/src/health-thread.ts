/**
 * Owns the answers to probes, in a thread of its own: a process with a blocked event loop could not answer. It serves `GET /livez` and `GET
 * /readyz`, and nothing else: 200, or 503 with the failed conditions. It knows the process's last report and its time, and no secret.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import type { Health, HealthCheck } from '@tidemark/runtime';
import type { HealthThreadData, HealthThreadWord, HealthWord } from './health-word.ts';

/** Longest probe. */
const PROBE_MAX_MS = 5_000;
/** Connections at once; probes need one or two. */
const PROBE_CONNECTIONS_MAX_COUNT = 32;

const { host, port, service, limits } = workerData as HealthThreadData;
let reported: Health = { ready: [], live: [] };
let reportedMs = performance.now();

parentPort!.on('message', (word: HealthWord) => {
  reported = word;
  reportedMs = performance.now();
});

const server = createServer({ requestTimeout: PROBE_MAX_MS }, (request, response) => {
  const kind = kindOf(request);
  // A probe sends nothing after its head, so the thread does not wait for more.
  if (kind === undefined) response.writeHead(404, { connection: 'close' }).end();
  else answer(response, kind);
});
server.maxConnections = PROBE_CONNECTIONS_MAX_COUNT;
server.once('error', (error) => say({ kind: 'failed', message: error.message }));
server.listen(port, host, () => say({ kind: 'listening', port: (server.address() as AddressInfo).port }));

function say(word: HealthThreadWord): void {
  parentPort!.postMessage(word);
}

function kindOf({ method, url, headers }: IncomingMessage): 'live' | 'ready' | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined;
  if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0) return undefined;
  const [address] = (url ?? '').split('?');
  return address === '/livez' ? 'live' : address === '/readyz' ? 'ready' : undefined;
}

function answer(response: ServerResponse, kind: 'live' | 'ready'): void {
  const checks = [loopCheck(kind === 'live' ? limits.liveMs : limits.readyMs), ...reported[kind]];
  const isGood = checks.every(({ reason }) => reason === undefined);
  const status = isGood ? kind : `not ${kind}`;
  const body = checks.map(({ name, reason }) => ({ name, ok: reason === undefined, ...(reason && { reason }) }));
  response
    .writeHead(isGood ? 200 : 503, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(`${JSON.stringify({ status, service, checks: body })}\n`);
}

function loopCheck(maxMs: number): HealthCheck {
  const silentMs = performance.now() - reportedMs;
  if (silentMs <= maxMs) return { name: 'event loop' };
  const [is, most] = [silentMs, maxMs].map((ms) => `${Math.round(ms / 100) / 10} s`);
  return { name: 'event loop', reason: `it has been blocked for ${is}, at most ${most}` };
}
