/** What a server does to the store: it is absent, wrong, dropped, restarted, or crashes; concurrent creation; newer migrations. */

import type { RowStore } from '@tidemark/ports';
import { dump } from '@tidemark/testkit/contracts/projection-store';
import * as rows from '@tidemark/testkit/contracts/projection-store-rows';
import { isUnavailable, type NativeServer, startServer } from '@tidemark/testkit/servers';
import { describeServers } from '@tidemark/testkit/suites';
import pg from 'pg';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { migrate } from './migrate.ts';
import type { Migration } from './migrations.ts';
import { assemblePostgres, openPostgresStore } from './postgres-store.ts';
import { BEGIN, COMMIT, once } from './sql-client.ts';

const stores: RowStore[] = [];
const open = (url: string): RowStore => {
  const store = openPostgresStore({ url });
  stores.push(store);
  return store;
};
afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
});

async function administer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statement);
  await client.end();
}

const withPath = (url: string, database: string): string => {
  const there = new URL(url);
  there.pathname = `/${database}`;
  return there.href;
};

const empty = { partition: rows.partitionAt(0), start: rows.at(0), rebuildTo: rows.at(0) };
const unavailable = { name: 'UnavailableError', code: 'store-unavailable' };
const missing = { name: 'UnavailableError', code: 'store-missing' };

describe('address', () => {
  test.each(['', 'nonsense', 'http://somewhere/db'])('%j is a wrong setting', (url) => {
    expect(() => openPostgresStore({ url })).toThrow(expect.objectContaining({ code: 'store-address' }));
  });

  test('an absent server is unavailable; the error holds no credentials', async () => {
    const store = open('postgres://someone:hush-hush@127.0.0.1:9/projections');
    const error = await store.ready().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ ...unavailable, details: { address: 'postgres://127.0.0.1:9/projections' } });
    expect(`${(error as Error).message}${JSON.stringify(error)}`).not.toMatch(/hush|someone/);
    await expect(store.ensure()).rejects.toMatchObject(unavailable);
  });
});

