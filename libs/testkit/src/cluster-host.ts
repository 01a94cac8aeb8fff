/** Owns the encrypted host of a suite on the run's servers, with a coordinator. For test files alone: it imports vitest. */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { configFromEnv, type Host, openCluster } from '@tidemark/host';
import { afterAll, beforeAll } from 'vitest';
import { freshTopicName, type SuiteServers } from './servers/suites.ts';

/** Opens it before the suite's tests, and closes it after them. `name`: of its topic. */
export function clusterHost(
  servers: SuiteServers<'kafka' | 'redis' | 'postgres'>,
  name: string,
  partitions: number,
): () => Host {
  let host: Host;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), `tidemark-${name}-`));
    const config = configFromEnv({
      TIDEMARK_KAFKA_BROKERS: servers.kafka,
      TIDEMARK_REDIS_URL: servers.redis,
      TIDEMARK_POSTGRES_URL: await servers.freshDatabase(),
      TIDEMARK_TOPIC: freshTopicName(name),
      TIDEMARK_PARTITIONS: String(partitions),
      TIDEMARK_KEYS_URL: pathToFileURL(path.join(folder, 'keys.json')).href,
    });
    host = await openCluster(config);
    await host.startCoordinator();
  });
  afterAll(async () => {
    await host.close();
    await rm(folder, { recursive: true });
  });
  return () => host;
}
