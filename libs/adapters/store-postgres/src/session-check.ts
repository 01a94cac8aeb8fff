/**
 * Owns what a new connection to a server must be before anything is set in it: a session that takes writes, and one of its own. A pooler of
 * transactions (PgBouncer with pool_mode transaction or statement) would spread the statements of a connection over sessions that other
 * clients use as well, and leave this library's settings in them.
 *
 * A pooler greets with a process id of its own instead of the server's. One that pools sessions does so too, so two connections then ask which
 * process serves them: in sessions of their own each always gets the same answer. Where transactions are pooled, the process that answered
 * the one is free to answer the other. Asked in turn, two connections over two servers that serve in turn would each meet its own for ever,
 * so each is asked several times in a row, and also while the other holds a session by a transaction.
 */

import { ConfigError } from '@tidemark/core';
import pg from 'pg';

/** Times that two connections through a pooler compare which processes of the server answer them. Others' traffic may hide a pooler of transactions once. */
const POOLER_ROUNDS_MAX = 8;

/** SQLSTATE of a write in a session that takes none: of a standby, or of a primary that was fenced off. */
export const READ_ONLY = '25006';

/**
 * Throws a `DatabaseError` (`READ_ONLY`), or `ConfigError` (`store-pooled`) where statements don't stay in one session. `open`: makes
 * another connection to the same address, to ask a pooler; without it a pooler passes.
 */
export async function checkSession(client: pg.ClientBase, open: (() => pg.Client) | undefined): Promise<void> {
  const sql = "select pg_backend_pid()::text as process, current_setting('transaction_read_only') as read_only";
  const [answer] = (await client.query<{ process: string; read_only: string }>(sql)).rows;
  if (answer?.read_only === 'on') {
    const said = 'it takes no writes (a standby, or a server with default_transaction_read_only = on)';
    throw Object.assign(new pg.DatabaseError(said, said.length, 'error'), { code: READ_ONLY });
  }
  const isPooled = Number(answer?.process) !== (client as Greeted).processID;
  if (isPooled && open !== undefined) await checkPooler(client as Greeted, open());
}

/** What the server said at the beginning; missing in the types of `pg`. */
type Greeted = pg.ClientBase & Readonly<Record<'processID' | 'port', number> & Record<'host' | 'database', string>>;

async function checkPooler(client: Greeted, other: pg.Client): Promise<void> {
  other.on('error', () => {}); // the query under way reports it
  try {
    await other.connect();
    const [own, others] = [await processOf(client), await processOf(other)];
    // A pool of one session: a transaction of one connection would keep the other waiting.
    if (own === others) throw pooled(client);
    const expectOwn = async (asked: pg.ClientBase): Promise<void> => {
      if ((await processOf(asked)) !== (asked === client ? own : others)) throw pooled(client);
    };
    for (let round = 0; round < POOLER_ROUNDS_MAX; round += 1) {
      const [holder, free] = round % 2 === 0 ? [client, other] : [other, client];
      // First: a pooler of statements answers `begin` with an error.
      for (const asked of [holder, holder, free]) await expectOwn(asked);
      await holder.query('begin');
      for (const asked of [holder, free, free]) await expectOwn(asked);
      await holder.query('commit');
    }
  } finally {
    await other.end().catch(() => {});
  }
}

const processOf = async (client: pg.ClientBase): Promise<string | undefined> =>
  (await client.query<{ process: string }>('select pg_backend_pid()::text as process')).rows[0]?.process;

const pooled = ({ host, port, database }: Greeted): ConfigError =>
  new ConfigError(
    'store-pooled',
    `At postgres://${host}:${port}/${database} is a connection pooler that gives each transaction another session (PgBouncer in transaction or statement mode). Tidemark needs sessions of its own: set pool_mode = session for its database there, or name the address of Postgres itself; a process holds at most a few connections.`,
  );
