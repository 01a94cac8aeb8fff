/**
 * Owns a process's connections to the cluster's servers: which are opened, in which order, and what is closed when one fails. The clients
 * are loaded only here: a command without servers would start half as long again for them.
 */

import type { KafkaSecurity } from '@tidemark/cluster';
import type { KeyIndex, KeyTopic, StoredKey } from '@tidemark/ports';
import { ProjectedKeyStore, SealedWatch, systemClock } from '@tidemark/runtime';
import {
  checkSession,
  type MigratePostgresOptions,
  type MigrationReport,
  migratePostgres,
  openPostgresRebuild,
  openPostgresStore,
  PasswordClient,
  type RebuildPurpose,
} from '@tidemark/store-postgres';
import { clusterPackage } from '@tidemark/traces';
import type { ClusterConfig } from './config.ts';
import type { Host } from './host.ts';
import { hostOver, openMeasuring } from './host-over.ts';
import { type OpenedKeyStore, openKeys } from './keys.ts';
import { embedderIn } from './memory-index.ts';
import { Opened } from './opened.ts';
import { type Rebuild, type RebuildRole, rebuildOver } from './rebuild.ts';
import { type Below, openBlobs, openObjects } from './tiers.ts';

export interface OpenOptions {
  /** Called for settings that work, and could lose something one day. */
  readonly onWarning?: (code: string, message: string) => void;
  /** A service answers where `metricsListen` says. Commands with the same environment leave that port to it. */
  readonly listens?: boolean;
}

/** Connects. Throws `UnavailableError` that names the address without credentials when a server can't be reached. */
export function openCluster(config: ClusterConfig, options: OpenOptions = {}): Promise<Host> {
  const { metrics, traces, partitionsMax, admission, onSecret, recovery } = config;
  const { onWarning } = options;
  // Without words there is nothing to embed.
  const embedder = config.memoryWords === 'off' ? null : embedderIn(config.embedderFolder);
  return Opened.all(async (opened) => {
    const listen = options.listens === true ? config.metricsListen : '';
    const telemetry = await openMeasuring({ metrics, traces, listen, onWarning }, opened);
    const redis = { url: config.redisUrl, prefix: config.topic, tls: config.tls.redis };
    const cluster = await clients();
    const below = await openBelow(config, opened, options);
    const { openBullmqQueue, openRedisCalls, openRedisHints, openRedisLiveness, openRedisWatch } =
      await cluster.redisQueue();
    const hints = await opened.add(openRedisHints(redis));
    const liveness = await opened.add(openRedisLiveness({ ...redis, presence: config.presence }));
    const plainWatch = await opened.add(openRedisWatch(redis));
    const watch = below.keys === undefined ? plainWatch : new SealedWatch(plainWatch, below.keys.workflows);
    const calls = await opened.add(openRedisCalls(redis));
    const ports = { queue: await opened.add(openBullmqQueue(redis)), hints, liveness, watch, calls };
    const { retention } = config.tiers;
    const parts = { partitionsMax, admission, embedder, retention, traces };
    return hostOver({ below, ports, telemetry, onSecret, recovery, onWarning, ...parts }, opened);
  });
}

/** Opens a rebuild of rows beside those of the cluster. Throws as `openCluster` does. */
export function openClusterRebuild(
  config: ClusterConfig,
  purpose: RebuildPurpose,
  role: RebuildRole,
): Promise<Rebuild> {
  return Opened.all(async (opened) => {
    const below = await openBelow(config, opened);
    const target = await opened.add(openPostgresRebuild(config.postgres, purpose));
    return rebuildOver(below, target, role, () => opened.close());
  });
}

/** Log, rows, archive and keys. */
async function openBelow(config: ClusterConfig, opened: Opened, options: OpenOptions = {}): Promise<Below> {
  const { onWarning } = options;
  const { openKafkaLog } = await (await clients()).kafkaLog();
  const log = await opened.add(
    openKafkaLog({
      brokers: config.brokers,
      topic: config.topic,
      partitions: config.partitions,
      replicationFactor: config.replication,
      ...kafkaSecurity(config),
      ...(onWarning !== undefined && { onWarning }),
    }),
  );
  const store = await opened.add(openPostgresStore(config.postgres));
  const { archiveUrl, coldUrl } = config.tiers;
  const warm = archiveUrl === '' ? undefined : await opened.add(openObjects(archiveUrl, 'TIDEMARK_ARCHIVE_URL'));
  const blobs = archiveUrl === '' ? undefined : await opened.add(openBlobs(archiveUrl, 'TIDEMARK_ARCHIVE_URL'));
  const cold = coldUrl === '' ? undefined : await opened.add(openObjects(coldUrl, 'TIDEMARK_COLD_URL'));
  const keys = await openKeys(config, opened, () => openKeyStore(config, store.keyIndex, opened, options));
  const { memoryWords } = config;
  const archive = warm && { warm, cold };
  return { log, store, clock: systemClock, archive, ...keys, refusesPlain: true, memoryWords, blobs };
}

/** The topic is the truth, and Postgres an index of it. */
async function openKeyStore(
  config: ClusterConfig,
  index: KeyIndex,
  opened: Opened,
  { onWarning }: OpenOptions,
): Promise<OpenedKeyStore> {
  const { brokers, topic, replication } = config;
  const { openKafkaKeyTopic } = await (await clients()).kafkaLog();
  const keyTopic = await opened.add(
    openKafkaKeyTopic({
      brokers,
      topic: `${topic}.keys`,
      replicationFactor: replication,
      ...kafkaSecurity(config),
      ...(onWarning !== undefined && { onWarning }),
    }),
  );
  return { store: new ProjectedKeyStore(keyTopic, index), all: () => keysOf(keyTopic) };
}

const clients = () => clusterPackage('A cluster (TIDEMARK_KAFKA_BROKERS)');

/** How Kafka is reached. */
export const kafkaSecurity = ({ tls: { kafka }, sasl }: Pick<ClusterConfig, 'tls' | 'sasl'>): KafkaSecurity => ({
  ...(kafka !== undefined && { tls: { ...kafka } }),
  ...(sasl !== undefined && { sasl }),
});

/** Uses the topic alone: it exists before the index has tables. */
async function* keysOf(topic: KeyTopic): AsyncGenerator<StoredKey> {
  const keys = new Map<string, StoredKey>();
  for await (const { changes } of topic.readAll()) {
    for (const change of changes) {
      if (change.kind === 'put') keys.set(change.key.id, change.key);
      else keys.delete(change.id);
    }
  }
  yield* keys.values();
}

/** For a check of a server by itself. */
export { checkSession as checkPostgresSession, PasswordClient };

/** Brings the tables to this release by command; processes add what is missing by themselves, and never contract. Throws as `migratePostgres` does. */
export const migrateCluster = (
  { postgres }: Pick<ClusterConfig, 'postgres'>,
  options: Pick<MigratePostgresOptions, 'mayContract' | 'isDryRun' | 'onApplied'>,
): Promise<MigrationReport> => migratePostgres({ ...postgres, ...options });
