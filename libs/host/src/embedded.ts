/**
 * Owns the embedded default: one process, no servers. The log and its lock are in the folder, so a second process is told so
 * before anything else is opened. Rows in the folder are derived: the log rebuilds them.
 */

import path from 'node:path';
import { openSqliteLog } from '@tidemark/log-sqlite';
import { noTelemetry, type Telemetry } from '@tidemark/ports';
import { createMemoryHints, createMemoryLiveness, createMemoryQueue } from '@tidemark/queue-memory';
import { sha256Digest, systemClock, systemPrng } from '@tidemark/runtime';
import { openPgliteStore } from '@tidemark/store-postgres';
import { Host } from './host.ts';

/** Partitions that a new folder begins with; the pool grows by doubling. */
const EMBEDDED_PARTITIONS = 16;

export interface EmbeddedOptions {
  /** Where state is kept; made when absent. */
  readonly folder: string;
  readonly telemetry?: Telemetry;
}

/** Opens the folder. Throws `ConfigError` (in use, newer version, foreign) or `CorruptError` (damaged): left untouched. */
export async function openEmbedded(options: EmbeddedOptions): Promise<Host> {
  const log = await openSqliteLog({ folder: path.join(options.folder, 'log'), partitions: EMBEDDED_PARTITIONS });
  try {
    const store = await openPgliteStore({ folder: path.join(options.folder, 'rows') });
    const queue = createMemoryQueue();
    const hints = createMemoryHints();
    const liveness = createMemoryLiveness({ clock: systemClock });
    const ports = {
      log,
      store,
      queue,
      hints,
      liveness,
      telemetry: options.telemetry ?? noTelemetry,
      clock: systemClock,
      prng: systemPrng,
      digest: sha256Digest,
    };
    return new Host(ports, async () => {
      await Promise.all([queue.close(), hints.close(), liveness.close()]);
      await store.close();
      await log.close();
    });
  } catch (error) {
    await log.close();
    throw error;
  }
}
