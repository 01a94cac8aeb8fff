/** Owns the interface between this library and a database: statements, rows, and what a client can do. Knows no table and no driver. */

import { placeOf, type RecordPlace } from '@tidemark/ports';

/** Text as Postgres writes it, or a value in binary form (see binary-array.ts). */
export type Value = string | Buffer | null;

/**
 * One statement with its values. A name always has the same text, so that each connection plans it once; a rarely used statement has the
 * empty name and is planned each time.
 */
export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly Value[];
}

/** One row: each column as text. */
export type Row = readonly (string | null)[];
export type Rows = readonly Row[];

export interface SqlRunner {
  /**
   * Runs the statements in order in one round trip; returns the rows of each. Unless they contain `begin`, they are one transaction: when
   * one fails, the later ones don't run, and the earlier ones are rolled back.
   */
  run(statements: readonly Statement[]): Promise<readonly Rows[]>;
  /** Runs a script without values or results, as one transaction unless it says otherwise. */
  script(text: string): Promise<void>;
}

export interface SqlClient extends SqlRunner {
  /**
   * Gives the work a connection of its own, for a transaction of several round trips: it begins and commits itself. When
   * it throws, its transaction is rolled back. Work that Postgres ended to resolve a deadlock runs again.
   */
  session<T>(work: (runner: SqlRunner) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Makes a statement that is rarely used. */
export const once = (text: string, values: readonly Value[] = []): Statement => ({ name: '', text, values });

export const BEGIN: Statement = { name: 'begin', text: 'begin', values: [] };
export const COMMIT: Statement = { name: 'commit', text: 'commit', values: [] };
export const ROLLBACK: Statement = { name: 'rollback', text: 'rollback', values: [] };

/** Reads a column that is never null. */
export function textAt(row: Row, column: number): string {
  const value = row[column];
  if (value === null || value === undefined) throw new TypeError(`Column ${column} is null`);
  return value;
}

/** Throws `CorruptError` (`rows-wrong`). */
export const placeAt = (row: Row, column: number): RecordPlace => placeOf(textAt(row, column));

export const numberAt = (row: Row, column: number): number => Number(textAt(row, column));
export const booleanAt = (row: Row, column: number): boolean => row[column] === 't';
export const nullableText = (row: Row, column: number): string | null => row[column] ?? null;
export const nullableNumber = (row: Row, column: number): number | null => {
  const value = row[column];
  return value === null || value === undefined ? null : Number(value);
};
