/**
 * Owns the embedded default: one process, no servers. The log and its lock are in the folder, so a second process is told so
 * before anything else is opened. Rows in the folder are derived: the log rebuilds them.
 */

import path from 'node:path';
import { openFsObjects } from '@tidemark/blob-fs';
import { CorruptError } from '@tidemark/core';
import { openSqliteKeys, openSqliteLog } from '@tidemark/log-sqlite';
import type { Embedder } from '@tidemark/memory';
import { type EventLog, noTelemetry, type ObjectStore, type ProjectionStore, type Telemetry } from '@tidemark/ports';
import { createMemoryHints, createMemoryLiveness, createMemoryQueue, createMemoryWatch } from '@tidemark/queue-memory';
import { sessionMemory, sha256Digest, systemClock, systemPrng } from '@tidemark/runtime';
import { openPgliteStore } from '@tidemark/store-postgres';
import { Host } from './host.ts';
import { type Keys, keysOver, openProvider } from './keys.ts';
import { viewsOver } from './tiers.ts';

/** Partitions that a new folder begins with; the pool grows by doubling. */
const EMBEDDED_PARTITIONS = 16;

export interface EmbeddedOptions {
  /** Where state is kept; made when absent. */
  readonly folder: string;
  readonly telemetry?: Telemetry;
  /** Finds memories by meaning; null or absent: by words alone. */
  readonly embedder?: Embedder | null | undefined;
  /** Address of the key that wraps data keys (see keys.ts); empty or absent: nothing is encrypted. */
  readonly keysUrl?: string | undefined;
}

/** Opens the folder. Throws `ConfigError` (in use, newer version, foreign) or `CorruptError` (damaged): left untouched. */
export async function openEmbedded(options: EmbeddedOptions): Promise<Host> {
  const log = await openSqliteLog({ folder: path.join(options.folder, 'log'), partitions: EMBEDDED_PARTITIONS });
  let store: ProjectionStore | undefined;
  let warm: ObjectStore | undefined;
  let keyring: Keyring | undefined;
  try {
    store = openPgliteStore({ folder: path.join(options.folder, 'rows') });
    await refuseLostLog(options.folder, log, store);
    warm = await openFsObjects({ folder: path.join(options.folder, 'archive') });
    keyring = await openKeyring(options);
    const [rows, objects, ring] = [store, warm, keyring];
    const views = viewsOver({ log, store: rows, clock: systemClock, archive: { warm }, keys: ring?.keys });
    const queue = createMemoryQueue();
    const hints = createMemoryHints();
    const liveness = createMemoryLiveness();
    const watch = createMemoryWatch();
    const { embedder = null } = options;
    const ports = {
      log: views.log,
      archive: views.tiers?.archive,
      store: views.store,
      queue,
      hints,
      liveness,
      telemetry: options.telemetry ?? noTelemetry,
      clock: systemClock,
      prng: systemPrng,
      digest: sha256Digest,
      watch,
      memory: sessionMemory({ store: views.store, embedder }),
    };
    const close = async (): Promise<void> => {
      await Promise.all([queue.close(), hints.close(), liveness.close(), watch.close()]);
      await rows.close();
      await objects.close();
      await ring?.close();
      await log.close();
    };
    return new Host(ports, close, { embedder, tiers: views.tiers, keys: ring?.keys });
  } catch (error) {
    await store?.close();
    await warm?.close();
    await keyring?.close();
    await log.close();
    throw error;
  }
}

interface Keyring {
  readonly keys: Keys;
  close(): Promise<void>;
}

/** Wrapped data keys are beside the log, in a file of their own. */
async function openKeyring({ keysUrl = '', folder }: EmbeddedOptions): Promise<Keyring | undefined> {
  if (keysUrl === '') return undefined;
  const provider = await openProvider(keysUrl, 'TIDEMARK_KEYS_URL');
  const store = await openSqliteKeys({ folder: path.join(folder, 'log') });
  const close = async (): Promise<void> => {
    await store.close();
    await provider.close();
  };
  return { keys: keysOver(provider, store, systemClock, systemPrng), close };
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
