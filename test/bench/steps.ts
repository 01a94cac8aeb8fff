/** `npm run bench -- steps`: sequential and concurrent steps, embedded and on the cluster, beside the raw appends of the same run. */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { configFromEnv, type Host, openCluster, openEmbedded } from '@tidemark/host';
import type { Definition } from '@tidemark/runtime';
import { memoryBytes, startService } from '@tidemark/testkit/processes';
import { startClusterServers } from '@tidemark/testkit/servers';
import { rawKafkaAppends, rawSqliteCommits } from './raw.ts';
import { median, type Report } from './report.ts';
import { measureCommits, measureSteps, SEQUENTIAL_STEPS, STEP_BYTES } from './run-steps.ts';
import { durableSteps, stagedSteps } from './workflows.ts';

const MEGABYTE = 1_048_576;

/** `commits` alone: nothing but the percentiles of single commits, of both. */
export const stepParts = ['embedded', 'cluster', 'commits'] as const;

/** `parts`: of `stepParts`. */
export async function measureStepSuite(report: Report, parts: readonly string[]): Promise<void> {
  const onlyCommits = !parts.includes('embedded') && !parts.includes('cluster');
  if (onlyCommits || parts.includes('embedded')) await embeddedSteps(report, onlyCommits);
  if (onlyCommits || parts.includes('cluster')) await clusterSteps(report, onlyCommits);
}

async function embeddedSteps(report: Report, onlyCommits: boolean): Promise<void> {
  const raw = await rawSqliteCommits(SEQUENTIAL_STEPS, STEP_BYTES);
  report.add('embedded.sequential.raw_commit_median_ms', median(raw), 'ms');
  await withEmbedded(report, [durableSteps, stagedSteps], async (host) => {
    await measureCommits(host, 'embedded', report);
    if (!onlyCommits) await measureSteps(host, 'embedded', report);
  });
}

/** One process on a folder of its own, with a worker of these definitions. */
export async function withEmbedded(
  report: Report,
  definitions: readonly Definition[],
  measure: (host: Host) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-bench-'));
  const onError = (where: string, error: unknown): void => report.note(`${where}: ${error}`);
  const host = await openEmbedded({ folder }, { onError });
  try {
    await host.startWorker({ definitions, concurrency: 1_000, onError });
    await measure(host);
  } finally {
    await host.close();
    await rm(folder, { recursive: true });
  }
}

async function clusterSteps(report: Report, onlyCommits: boolean): Promise<void> {
  const servers = await startClusterServers({ dataIn: 'memory' });
  // By itself without encryption, so that figures stay comparable; `bench tiers` tells what it costs.
  const keysUrl = process.env.TIDEMARK_KEYS_URL ?? '';
  const env = {
    TIDEMARK_KAFKA_BROKERS: servers.kafka.address,
    TIDEMARK_REDIS_URL: servers.redis.address,
    TIDEMARK_POSTGRES_URL: servers.postgres.address,
    TIDEMARK_TOPIC: `bench-${process.pid}`,
    TIDEMARK_PARTITIONS: '1024',
    TIDEMARK_ENCRYPTION: keysUrl === '' ? 'off' : 'on',
    TIDEMARK_KEYS_URL: keysUrl,
    TIDEMARK_WORKFLOWS: './test/bench/workflows.ts',
  };
  try {
    report.note('cluster: broker data in memory');
    const raw = await rawKafkaAppends(servers.kafka.address, SEQUENTIAL_STEPS, STEP_BYTES);
    report.add('cluster.sequential.raw_append_median_ms', median(raw), 'ms');
    report.addTail('cluster.sequential.raw_append_p99_ms', raw, 'ms');
    const coordinator = await startService('coordinator', env);
    const worker = await startService('worker', env);
    const host = await openCluster(configFromEnv(env));
    try {
      await measureCommits(host, 'cluster', report);
      if (!onlyCommits) await measureSteps(host, 'cluster', report);
      for (const service of [coordinator, worker]) {
        const { now, peak } = await memoryBytes(service.pid);
        report.add(`cluster.${service.name}.memory_mb`, now / MEGABYTE, 'MB');
        report.add(`cluster.${service.name}.memory_peak_mb`, peak / MEGABYTE, 'MB');
      }
    } finally {
      await host.close();
      await worker.stop();
      await coordinator.stop();
    }
  } finally {
    await servers.stop();
  }
}
