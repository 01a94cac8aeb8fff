/**
 * Inserts what checkpoints and model calls add to a workflow's context. Fragments, texts, changes of working memory and sessions never
 * change. Inputs: one row each. Locks: none. Index: primary keys, sessions_key. Cost: 11 ms for 1,000 fragments with texts of 1 KB.
 */

import type { FragmentRow, ScopeRow, SessionRow, TextRow } from '@tidemark/ports';
import { bools, int4s, int8s, texts } from '../binary-array.ts';
import type { Statement } from '../sql-client.ts';

const fragments = `
insert into fragments (workflow, sequence, index, type, digest, call, tool, covers, covered_sequence, covered_index)
select unnest($1::text[]), unnest($2::int8[]), unnest($3::int4[]), unnest($4::text[]), unnest($5::text[]),
  unnest($6::text[]), unnest($7::text[]), unnest($8::text[]), unnest($9::int8[]), unnest($10::int4[])`;

/** Where the summary's range ends in its own workflow; one that ends in an earlier workflow covers none of its own. */
const coveredTo = ({ covers }: FragmentRow) => (covers?.to.run === 0 ? covers.to : undefined);

export const putFragments = (rows: readonly FragmentRow[]): Statement => ({
  name: 'put-fragments',
  text: fragments,
  values: [
    texts(rows, (row) => row.workflow),
    int8s(rows, (row) => row.sequence),
    int4s(rows, (row) => row.index),
    texts(rows, (row) => row.type),
    texts(rows, (row) => row.digest),
    texts(rows, (row) => row.call),
    texts(rows, (row) => row.tool),
    texts(rows, (row) => (row.covers === null ? null : JSON.stringify(row.covers))),
    int8s(rows, (row) => coveredTo(row)?.sequence ?? null),
    int4s(rows, (row) => coveredTo(row)?.index ?? null),
  ],
});

export const putTexts = (rows: readonly TextRow[]): Statement => ({
  name: 'put-texts',
  text: `
insert into texts (workflow, digest, text)
select unnest($1::text[]), unnest($2::text[]), unnest($3::text[])
on conflict (workflow, digest) do nothing`,
  values: [texts(rows, (row) => row.workflow), texts(rows, (row) => row.digest), texts(rows, (row) => row.text)],
});

export const putScopes = (rows: readonly ScopeRow[]): Statement => ({
  name: 'put-scopes',
  text: `
insert into scopes (workflow, sequence, is_whole, change)
select unnest($1::text[]), unnest($2::int8[]), unnest($3::bool[]), unnest($4::text[])`,
  values: [
    texts(rows, (row) => row.workflow),
    int8s(rows, (row) => row.sequence),
    bools(rows, (row) => row.isWhole),
    texts(rows, (row) => row.change),
  ],
});

export const putSessions = (rows: readonly SessionRow[]): Statement => ({
  name: 'put-sessions',
  text: `
insert into sessions (tenant, session, workflow, user_id, lamport)
select unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[]), unnest($5::int8[])
on conflict (workflow) do nothing`,
  values: [
    texts(rows, (row) => row.tenant),
    texts(rows, (row) => row.session),
    texts(rows, (row) => row.workflow),
    texts(rows, (row) => row.user),
    int8s(rows, (row) => row.lamport),
  ],
});
