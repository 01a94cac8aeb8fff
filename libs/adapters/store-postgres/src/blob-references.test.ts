/**
 * Blobs that rebuilt rows name, beside the rows in use, are listed as long as those rows exist, whichever process left them; and their
 * tables may be switched or dropped between two pages.
 */

import { blobReferenceText } from '@tidemark/ports';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { assemblePglite } from './pglite-store.ts';
import { EMPTY_TABLES } from './sql/rebuild/empty-tables.ts';

/** Starting PGlite takes seconds, on a busy machine many. */
const name = (number: number): string =>
  blobReferenceText({ digest: number.toString(16).padStart(64, '0'), bytes: 5_000_000 });

const { store, client } = assemblePglite({ memory: true });
beforeAll(() => store.ensure());
afterAll(() => store.close());

const text = (schema: string, number: number): string =>
  `insert into ${schema}.texts (workflow, digest, text) values ('w', '${String(number).padStart(64, '0')}', '${name(number)}')`;

/** The state that an interrupted rebuild leaves amid its tables. */
const beside = (schema: string): string => `
create schema ${schema};
create table ${schema}.texts (like public.texts including all);
create table ${schema}.scopes (like public.scopes including all)`;

beforeEach(async () => {
  await client.script(`${EMPTY_TABLES};
    drop schema if exists public_rebuild cascade; drop schema if exists public_compare cascade;
    drop schema if exists public_other cascade; drop schema if exists leaving cascade`);
  await client.script(`${text('public', 2)}; ${text('public', 5)}`);
});

const named = (after: string | null = null, limit = 100): Promise<readonly string[]> =>
  store.blobReferences(after, limit);

test('of rows rebuilt beside those in use, with theirs, page by page; not of what others keep there', async () => {
  expect(await named()).toEqual([2, 5].map(name));
  for (const [schema, numbers] of [
    ['public_rebuild', [1, 5, 6]],
    ['public_compare', [4]],
    ['public_other', [7]],
  ] as const) {
    await client.script([beside(schema), ...numbers.map((number) => text(schema, number))].join(';'));
  }
  const all = [1, 2, 4, 5, 6].map(name);
  expect(await named()).toEqual(all);
  expect(await named(null, 3)).toEqual(all.slice(0, 3));
  expect(await named(all[2], 3)).toEqual(all.slice(3));
  await client.script('drop schema public_rebuild cascade; drop schema public_compare cascade');
  expect(await named()).toEqual([2, 5].map(name));
});

test('none is overlooked when rows rebuilt take the place of those in use between two pages', async () => {
  await client.script(
    [beside('public_rebuild'), ...[1, 3, 6].map((number) => text('public_rebuild', number))].join(';'),
  );
  const first = await named(null, 2);
  expect(first).toEqual([1, 2].map(name));
  await client.script(`begin; create schema leaving; alter table public.texts set schema leaving;
    alter table public_rebuild.texts set schema public; drop schema leaving cascade; drop schema public_rebuild cascade; commit`);
  expect(await named(first.at(-1))).toEqual([3, 6].map(name));
});
