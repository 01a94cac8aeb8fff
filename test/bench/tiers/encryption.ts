/**
 * Owns what encryption costs those who do the work: steps a second of many workflows at once with a data key for each, against the same
 * without, by turns, in one run. Two fleets on the same servers, each with a topic and a database of its own, of which one works at a time.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { configFromEnv, openCluster } from '@tidemark/host';
import { startService } from '@tidemark/testkit/processes';
import type { Env } from '../archive-bucket.ts';
import { median, type Report } from '../report.ts';
import { concurrent } from '../run-steps.ts';
import { durableSteps } from '../workflows.ts';
import type { TierServers } from './servers.ts';

const PARTITIONS = 1_024;
const WORKFLOWS = 256;
const WARM_UPS = 3;
const ROUNDS = 9;

interface Fleet {
  /** Steps a second. */
  work(): Promise<number>;
  stop(): Promise<void>;
}

async function startFleet(env: Env): Promise<Fleet> {
  const coordinator = await startService('coordinator', env);
  const worker = await startService('worker', env);
  const host = await openCluster(configFromEnv(env));
  return {
    work: () => concurrent(host, durableSteps, WORKFLOWS),
    stop: async () => {
      await host.close();
      await worker.stop();
      await coordinator.stop();
    },
  };
}

export async function measureEncryption(servers: TierServers, report: Report): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-keys-'));
  const workflows = { TIDEMARK_WORKFLOWS: './test/bench/workflows.ts' };
  const key = pathToFileURL(path.join(folder, 'keys.json')).href;
  const plain = await startFleet({ ...(await servers.fresh(PARTITIONS)), ...workflows });
  const sealed = await startFleet({
    ...{ ...(await servers.fresh(PARTITIONS)), ...workflows },
    ...{ TIDEMARK_ENCRYPTION: 'on', TIDEMARK_KEYS_URL: key },
  });
  try {
    const rates = { plain: [] as number[], sealed: [] as number[] };
    for (let round = -WARM_UPS; round < ROUNDS; round++) {
      const [without, with_] = [await plain.work(), await sealed.work()];
      if (round < 0) continue;
      rates.plain.push(without);
      rates.sealed.push(with_);
    }
    for (const [name, values] of Object.entries(rates)) {
      report.note(`encryption, ${name}: steps/s by round: ${values.map((rate) => rate.toFixed(0)).join(', ')}`);
    }
    report.add('tiers.steps_plain_per_s', median(rates.plain), 'steps/s');
    report.add('tiers.steps_sealed_per_s', median(rates.sealed), 'steps/s');
    report.add('tiers.encryption_cost_percent', (1 - median(rates.sealed) / median(rates.plain)) * 100, '%');
  } finally {
    await sealed.stop();
    await plain.stop();
    await rm(folder, { recursive: true });
  }
}
