/** A database that is in use gets what the next version adds and changes, once, and keeps its rows. */

import { dump } from '@tidemark/testkit/contracts/projection-store';
import * as rows from '@tidemark/testkit/contracts/projection-store-rows';
import { expect, test } from 'vitest';
import { migrate } from './migrate.ts';
import { MIGRATIONS, type Migration } from './migrations.ts';
import { assemblePglite } from './pglite-store.ts';
import { once } from './sql-client.ts';

/** What a next release might bring: a column that follows from those that are there, and another name for a table's column. */
const NEXT: readonly Migration[] = [
  ...MIGRATIONS,
  {
    name: '9001-urgent',
    sql: `alter table workflows add column is_urgent boolean; update workflows set is_urgent = tenant = 'acme'`,
    phase: 'expand',
  },
  { name: '9002-role', sql: 'alter table owners rename column role to duty', phase: 'settled' },
];

test('a filled database is migrated to a next version once, and keeps what it holds', async () => {
  const { store, client } = assemblePglite({ memory: true });
  await store.ensure();
  await store.addPartitions([{ partition: rows.partitionAt(0), start: rows.at(0), rebuildTo: rows.at(0) }]);
  await store.apply(rows.openingBatch('first', 0, 0, 1));
  await store.apply(rows.closingBatch('first', 0, 1, 1));
  await store.apply(rows.openingBatch('second', 0, 2, 2));
  const before = await dump(store);

  const newer = { code: 'store-older', details: { migrations: ['9002-role'] } };
  await expect(migrate(client, 'memory', { migrations: NEXT })).rejects.toMatchObject(newer);
  expect(await migrate(client, 'memory', { migrations: NEXT.slice(0, -1) })).toEqual(['9001-urgent']);
  expect(await migrate(client, 'memory', { migrations: NEXT, mayContract: true })).toEqual(['9002-role']);
  expect(await migrate(client, 'memory', { migrations: NEXT, mayContract: true })).toEqual([]);

  expect(await dump(store)).toEqual(before);
  const applied = ['tidemark_migrations', 'tidemark_expansions'].map((table) =>
    once(`select name from ${table} order by 1`),
  );
  expect(await client.run(applied)).toEqual([
    [['0001-tables'], ['9002-role']],
    [['0002-roots-and-failures'], ['0003-spends'], ['9001-urgent']],
  ]);
  const urgent = once('select workflow, is_urgent from workflows order by 1');
  expect(await client.run([urgent])).toEqual([
    [
      ['first', 't'],
      ['second', 't'],
    ],
  ]);
  await expect(store.ensure()).rejects.toMatchObject({ code: 'store-newer' });
  await store.close();
});
