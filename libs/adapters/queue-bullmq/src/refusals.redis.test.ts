/**
 * Owns the tests of what a Redis refuses: of one that closes each connection the reason that it gave is told, not the closed connection; and
 * of a user's rights those that docs/deploy.md names are enough, and the one that would be missed late is missed at once.
 */

import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { holderId } from '@tidemark/core';
import { job, routesOf } from '@tidemark/testkit/contracts/job-queue-jobs';
import {
  freePort,
  makeServerFolder,
  pingRedis,
  removeServerFolder,
  requireProgram,
  startNativeProcess,
  waitUntilReady,
} from '@tidemark/testkit/servers';
import { describe, expect, test } from 'vitest';
import { openBullmqQueue } from './bullmq-queue.ts';
import { openConnection } from './connection.ts';
import { openRedisHints } from './redis-hints.ts';
import { openRedisLiveness } from './redis-liveness.ts';

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

describe('a user with few rights', () => {
  const [, rights = ''] = /ACL SETUSER tidemark on >PASSWORD ([^`]+)`/.exec(
    readFileSync(new URL('../../../../docs/deploy.md', import.meta.url), 'utf8'),
  )!;
  const user = (given: string): readonly string[] => ['--user', 'tide', 'on', `>${PASSWORD}`, ...given.split(' ')];
  const optionsAt = (port: number) => ({ url: `redis://tide:${PASSWORD}@127.0.0.1:${port}`, prefix: 'tidemark' });

  test('does all with those that are documented', () =>
    withRedis(user(rights), async (port) => {
      const queue = openBullmqQueue(optionsAt(port));
      const liveness = openRedisLiveness(optionsAt(port));
      const hints = openRedisHints(optionsAt(port));
      const taken = Promise.withResolvers<string>();
      const hinted = Promise.withResolvers<void>();
      await queue.consume({ concurrency: 1, routes: routesOf('d') }, async ({ workflow }) => taken.resolve(workflow));
      await queue.enqueue([job('w', { definition: 'd' })]);
      expect(await taken.promise).toBe('w');
      expect(await liveness.beat(holderId('h'), [], 60_000)).toBe(true);
      expect([...(await liveness.view({ markerAgeMs: 1 })).holders.keys()]).toEqual(['h']);
      await hints.subscribe('appended', () => hinted.resolve());
      hints.publish('appended', new Uint8Array([1]) as never);
      await hinted.promise;
      await Promise.all([queue.close(), liveness.close(), hints.close()]);
    }));

  test('is told at once that INFO is missing, without which nobody would ever be found dead', () =>
    withRedis(user(rights.replace(' +info', '')), async (port) => {
      const liveness = openRedisLiveness(optionsAt(port));
      const refused = { name: 'ConfigError', code: 'redis-forbidden', message: expect.stringContaining('+info') };
      await expect(liveness.beat(holderId('h'), [], 60_000)).rejects.toMatchObject(refused);
      await liveness.close();
    }));
});
