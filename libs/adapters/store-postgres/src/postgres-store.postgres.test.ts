/** The contract on a Postgres server. */

import { projectionStoreContract } from '@tidemark/testkit/contracts/projection-store';
import { describeServers } from '@tidemark/testkit/suites';
import { afterAll, beforeAll } from 'vitest';
import { assemblePostgres } from './postgres-store.ts';
import { EMPTY_TABLES } from './sql/rebuild/empty-tables.ts';

describeServers('store on Postgres', ['postgres'], (servers) => {
  let one: ReturnType<typeof assemblePostgres>;
  let two: ReturnType<typeof assemblePostgres>;
  beforeAll(async () => {
    const url = await servers.freshDatabase();
    one = assemblePostgres({ url });
    two = assemblePostgres({ url });
    await one.store.ensure();
  });
  afterAll(() => Promise.all([one.store.close(), two.store.close()]));

  projectionStoreContract('postgres', async () => {
    await one.client.script(EMPTY_TABLES);
    return { store: one.store, other: two.store, close: async () => {} };
  });
});
