/**
 * Owns how quickly history goes into segments and comes back: a compactor's pass (reading, folding, writing, reading back, trimming, dropping
 * rows), rows of all history rebuilt from nothing, and the rows of one large workflow put back.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { WorkflowId } from '@tidemark/core';
import { configFromEnv, type Host, openCluster, openClusterRebuild, openEmbedded } from '@tidemark/host';
import { Archive, Restorer, TieredLog } from '@tidemark/runtime';
import type { Env } from '../archive-bucket.ts';
import { median, type Report } from '../report.ts';
import { EVENTS_BESIDE_STEPS } from './history.ts';
import { BulkLog, type Filling } from './log.ts';
import type { TierServers } from './servers.ts';

const EMBEDDED_PARTITIONS = 16;
const PARTITIONS = 32;
const ROUNDS = 3;
/** Thirteen events each, of about a kilobyte. */
const EMBEDDED_FILLING: Filling = { workflows: 2_400, steps: 10, outputBytes: 700 };
const FILLING: Filling = { workflows: 6_400, steps: 10, outputBytes: 700 };
const RESTORED_EVENTS = 10_000;
const RESTORE_ROUNDS = 9;
const EVERYTHING = 1_000;

/** Events a second of each of several passes, after one that warms up. */
export async function archiveRates(
  log: BulkLog,
  partitions: number,
  filling: Filling,
  rounds = ROUNDS,
): Promise<readonly number[]> {
  const rates: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    await log.fill(partitions, filling);
    const startedMs = performance.now();
    const { eventCount } = await log.archive();
    if (round > 0) rates.push(eventCount / ((performance.now() - startedMs) / 1_000));
  }
  return rates;
}

export async function measureEmbeddedArchive(report: Report): Promise<number> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-tiers-'));
  const host = await openEmbedded({ folder }, { onError: (where, error) => report.note(`${where}: ${error}`) });
  try {
    const rates = await archiveRates(new BulkLog(host), EMBEDDED_PARTITIONS, EMBEDDED_FILLING);
    report.note(`archive, embedded: events/s by round: ${rates.map((rate) => rate.toFixed(0)).join(', ')}`);
    report.add('tiers.archive.embedded.events_per_s', median(rates), 'events/s');
    return median(rates);
  } finally {
    await host.close();
    await rm(folder, { recursive: true });
  }
}

async function withHost<T>(env: Env, report: Report, work: (host: Host) => Promise<T>): Promise<T> {
  const host = await openCluster(configFromEnv(env));
  try {
    await host.startCoordinator({ onError: (where, error) => report.note(`${where}: ${error}`) });
    return await work(host);
  } finally {
    await host.close();
  }
}

export async function measureArchive(servers: TierServers, report: Report): Promise<Env> {
  const env = await servers.fresh(PARTITIONS);
  await withHost(env, report, async (host) => {
    const rates = await archiveRates(new BulkLog(host), PARTITIONS, FILLING);
    report.note(`archive, Kafka and S3: events/s by round: ${rates.map((rate) => rate.toFixed(0)).join(', ')}`);
    report.add('tiers.archive.events_per_s', median(rates), 'events/s');
  });
  return env;
}

/**
 * As `tidemark admin rebuild` does it, the switch included. Some of the history is in segments, and about a third still in the log. `env`: as
 * `measureArchive` left it.
 */
export async function measureRebuild(env: Env, report: Report): Promise<void> {
  let eventCount = 0;
  await withHost(env, report, async (host) => {
    await new BulkLog(host).fill(PARTITIONS, FILLING);
    for (const { end } of (await host.ports.log.bounds()).values()) eventCount += end;
  });
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const onError = (error: unknown): void => report.note(`rebuild: ${error}`);
    const rebuild = await openClusterRebuild(configFromEnv(env), 'switch', { onError });
    try {
      const startedMs = performance.now();
      await rebuild.rows.switchOver();
      rates.push(eventCount / ((performance.now() - startedMs) / 1_000));
    } finally {
      await rebuild.close();
    }
  }
  report.note(`rebuild: events/s by round: ${rates.map((rate) => rate.toFixed(0)).join(', ')}`);
  report.add('tiers.rebuild.events_per_s', median(rates), 'events/s');
}

/** Each time by a process that has read nothing before, from rows that are gone. */
export async function restoreTimes(
  host: Host,
  workflow: WorkflowId,
  rounds = RESTORE_ROUNDS,
): Promise<readonly number[]> {
  const { store } = host.ports;
  const { hot, archive } = host.tiers!;
  const times: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const unread = new Archive({ warm: archive.warm });
    const restorer = new Restorer({ ...host.ports, log: new TieredLog(hot, unread) }, unread);
    const startedMs = performance.now();
    const { state } = await restorer.restore(workflow);
    if (round > 0) times.push(performance.now() - startedMs);
    if (state !== 'restored') throw new Error(`the rows of ${workflow} were ${state}`);
    await store.dropRestored(Number.MAX_SAFE_INTEGER, EVERYTHING);
  }
  return times;
}

export async function measureRestore(servers: TierServers, report: Report): Promise<void> {
  const env = await servers.fresh(1);
  await withHost(env, report, async (host) => {
    const log = new BulkLog(host);
    await log.fill(1, { workflows: 1, steps: RESTORED_EVENTS - EVENTS_BESIDE_STEPS, outputBytes: 700 });
    const { segmentCount, bytes } = await log.archive();
    const times = await restoreTimes(host, log.first!);
    report.note(
      `restore: ${segmentCount} segments of ${bytes} bytes; ${times.map((ms) => ms.toFixed(0)).join(' ')} ms`,
    );
    report.add('tiers.restore10k_ms', median(times), 'ms');
  });
}
