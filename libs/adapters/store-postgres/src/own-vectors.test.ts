/** The contract on PGlite without pgvector: vectors are bytes, and the search is this library's own. */

import { projectionStoreContract } from '@tidemark/testkit/contracts/projection-store';
import { afterAll } from 'vitest';
import { assemblePglite } from './pglite-store.ts';
import { EMPTY_TABLES } from './sql/rebuild/empty-tables.ts';

const { store, client } = assemblePglite({ memory: true }, { usePgvector: false });
afterAll(() => store.close());

projectionStoreContract('pglite without pgvector', async () => {
  await store.ensure();
  await client.script(EMPTY_TABLES);
  return { store, other: store, close: async () => {} };
});
