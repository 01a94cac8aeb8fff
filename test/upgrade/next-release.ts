/**
 * Owns what the next release has that this one doesn't: an expansion that its statements need, and a contraction by which this one would fail.
 * Hot tables get columns that this one doesn't know, and the function that every projection calls gets a successor.
 */

import type { Change } from './trees.ts';

const EXPANSION = '9001-next';
const CONTRACTION = '9002-without-this';

const EXPAND_SQL = `
alter table workflows add column next text;
alter table checkpoints add column next text not null default 'next';
alter table owners add column next text;
create table next_things (name text primary key);
create function tidemark_expect_9001(actual bigint, expected bigint) returns void language plpgsql as $$
begin
  if actual <> expected then
    raise exception 'projection moved: % of % partitions are where they should be', actual, expected
      using errcode = 'TM001';
  end if;
end $$;`;

/** Also taken by a control that contracts without asking who is there. */
export const CONTRACT_SQL = 'drop function tidemark_expect(bigint, bigint)';

export const NEXT_CHANGES: readonly Change[] = [
  {
    file: 'libs/adapters/store-postgres/src/migrations.ts',
    from: "{ ...tables, phase: 'settled' }",
    to: `{ ...tables, phase: 'settled' },
  { name: '${EXPANSION}', sql: ${JSON.stringify(EXPAND_SQL)}, phase: 'expand' },
  { name: '${CONTRACTION}', sql: ${JSON.stringify(CONTRACT_SQL)}, phase: 'contract' }`,
  },
  {
    file: 'libs/adapters/store-postgres/src/sql/advance-partitions.ts',
    from: 'select tidemark_expect(',
    to: 'select tidemark_expect_9001(',
  },
  {
    file: 'libs/adapters/store-postgres/src/sql/share-ranges.ts',
    from: 'knows = excluded.knows`',
    to: "knows = excluded.knows, next = 'next'`",
  },
];
