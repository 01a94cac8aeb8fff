/** Owns a process's connection to the cluster's servers: what is opened, in which order, and what is closed when one fails. */

import { openKafkaLog } from '@tidemark/log-kafka';
import { noTelemetry, type Telemetry } from '@tidemark/ports';
import { openBullmqQueue, openRedisHints, openRedisLiveness, openRedisWatch } from '@tidemark/queue-bullmq';
import { sessionMemory, sha256Digest, systemClock, systemPrng } from '@tidemark/runtime';
import { openPostgresStore } from '@tidemark/store-postgres';
import { openTelemetry } from '@tidemark/telemetry';
import type { ClusterConfig } from './config.ts';
import { Host } from './host.ts';
import { embedderIn } from './memory-index.ts';
import { openObjects, overTiers } from './tiers.ts';

/** Connects. Throws `UnavailableError` that names the address without credentials when a server can't be reached. */
export async function openCluster(config: ClusterConfig): Promise<Host> {
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
      }),
    );
    const store = await open(openPostgresStore({ url: config.postgresUrl }));
    const { archiveUrl, coldUrl } = config.tiers;
    const warm = archiveUrl === '' ? undefined : await open(openObjects(archiveUrl, 'TIDEMARK_ARCHIVE_URL'));
    const cold = coldUrl === '' ? undefined : await open(openObjects(coldUrl, 'TIDEMARK_COLD_URL'));
    const tiered = warm === undefined ? undefined : overTiers(log, store, systemClock, { warm, cold });
    const rows = tiered?.store ?? store;
    const hints = await open(openRedisHints(redis));
    const liveness = await open(openRedisLiveness({ ...redis, presence: config.presence }));
    const watch = await open(openRedisWatch(redis));
    const queue = await open(openBullmqQueue(redis));
    const ports = {
      log: tiered?.log ?? log,
      archive: tiered?.tiers.archive,
      store: rows,
      queue,
      hints,
      liveness,
      telemetry,
      clock: systemClock,
      prng: systemPrng,
      digest: sha256Digest,
      watch,
      memory: sessionMemory({ store: rows, embedder }),
    };
    return new Host(ports, closeAll, { partitionsMax: config.partitionsMax, embedder, tiers: tiered?.tiers });
  } catch (error) {
    await closeAll();
    throw error;
  }
}
