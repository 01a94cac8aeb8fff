/** Owns opening a rebuild of rows, on a server and in a folder. A rebuild of a folder has the folder to itself. */

import type { StoreRebuild, UnfinishedRebuild } from '@tidemark/ports';
import { connectionOf, type PostgresAccess, parseAddress } from './address.ts';
import { faultOf } from './faults.ts';
import { SCRIPT_TIMEOUT_MS } from './limits.ts';
import { assemblePglite } from './pglite-store.ts';
import { PoolClient } from './pool-client.ts';
import { RebuildLock } from './rebuild-lock.ts';
import { type RebuildPurpose, schemasOf, unfinishedIn } from './rebuild-schema.ts';
import { inSchema, SchemaRebuild } from './schema-rebuild.ts';
import { quoted } from './sql/rebuild/switch-tables.ts';
import { once, type SqlClient, textAt } from './sql-client.ts';

/** Connections of a rebuild: one writes folds, one blocks writers, one compares, one reads, one holds the lock. */
const REBUILD_POOL_MAX = 5;

/**
 * Opens a rebuild beside the rows of the database at that address; no other process can rebuild them until it is closed. Throws
 * `ConfigError` (`store-address`, `schema-name-long`), `UnavailableError` (`rebuild-under-way`).
 */
export async function openPostgresRebuild(access: PostgresAccess, purpose: RebuildPurpose): Promise<StoreRebuild> {
  const address = parseAddress(access);
  const options = { ...connectionOf(address), max: REBUILD_POOL_MAX, answerTimeoutMs: SCRIPT_TIMEOUT_MS };
  const live = new PoolClient(options);
  try {
    const schemas = schemasOf(await schemaOf(live), purpose);
    const lock = await RebuildLock.take(live, schemas.fresh, address.shown);
    const fresh = new PoolClient({
      ...options,
      onOpen: async (client) => void (await client.query(`set search_path to ${quoted(schemas.fresh)}`)),
    });
    return new SchemaRebuild({
      kind: 'postgres',
      live,
      fresh,
      schemas,
      address: address.shown,
      lock,
      closed: () => live.close(),
    });
  } catch (error) {
    await live.close();
    throw faultOf(error, address.shown);
  }
}

/** Reads what an earlier rebuild left there. Throws as `openPostgresRebuild` does. */
export async function unfinishedPostgresRebuild(access: PostgresAccess): Promise<UnfinishedRebuild | undefined> {
  const address = parseAddress(access);
  const client = new PoolClient({ ...connectionOf(address), max: 1 });
  try {
    return await unfinishedIn(client, await schemaOf(client));
  } catch (error) {
    throw faultOf(error, address.shown);
  } finally {
    await client.close();
  }
}

/** Opens a rebuild in the folder of the rows, which nobody else may have open. Throws as `openPgliteStore` does. */
export async function openPgliteRebuild(folder: string, purpose: RebuildPurpose): Promise<StoreRebuild> {
  const { store, client } = assemblePglite({ folder }, { answerTimeoutMs: SCRIPT_TIMEOUT_MS });
  try {
    await store.ensure();
    const schemas = schemasOf(await schemaOf(client), purpose);
    return new SchemaRebuild({
      kind: 'pglite',
      live: inSchema(client, schemas.live),
      fresh: inSchema(client, schemas.fresh),
      schemas,
      address: folder,
      lock: undefined,
      closed: () => store.close(),
    });
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function schemaOf(client: SqlClient): Promise<string> {
  const [[row = []] = []] = await client.run([once('select current_schema()')]);
  return textAt(row, 0);
}
