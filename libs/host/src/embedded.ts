/**
 * Owns the embedded default: one process, no servers. The log and its lock are in the folder, so a second process is told so
 * before anything else is opened. Rows in the folder are derived: the log rebuilds them.
 */

import path from 'node:path';
import { openFsObjects } from '@tidemark/blob-fs';
import { CorruptError } from '@tidemark/core';
import { openSqliteLog } from '@tidemark/log-sqlite';
import type { Embedder } from '@tidemark/memory';
import { type EventLog, noTelemetry, type ObjectStore, type ProjectionStore, type Telemetry } from '@tidemark/ports';
import { createMemoryHints, createMemoryLiveness, createMemoryQueue, createMemoryWatch } from '@tidemark/queue-memory';
import { sessionMemory, sha256Digest, systemClock, systemPrng } from '@tidemark/runtime';
import { openPgliteStore } from '@tidemark/store-postgres';
import { Host } from './host.ts';
import { overTiers } from './tiers.ts';

/** Partitions that a new folder begins with; the pool grows by doubling. */
const EMBEDDED_PARTITIONS = 16;

export interface EmbeddedOptions {
  /** Where state is kept; made when absent. */
  readonly folder: string;
  readonly telemetry?: Telemetry;
  /** Finds memories by meaning; null or absent: by words alone. */
  readonly embedder?: Embedder | null | undefined;
}

/** Opens the folder. Throws `ConfigError` (in use, newer version, foreign) or `CorruptError` (damaged): left untouched. */
export async function openEmbedded(options: EmbeddedOptions): Promise<Host> {
  const log = await openSqliteLog({ folder: path.join(options.folder, 'log'), partitions: EMBEDDED_PARTITIONS });
  let store: ProjectionStore | undefined;
  let warm: ObjectStore | undefined;
  try {
    store = openPgliteStore({ folder: path.join(options.folder, 'rows') });
    await refuseLostLog(options.folder, log, store);
    warm = await openFsObjects({ folder: path.join(options.folder, 'archive') });
    const [rows, objects] = [store, warm];
    const tiered = overTiers(log, rows, systemClock, { warm });
    const queue = createMemoryQueue();
    const hints = createMemoryHints();
    const liveness = createMemoryLiveness();
    const watch = createMemoryWatch();
    const { embedder = null } = options;
    const ports = {
      log: tiered.log,
      archive: tiered.tiers.archive,
      store: tiered.store,
      queue,
      hints,
      liveness,
      telemetry: options.telemetry ?? noTelemetry,
      clock: systemClock,
      prng: systemPrng,
      digest: sha256Digest,
      watch,
      memory: sessionMemory({ store: tiered.store, embedder }),
    };
    const close = async (): Promise<void> => {
      await Promise.all([queue.close(), hints.close(), liveness.close(), watch.close()]);
      await rows.close();
      await objects.close();
      await log.close();
    };
    return new Host(ports, close, { embedder, tiers: tiered.tiers });
  } catch (error) {
    await store?.close();
    await warm?.close();
    await log.close();
    throw error;
  }
}

/** Rows that know more than the log prove that the log lost something: only a copy of it can bring that back. */
async function refuseLostLog(folder: string, log: EventLog, store: ProjectionStore): Promise<void> {
  await store.ensure();
  const bounds = await log.bounds();
  for (const [partition, next] of await store.positions()) {
    const end = bounds.get(partition)?.end ?? 0;
    if (next <= end) continue;
    throw new CorruptError(
      'log-replaced',
      `The log in ${path.join(folder, 'log')} ends before what its rows hold (partition ${partition}: ${end} of ${next} events): it was deleted, cut or replaced. Nothing was changed. Restore that folder from a copy; or delete ${path.join(folder, 'rows')} to go on with what the log still has.`,
      { folder, partition, end, next },
    );
  }
}
