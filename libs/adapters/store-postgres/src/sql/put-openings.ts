/**
 * Records that openings are in the log: completes the placements that `place` made, and inserts the others, which restores placements after
 * Postgres was lost. Returns the workflows that are placed in another partition: the writer of such an opening had lost its placement, and
 * the stream behind it can never be claimed. Inputs: one row each. Locks: the placements' rows. Index: primary key. Cost: 8 ms for 1,000.
 */

import type { OpenedRow } from '@tidemark/ports';
import { int4s, int8s, texts } from '../binary-array.ts';
import type { Statement } from '../sql-client.ts';

const text = `
with given as (
  select unnest($1::text[]) as workflow, unnest($2::text[]) as tenant, unnest($3::int4[]) as partition,
    unnest($4::int8[]) as generation, unnest($5::text[]) as session
), put as (
  insert into placements (workflow, tenant, partition, generation, mode, opening, appended, live, session)
  select workflow, tenant, partition, generation, 'exclusive', '', true, true, session from given
  on conflict (workflow) do update set appended = true, opening = '', generation = excluded.generation,
    session = coalesce(placements.session, excluded.session)
  where placements.partition = excluded.partition
  returning workflow
)
select workflow from given where workflow collate "C" not in (select workflow from put)`;

export function putOpenings(rows: readonly OpenedRow[]): Statement {
  return {
    name: 'put-openings',
    text,
    values: [
      texts(rows, (row) => row.workflow),
      texts(rows, (row) => row.tenant),
      int4s(rows, (row) => row.partition),
      int8s(rows, (row) => row.generation),
      texts(rows, (row) => row.session),
    ],
  };
}
