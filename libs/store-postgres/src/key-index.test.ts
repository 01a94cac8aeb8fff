/** Runs the contract of KeyIndex on PGlite; the statements are those of a server. */

import { keyIndexContract } from '@tidemark/testkit/contracts/key-index';
import { vi } from 'vitest';
import { assemblePglite } from './pglite-store.ts';
import { SqlKeyIndex } from './sql-key-index.ts';

/** Starting PGlite takes seconds, on a busy machine many. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

keyIndexContract('pglite', async () => {
  const { store, client } = assemblePglite({ memory: true });
  await store.ensure();
  return { index: new SqlKeyIndex(client, 'memory'), close: () => store.close() };
});