describeServers('store on a server with faults', ['postgres'], (servers) => {
  let url: string;
  beforeAll(async () => {
    url = await servers.freshDatabase();
  });

  test('ensure creates the database, also when several do so at once', async () => {
    const name = `tidemark_test_"odd" ${process.pid}`;
    const there = withPath(url, encodeURIComponent(name));
    await expect(open(there).ready()).rejects.toMatchObject(missing);
    try {
      await Promise.all([open(there), open(there), open(there)].map((store) => store.ensure()));
      expect(await open(there).ready()).toBe(false);
    } finally {
      await Promise.all(stores.splice(0).map((store) => store.close()));
      await administer(url, `drop database ${pg.escapeIdentifier(name)} with (force)`);
    }
  });

  test('a database dropped in mid-run is missing, and the same store creates it again', async () => {
    const there = withPath(url, `tidemark_test_dropped_${process.pid}`);
    const store = open(there);
    await store.ensure();
    await store.addPartitions([empty]);
    await administer(url, `drop database ${pg.escapeIdentifier(new URL(there).pathname.slice(1))} with (force)`);
    await expect.poll(() => store.ready().catch((error: { code: string }) => error.code)).toBe('store-missing');
    await expect(store.apply(rows.openingBatch('w', 0))).rejects.toMatchObject(missing);
    await store.ensure();
    expect(await store.ready()).toBe(false);
    await store.addPartitions([empty]);
    await store.apply(rows.openingBatch('w', 0));
    expect((await dump(store)).workflows).toHaveLength(1);
    await store.close();
    await administer(url, `drop database ${pg.escapeIdentifier(new URL(there).pathname.slice(1))} with (force)`);
  });

  test('tables dropped in mid-run are missing, and are created again', async () => {
    const there = await servers.freshDatabase();
    const store = open(there);
    await store.ensure();
    await store.addPartitions([empty]);
    await administer(there, 'drop schema public cascade; create schema public');
    await expect(store.apply(rows.openingBatch('w', 0))).rejects.toMatchObject(missing);
    await expect(store.place([rows.request('w')])).rejects.toMatchObject(missing);
    await store.ensure();
    await store.addPartitions([empty]);
    await store.apply(rows.openingBatch('w', 0));
    expect((await dump(store)).workflows).toHaveLength(1);
  });

  test('connections that an administrator ends, idle or not, cost one operation at most', async () => {
    const { store, client } = assemblePostgres({ url: await servers.freshDatabase() });
    stores.push(store);
    await store.ensure();
    await store.addPartitions([empty]);
    const ended = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`;
    const sleeping = expect(client.run([once('select pg_sleep(60)')])).rejects.toThrow(/terminat/);
    await expect.poll(async () => (await client.run([once(ended)]))[0]?.some((row) => row[0] === 't')).toBe(true);
    await sleeping;
    await expect.poll(() => store.ready().catch(() => 'ended')).toBe(true);
    await store.apply(rows.openingBatch('w', 0));
  });

  test('a server that does not answer in time is given up', async () => {
    const { store, client } = assemblePostgres({ url }, 300);
    stores.push(store);
    // It would answer after ten minutes.
    await expect(client.run([once('select pg_sleep(600)')])).rejects.toThrow('timeout');
    expect((await client.run([once('select 1')]))[0]).toEqual([['1']]);
  });

  test('a statement that fails leaves no transaction behind', async () => {
    const { store, client } = assemblePostgres({ url, poolMax: 1 });
    stores.push(store);
    const failing = once('select 1 / 0');
    const attempts = [
      () => client.run([BEGIN, failing, COMMIT]),
      () => client.run([failing]),
      () => client.script('begin; select 1 / 0'),
      () => client.session((runner) => runner.run([BEGIN, failing])),
    ];
    for (const attempt of attempts) {
      await expect(attempt()).rejects.toThrow('division by zero');
      expect((await client.run([once('select 1')]))[0]).toEqual([['1']]);
    }
  });

  test('migrations: each once, under concurrency; a newer database stays untouched', async () => {
    const there = await servers.freshDatabase();
    const { store, client } = assemblePostgres({ url: there });
    stores.push(store);
    const table = (name: string): Migration => ({ name, sql: `create table "${name}" ()`, phase: 'settled' });
    const two = [table('0001-a'), table('0002-b')];
    await Promise.all(Array.from({ length: 4 }, () => migrate(client, 'here', { migrations: two })));
    await migrate(client, 'here', { migrations: [...two, table('0003-c')], mayContract: true });
    const names = once('select name from tidemark_migrations order by name');
    expect(await client.run([names])).toEqual([[['0001-a'], ['0002-b'], ['0003-c']]]);
    await expect(migrate(client, 'here', { migrations: two })).rejects.toMatchObject({
      name: 'ConfigError',
      code: 'store-newer',
    });
    const broken = [...two, table('0003-c'), { ...table('0004-d'), sql: 'create table d (); create nonsense' }];
    await expect(migrate(client, 'here', { migrations: broken, mayContract: true })).rejects.toThrow('syntax error');
    expect((await client.run([names]))[0]).toHaveLength(3);
    expect(await client.run([once(`select to_regclass('d')`)])).toEqual([[[null]]]);
  });

  test('a role that may not create the database is told so', async () => {
    const role = `tidemark_test_${process.pid}`;
    await administer(url, `create role ${role} login`);
    try {
      const there = new URL(withPath(url, 'tidemark_test_forbidden'));
      there.username = role;
      there.password = '';
      await expect(open(there.href).ensure()).rejects.toMatchObject({ name: 'ConfigError', code: 'store-forbidden' });
    } finally {
      await administer(url, `drop role ${role}`);
    }
  });
});

describeServers('store on a server that crashes', ['postgres'], () => {
  test('is unavailable while it is down; goes on by itself; a placement outlives the crash', async () => {
    const server = await startServer('postgres', { sources: ['native'], dataIn: 'disk' });
    if (isUnavailable(server)) throw new Error(`${server.unavailable}. Remedy: ${server.remedy}.`);
    const native = server as NativeServer;
    try {
      const store = open(withPath(native.address, 'projections'));
      await store.ensure();
      await store.addPartitions([empty, { ...empty, partition: rows.partitionAt(1) }]);
      await store.apply(rows.openingBatch('w', 1));
      const [placed] = await store.place([rows.request('a')]);
      await native.kill();
      await expect(store.ready()).rejects.toMatchObject(unavailable);
      await expect(store.apply(rows.openingBatch('b', 0))).rejects.toMatchObject(unavailable);
      await native.startAgain();
      await expect.poll(() => store.ready().catch(() => false), { timeout: 60_000 }).toBe(true);
      expect(await store.place([rows.request('a')])).toEqual([{ ...placed, created: false }]);
    } finally {
      await Promise.all(stores.splice(0).map((store) => store.close()));
      await server.stop();
    }
  });
});
