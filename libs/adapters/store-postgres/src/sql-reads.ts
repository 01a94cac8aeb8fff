/** Owns how an operation of the store reads: one statement, and what each of its rows means. */

import { UnavailableError } from '@tidemark/core';
import { whenReady } from './sql/read-history.ts';
import type { Row, Rows, SqlClient, Statement } from './sql-client.ts';

export abstract class SqlReads {
  protected readonly client: SqlClient;

  /** `client`: one whose errors are the port's (see faults.ts). */
  constructor(client: SqlClient) {
    this.client = client;
  }

  protected async read(statement: Statement): Promise<Rows> {
    const [rows = []] = await this.client.run([statement]);
    return rows;
  }

  protected async readAll<T>(statement: Statement, meaning: (row: Row) => T): Promise<readonly T[]> {
    return (await this.read(statement)).map((row) => meaning(row));
  }

  /** Throws `UnavailableError` (`store-rebuilding`), as `readyOr` does. */
  protected async readReady<T>(statement: Statement, meaning: (row: Row) => T): Promise<readonly T[]> {
    return readyOr(whenReady(await this.read(statement), meaning));
  }
}

/** Returns what was read, unless the rows were being rebuilt: they are incomplete then. */
export function readyOr<T>(read: T | undefined): T {
  if (read !== undefined) return read;
  throw new UnavailableError('store-rebuilding', 'The rows are being rebuilt from the log; try again later');
}
