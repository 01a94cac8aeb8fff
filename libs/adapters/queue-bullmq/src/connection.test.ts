/**
 * Owns the tests of printed Redis addresses (they say where it is, and nothing of its credentials, however they were written), and of which
 * connections are kept.
 */

import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { addressOf, openConnection } from './connection.ts';

describe('an address of Redis', () => {
  test('is shown without its credentials', () => {
    expect(addressOf('rediss://ana:hunter2@cache.example:6380/3')).toBe('rediss://cache.example:6380/3');
    expect(addressOf('redis://ana:hunter2@x@cache')).toBe('redis://cache');
    expect(addressOf('redis://ana:7%2Fhunter2@cache')).toBe('redis://cache');
  });

  test.each([
    'redis://ana:7/hunter2@cache',
    'redis://ana:7?hunter2@cache',
    'redis://ana:hunter2/7@cache',
    'hunter2@cache',
  ])('is refused without being repeated where it can not be told from a password: %s', (url) => {
    expect(() => addressOf(url)).toThrow(expect.objectContaining({ code: 'redis-url-invalid' }));
    expect(() => addressOf(url)).not.toThrow(/hunter2/);
  });
});

/** Speaks as much of Redis's protocol as a client needs to be ready. */
async function fakeRedis(answerOf: (connection: number, command: string) => string | undefined) {
  let count = 0;
  const server = createServer((socket) => {
    const index = count;
    count += 1;
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      for (const [, command = ''] of chunk.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)) {
        if (command === 'hello') socket.write('%0\r\n');
        else socket.write(answerOf(index, command) ?? '$9\r\nloading:0\r\n');
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

describe('a server in cluster mode', () => {
  test.each([
    ['tells it', { info: '$17\r\ncluster_enabled:1\r\n' }],
    ['tells it by the answer to a command', { set: '-MOVED 1 h:1\r\n' }],
  ])('is refused by name: it %s', async (_how, answers: Readonly<Record<string, string>>) => {
    const server = await fakeRedis((_, command) => answers[command]);
    const connection = openConnection({ url: server.url, patience: 'briefly', silenceMs: 60_000 });
    try {
      const write = connection
        .whenReady(60_000)
        .then(() => connection.bounded(60_000, () => connection.redis.set('a', '1')));
      await expect(write).rejects.toMatchObject({ code: 'redis-cluster' });
    } finally {
      connection.close();
      server.close();
    }
  });
});

describe('a server that takes no writes', () => {
  test.each([
    "-READONLY You can't write against a read only replica.\r\n",
    "-ERR Error running script: @user_script:3: -READONLY You can't write against a read only replica.\r\n",
    '-NOREPLICAS Not enough good replicas to write.\r\n',
  ])('loses its connection, so that the next command finds who takes them: %j', async (refusal) => {
    const server = await fakeRedis((connection, command) => {
      if (command === 'info') return undefined;
      return connection === 0 ? refusal : '+OK\r\n';
    });
    const connection = openConnection({ url: server.url, patience: 'briefly', silenceMs: 60_000 });
    const write = async (): Promise<unknown> => {
      await connection.whenReady(60_000);
      return connection.bounded(60_000, () => connection.redis.set('a', '1'));
    };
    try {
      await expect(write()).rejects.toMatchObject({ code: 'redis-unavailable' });
      expect(await write()).toBe('OK');
    } finally {
      connection.close();
      server.close();
    }
  });
});
