/**
 * Texts that name blobs, in whatever columns they stand: of the rows in use, and of those that are rebuilt beside them (see
 * schema-rebuild.ts), whose texts are sealed anew and so name blobs of their own, also when whoever made them is gone. Inputs: the text to
 * go on behind; how many; which columns there are beside. Locks: none. Index: `…_blob` of each column, which hold these alone. Cost: below
 * 1 ms for 100 among any number of rows; finding columns beside, 1 ms.
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

/** Where a text may stand; the schema as SQL has it, empty for the one in use. */
export interface NamingColumn {
  readonly schema: string;
  readonly table: string;
  readonly column: string;
}

/** Of schemas that are named after the one in use; one that is being made or taken away may have only some. */
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

/** As the indexes have it, word by word, or they would not be used. */
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

/** One page of all of them: tables that are switched in between two pages are the ones in use on the next. */
export function readBlobReferences(after: string | null, limit: number, beside: readonly NamingColumn[]): Statement {
  const values = [after ?? '', String(limit)];
  if (beside.length > 0) return once(text([...IN_USE, ...beside]), values);
  return { name: 'read-blob-references', text: TEXT_IN_USE, values };
}
