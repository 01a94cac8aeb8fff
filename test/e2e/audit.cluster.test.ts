/**
 * The audit on a cluster: the services are processes, `main.ts` is the client. Its worker is killed in mid-run; another goes on from
 * the newest checkpoint, reads no finished file again, and the report is the bytes of an uninterrupted run's, which a folder gives
 * as well (A1, I1, I2, I10, D6).
 */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { configFromEnv, type Host, openCluster } from '@tidemark/host';
import type { CheckpointRow } from '@tidemark/ports';
import { eventually } from '@tidemark/testkit/eventually';
import { type ServiceProcess, startService } from '@tidemark/testkit/processes';
import { describeServers, freshTopicName, ownServer } from '@tidemark/testkit/suites';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runSeed } from '../run-seed.ts';
import { AuditProcess, momentsOf, resumedFrom } from './audit-process.ts';
import { referenceReport } from './reference-report.ts';
import { randomFrom, writeTree } from './source-tree.ts';

const FILES = 200;
const KILLS = 5;
const TIMEOUT_MS = 600_000;
const WRITES_TIMEOUT_MS = 60_000;
const seed = runSeed();

describeServers('the audit on a cluster', ['kafka', 'postgres'], (servers) => {
  const services: ServiceProcess[] = [];
  let env: Record<string, string>;
  let folder: string;

  const at = (name: string): string => path.join(folder, name);
  const start = async (name: 'coordinator' | 'worker'): Promise<ServiceProcess> => {
    const service = await startService(name, env);
    services.push(service);
    return service;
  };
  const reportIn = async (out: string): Promise<readonly Buffer[]> => [
    await readFile(path.join(at(out), 'audit-report.md')),
    await readFile(path.join(at(out), 'audit-report.json')),
  ];

  beforeEach(async (context) => {
    // Its own Redis: the prefix is of the topic, but no other test's flush may reach it.
    const redis = await ownServer(context, 'redis');
    folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-audit-cluster-'));
    await writeTree(at('tree'), { files: FILES, functions: 40, seed: 1 });
    env = {
      TIDEMARK_KAFKA_BROKERS: servers.kafka,
      TIDEMARK_REDIS_URL: redis.address,
      TIDEMARK_POSTGRES_URL: await servers.freshDatabase(),
      TIDEMARK_TOPIC: freshTopicName('audit'),
      TIDEMARK_PARTITIONS: '8',
      TIDEMARK_KEYS_URL: pathToFileURL(at('keys.json')).href,
      TIDEMARK_WORKFLOWS: './examples/codebase-audit/src/workflow.ts',
      ...{ OPENAI_API_KEY: '', AI_GATEWAY_API_KEY: '' },
    };
  }, TIMEOUT_MS);

  afterEach(async () => {
    await Promise.all(services.splice(0).map((service) => service.kill()));
    await rm(folder, { recursive: true, force: true });
  });

  it(`survives five kills of its worker (TIDEMARK_TEST_SEED=${seed})`, { timeout: TIMEOUT_MS }, async ({
    onTestFailed,
  }) => {
    await start('coordinator');
    let worker = await start('worker');
    const audit = new AuditProcess([at('tree'), '--out', at('out')], env);
    onTestFailed(() => console.log(audit.stdout, audit.stderr));
    const host = await openCluster(configFromEnv(env));
    try {
      const moments = momentsOf(KILLS, randomFrom(seed));
      for (const [killed, share] of moments.entries()) {
        await audit.until(({ progress }) => progress.files >= share * FILES);
        // Two moments may be so close that what the one before did shows after both: a kill counts when it takes one that wrote.
        await eventually(async () => holdersOf(await rowsOf(host)).size > killed, {
          timeoutMs: WRITES_TIMEOUT_MS,
          what: `a checkpoint of worker ${killed + 1}`,
        });
        await worker.kill();
        worker = await start('worker');
      }
      const ended = await audit.ended;
      expect(ended).toMatchObject({ code: 0, stderr: '' });
      expect(ended.stdout).toContain(`Audited ${FILES} files`);
      expect(await reportIn('out')).toEqual(await referenceReport(at('tree'), 'tree'));
      expectOneChain(await rowsOf(host));
    } finally {
      await host.close();
    }
  });

  it('goes on while its client is away, and answers the next one', { timeout: TIMEOUT_MS }, async () => {
    await start('coordinator');
    await start('worker');
    const args = [at('tree'), '--out', at('out')];
    const first = new AuditProcess(args, env);
    await first.until(({ progress }) => progress.files > 0);
    first.signal('SIGINT');
    const left = await first.ended;
    expect(left.code).toBe(130);
    expect(left.stdout).toContain('continues in the cluster');
    const second = await new AuditProcess(args, env).ended;
    expect(second.code).toBe(0);
    const resumed = resumedFrom(second.stdout);
    if (resumed === undefined) expect(second.stdout).toContain('Nothing has changed since run');
    else expect(resumed.files).toBeGreaterThanOrEqual(first.progress.files);
    expect(await reportIn('out')).toEqual(await referenceReport(at('tree'), 'tree'));
  });
});

/** The checkpoints of the only workflow, in their order; none before it is started. */
async function rowsOf(host: Host): Promise<readonly CheckpointRow[]> {
  const [only, ...others] = await host.ports.store.workflows({ limit: 10 });
  expect(others).toEqual([]);
  return only === undefined ? [] : host.client.run(only.workflow).checkpoints(1, 10_000);
}

const holdersOf = (rows: readonly CheckpointRow[]): ReadonlySet<unknown> => new Set(rows.map((row) => row.holder));

/** Every file has exactly one checkpoint, in one unbroken chain (I2), and each worker wrote some of them. */
function expectOneChain(rows: readonly CheckpointRow[]): void {
  expect(rows.map((row) => row.sequence)).toEqual(rows.map((_, index) => index + 1));
  for (const [index, row] of rows.entries()) expect(row.parent).toBe(rows[index - 1]?.checkpoint ?? null);
  const parsed = rows.filter((row) => row.step === 'parse').map((row) => row.lastAction);
  expect(parsed).toHaveLength(FILES);
  expect(new Set(parsed).size).toBe(FILES);
  expect(holdersOf(rows).size).toBeGreaterThan(KILLS);
}
