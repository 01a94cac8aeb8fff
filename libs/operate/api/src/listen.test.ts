/** Where it listens: on the port that was asked for, at every address of its name, or not at all. */

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { noTelemetry } from '@tidemark/ports';
import { sha256Digest, systemClock } from '@tidemark/runtime';
import { afterEach, expect, it } from 'vitest';
import { type Listening, type ListenOptions, listenApi } from './listen.ts';
import { localAuthenticator } from './local.ts';

const opened: (Server | Listening)[] = [];
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

/** Somebody else, who would hear what is meant for the API. */
async function taken(host: string, port = 0): Promise<number> {
  const other = createServer().listen({ host, port });
  await once(other, 'listening');
  opened.push(other);
  return (other.address() as AddressInfo).port;
}

async function listen(options: Pick<ListenOptions, 'host' | 'port' | 'orAnyPort'>): Promise<Listening> {
  const ports = { clock: systemClock, digest: sha256Digest, store: {}, telemetry: noTelemetry };
  const place = { ports, client: { memory: {} } } as never;
  const listening = await listenApi({ place, definitions: [], authenticator: localAuthenticator, ...options });
  opened.push(listening);
  return listening;
}

it('refuses a port that somebody has, and names it', async () => {
  const port = await taken('127.0.0.1');
  await expect(listen({ host: '127.0.0.1', port })).rejects.toMatchObject({
    ...{ name: 'ConfigError', code: 'port-taken', message: expect.stringContaining(`Port ${port} of 127.0.0.1`) },
  });
});

it('moves only where any port will do, and says so', async () => {
  const port = await taken('127.0.0.1');
  const moved = await listen({ host: '127.0.0.1', port, orAnyPort: true });
  expect(moved.isElsewhere).toBe(true);
  expect(moved.url).not.toContain(`:${port}`);
  expect((await fetch(`${moved.url}/healthz`)).status).toBe(200);
  // The control: what is free is not left.
  const free = await listen({ host: '127.0.0.1', port: 0, orAnyPort: true });
  expect(free.isElsewhere).toBe(false);
});

it('takes the name of this machine at all of its addresses, or not at all', async (context) => {
  const port = await taken('::1').catch(() => context.skip('this machine has no ::1'));
  await expect(listen({ host: 'localhost', port })).rejects.toMatchObject({ code: 'port-taken' });
  const free = await listen({ host: 'localhost', port: 0 });
  expect((await fetch(`${free.url}/healthz`)).status).toBe(200);
});
