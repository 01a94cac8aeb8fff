/**
 * Releases on one database: what an older one does with a newer schema, who may contract and when, interruption, and that a migration waits
 * for locked tables without blocking everybody.
 */

import { describeServers } from '@tidemark/testkit/suites';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from './migrate.ts';
import { migratePostgres } from './migrate-postgres.ts';
import { MIGRATIONS, type Migration } from './migrations.ts';
import { CLIENT_NAME, PoolClient } from './pool-client.ts';
import { assemblePostgres } from './postgres-store.ts';
import { once } from './sql-client.ts';

/** The next releases: a column replaces another, then the other is dropped. */
const EXPAND: Migration = { name: '9001-more', sql: 'alter table owners add column more text', phase: 'expand' };
const CONTRACT: Migration = { name: '9002-less', sql: 'alter table owners drop column knows', phase: 'contract' };
const NEXT: readonly Migration[] = [...MIGRATIONS, EXPAND];
const LATER: readonly Migration[] = [...NEXT, CONTRACT];
const names = (migrations: readonly Migration[]) => migrations.map(({ name }) => name);

describeServers('releases on one database', ['postgres'], (servers) => {
  let url: string;
  const clients: PoolClient[] = [];
  const open = (options: { max?: number; name?: string } = {}): PoolClient => {
    const { max = 2, name } = options;
    const client = new PoolClient({
      connectionString: url,
      max,
      ...(name !== undefined && { application_name: name }),
    });
    clients.push(client);
    return client;
  };
  const command = (migrations: readonly Migration[], options: { mayContract?: boolean; isDryRun?: boolean } = {}) =>
    migratePostgres({ url, mayContract: false, isDryRun: false, migrations, ...options });
  const columns = async (): Promise<readonly string[]> => {
    const [rows = []] = await open().run([
      once(`select attname from pg_attribute where attrelid = 'owners'::regclass and attnum > 0 and not attisdropped`),
    ]);
    return rows.map(([name]) => name!);
  };
  /** The server's side of a closed connection ends a moment after the client's. */
  const noneOfOurs = async (): Promise<void> => {
    const looker = open({ name: 'psql' });
    const ours = once(
      `select count(*) from pg_stat_activity where datname = current_database() and application_name like '${CLIENT_NAME}%'`,
    );
    await expect.poll(async () => (await looker.run([ours]))[0]).toEqual([['0']]);
  };

  beforeEach(async () => {
    url = await servers.freshDatabase();
  });
  afterEach(() => Promise.all(clients.splice(0).map((client) => client.close())));

  test('an empty database gets everything but contractions, by a command or by whoever starts', async () => {
    expect(await command(LATER, { isDryRun: true })).toMatchObject({ applied: NEXT.map(({ name }) => ({ name })) });
    expect(names((await command(LATER)).applied as readonly Migration[])).toEqual(names(NEXT));
    expect(await command(LATER)).toEqual({
      applied: [],
      deferred: [{ name: '9002-less', phase: 'contract' }],
      unknown: [],
    });
    expect(await migrate(open(), 'here', { migrations: LATER })).toEqual([]);
  });

  test('an expansion is beside older releases: they start and own ranges, newer ones too', async () => {
    const { store } = assemblePostgres({ url });
    try {
      await store.ensure();
      await command(NEXT);
      await store.ensure();
      expect(await store.shareRanges('a', 10_000)).toHaveLength(64);
      expect((await command(MIGRATIONS)).unknown).toEqual(['9001-more']);
    } finally {
      await store.close();
    }
  });

  test('a contraction waits until no process is there that would fail by it, and refuses those that come later', async () => {
    const { store } = assemblePostgres({ url });
    const older = { name: 'UnavailableError', code: 'older-running' };
    try {
      await store.ensure();
      await store.shareRanges('a', 10_000);
      await expect(command(LATER, { mayContract: true })).rejects.toMatchObject(older);
      // Its connection is gone, and its ownership has not expired.
      await store.close();
      const after = open();
      await after.run([once('update owners set expires_at = clock_timestamp() + make_interval(secs => 60)')]);
      await after.close();
      await noneOfOurs();
      await expect(command(LATER, { mayContract: true })).rejects.toMatchObject({
        ...older,
        message: expect.stringContaining('project a'),
      });
      expect(await columns()).toContain('knows');
      await open({ name: 'psql' }).run([once('delete from owners')]);
      await Promise.all(clients.splice(0).map((client) => client.close()));
      await noneOfOurs();
      expect((await command(LATER, { mayContract: true })).applied).toEqual([{ name: '9002-less', phase: 'contract' }]);
    } finally {
      await store.close();
    }
    const late = assemblePostgres({ url });
    await expect(late.store.ensure()).rejects.toMatchObject({
      name: 'ConfigError',
      code: 'store-newer',
      message: expect.stringContaining('9002-less'),
    });
    await late.store.close();
  });

  test('control: without asking who is there, a contraction takes the ground from under a process that runs', async () => {
    const { store } = assemblePostgres({ url });
    await store.ensure();
    await store.shareRanges('a', 10_000);
    await migrate(open(), 'here', { migrations: LATER, mayContract: true });
    await expect(store.shareRanges('a', 10_000)).rejects.toMatchObject({ code: 'store-missing' });
    await expect(store.ensure()).rejects.toMatchObject({ name: 'ConfigError', code: 'store-newer' });
    await store.close();
  });

  test('nobody who starts brings a database of older releases to what those can not work with', async () => {
    await command(MIGRATIONS);
    const needed: Migration = { name: '9001-needed', sql: 'alter table owners add column more text', phase: 'settled' };
    await expect(migrate(open(), 'here', { migrations: [...MIGRATIONS, needed] })).rejects.toMatchObject({
      name: 'ConfigError',
      code: 'store-older',
      message: expect.stringContaining('tidemark admin migrate --contract'),
    });
    expect(await columns()).not.toContain('more');
    await Promise.all(clients.splice(0).map((client) => client.close()));
    await noneOfOurs();
    expect(
      names((await command([...MIGRATIONS, needed], { mayContract: true })).applied as readonly Migration[]),
    ).toEqual(['9001-needed']);
  });

  test('what was applied before a fault stays, and the next run goes on from there', async () => {
    await command(MIGRATIONS);
    const broken: Migration = { name: '9003-broken', sql: 'create table half (); create nonsense', phase: 'expand' };
    await expect(command([...NEXT, broken])).rejects.toThrow('syntax error');
    expect(await open().run([once(`select to_regclass('half')`)])).toEqual([[[null]]]);
    const mended = { ...broken, sql: 'create table half ()' };
    expect(names((await command([...NEXT, mended])).applied as readonly Migration[])).toEqual(['9003-broken']);
  });

  test('a table that others have locked is waited for, and they are not held up for long', async () => {
    await command(MIGRATIONS);
    const holder = open({ max: 1 });
    let release = (): void => {};
    const isLocked = new Promise<void>((resolve) => {
      release = resolve;
    });
    let taken = (): void => {};
    const isTaken = new Promise<void>((resolve) => {
      taken = resolve;
    });
    const holding = holder.session(async (runner) => {
      await runner.script('begin; lock table owners in access share mode');
      taken();
      await isLocked;
      await runner.script('commit');
    });
    await isTaken;
    const migrating = command(NEXT);
    const waiting = once(`select count(*) from pg_locks where relation = 'owners'::regclass and not granted`);
    const looker = open();
    await expect.poll(async () => (await looker.run([waiting]))[0]).toEqual([['1']]);
    // A reader behind the migration resumes before the lock is released.
    await looker.run([once('select count(*) from owners')]);
    release();
    await holding;
    expect((await migrating).applied).toEqual([{ name: '9001-more', phase: 'expand' }]);
  });
});
