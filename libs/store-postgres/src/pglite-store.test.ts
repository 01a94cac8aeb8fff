/** The contract on PGlite; and what PGlite alone does: folders, their locks and damage, the thread's death. */

import { projectionStoreContract } from '@tidemark/testkit/contracts/projection-store';
import { afterAll } from 'vitest';
import { assemblePglite } from './pglite-store.ts';
import { EMPTY_TABLES } from './sql/empty-tables.ts';

const { store, client } = assemblePglite({ memory: true });
afterAll(() => store.close());

projectionStoreContract('pglite', async () => {
  await store.ensure();
  await client.script(EMPTY_TABLES);
  return { store, other: store, close: async () => {} };
});
