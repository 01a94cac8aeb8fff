/**
 * Owns the connection of one transaction: taken from the user's pool, returned usable or discarded. Must hold no SQL of the effect.
 * Invariant: once the signal aborts, the connection is closed, so no transaction under way can commit.
 */

import { NotDoneError } from '@tidemark/sdk';
import { REASON_MAX_CHARS } from './limits.ts';

/** The part of a result that is used. */
export interface SqlResult {
  // biome-ignore lint/suspicious/noExplicitAny: as `pg` types a row, whose shape the statement alone knows.
  readonly rows: any[];
  readonly rowCount: number | null;
}

/** The part of a connection that is used; a `PoolClient` of `pg` is one. */
export interface SqlConnection {
  query(text: string, values?: unknown[]): Promise<SqlResult>;
  /** `true`: it can't be used again. */
  release(destroy?: boolean): void;
  /** Receives errors of an idle connection. */
  on?(event: 'error', listener: (error: Error) => void): unknown;
  off?(event: 'error', listener: (error: Error) => void): unknown;
}

/** The part of a pool that is used; a `Pool` of `pg` is one. */
export interface SqlPool {
  connect(): Promise<SqlConnection>;
}

/** The transaction, for the user's statements. It ends with the function that received it. */
export interface SqlTransaction {
  /** `$1`, `$2` … stand for the values. */
  query(text: string, values?: unknown[]): Promise<SqlResult>;
}

const READ_ONLY = '25006';

/** Runs `use` on a connection of its own. Throws `NotDoneError` when the pool has none. */
export async function withConnection<T>(
  operation: string,
  pool: SqlPool,
  signal: AbortSignal,
  use: (connection: SqlConnection) => Promise<T>,
): Promise<T> {
  const connection = await connect(operation, pool, signal);
  // A connection that dies between two statements emits an event, which without a listener would end the process. The next statement fails
  // by itself.
  const onError = (): void => undefined;
  connection.on?.('error', onError);
  let isOpen = true;
  const giveBack = (destroy: boolean): void => {
    if (!isOpen) return;
    isOpen = false;
    // A discarded connection may still emit one.
    if (!destroy) connection.off?.('error', onError);
    connection.release(destroy);
  };
  const onAbort = (): void => giveBack(true);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const result = await use(connection);
    giveBack(false);
    return result;
  } catch (error) {
    // A session of a server that takes no writes would answer the next effect alike: another finds who takes them after a failover.
    const isReadOnly = [error, (error as { cause?: unknown }).cause].some((each) => sqlStateOf(each) === READ_ONLY);
    const usable = isOpen && !isReadOnly && (await rollBack(connection));
    giveBack(!usable);
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** False: the connection is cut. Closing it ends the transaction as well. */
const rollBack = (connection: SqlConnection): Promise<boolean> =>
  connection.query('rollback').then(
    () => true,
    () => false,
  );

async function connect(operation: string, pool: SqlPool, signal: AbortSignal): Promise<SqlConnection> {
  let connection: SqlConnection;
  try {
    connection = await pool.connect();
  } catch (error) {
    throw new NotDoneError(`${operation}: no connection to the database: ${reasonOf(error)}`, {
      operation,
      cause: error,
    });
  }
  if (!signal.aborted) return connection;
  connection.release(false);
  throw new NotDoneError(`${operation}: aborted before it began.`, { operation });
}

export const reasonOf = (error: unknown): string =>
  String(error instanceof Error ? error.message || error.name : error).slice(0, REASON_MAX_CHARS);

/** Postgres' five-character code of an error; empty for an error of another origin. */
export const sqlStateOf = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : '';
};
