/**
 * Deleted data is in no file of the database once its tables were scrubbed, neither in indexes, nor in TOAST, nor in what Postgres samples
 * for its planner; and tables that could not be scrubbed are reported. The control is that a plain vacuum leaves the bytes.
 */

import type { Lamport } from '@tidemark/core';
import { memoryRow } from '@tidemark/testkit/contracts/projection-store-memories';
import * as rows from '@tidemark/testkit/contracts/projection-store-rows';
import { holdsMark } from '@tidemark/testkit/marked-bytes';
import { describeServers } from '@tidemark/testkit/suites';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { assemblePostgres } from './postgres-store.ts';
import { scrubTables } from './scrub-tables.ts';

const BOUNDS = { tableMaxBytes: 1_000_000_000, lockTimeoutMs: 100, maxMs: 30_000, readersMaxMs: 100 };
const MARKS = ['zq7wordsk9qz', 'zq7longk9qz', 'zq7wrappedk9qz'];
const EVERY = (why: string) => ['memories', 'memory_embeddings', 'data_keys'].map((table) => ({ table, why }));

/** More than a row holds, and hardly compressible, so it goes to TOAST. */
const LONG = Array.from({ length: 4_000 }, (_, n) => ((n * 2_654_435_761) >>> 0).toString(36)).join(' ');

describeServers('scrubbing', ['postgres'], (servers) => {
  let url: string;
  let at: ReturnType<typeof assemblePostgres>;
  let admin: pg.Client;
  beforeEach(async () => {
    url = await servers.freshDatabase();
    at = assemblePostgres({ url });
    await at.store.ensure();
    admin = new pg.Client({ connectionString: url });
    await admin.connect();
    const partition = { partition: rows.partitionAt(0), start: rows.at(0), rebuildTo: rows.at(0) };
    await at.store.addPartitions([partition]);
    const row = memoryRow('a', { words: `the ${MARKS[0]}\n${LONG} ${MARKS[1]}` });
    await at.store.apply(rows.batch({ partitions: [rows.advance(0, 0, 1)], memories: [row] }));
    await admin.query(`insert into memories (tenant, subject, kind, key, value, words, source, at_ms, workflow, position,
        ordinal, lamport, is_forgotten, mark)
      select 'acme', 's', 'fact', n::text, '1', 'the ${MARKS[0]}', '', 0, 'w', 0, 0, 0, false, 0 from generate_series(1, 50) n`);
    await admin.query(`insert into data_keys (id, tenant, workflow, provider, wrapped_by, wrapped)
      select n::text, 'acme', 'w', 'local', 'k', '${MARKS[2]}' from generate_series(1, 50) n`);
    await admin.query('analyze');
    expect(await marksFound()).toEqual(MARKS);
    const gone = memoryRow('a', { lamport: 2 as Lamport, isForgotten: true });
    await at.store.apply(rows.batch({ partitions: [rows.advance(0, 1, 2)], memories: [gone] }));
    await admin.query(`update memories set words = '' where subject = 's'; update data_keys set wrapped = null`);
  });
  afterEach(async () => {
    await admin.end();
    await at.store.close();
  });

  /** Marks found in any file of the database; its write-ahead log is the server's. */
  async function marksFound(): Promise<readonly string[]> {
    await admin.query('checkpoint');
    const files = await admin.query<{ bytes: Buffer }>(`
      select pg_read_binary_file(file) as bytes
      from (select distinct pg_relation_filepath(oid) as file from pg_class where relkind in ('r', 'i', 't', 'm', 'S')) f
      where file is not null`);
    return MARKS.filter((mark) => files.rows.some(({ bytes }) => holdsMark(bytes, mark)));
  }

  test('leaves nothing of what was deleted', async () => {
    await admin.query('vacuum analyze');
    expect(await marksFound()).not.toEqual([]);
    expect(await at.store.scrub()).toEqual([]);
    expect(await marksFound()).toEqual([]);
  });

  test('tells the tables that others still read, hold, or that are too large', async () => {
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    await other.query('begin isolation level repeatable read; select 1 from partitions');
    await admin.query('create table anything (a int)');
    expect(await scrubTables(at.client, 'postgres', BOUNDS)).toEqual(EVERY('in-use'));
    await other.query('commit');
    expect(await scrubTables(at.client, 'postgres', { ...BOUNDS, tableMaxBytes: 1 })).toEqual(EVERY('too-large'));
    await other.end();
    expect(await scrubTables(at.client, 'postgres', BOUNDS)).toEqual([]);
  });

  test('tells the tables that the role may not write anew', async () => {
    const role = `scrubber_${Date.now()}`;
    await admin.query(`create role ${role} login password 'x'; grant usage on schema public to ${role};
      grant select, update on all tables in schema public to ${role}`);
    const there = Object.assign(new URL(url), { username: role, password: 'x' });
    const poor = assemblePostgres({ url: there.href });
    try {
      expect(await poor.store.scrub()).toEqual(EVERY('not-allowed'));
    } finally {
      await poor.store.close();
      await admin.query(`drop owned by ${role}; drop role ${role}`);
    }
  });
});
