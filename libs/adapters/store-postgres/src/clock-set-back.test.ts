/** The database's clock was ahead and was set back: rows that it wrote then block nobody for as long as it was ahead. */

import { type Offset, type Partition, type TenantId, workflowId } from '@tidemark/core';
import { RANGE_COUNT } from '@tidemark/ports';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { assemblePglite } from './pglite-store.ts';

const TTL_MS = 10_000;

let under: ReturnType<typeof assemblePglite>;
beforeEach(async () => {
  under = assemblePglite({ memory: true });
  await under.store.ensure();
});
afterEach(() => under.store.close());

const share = async (owner: string): Promise<number> => (await under.store.shareRanges(owner, TTL_MS)).length;

test('ranges of one who died before it was are free', async () => {
  await share('dead');
  await under.client.script(`update owners set expires_at = expires_at + interval '10 minutes'`);
  expect(await share('next')).toBe(RANGE_COUNT);
});

test('one who lives keeps its share, by a clock that is a little ahead as well', async () => {
  await share('other');
  await under.client.script(`update owners set expires_at = expires_at + interval '20 seconds'`);
  await share('next');
  expect([await share('other'), await share('next')]).toEqual([RANGE_COUNT / 2, RANGE_COUNT / 2]);
});

test('an opening that was placed before it was and never appended is found', async () => {
  await under.store.addPartitions([{ partition: 0 as Partition, start: 0 as Offset, rebuildTo: 0 as Offset }]);
  await under.store.markReady();
  const [placed] = await under.store.place([
    {
      ...{ workflow: workflowId('w'), tenant: 't' as TenantId, mode: 'exclusive', session: null, opening: '{}' },
    },
  ]);
  expect(placed).toMatchObject({ created: true });
  const found = async (): Promise<number> => (await under.store.unappended(60_000, 10)).length;
  expect(await found()).toBe(0);
  await under.client.script(`update placements set placed_at = placed_at + interval '10 minutes'`);
  expect(await found()).toBe(1);
});
