/** Clients that ask and never read: cut off, and bounded in what waits for them, by tenant; who reads slowly is answered whole. */

import { connect as dial, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type ApiOptions, createApi } from '@tidemark/api';
import { connect } from '@tidemark/client';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { type Served, sayingAuthenticator, serveApi } from './served.ts';

/** More by far than the system takes off a server's hands. */
const ANSWER_MIN_BYTES = 24 * 1_024 * 1_024;

let served: Served;
/** The same, and what its workflows did last takes many words. */
let place: ApiOptions['place'];
beforeAll(async () => {
  served = await serveApi({ authenticator: sayingAuthenticator });
  const client = connect({ url: served.url, token: 'operator acme' });
  await (await client.start('greet', { name: 'Ana' }, { id: 'large' })).result();
  const { client: own, ports } = served.host;
  const { store } = ports;
  const lastAction = 'x'.repeat(ANSWER_MIN_BYTES);
  const workflow: typeof store.workflow = async (id) => {
    const row = await store.workflow(id);
    return row && { ...row, lastAction };
  };
  const wordy = new Proxy(store, {
    get(target, name) {
      if (name === 'workflow') return workflow;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  place = { client: own, ports: { ...ports, store: wordy } };
});
afterAll(() => served.close());

let app: Awaited<ReturnType<typeof createApi>>;
let sockets: Socket[];
beforeEach(() => {
  sockets = [];
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await app.close();
});

/** Its port. */
async function listen(options: Pick<ApiOptions, 'answers' | 'connectionsMaxCount'>): Promise<number> {
  const { definitions } = served;
  app = await createApi({ place, definitions, authenticator: sayingAuthenticator, ...options });
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as { readonly port: number }).port;
}

function request(port: number, path: string, tenant = 'acme', times = 1): Socket {
  const socket = dial(port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => {});
  const headers = ['host: localhost', `authorization: Bearer operator ${tenant}`, times === 1 && 'connection: close'];
  socket.write(`GET ${path} HTTP/1.1\r\n${headers.filter(Boolean).join('\r\n')}\r\n\r\n`.repeat(times));
  return socket;
}

const connectionsCount = () =>
  new Promise<number>((resolve, reject) => {
    app.server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });

const ask = (port: number, path: string, tenant = 'acme', method = 'GET') =>
  fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { authorization: `Bearer operator ${tenant}`, connection: 'close', 'content-type': 'application/json' },
    body: method === 'GET' ? null : '{"pinned":false,"why":"a test"}',
  });

const LARGE = '/v1/workflows/large';

const STALL_MS = 1_000;

it('who never reads is cut off, and who reads slowly gets the whole answer', async () => {
  const port = await listen({ answers: { stallMs: STALL_MS } });
  for (const _ of [1, 2]) request(port, LARGE).pause();
  const slow = request(port, LARGE);
  let readBytes = 0;
  let text = '';
  const beganAtMs = performance.now();
  for await (const bytes of slow) {
    readBytes += (bytes as Buffer).length;
    text = `${text}${bytes as Buffer}`.slice(-20);
    await pause(8);
  }
  expect(readBytes).toBeGreaterThan(ANSWER_MIN_BYTES);
  expect(text).toMatch(/\}$/);
  // It took longer than those that read nothing are given.
  expect(performance.now() - beganAtMs).toBeGreaterThan(2 * STALL_MS);
  await expect.poll(connectionsCount).toBe(0);
});

it('who never reads stays until the time is over (control)', async () => {
  const port = await listen({ answers: { stallMs: 60_000 } });
  request(port, LARGE).pause();
  const slow = request(port, LARGE);
  for await (const _ of slow) await pause(1);
  expect(await connectionsCount()).toBe(1);
});

it('reads of a tenant whose answers wait are refused, and no acts, nor those of others; until they are gone', async () => {
  const port = await listen({ answers: { maxBytes: 3 * ANSWER_MIN_BYTES } });
  const statusOf = async (...of: Parameters<typeof ask>) => (await ask(...of)).status;
  for (const _ of [1, 2]) request(port, LARGE).pause();
  await expect.poll(() => statusOf(port, '/v1/workflows')).toBe(429);
  const refused = await ask(port, LARGE);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  expect(await refused.json()).toMatchObject({ code: 'requests-too-many' });
  expect(await statusOf(port, '/v1/workflows', 'globex')).toBe(200);
  // It has ended.
  expect(await statusOf(port, `${LARGE}/pin`, 'acme', 'POST')).toBe(409);
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => statusOf(port, LARGE)).toBe(200);
});

it('answers behind one that is not read wait no more once their connection is gone', async () => {
  const port = await listen({ answers: { maxBytes: 3 * ANSWER_MIN_BYTES } });
  const socket = request(port, LARGE, 'acme', 2).pause();
  const statusOf = async (...of: Parameters<typeof ask>) => (await ask(...of)).status;
  await expect.poll(() => statusOf(port, '/v1/workflows')).toBe(429);
  socket.destroy();
  await expect.poll(() => statusOf(port, LARGE)).toBe(200);
});

it('connections beyond the most are closed', async () => {
  const port = await listen({ connectionsMaxCount: 2 });
  for (const _ of [1, 2]) request(port, LARGE).pause();
  await expect.poll(connectionsCount).toBe(2);
  await expect(ask(port, '/healthz')).rejects.toThrow();
  for (const socket of sockets) socket.destroy();
  await expect
    .poll(() =>
      ask(port, '/healthz').then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200);
});
