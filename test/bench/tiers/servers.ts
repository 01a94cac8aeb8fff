/** Owns the servers of `bench -- tiers`: a cluster with an S3 server beside it, and names of their own on them for each part. */

import {
  freshDatabase,
  freshTopicName,
  isUnavailable,
  startClusterServers,
  startServer,
} from '@tidemark/testkit/servers';
import { borrowCredentials, type Env, makeArchive } from '../archive-bucket.ts';
import type { Report } from '../report.ts';

export interface TierServers {
  /** Settings of a topic, a database and an archive that nobody else uses. */
  fresh(partitions: number): Promise<Env>;
  stop(): Promise<void>;
}

/** Undefined, and noted, where they are not to be had. */
export async function startTierServers(report: Report): Promise<TierServers | undefined> {
  const s3 = await startServer('s3', { dataIn: 'memory' });
  if (isUnavailable(s3)) {
    report.note(`no S3 server: ${s3.unavailable}. Remedy: ${s3.remedy}. Measured without a cluster.`);
    return undefined;
  }
  const cluster = await startClusterServers({ dataIn: 'memory' }).catch((error: unknown) => {
    report.note(`no cluster: ${error}. Measured without one.`);
  });
  if (cluster === undefined) {
    await s3.stop();
    return undefined;
  }
  const drops: (() => Promise<void>)[] = [];
  const database = async (): Promise<string> => {
    const { url, drop } = await freshDatabase(cluster.postgres.address);
    drops.push(drop);
    return url;
  };
  return {
    fresh: async (partitions) => {
      const name = freshTopicName('tiers');
      const archive = await makeArchive(s3, name);
      borrowCredentials(archive);
      return {
        TIDEMARK_KAFKA_BROKERS: cluster.kafka.address,
        TIDEMARK_REDIS_URL: cluster.redis.address,
        TIDEMARK_POSTGRES_URL: await database(),
        TIDEMARK_TOPIC: name,
        TIDEMARK_PARTITIONS: String(partitions),
        TIDEMARK_PARTITIONS_MAX: String(partitions),
        TIDEMARK_ENCRYPTION: 'off',
        ...archive,
      };
    },
    stop: async () => {
      for (const drop of drops) await drop();
      await Promise.all([cluster.stop(), s3.stop()]);
    },
  };
}
