/** Owns the tests of what is told of a Redis that closes each connection at once: the reason that it gave, not the closed connection. */

import { networkInterfaces } from 'node:os';
import {
  freePort,
  makeServerFolder,
  pingRedis,
  removeServerFolder,
  requireProgram,
  startNativeProcess,
  waitUntilReady,
} from '@tidemark/testkit/servers';
import { expect, test } from 'vitest';
import { openConnection } from './connection.ts';

const PASSWORD = 'pa55';

/** One by which this machine comes to itself as another would. */
const address = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

async function withRedis(args: readonly string[], work: (port: number) => Promise<void>): Promise<void> {
  const program = await requireProgram('redis-server', { 'apt-get': ['redis-server'], dnf: ['redis'], apk: ['redis'] });
  const folder = await makeServerFolder('redis', 'memory');
  const port = await freePort();
  const all = ['--port', String(port), '--dir', folder, '--save', '', ...args];
  const redis = await startNativeProcess({ command: program!, args: all, folder });
  try {
    await waitUntilReady(redis, folder, () => pingRedis(`redis://127.0.0.1:${port}`));
    await work(port);
  } finally {
    await redis.end();
    await removeServerFolder(folder);
  }
}

async function reasonFrom(host: string, port: number): Promise<string> {
  const connection = openConnection({
    url: `redis://:${PASSWORD}@${host}:${port}`,
    patience: 'briefly',
    silenceMs: 60_000,
  });
  try {
    return await connection.whenReady(1_000).then(
      () => 'none',
      (error: Error) => error.message,
    );
  } finally {
    connection.close();
  }
}

test.skipIf(address === undefined)('protected mode is named', () =>
  withRedis([], async (port) => {
    expect(await reasonFrom(address!, port)).toMatch(/is not available: it is in protected mode, and refuses/);
  }),
);

test('a limit of connections is named, and no longer once it has passed', () =>
  withRedis(['--maxclients', '1'], async (port) => {
    const only = openConnection({ url: `redis://127.0.0.1:${port}`, patience: 'briefly', silenceMs: 60_000 });
    await only.whenReady(60_000);
    const next = openConnection({ url: `redis://127.0.0.1:${port}`, patience: 'briefly', silenceMs: 60_000 });
    await expect(next.whenReady(1_000)).rejects.toThrow(/as many connections as its maxclients allows/);
    only.close();
    await next.whenReady(60_000);
    next.close();
  }));
