/**
 * Owns the table of keys, and each statement on it. Each key has a row, written in the transaction of its change, so that both exist or
 * neither. Locks: the primary key alone; an insert waits for another transaction's insert of the same key to end. Must not begin or end
 * transactions, except in the one text that commits within the time.
 */

import { InvalidError } from '@tidemark/sdk';
import type { SqlConnection } from './sql-session.ts';
import { sqlStateOf } from './sql-session.ts';

/** A row that another transaction committed. */
export interface RecordedEffect {
  readonly requestDigest: string;
  /** JSON; null when the user's statements ended the transaction before the response was written. */
  readonly response: string | null;
}

/** Creates the table. `schema` must exist. */
export const effectsTable = (schema = 'public'): string =>
  `create table if not exists ${tableName(schema)} (
  key text primary key,
  operation text not null,
  request_digest text not null,
  response json,
  done_at timestamptz not null default now()
)`;

/** Quotes a name for SQL: names can't be values. */
function tableName(schema: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(schema)) return `"${schema}".tidemark_effects`;
  throw new InvalidError(
    'sql-schema-invalid',
    `schema ${JSON.stringify(schema.slice(0, 64))}: it is 1..63 letters, digits or underscores, no digit first.`,
  );
}

/** Milliseconds become part of the text, so they must be a whole number above 0. */
const whole = (ms: number): number => Math.max(1, Math.ceil(ms));

/**
 * Begins. A statement, or a pause between two, that takes longer than the effect may take ends the transaction: a stopped process must not
 * hold the key forever.
 */
export const beginWithin = (timeoutMs: number): string =>
  `begin isolation level read committed; set local statement_timeout = ${whole(timeoutMs)}; set local idle_in_transaction_session_timeout = ${whole(timeoutMs)}`;

/**
 * Commits, if by the server's clock the transaction is not older than the effect may take; else fails. It is one text, so that nothing lies
 * between the check and the commit.
 */
export const commitWithin = (timeoutMs: number): string =>
  `do $$ begin if clock_timestamp() > transaction_timestamp() + interval '${whole(timeoutMs)} milliseconds' then raise exception 'the effect took longer than its time-out of ${whole(timeoutMs)} ms' using errcode = 'query_canceled'; end if; end $$; commit`;

export class EffectRows {
  readonly #table: string;
  readonly #schema: string;

  constructor(schema: string) {
    this.#schema = schema;
    this.#table = tableName(schema);
  }

  /** False: the key exists. Waits while another transaction that inserted it is open. */
  async insert(connection: SqlConnection, key: string, operation: string, requestDigest: string): Promise<boolean> {
    const { rowCount } = await connection.query(
      `insert into ${this.#table} (key, operation, request_digest) values ($1, $2, $3) on conflict (key) do nothing`,
      [key, operation, requestDigest],
    );
    return rowCount === 1;
  }

  async find(connection: SqlConnection, key: string): Promise<RecordedEffect | undefined> {
    const { rows } = await connection.query(
      `select request_digest as "requestDigest", response::text as response from ${this.#table} where key = $1`,
      [key],
    );
    return (rows as RecordedEffect[])[0];
  }

  /** False: the row isn't of this transaction, which somebody ended in between. */
  async putResponse(connection: SqlConnection, key: string, response: string): Promise<boolean> {
    const { rowCount } = await connection.query(
      `update ${this.#table} set response = $2 where key = $1 and response is null and xmin = pg_current_xact_id()::xid`,
      [key, response],
    );
    return rowCount === 1;
  }

  /** Runs outside a transaction. Others may create it at the same time. */
  async createTable(connection: SqlConnection): Promise<void> {
    try {
      await connection.query(effectsTable(this.#schema));
    } catch (error) {
      // Of two that create it at once, one fails by the catalogue's own unique keys.
      if (!['23505', '42P07', '42710'].includes(sqlStateOf(error))) throw error;
    }
  }
}
