import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { startServer } from './find.ts';
import { freePort } from './free-port.ts';
import { neededServers } from './global-setup.ts';

describe('an address in the environment', () => {
  let fake: Server;

  beforeEach(async () => {
    fake = createServer((socket) => socket.on('data', () => socket.write('+PONG\r\n')));
    fake.listen(0, '127.0.0.1');
    await once(fake, 'listening');
  });

  afterEach(() => {
    vi.unstubAllEnvs();
    fake.close();
  });

  test('is taken as it is, and not stopped', async () => {
    const { port } = fake.address() as { port: number };
    const address = `redis://127.0.0.1:${port}`;
    vi.stubEnv('TIDEMARK_TEST_REDIS', address);
    const server = await startServer('redis');
    expect(server).toMatchObject({ kind: 'redis', source: 'environment', address });
    if ('stop' in server) await server.stop();
    expect(fake.listening).toBe(true);
  });

  test.each([
    ['redis', 'TIDEMARK_TEST_REDIS', (port: number) => `redis://user:hunter2@127.0.0.1:${port}`],
    ['postgres', 'TIDEMARK_TEST_POSTGRES', (port: number) => `postgres://user:hunter2@127.0.0.1:${port}/db`],
    ['kafka', 'TIDEMARK_TEST_KAFKA', (port: number) => `127.0.0.1:${port}`],
    ['kms', 'TIDEMARK_TEST_KMS', (port: number) => `http://127.0.0.1:${port}`],
    ['bao', 'TIDEMARK_TEST_BAO', (port: number) => `http://token:hunter2@127.0.0.1:${port}`],
  ] as const)(
    'that does not answer is named without credentials and replaced by no other: %s',
    async (kind, variable, address) => {
      const port = await freePort();
      vi.stubEnv(variable, address(port));
      const server = await startServer(kind);
      expect(server).toMatchObject({ kind, remedy: expect.stringContaining(`unset ${variable}`) });
      const { unavailable } = server as { unavailable: string };
      expect(unavailable).toContain(`127.0.0.1:${port}`);
      expect(unavailable).not.toContain('hunter2');
    },
  );

  test('of a server of another kind is refused', async () => {
    const { port } = fake.address() as { port: number };
    vi.stubEnv('TIDEMARK_TEST_KAFKA', `127.0.0.1:${port}`);
    expect(await startServer('kafka')).toHaveProperty('unavailable');
  });
});

test('without a Docker engine the reason says so', async () => {
  vi.stubEnv('DOCKER_HOST', `tcp://127.0.0.1:${await freePort()}`);
  const server = await startServer('redis', { sources: ['docker'] });
  expect(server).toMatchObject({ unavailable: 'docker: no Docker engine answers', remedy: expect.any(String) });
  vi.unstubAllEnvs();
});

test('a run starts the servers that the names of its files ask for', () => {
  expect(neededServers(['a/b.test.ts'])).toEqual([]);
  expect(neededServers(['a/b.test.ts', 'a/c.redis.test.ts'])).toEqual(['redis']);
  expect(neededServers(['a/b.bao.test.ts', 'c.kms.test.ts'])).toEqual(['kms', 'bao']);
  expect(neededServers(['x.cluster.test.ts'])).toEqual(['kafka', 'redis', 'postgres']);
});
