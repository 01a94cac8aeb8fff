/**
 * Owns the connections: a pool of `pg` clients, each set up for this library's statements, over TCP or over the stream that leads to
 * PGlite's thread. The pool survives the loss of any connection, idle ones included, and keeps none to a server that takes no writes. Errors
 * leave as the driver threw them; faults.ts names them.
 */

import { TidemarkError } from '@tidemark/core';
import pg from 'pg';
import { SCRIPT_TIMEOUT_MS } from './limits.ts';
import { NEWEST_MIGRATION } from './migrations.ts';
import { Pipeline } from './pipeline.ts';
import { checkSession, READ_ONLY } from './session-check.ts';
import { BEGIN, ROLLBACK, type Rows, type SqlClient, type SqlRunner, type Statement } from './sql-client.ts';

/** A connection that nobody used for this long is closed. */
const IDLE_CONNECTION_MS = 60_000;
/** Longest wait for a connection: a new one, or a free one of the pool. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Longest wait for the answer to one round trip; then the connection is given up. */
const ANSWER_TIMEOUT_MS = 30_000;
/** Attempts at a transaction that Postgres ended to resolve a deadlock. */
const DEADLOCK_ATTEMPTS_MAX = 4;
/** Memory of one sort or hash of a statement, before Postgres goes to disk. */
const WORK_MEM_KB = 32 * 1024;

/**
 * Rows are derived from the log, so a transaction need not wait for the disk: a crash of Postgres may lose the last transactions, each
 * entirely, rows and next offset together, and the projector folds that part of the log again. Placements are the exception (see
 * sql/place.ts).
 *
 * Each connection plans a statement once, perhaps while the tables are empty, and the plan must hold when they are large. So the planner
 * gets no choice: every statement finds its rows by an index, row by row, and the plans that suit small tables are off.
 */
const SETTINGS = `set plan_cache_mode = force_generic_plan; set jit = off;
  set enable_seqscan = off; set enable_bitmapscan = off; set enable_hashjoin = off; set enable_mergejoin = off;
  set work_mem = '${WORK_MEM_KB}kB'; set client_min_messages = error; set timezone = 'UTC'`;

/** SQLSTATEs of a transaction that Postgres ended in favour of another: serialization failure, deadlock. */
const RUN_AGAIN = new Set(['40001', '40P01']);

/** Prefix of the name of each connection, followed by the newest migration that the process knows (see migrate-postgres.ts). */
export const CLIENT_NAME = 'tidemark';

export interface PoolClientOptions extends pg.PoolConfig {
  readonly max: number;
  /** `on`: a commit waits until Postgres has written it to its files. Default: `off`, since rows are derived. */
  readonly synchronousCommit?: 'on' | 'off';
  /** Runs on every new connection, before its settings. */
  readonly onOpen?: (client: pg.ClientBase) => Promise<void>;
  /** Longest wait for the answer to one round trip. */
  readonly answerTimeoutMs?: number;
}

export class PoolClient implements SqlClient {
  readonly #pool: pg.Pool;
  /** Connections since the server was last found read-only. */
  #fresh = new WeakSet<pg.ClientBase>();
  /** A pooler that has been found to pool sessions isn't asked again. */
  #hasSessions = false;

  constructor({
    onOpen,
    synchronousCommit = 'off',
    answerTimeoutMs = ANSWER_TIMEOUT_MS,
    ...options
  }: PoolClientOptions) {
    const config = {
      idleTimeoutMillis: IDLE_CONNECTION_MS,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      application_name: `${CLIENT_NAME} ${NEWEST_MIGRATION}`,
      query_timeout: answerTimeoutMs,
      ...options,
    };
    const open = (): pg.Client => new PasswordClient(config);
    this.#pool = new pg.Pool({
      ...config,
      Client: PasswordClient,
      onConnect: async (client) => {
        client.on('error', ignore);
        // PGlite has no address.
        if (options.connectionString !== undefined) await checkSession(client, this.#hasSessions ? undefined : open);
        this.#hasSessions = true;
        this.#fresh.add(client);
        await onOpen?.(client);
        await client.query(`set synchronous_commit = ${synchronousCommit}; ${SETTINGS}`);
      },
    });
    // The pool has already dropped an idle connection that breaks; the next operation opens another or reports the fault.
    this.#pool.on('error', ignore);
  }

  run(statements: readonly Statement[]): Promise<readonly Rows[]> {
    // The error does not end a transaction that these statements began themselves.
    const begins = statements.includes(BEGIN);
    return again(() => this.#withClient((client) => roundTrip(client, statements), begins));
  }

  session<T>(work: (runner: SqlRunner) => Promise<T>): Promise<T> {
    return again(() =>
      this.#withClient((client) =>
        work({ run: (statements) => roundTrip(client, statements), script: (text) => script(client, text) }),
      ),
    );
  }

  script(text: string): Promise<void> {
    return this.#withClient((client) => script(client, text));
  }

  async close(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end();
  }

  /**
   * Does the work with a connection, which may begin a transaction. The pool reuses it only where its state is known: after the work, or
   * after an answer of Postgres and a rollback that was answered too.
   */
  async #withClient<T>(work: (client: pg.PoolClient) => Promise<T>, begins = true): Promise<T> {
    const client = await this.#connect();
    try {
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      if (error instanceof pg.DatabaseError && error.code === READ_ONLY) this.#fresh = new WeakSet();
      const isClear = isAnswer(error) && (!begins || (await rolledBack(client)));
      client.release(!isClear);
      throw error;
    }
  }

  /** After a failover all connections of before may lead to the old primary, the idle ones too, which only reads would find answering. */
  async #connect(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await this.#pool.connect();
      if (this.#fresh.has(client)) return client;
      client.release(true);
    }
  }
}

/** Asks for the password at each connection; `pg` itself takes the address's instead, also where that has none. */
export class PasswordClient extends pg.Client {
  constructor(config: pg.ClientConfig = {}) {
    super(config);
    if (typeof config.password === 'function') Object.assign(this, { password: config.password });
  }
}

const ignore = (): void => {};

/** True for an error after which the connection is as good as before. */
function isAnswer(error: unknown): boolean {
  if (error instanceof TidemarkError) return true;
  if (!(error instanceof pg.DatabaseError)) return false;
  // Connection exceptions, a server that takes no writes, operator intervention, an unknown prepared statement.
  return !/^(08|25006|57P|26)/.test(error.code ?? '') && error.severity !== 'FATAL' && error.severity !== 'PANIC';
}

const rolledBack = (client: pg.PoolClient): Promise<boolean> =>
  roundTrip(client, [ROLLBACK]).then(
    () => true,
    () => false,
  );

async function again<T>(attempt: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count += 1) {
    try {
      return await attempt();
    } catch (error) {
      const ended = error instanceof pg.DatabaseError && RUN_AGAIN.has(error.code ?? '');
      if (!ended || count >= DEADLOCK_ATTEMPTS_MAX) throw error;
    }
  }
}

/** A migration may take long. */
async function script(client: pg.PoolClient, text: string): Promise<void> {
  const query = { text, query_timeout: SCRIPT_TIMEOUT_MS };
  await client.query(query);
}

/** Rejects with the first error; `pg` gives up waiting after `query_timeout`. */
function roundTrip(client: pg.PoolClient, statements: readonly Statement[]): Promise<readonly Rows[]> {
  return new Promise((resolve, reject) => {
    const pipeline = new Pipeline(statements, (error, results) => {
      if (error !== null) reject(error);
      else resolve(results ?? []);
    });
    client.query(pipeline as unknown as pg.Submittable);
  });
}
