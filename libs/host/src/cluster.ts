/** Owns a process's connection to the cluster's servers: what is opened, in which order, and what is closed when one fails. */

import { openKafkaKeyTopic, openKafkaLog } from '@tidemark/log-kafka';
import { type KeyIndex, noTelemetry, type Telemetry } from '@tidemark/ports';
import { openBullmqQueue, openRedisHints, openRedisLiveness, openRedisWatch } from '@tidemark/queue-bullmq';
import { ProjectedKeyStore, sessionMemory, sha256Digest, systemClock, systemPrng } from '@tidemark/runtime';
import { openPostgresStore } from '@tidemark/store-postgres';
import { openTelemetry } from '@tidemark/telemetry';
import type { ClusterConfig } from './config.ts';
import { Host } from './host.ts';
import { type Keys, keysOver, openProvider } from './keys.ts';
import { embedderIn } from './memory-index.ts';
import { openObjects, viewsOver } from './tiers.ts';

export interface OpenOptions {
  /** Told of what doesn't keep anything from working, and could lose something one day. */
  readonly onWarning?: (code: string, message: string) => void;
}

/** Connects. Throws `UnavailableError` that names the address without credentials when a server can't be reached. */
export async function openCluster(config: ClusterConfig, { onWarning }: OpenOptions = {}): Promise<Host> {
  const embedder = embedderIn(config.embedderFolder);
  const telemetry: Telemetry = config.telemetry ? openTelemetry() : noTelemetry;
  const opened: { close(): Promise<void> }[] = [];
  const closeAll = async (): Promise<void> => {
    for (const port of opened.toReversed()) await port.close();
  };
  const open = async <T extends { close(): Promise<void> }>(opening: T | Promise<T>): Promise<T> => {
    const port = await opening;
    opened.push(port);
    return port;
  };
  try {
    const redis = { url: config.redisUrl, prefix: config.topic };
    const log = await open(
      openKafkaLog({
        brokers: config.brokers,
        topic: config.topic,
        partitions: config.partitions,
        replicationFactor: config.replication,
        clientId: 'tidemark',
        appendClient: config.appendClient,
        ...(onWarning !== undefined && { onWarning }),
      }),
    );
    const store = await open(openPostgresStore({ url: config.postgresUrl }));
    const { archiveUrl, coldUrl } = config.tiers;
    const warm = archiveUrl === '' ? undefined : await open(openObjects(archiveUrl, 'TIDEMARK_ARCHIVE_URL'));
    const cold = coldUrl === '' ? undefined : await open(openObjects(coldUrl, 'TIDEMARK_COLD_URL'));
    const keys = config.keysUrl === '' ? undefined : await openClusterKeys(config, store.keyIndex, open);
    const archive = warm && { warm, cold };
    const views = viewsOver({ log, store, clock: systemClock, archive, keys });
    const hints = await open(openRedisHints(redis));
    const liveness = await open(openRedisLiveness({ ...redis, presence: config.presence }));
    const watch = await open(openRedisWatch(redis));
    const queue = await open(openBullmqQueue(redis));
    const ports = {
      log: views.log,
      archive: views.tiers?.archive,
      store: views.store,
      queue,
      hints,
      liveness,
      telemetry,
      clock: systemClock,
      prng: systemPrng,
      digest: sha256Digest,
      watch,
      memory: sessionMemory({ store: views.store, embedder }),
    };
    return new Host(ports, closeAll, { partitionsMax: config.partitionsMax, embedder, tiers: views.tiers, keys });
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** The topic is the truth, and Postgres an index of it. */
async function openClusterKeys(
  { brokers, topic, replication, keysUrl }: ClusterConfig,
  index: KeyIndex,
  open: <T extends { close(): Promise<void> }>(opening: Promise<T>) => Promise<T>,
): Promise<Keys> {
  const provider = await open(openProvider(keysUrl, 'TIDEMARK_KEYS_URL'));
  const keyTopic = await open(openKafkaKeyTopic({ brokers, topic: `${topic}.keys`, replicationFactor: replication }));
  return keysOver(provider, new ProjectedKeyStore(keyTopic, index), systemClock, systemPrng);
}
