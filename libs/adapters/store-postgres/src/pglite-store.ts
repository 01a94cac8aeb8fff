/**
 * Owns the store on PGlite: Postgres in this process, in a folder or in memory. It uses the same SQL, migrations and client as on a server;
 * its connection leads to a thread. Opening takes the folder; the first operation starts PGlite.
 */

import { createHash } from 'node:crypto';
import type { RowStore } from '@tidemark/ports';
import { PGLITE_START_TIMEOUT_MS } from './limits.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS } from './migrations.ts';
import { takeFolder } from './pglite/folder.ts';
import { PgliteThread } from './pglite/thread.ts';
import { PgliteWire } from './pglite/wire.ts';
import { PoolClient } from './pool-client.ts';
import { SCHEMA_TABLES } from './schema-state.ts';
import { freeRanges } from './sql/share-ranges.ts';
import { SqlProjectionStore } from './sql-projection-store.ts';

export type PgliteStoreOptions =
  | {
      /** The folder of the rows, created when it is missing; it must hold nothing else. */
      readonly folder: string;
    }
  | { readonly memory: true };

/** Throws `ConfigError` (`store-locked`, `store-newer`, `store-older`, `store-folder`), `CorruptError` (`store-damaged`). */
export const openPgliteStore = (options: PgliteStoreOptions): RowStore => assemblePglite(options).store;

export interface PgliteParts {
  readonly answerTimeoutMs?: number;
  /** False: a new database starts without tables. */
  readonly useTemplate?: boolean;
}

/** The store with its parts, for tests that reach behind it. */
export function assemblePglite(
  options: PgliteStoreOptions,
  { answerTimeoutMs, useTemplate = true }: PgliteParts = {},
): {
  readonly store: RowStore;
  readonly client: PoolClient;
  readonly thread: PgliteThread;
} {
  const folder = 'folder' in options ? takeFolder(options.folder) : undefined;
  const shown = 'folder' in options ? options.folder : 'memory';
  const tables = useTemplate ? TABLES : null;
  const thread = new PgliteThread({ dataFolder: folder?.data ?? null, tables }, shown);
  const client = new PoolClient({
    // PGlite is one session.
    max: 1,
    ...(answerTimeoutMs === undefined ? {} : { answerTimeoutMs }),
    idleTimeoutMillis: 0,
    connectionTimeoutMillis: PGLITE_START_TIMEOUT_MS,
    user: 'postgres',
    database: 'postgres',
    ssl: false,
    // PGlite has no process that flushes its log periodically, so the projector folds again what a kill takes from the rows. No commit
    // waits for the disk.
    synchronousCommit: 'on',
    stream: () => new PgliteWire(thread),
    // The session outlives a connection that was given up.
    onOpen: async (connection) => {
      await connection.query('rollback');
      await connection.query('discard all');
    },
  });
  let isNew = true;
  const store = new SqlProjectionStore({
    kind: 'pglite',
    client,
    address: shown,
    async ensure() {
      // Nobody else uses the folder, so a contraction breaks no older release.
      await migrate(client, shown, { mayContract: true });
      thread.keepTemplate();
      // This process holds the folder's lock, so earlier owners are dead, and it need not wait for them to expire.
      if (isNew) await client.run(freeRanges());
      isNew = false;
      folder?.completed();
    },
    async closed() {
      await thread.stop();
      folder?.release();
    },
  });
  return { store, client, thread };
}

/** Digest of all statements that create tables. */
const TABLES = createHash('sha256')
  .update(JSON.stringify([SCHEMA_TABLES, MIGRATIONS]))
  .digest('hex')
  .slice(0, 12);
