/** Owns the store on a Postgres server: its pool, and the existence of its tables. Opening connects to nothing; the first operation does. */

import type { KeyIndex, RowStore } from '@tidemark/ports';
import { connectionOf, type PostgresAccess, parseAddress } from './address.ts';
import { migrate } from './migrate.ts';
import { PoolClient } from './pool-client.ts';
import { createDatabase, isMissingDatabase } from './postgres-database.ts';
import { SqlKeyIndex } from './sql-key-index.ts';
import { SqlProjectionStore } from './sql-projection-store.ts';

/** Connections to Postgres that one process holds at most. Overridden by `poolMax`. */
const POOL_MAX = 4;

export interface PostgresStoreOptions extends PostgresAccess {
  /** Most connections; default 4. */
  readonly poolMax?: number;
}

/** The index of data keys, in the same database. */
export interface PostgresStore extends RowStore {
  readonly keyIndex: KeyIndex;
}

/** Throws `ConfigError` (`store-address`). Call `ensure` before anything else. */
export function openPostgresStore(options: PostgresStoreOptions): PostgresStore {
  const { store, client, shown } = assemblePostgres(options);
  return Object.assign(store, { keyIndex: new SqlKeyIndex(client, shown) });
}

/** The store with its parts, for tests that reach behind it. */
export function assemblePostgres(
  options: PostgresStoreOptions,
  answerTimeoutMs?: number,
): {
  readonly store: RowStore;
  readonly client: PoolClient;
  /** The address without credentials. */
  readonly shown: string;
} {
  const address = parseAddress(options);
  const client = new PoolClient({
    ...connectionOf(address),
    max: options.poolMax ?? POOL_MAX,
    ...(answerTimeoutMs === undefined ? {} : { answerTimeoutMs }),
  });
  const store = new SqlProjectionStore({
    kind: 'postgres',
    client,
    address: address.shown,
    async ensure() {
      try {
        await migrate(client, address.shown);
      } catch (error) {
        if (!isMissingDatabase(error)) throw error;
        await createDatabase(address);
        await migrate(client, address.shown);
      }
    },
    closed: async () => {},
  });
  return { store, client, shown: address.shown };
}
