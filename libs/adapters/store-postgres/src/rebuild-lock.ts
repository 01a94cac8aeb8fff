/**
 * Owns that one process at a time rebuilds the rows of a schema, by an advisory lock of the database on a connection of its own. The lock
 * ends with its process. Rows must not depend on it: batches keep to P1 without it.
 */

import { UnavailableError } from '@tidemark/core';
import { once, type SqlClient, type SqlRunner, textAt } from './sql-client.ts';

/** Key of the lock, together with the schema's name; any number. */
const REBUILDING = 7_401_003;

export class RebuildLock {
  readonly #schema: string;
  readonly #process: string;
  readonly #letGo: () => void;
  readonly #session: Promise<unknown>;

  private constructor(schema: string, process: string, letGo: () => void, session: Promise<unknown>) {
    this.#schema = schema;
    this.#process = process;
    this.#letGo = letGo;
    this.#session = session;
  }

  /** Throws `UnavailableError` (`rebuild-under-way`: another process holds it). */
  static async take(client: SqlClient, schema: string, address: string): Promise<RebuildLock> {
    const [taken, released] = [Promise.withResolvers<string>(), Promise.withResolvers<void>()];
    const session = client.session(async (runner) => {
      const [[row = []] = []] = await runner.run([
        once(`select pg_try_advisory_lock(${REBUILDING}, hashtext($1)), pg_backend_pid()`, [schema]),
      ]);
      if (row[0] !== 't') throw underWay(address);
      taken.resolve(textAt(row, 1));
      await released.promise;
      await runner.run([once(`select pg_advisory_unlock(${REBUILDING}, hashtext($1))`, [schema])]);
    });
    session.catch(taken.reject);
    return new RebuildLock(schema, await taken.promise, released.resolve, session);
  }

  /** Throws `UnavailableError` (`rebuild-lock-lost`) where the connection that held it is gone. */
  async check(runner: SqlRunner): Promise<void> {
    const [rows = []] = await runner.run([
      once(
        `select from pg_locks where locktype = 'advisory' and pid = $1::int4 and classid::int8 = ${REBUILDING} and granted`,
        [this.#process],
      ),
    ]);
    if (rows.length > 0) return;
    throw new UnavailableError(
      'rebuild-lock-lost',
      `The connection that held the lock on rebuilds of ${this.#schema} broke. Nothing was changed; run it again, and it resumes where it stopped.`,
    );
  }

  async release(): Promise<void> {
    this.#letGo();
    // When its connection broke, the server released the lock.
    await this.#session.catch(() => {});
  }
}

/** Whether a process holds the lock of that schema. */
export async function isRebuilding(client: SqlRunner, schema: string): Promise<boolean> {
  const [rows = []] = await client.run([
    once(
      `select from pg_locks where locktype = 'advisory' and classid::int8 = ${REBUILDING} and granted
  and objid::int8 = hashtext($1)::int8 & 4294967295 and database = (select oid from pg_database where datname = current_database())`,
      [schema],
    ),
  ]);
  return rows.length > 0;
}

const underWay = (address: string): UnavailableError =>
  new UnavailableError(
    'rebuild-under-way',
    `Another process is rebuilding the rows of ${address}, or comparing them. Nothing was changed; wait until it has ended, then run this again if it is still needed.`,
    { address },
  );
