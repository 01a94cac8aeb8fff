/** Kills, flushes and drops in mid-run, on the real servers with the services as processes (I2, I4, I6, D6). */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { configFromEnv, type Host, openCluster, openClusterRebuild } from '@tidemark/host';
import type { Run } from '@tidemark/runtime';
import { eventually } from '@tidemark/testkit/eventually';
import { type ServiceProcess, startService } from '@tidemark/testkit/processes';
import { describeServers, freshTopicName, ownServer } from '@tidemark/testkit/suites';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { chain } from './workflows.ts';

const WORKFLOWS = 20;
const STEPS = 15;
const TIMEOUT_MS = 300_000;

describeServers('faults of a running cluster', ['kafka', 'postgres'], (servers) => {
  const services: ServiceProcess[] = [];
  let env: Record<string, string>;
  let host: Host;
  let folder: string;

  const start = async (name: 'coordinator' | 'worker'): Promise<ServiceProcess> => {
    const service = await startService(name, env);
    services.push(service);
    return service;
  };
  const fileOf = (id: string): string => path.join(folder, id);
  const startAll = async (): Promise<readonly Run[]> =>
    Promise.all(
      Array.from({ length: WORKFLOWS }, (_, n) =>
        host.client.start(chain, { count: STEPS, file: fileOf(`w${n}`), pauseMs: 40 }, { id: `w${n}` }),
      ),
    );
  const doneSteps = async (): Promise<number> => {
    const rows = await host.ports.store.workflows({ limit: 1_000 });
    return rows.reduce((sum, row) => sum + row.sequence, 0);
  };

  /** Every workflow has the output of an uninterrupted run, one unbroken chain, and no resolved effect made again. */
  const expectAllWhole = async (runs: readonly Run[]): Promise<void> => {
    for (const run of runs) {
      expect(await run.result()).toEqual({ sum: (STEPS * (STEPS + 1)) / 2 });
      const checkpoints = await run.checkpoints();
      expect(checkpoints.map((row) => row.sequence)).toEqual(Array.from({ length: STEPS }, (_, n) => n + 1));
      for (const [index, row] of checkpoints.entries())
        expect(row.parent).toBe(checkpoints[index - 1]?.checkpoint ?? null);
      const made = (await readFile(fileOf(run.id), 'utf8')).trim().split('\n');
      // An idempotent effect whose outcome was not recorded may be made again, under its own key, once a takeover.
      expect(new Set(made.map((line) => line.split(' ')[0])).size).toBe(STEPS);
    }
  };

  beforeEach(async (context) => {
    // Its own Redis, since a flush would disturb every other test file.
    const redis = await ownServer(context, 'redis');
    folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-faults-'));
    env = {
      TIDEMARK_KAFKA_BROKERS: servers.kafka,
      TIDEMARK_REDIS_URL: redis.address,
      TIDEMARK_POSTGRES_URL: await servers.freshDatabase(),
      TIDEMARK_TOPIC: freshTopicName('faults'),
      TIDEMARK_PARTITIONS: '8',
      TIDEMARK_KEYS_URL: pathToFileURL(path.join(folder, 'keys.json')).href,
      TIDEMARK_WORKFLOWS: './test/integration/workflows.ts',
    };
    host = await openCluster(configFromEnv(env));
  });

  afterEach(async () => {
    await host.close();
    await Promise.all(services.splice(0).map((service) => service.kill()));
    await rm(folder, { recursive: true });
  });

  it('loses nothing when workers are killed', { timeout: TIMEOUT_MS }, async () => {
    await start('coordinator');
    let worker = await start('worker');
    const runs = await startAll();
    for (const share of [0.2, 0.5, 0.8]) {
      await eventually(async () => (await doneSteps()) >= WORKFLOWS * STEPS * share, { timeoutMs: TIMEOUT_MS });
      await worker.kill();
      worker = await start('worker');
    }
    await expectAllWhole(runs);
  });

  it('goes on with another coordinator when one is killed', { timeout: TIMEOUT_MS }, async () => {
    const first = await start('coordinator');
    await start('coordinator');
    await start('worker');
    const runs = await startAll();
    await eventually(async () => (await doneSteps()) >= WORKFLOWS * STEPS * 0.3, { timeoutMs: TIMEOUT_MS });
    await first.kill();
    await expectAllWhole(runs);
  });

  it('completes when Redis is flushed and the database dropped in mid-run (I6)', { timeout: TIMEOUT_MS }, async () => {
    await start('coordinator');
    const worker = await start('worker');
    const runs = await startAll();
    await eventually(async () => (await doneSteps()) >= WORKFLOWS * STEPS * 0.3, { timeoutMs: TIMEOUT_MS });
    await flushRedis(env.TIDEMARK_REDIS_URL!);
    await dropDatabase(env.TIDEMARK_POSTGRES_URL!);
    // Another worker must claim from rows that were rebuilt.
    await worker.kill();
    await start('worker');
    await expectAllWhole(runs);
  });

  it('goes on while rows are compared with the log and rebuilt (I5)', { timeout: TIMEOUT_MS }, async () => {
    await start('coordinator');
    await start('worker');
    const runs = await startAll();
    await eventually(async () => (await doneSteps()) >= WORKFLOWS * STEPS * 0.1, { timeoutMs: TIMEOUT_MS });
    await runSql(
      env.TIDEMARK_POSTGRES_URL!,
      `insert into events select workflow, 99999, 'no event', 'SignalReceived', 0, '', 0, 0, 0, '{}', '{}' from workflows where workflow = 'w3'`,
    );
    const compare = async () => {
      const comparing = await openClusterRebuild(configFromEnv(env), 'compare', {});
      return comparing.rows.compare(10).finally(() => comparing.close());
    };
    // Read by nobody while it runs, and by whoever starts it again.
    await runSql(
      env.TIDEMARK_POSTGRES_URL!,
      `update placements set partition = (partition + 5) % 8 where workflow = 'w4'`,
    );
    const invented = { table: 'events', key: { workflow: 'w3', position: '99999' }, what: 'extra', columns: [] };
    const elsewhere = expect.objectContaining({ table: 'placements', key: { workflow: 'w4' }, what: 'different' });
    expect((await compare()).differences).toEqual(expect.arrayContaining([invented, elsewhere]));
    const before = await host.ports.store.storeId();
    const rebuild = await openClusterRebuild(configFromEnv(env), 'switch', {});
    await rebuild.rows.switchOver().finally(() => rebuild.close());
    expect(await host.ports.store.storeId()).not.toBe(before);
    const again = await host.client.start(chain, { count: 1, file: fileOf('w4'), pauseMs: 0 }, { id: 'w4' });
    expect(await again.result()).toEqual({ sum: (STEPS * (STEPS + 1)) / 2 });
    await expectAllWhole(runs);
    expect((await compare()).differences).toEqual([]);
  });

  it('hands over on SIGTERM and exits with 0', { timeout: TIMEOUT_MS }, async () => {
    await start('coordinator');
    const worker = await start('worker');
    const runs = await startAll();
    await eventually(async () => (await doneSteps()) >= WORKFLOWS, { timeoutMs: TIMEOUT_MS });
    await start('worker');
    expect(await worker.stop()).toBe(0);
    await expectAllWhole(runs);
  });
});

async function flushRedis(url: string): Promise<void> {
  const redis = new Redis(url);
  await redis.flushall();
  await redis.quit();
}

async function runSql(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(text);
  await client.end();
}

/** Drops the database under its users' hands, as a lost server would. */
async function dropDatabase(url: string): Promise<void> {
  const admin = new URL(url);
  const name = admin.pathname.slice(1);
  admin.pathname = '/postgres';
  await runSql(admin.href, `drop database ${pg.escapeIdentifier(name)} with (force)`);
}
