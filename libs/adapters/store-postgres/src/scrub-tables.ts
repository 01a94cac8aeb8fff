/**
 * Owns clearing deleted data out of the database's files. A vacuum frees the room of dead rows and leaves their bytes there, so the tables
 * that hold anything in clear, or wrapped keys, are rewritten (`vacuum full`), which also deletes the old files. Changes no row.
 *
 * Nobody can use a table while it is rewritten. So the work is bounded: by the table's size, the wait for its lock, and the time it takes.
 * It reports what lies beyond, and `tidemark admin rebuild` clears that without blocking anybody.
 */

import { setTimeout as wait } from 'node:timers/promises';
import type { RowStore, UnscrubbedTable } from '@tidemark/ports';
import pg from 'pg';
import { numberAt, once, type SqlClient, type SqlRunner, textAt } from './sql-client.ts';

/** Bytes of the largest table, with its indexes, that is rewritten while others wait, to clear deleted data out of its files. */
const SCRUB_TABLE_MAX_BYTES = 256 * 1024 * 1024;
/** Longest wait for the lock on a table that is rewritten; meanwhile others wait behind it. */
const SCRUB_LOCK_TIMEOUT_MS = 5_000;
/** Longest time that others wait while the table is rewritten. */
const SCRUB_MAX_MS = 30_000;
/** Longest wait for transactions that may still see deleted rows. */
const SCRUB_READERS_MAX_MS = 10_000;
/** Pause between two polls for them. */
const SCRUB_READERS_POLL_MS = 50;

/** Tables of the words and vectors by which memories are found, and of wrapped keys: everything else that workflows say is sealed. */
const TABLES = ['memories', 'memory_embeddings', 'data_keys'] as const;

/** Sessions that may still see rows deleted before the transaction `$1`; a vacuum keeps those rows. */
const READERS = `
select 1 from pg_stat_activity where pid <> pg_backend_pid() and (datname = current_database() or datname is null)
  and greatest(age(backend_xmin), age(backend_xid)) > age($1::text::xid)
union all select 1 from pg_replication_slots where age(xmin) > age($1::text::xid)
union all select 1 from pg_prepared_xacts where age(transaction) > age($1::text::xid)
limit 1`;

/** The write-ahead log holds what was written before. This process alone reads PGlite's; a server keeps its own. */
const RENEW_LOG = ['select pg_switch_wal()', 'checkpoint'];

const BOUNDS = {
  tableMaxBytes: SCRUB_TABLE_MAX_BYTES,
  lockTimeoutMs: SCRUB_LOCK_TIMEOUT_MS,
  maxMs: SCRUB_MAX_MS,
  readersMaxMs: SCRUB_READERS_MAX_MS,
};

export type ScrubBounds = Readonly<typeof BOUNDS>;

export function scrubTables(
  client: SqlClient,
  kind: RowStore['kind'],
  bounds: ScrubBounds = BOUNDS,
): Promise<readonly UnscrubbedTable[]> {
  return client.session(async (runner) => {
    if (!(await readersEnded(runner, bounds.readersMaxMs))) return TABLES.map((table) => ({ table, why: 'in-use' }));
    const left: UnscrubbedTable[] = [];
    for (const table of TABLES) {
      const why = await rewritten(runner, table, bounds);
      if (why !== undefined) left.push({ table, why });
    }
    if (kind === 'pglite') for (const statement of RENEW_LOG) await runner.script(statement);
    return left;
  });
}

/** Whether every transaction that could see the deleted rows has ended. */
async function readersEnded(runner: SqlRunner, maxMs: number): Promise<boolean> {
  const [[row = []] = []] = await runner.run([once('select pg_current_xact_id()::xid::text')]);
  const before = textAt(row, 0);
  for (let waitedMs = 0; ; waitedMs += SCRUB_READERS_POLL_MS) {
    const [readers = []] = await runner.run([once(READERS, [before])]);
    if (readers.length === 0) return true;
    if (waitedMs >= maxMs) return false;
    await wait(SCRUB_READERS_POLL_MS);
  }
}

async function rewritten(
  runner: SqlRunner,
  table: string,
  { tableMaxBytes, lockTimeoutMs, maxMs }: ScrubBounds,
): Promise<UnscrubbedTable['why'] | undefined> {
  const poll = once(`select pg_relation_filenode('${table}'), pg_total_relation_size('${table}')`);
  const [[before = []] = []] = await runner.run([poll]);
  if (numberAt(before, 1) > tableMaxBytes) return 'too-large';
  try {
    await runner.script(`set lock_timeout = ${lockTimeoutMs}`);
    await runner.script(`set statement_timeout = ${maxMs}`);
    await runner.script(`vacuum full ${table}`);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || !BEYOND_BOUNDS.has(error.code ?? '')) throw error;
    return 'in-use';
  } finally {
    await runner.script('reset lock_timeout; reset statement_timeout');
  }
  const [[after = []] = []] = await runner.run([poll]);
  // Postgres reports a missing right to vacuum in a notice, and in no other way.
  return textAt(before, 0) === textAt(after, 0) ? 'not-allowed' : undefined;
}

/** SQLSTATEs: the lock was not available; the statement took too long. */
const BEYOND_BOUNDS = new Set(['55P03', '57014']);
