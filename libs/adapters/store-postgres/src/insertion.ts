/**
 * Owns statements that insert a batch of rows, which travels as one array per column (see binary-array.ts): a table names each column once,
 * with its type and what a row has in it. Knows no table.
 */

import { bools, float8s, int4s, int8s, texts } from './binary-array.ts';
import type { Statement } from './sql-client.ts';

/** `Given`: what the values of all rows depend on beside the row. */
interface Column<R, Given> {
  /** SQL of the column's value; `array`: the parameter that has an element for each row. */
  sql(array: string): string;
  encode(rows: readonly R[], given: Given): Buffer;
}

const column =
  <V>(type: string, encode: <R>(rows: readonly R[], get: (row: R) => V) => Buffer) =>
  <R, Given>(get: (row: R, given: Given) => V, sql = (element: string): string => element): Column<R, Given> => ({
    sql: (array) => sql(`unnest(${array}::${type}[])`),
    encode: (rows, given) => encode(rows, (row) => get(row, given)),
  });

export const text = column<string | null>('text', texts);
/** Safe integers. */
export const int8 = column<number | null>('int8', int8s);
export const int4 = column<number | null>('int4', int4s);
export const float8 = column<number | null>('float8', float8s);
export const bool = column<boolean>('bool', bools);

/** `columns`: by name as SQL writes it; a text is SQL, the same for each row. `conflict`: what follows the rows. */
export function insertion<R, Given = undefined>(
  name: string,
  table: string,
  columns: Readonly<Record<string, Column<R, Given> | string>>,
  conflict = '',
): (rows: readonly R[], ...given: Given extends undefined ? [] : [Given]) => Statement {
  const arrays: Column<R, Given>[] = [];
  const values = Object.values(columns).map((one) => (typeof one === 'string' ? one : one.sql(`$${arrays.push(one)}`)));
  const statement = `insert into ${table} (${Object.keys(columns).join(', ')})\nselect ${values.join(', ')}\n${conflict}`;
  return (rows, ...[given]) => ({
    name,
    text: statement,
    values: arrays.map((one) => one.encode(rows, given as Given)),
  });
}

/** The assignments of an upsert that takes these columns from the new row. */
export const excluded = (...columns: readonly string[]): string =>
  columns.map((name) => `${name} = excluded.${name}`).join(', ');
