/** What the chart's own servers are started with, by the real programs: other pods, which come from other addresses, are let in. */

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
import { helm, named, podOf, rendered } from './helm.ts';

/** One by which this machine comes to itself as another would. */
const address = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

test.skipIf(address === undefined)(
  'Redis answers who is not on its own machine; without the flag it does not',
  async () => {
    await helm();
    const [program, ...args] = podOf(named(await rendered('trial-servers'), 'StatefulSet', '-redis')).spec.containers[0]
      .args as string[];
    expect(await answers(program!, args)).toBe(true);
    const at = args.indexOf('--protected-mode');
    expect(await answers(program!, args.toSpliced(at, 2))).toBe(false);
  },
  180_000,
);

async function answers(name: string, args: readonly string[]): Promise<boolean> {
  const program = await requireProgram(name, { 'apt-get': ['redis-server'], dnf: ['redis'], apk: ['redis'] });
  const folder = await makeServerFolder('redis', 'memory');
  const port = await freePort();
  const command = { command: program!, args: [...args, '--port', String(port), '--dir', folder], folder };
  const redis = await startNativeProcess(command);
  try {
    await waitUntilReady(redis, folder, () => pingRedis(`redis://127.0.0.1:${port}`));
    return await pingRedis(`redis://${address}:${port}`).then(
      () => true,
      () => false,
    );
  } finally {
    await redis.end();
    await removeServerFolder(folder);
  }
}
