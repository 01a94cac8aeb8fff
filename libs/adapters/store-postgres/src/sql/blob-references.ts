/**
 * Texts that name blobs, in every column that may hold them: of the rows in use, and of those that are rebuilt beside them (see
 * schema-rebuild.ts). A rebuild seals texts again, so its rows name blobs of their own, even when its process has died. Inputs: the text
 * after which to begin; a limit; the columns beside those in use. Locks: none. Index: `…_blob` of each column, which hold these alone.
 * Cost: below 1 ms for 100 among any number of rows; finding the other columns, 1 ms.
 */

import { once, type Row, type Statement, textAt } from '../sql-client.ts';
import { quoted } from './rebuild/switch-tables.ts';

const COLUMNS = [
  ['placements', 'opening'],
  ['workflows', 'result'],
  ['texts', 'text'],
  ['scopes', 'change'],
  ['memories', 'value'],
] as const;

/** A column that may hold such a text; the schema as SQL writes it, empty for the one in use. */
export interface NamingColumn {
  readonly schema: string;
  readonly table: string;
  readonly column: string;
}

/** Columns in schemas named after the one in use. A schema that is being created or dropped may have only some. */
export const FIND_NAMING_BESIDE: Statement = {
  name: 'find-blob-columns-beside',
  text: `
select n.nspname, c.relname, a.attname
from pg_namespace n
join pg_class c on c.relnamespace = n.oid and c.relkind = 'r'
join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
where n.nspname in (current_schema() || '_rebuild', current_schema() || '_compare')
  and (c.relname, a.attname) in (values ${COLUMNS.map(([table, column]) => `('${table}'::name, '${column}'::name)`).join(', ')})`,
  values: [],
};

export const namingColumnOf = (row: Row): NamingColumn => ({
  schema: `${quoted(textAt(row, 0))}.`,
  table: textAt(row, 1),
  column: textAt(row, 2),
});

/** The conditions of the indexes, word by word, or Postgres would not use them. */
const namedIn = (columns: readonly NamingColumn[]): string =>
  columns
    .map(
      ({ schema, table, column }) => `
(select distinct ${column} collate "C" as name from ${schema}${table}
 where left(${column}, 5) = 'blob:' and ${column} collate "C" > $1 order by 1 limit $2)`,
    )
    .join(' union');

const text = (columns: readonly NamingColumn[]): string =>
  `select name from (${namedIn(columns)}) all_names order by name limit $2`;

const IN_USE: readonly NamingColumn[] = COLUMNS.map(([table, column]) => ({ schema: '', table, column }));
const TEXT_IN_USE = text(IN_USE);

/** One page of all of them: tables that are switched in between two pages are in use on the next. */
export function readBlobReferences(after: string | null, limit: number, beside: readonly NamingColumn[]): Statement {
  const values = [after ?? '', String(limit)];
  if (beside.length > 0) return once(text([...IN_USE, ...beside]), values);
  return { name: 'read-blob-references', text: TEXT_IN_USE, values };
}
