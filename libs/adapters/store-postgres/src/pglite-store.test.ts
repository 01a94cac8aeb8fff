/** The contract on PGlite; and the owners of ranges when a folder is opened again. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { RANGE_COUNT } from '@tidemark/ports';
import { projectionStoreContract } from '@tidemark/testkit/contracts/projection-store';
import { afterAll, expect, test } from 'vitest';
import { assemblePglite } from './pglite-store.ts';
import { EMPTY_TABLES } from './sql/rebuild/empty-tables.ts';

const { store, client } = assemblePglite({ memory: true });
afterAll(() => store.close());

projectionStoreContract('pglite', async () => {
  await store.ensure();
  await client.script(EMPTY_TABLES);
  return { store, other: store, close: async () => {} };
});

test('ranges of a process that died are free as soon as the folder is opened again', async (context) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-pglite-ranges-'));
  context.onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const share = async (owner: string): Promise<number> => {
    const opened = assemblePglite({ folder }).store;
    await opened.ensure();
    const ranges = await opened.shareRanges(owner, 600_000);
    // While it is open, they have a living owner.
    await opened.ensure();
    expect(await opened.shareRanges('other', 600_000)).toEqual([]);
    await opened.close();
    return ranges.length;
  };
  expect([await share('dead'), await share('next')]).toEqual([RANGE_COUNT, RANGE_COUNT]);
});
