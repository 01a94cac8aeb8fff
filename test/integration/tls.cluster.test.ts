/**
 * A cluster whose servers speak nothing but TLS, with a throw-away authority: a workflow runs over it, and nothing is sent to a server
 * that shows a wrong certificate, nor without one of one's own.
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { configFromEnv, openCluster } from '@tidemark/host';
import { defineWorkflow, task } from '@tidemark/sdk';
import {
  type CertificateFiles,
  type NativeServer,
  type SecuredBy,
  startSecured,
  ThrowAwayAuthority,
} from '@tidemark/testkit/servers';
import { freshTopicName } from '@tidemark/testkit/suites';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';

vi.setConfig({ hookTimeout: 180_000 });

const greeting = defineWorkflow({
  name: 'greeting',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({ ok: z.boolean() }),
  tasks: { first: z.object({}) },
  flow: { first: [] },
  begin: () => ({ belief: {}, next: [task('first', {})] }),
  steps: { first: () => ({ done: { ok: true } }) },
});

let folder: string;
let authority: ThrowAwayAuthority;
let other: ThrowAwayAuthority;
let client: CertificateFiles;
let servers: { readonly kafka: NativeServer; readonly redis: NativeServer; readonly postgres: NativeServer };
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-tls-'));
  authority = await ThrowAwayAuthority.make(path.join(folder, 'ours'));
  other = await ThrowAwayAuthority.make(path.join(folder, 'theirs'), 'another authority');
  client = await authority.sign('client');
  const by: SecuredBy = { ca: authority.ca, server: await authority.sign('server'), client };
  const [kafka, redis, postgres] = await Promise.all([
    startSecured('kafka', by),
    startSecured('redis', by),
    startSecured('postgres', by),
  ]);
  servers = { kafka, redis, postgres };
});
afterAll(async () => {
  for (const server of Object.values(servers ?? {})) await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const settings = (more: Readonly<Record<string, string>> = {}) => ({
  TIDEMARK_KAFKA_BROKERS: servers.kafka.address,
  // That TLS is spoken is not left to how an address is written.
  TIDEMARK_REDIS_URL: servers.redis.address.replace('rediss:', 'redis:'),
  TIDEMARK_POSTGRES_URL: servers.postgres.address,
  TIDEMARK_TOPIC: freshTopicName('tls'),
  TIDEMARK_PARTITIONS: '4',
  TIDEMARK_ENCRYPTION: 'off',
  TIDEMARK_PRESENCE_HOST: '127.0.0.1',
  TIDEMARK_TLS_CA: authority.ca,
  TIDEMARK_TLS_CERT: client.cert,
  TIDEMARK_TLS_KEY: client.key,
  ...more,
});

it('a workflow runs over it', async () => {
  const database = servers.postgres.address.replace(/[^/]*$/, 'tls_run');
  const config = configFromEnv(settings({ TIDEMARK_POSTGRES_URL: database }));
  const coordinator = await openCluster(config);
  const worker = await openCluster(config);
  try {
    await coordinator.startCoordinator();
    await worker.startWorker({ definitions: [greeting], concurrency: 4 });
    const run = await coordinator.client.start(greeting, {}, { id: 'tls-run' });
    expect(await run.result()).toEqual({ ok: true });
  } finally {
    await worker.close();
    await coordinator.close();
  }
});

/** What each server is when it is wrong, and what is said of it. */
const FAULTS = [
  ['the authority is another one', () => ({ CA: other.ca }), /certificate|self.signed|issuer|verify/i],
  [
    'no certificate of one’s own is shown',
    () => ({ CERT: '', KEY: '' }),
    /certificate|alert|handshake|reset|closed|terminated|ended/i,
  ],
] as const;

describe.concurrent.each(['KAFKA', 'REDIS', 'POSTGRES'] as const)('to %s', (service) => {
  it.concurrent.each(FAULTS)('nothing goes when %s', async (_what, files, said) => {
    const wrong = files();
    const named = Object.fromEntries(
      Object.entries(wrong).map(([file, at]) => [`TIDEMARK_${service}_TLS_${file}`, at]),
    );
    const all = settings(named);
    if ('CERT' in wrong) {
      // Of this one alone: others keep theirs.
      for (const one of ['KAFKA', 'REDIS', 'POSTGRES'].filter((name) => name !== service)) {
        Object.assign(all, { [`TIDEMARK_${one}_TLS_CERT`]: client.cert, [`TIDEMARK_${one}_TLS_KEY`]: client.key });
      }
      Object.assign(all, { TIDEMARK_TLS_CERT: '', TIDEMARK_TLS_KEY: '' });
    }
    const error = await attempt(all);
    expect(error.message).toMatch(said);
    expect(error.name).toMatch(/UnavailableError|ConfigError/);
    for (const key of [client.key]) expect(error.message).not.toContain(await readFile(key, 'utf8'));
  });

  it.concurrent('nothing is sent in clear, also to a server that takes it', async () => {
    const listener = await Listener.open();
    try {
      const { url } = listener;
      const address = {
        KAFKA: { TIDEMARK_KAFKA_BROKERS: url },
        REDIS: { TIDEMARK_REDIS_URL: `redis://user:pearl@${url}` },
        POSTGRES: { TIDEMARK_POSTGRES_URL: `postgres://user:pearl@${url}/db` },
      }[service];
      await attempt(settings(address));
      expect(listener.heard.length).toBeGreaterThan(0);
      for (const bytes of listener.heard) {
        // The first bytes of a TLS hello; or Postgres's question whether it speaks TLS, and nothing more.
        const isHello = bytes[0] === 0x16 && bytes[1] === 0x03;
        const isQuestion = service === 'POSTGRES' && bytes.equals(Buffer.from('0000000804d2162f', 'hex'));
        expect(isHello || isQuestion, bytes.toString('latin1')).toBe(true);
        expect(bytes.includes('pearl')).toBe(false);
      }
    } finally {
      await listener.close();
    }
  });
});

/** The error with which nothing could be opened or done. */
async function attempt(env: Readonly<Record<string, string>>): Promise<Error> {
  try {
    const host = await openCluster(configFromEnv(env));
    try {
      await host.ports.store.ensure();
      await host.ports.queue.depth([{ definition: 'greeting', version: 1, pinned: false }] as never);
    } finally {
      await host.close();
    }
  } catch (error) {
    return error as Error;
  }
  throw new Error('it was opened');
}

/** Hears what it is sent first, and answers nothing. */
class Listener {
  readonly heard: Buffer[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.once('data', (bytes) => {
        this.heard.push(bytes);
        // As a Postgres that speaks no TLS: whoever goes on then would go on in clear.
        if (bytes.length === 8) {
          socket.once('data', (more) => this.heard.push(more));
          socket.write('N');
        }
      });
    });
  }

  static async open(): Promise<Listener> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Listener(server);
  }

  get url(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
