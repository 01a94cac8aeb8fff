/** Graphs as runs on Kafka, Redis and Postgres, and on a folder: processes that are killed between two nodes and within one. And the store. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { configFromEnv, openCluster } from '@tidemark/host';
import { clusterHost } from '@tidemark/testkit/cluster-host';
import { startService } from '@tidemark/testkit/processes';
import { describeServers, freshTopicName } from '@tidemark/testkit/suites';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ledgerGraph } from '../fixtures/ledger-graph.ts';
import { storeCases } from './store-fixture.ts';

const FIXTURES = path.resolve(import.meta.dirname, '../fixtures');
const DEATHS = ['b before', 'c within'];
const DONE = { done: ['a', 'b', 'c'] };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-graph-'));
  for (const place of DEATHS) await writeFile(path.join(folder, place), '');
});
afterEach(() => rm(folder, { recursive: true }));

/** What the outside has: each booking once, and the node that died within itself twice, which shows that the rest is not luck. */
async function expectLedger(): Promise<void> {
  const lines = (await readFile(path.join(folder, 'ledger'), 'utf8')).trim().split('\n');
  expect(lines).toEqual(['node a', 'booked a', 'node b', 'booked b', 'node c', 'booked c', 'node c']);
}

it('a folder is opened again by a process after each death, which resumes the graph', async () => {
  for (const isLast of [...DEATHS.map(() => false), true]) {
    const args = [path.join(FIXTURES, 'embedded-worker.ts'), path.join(folder, 'state')];
    const child = spawn(process.execPath, args, {
      env: { ...process.env, LEDGER: folder },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let printed = '';
    child.stdout.on('data', (chunk) => (printed += chunk));
    const [code, signal] = await once(child, 'exit');
    expect([code, signal]).toEqual(isLast ? [0, null] : [null, 'SIGKILL']);
    if (isLast) expect(JSON.parse(printed)).toEqual(DONE);
  }
  await expectLedger();
});

describeServers('on the cluster', ['kafka', 'redis', 'postgres'], (servers) => {
  it('another worker resumes the graph after each death, and nobody invokes it', async () => {
    const env = {
      TIDEMARK_KAFKA_BROKERS: servers.kafka,
      TIDEMARK_REDIS_URL: servers.redis,
      TIDEMARK_POSTGRES_URL: await servers.freshDatabase(),
      TIDEMARK_TOPIC: freshTopicName('graphs'),
      TIDEMARK_PARTITIONS: '4',
      TIDEMARK_ENCRYPTION: 'off',
    };
    const host = await openCluster(configFromEnv(env));
    await host.startCoordinator();
    const module = path.relative(process.cwd(), path.join(FIXTURES, 'ledger-graph.ts'));
    const own = { ...env, LEDGER: folder, TIDEMARK_WORKFLOWS: `./${module}` };
    const workers = await Promise.all([1, 2, 3].map(() => startService('worker', own)));
    try {
      const run = await host.client.start(ledgerGraph, { done: [] });
      expect(await run.result()).toEqual(DONE);
      await expectLedger();
    } finally {
      await Promise.all(workers.map((worker) => worker.kill()));
      await host.close();
    }
  });

  storeCases(clusterHost(servers, 'store', 8));
});
