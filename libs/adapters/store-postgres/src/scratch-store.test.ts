/** Stores in memory that come and go: the next sees nothing of the one before, whatever that one still does. */

import * as rows from '@tidemark/testkit/contracts/projection-store-rows';
import { expect, test } from 'vitest';
import { openScratchStore } from './scratch-store.ts';

const partition = { partition: rows.partitionAt(0), start: rows.at(0), rebuildTo: rows.at(0) };

test('the next one is empty, and another making of the tables; the one before is refused', async () => {
  const first = openScratchStore();
  await first.ensure();
  await first.addPartitions([partition]);
  await first.apply(rows.openingBatch('w', 0));
  const made = await first.storeId();
  await first.close();
  const second = openScratchStore();
  await second.ensure();
  expect([(await second.positions()).size, await second.ready()]).toEqual([0, false]);
  expect(await second.storeId()).not.toBe(made);
  for (const call of [() => first.ready(), () => first.ensure(), () => first.place([rows.request('late')])]) {
    await expect(call()).rejects.toMatchObject({ code: 'store-closed' });
  }
  // A second close takes nothing from the store that has the tables now.
  await second.addPartitions([partition]);
  await first.close();
  expect((await second.positions()).size).toBe(1);
  await second.close();
});

test('two at once have tables of their own', async () => {
  const [one, other] = [openScratchStore(), openScratchStore()];
  await Promise.all([one.ensure(), other.ensure()]);
  await one.addPartitions([partition]);
  expect([(await one.positions()).size, (await other.positions()).size]).toEqual([1, 0]);
  await Promise.all([one.close(), other.close()]);
});
