/** Owns opening rows made anew, on a server and in a folder. What is opened on a folder has it to itself. */

import type { StoreRebuild } from '@tidemark/ports';
import { parseAddress } from './address.ts';
import { faultOf } from './faults.ts';
import { REBUILD_POOL_MAX, SCRIPT_TIMEOUT_MS } from './limits.ts';
import { assemblePglite } from './pglite-store.ts';
import { PoolClient } from './pool-client.ts';
import { inSchema, type RebuildPurpose, SchemaRebuild, schemasOf } from './schema-rebuild.ts';
import { quoted } from './sql/switch-tables.ts';
import { once, type SqlClient, textAt } from './sql-client.ts';

/** Beside the rows of the database at that address. Throws `ConfigError` (`store-address`), `UnavailableError`. */
export async function openPostgresRebuild(url: string, purpose: RebuildPurpose): Promise<StoreRebuild> {
  const address = parseAddress(url);
  const options = { connectionString: address.url, max: REBUILD_POOL_MAX, answerTimeoutMs: SCRIPT_TIMEOUT_MS };
  const live = new PoolClient(options);
  try {
    const schemas = schemasOf(await schemaOf(live), purpose);
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
      isShared: true,
      closed: () => live.close(),
    });
  } catch (error) {
    await live.close();
    throw faultOf(error, address.shown);
  }
}

/** In the folder of rows, which nobody else may have open. Throws as `openPgliteStore` does. */
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
      isShared: false,
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
