/** Probes over HTTP: what holds, what doesn't and why, a process whose event loop stands still, and a start that says what is wrong. */

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Health } from '@tidemark/runtime';
import { eventually } from '@tidemark/testkit/eventually';
import { afterEach, expect, test } from 'vitest';
import { type HealthEndpoint, openHealthEndpoint } from './health-endpoint.ts';

const endpoints: HealthEndpoint[] = [];
afterEach(() => Promise.all(endpoints.splice(0).map((endpoint) => endpoint.close())));

let health: Health = { ready: [], live: [] };
const open = async (...limits: readonly { readyMs: number; liveMs: number }[]): Promise<HealthEndpoint> => {
  const endpoint = await openHealthEndpoint('127.0.0.1:0', 'worker', () => health, limits[0]);
  endpoints.push(endpoint);
  return endpoint;
};

const ask = async (endpoint: HealthEndpoint, path: string) => {
  const response = await fetch(`http://127.0.0.1:${endpoint.port}${path}`);
  return { status: response.status, body: response.status === 404 ? undefined : await response.json() };
};

/** Asks from another process while this one's event loop stands still. */
const askWhileStill = ({ port }: HealthEndpoint, path: string, stillMs: number) => {
  const script = `setTimeout(async () => {
    const response = await fetch('http://127.0.0.1:${port}${path}');
    console.log(JSON.stringify({ status: response.status, body: await response.json() }));
  }, ${stillMs})`;
  return JSON.parse(execFileSync(process.execPath, ['--eval', script], { encoding: 'utf8' }));
};

test('says what holds, and why something does not', async () => {
  health = {
    ready: [{ name: 'log' }, { name: 'store', reason: 'it answered: not yet' }],
    live: [{ name: 'duty beat' }],
  };
  const endpoint = await open();
  const loop = { name: 'event loop', ok: true };
  expect(await ask(endpoint, '/livez?verbose')).toEqual({
    status: 200,
    body: { status: 'live', service: 'worker', checks: [loop, { name: 'duty beat', ok: true }] },
  });
  expect(await ask(endpoint, '/readyz')).toEqual({
    status: 503,
    body: {
      status: 'not ready',
      service: 'worker',
      checks: [loop, { name: 'log', ok: true }, { name: 'store', ok: false, reason: 'it answered: not yet' }],
    },
  });
  health = { ready: [{ name: 'log' }], live: [] };
  endpoint.report();
  await eventually(async () => (await ask(endpoint, '/readyz')).status === 200);
});

test('answers nothing else', async () => {
  const endpoint = await open();
  for (const path of ['/', '/metrics', '/readyz/x', '/healthz']) expect((await ask(endpoint, path)).status).toBe(404);
  // A body is not waited for, however long it were.
  const socket = connect(endpoint.port, '127.0.0.1').on('error', () => {});
  socket.write('GET /readyz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n ');
  socket.resume();
  await once(socket, 'close');
  const posted = await fetch(`http://127.0.0.1:${endpoint.port}/readyz`, { method: 'POST', body: 'x' });
  expect(posted.status).toBe(404);
});

test('tells that the event loop stands still, while it does', async () => {
  health = { ready: [], live: [] };
  const strict = await open({ readyMs: 200, liveMs: 400 });
  const lenient = await open({ readyMs: 60_000, liveMs: 60_000 });
  expect(askWhileStill(strict, '/livez', 600)).toMatchObject({
    status: 503,
    body: {
      status: 'not live',
      checks: [
        { name: 'event loop', ok: false, reason: expect.stringMatching(/blocked for [\d.]+ s, at most 0\.4 s/) },
      ],
    },
  });
  expect(askWhileStill(lenient, '/livez', 600).status).toBe(200);
});

test('is answered again at the same port after its thread died', async () => {
  health = { ready: [], live: [] };
  const endpoint = await open();
  // What it can't read ends it.
  health = {} as Health;
  endpoint.report();
  await expect(ask(endpoint, '/readyz')).rejects.toThrow(/fetch failed/);
  health = { ready: [{ name: 'log', reason: 'away' }], live: [] };
  await eventually(async () => (await ask(endpoint, '/livez').catch(() => undefined))?.status === 200);
  expect((await ask(endpoint, '/readyz')).body).toMatchObject({ checks: [{}, { name: 'log', ok: false }] });
  health = { ready: [], live: [] };
  await eventually(async () => (await ask(endpoint, '/readyz')).status === 200);
});

test('tells where it could not listen', async () => {
  const { port } = await open();
  await expect(openHealthEndpoint(`127.0.0.1:${port}`, 'worker', () => health)).rejects.toMatchObject({
    code: 'health-listen',
    message: expect.stringContaining('TIDEMARK_HEALTH_LISTEN'),
  });
});
