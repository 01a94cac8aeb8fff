/** Runs the contract of KeyIndex on PGlite. Its statements are those of a server, and use their indexes however often they run. */

import type { TenantId, WorkflowId } from '@tidemark/core';
import type { KeyFilter } from '@tidemark/ports';
import { keyIndexContract } from '@tidemark/testkit/contracts/key-index';
import { afterAll, expect, test } from 'vitest';
import { assemblePglite } from './pglite-store.ts';
import { listKeys } from './sql/data-keys.ts';
import { EMPTY_TABLES } from './sql/rebuild/empty-tables.ts';
import { once } from './sql-client.ts';
import { SqlKeyIndex } from './sql-key-index.ts';

const { store, client } = assemblePglite({ memory: true });
afterAll(() => store.close());

keyIndexContract('pglite', async () => {
  await store.ensure();
  await client.script(EMPTY_TABLES);
  return { index: new SqlKeyIndex(client, 'memory'), close: async () => {} };
});

test('keys of a workflow, and those of a user, are found by their index, also with a plan that is kept', async () => {
  await store.ensure();
  await client.script(EMPTY_TABLES);
  await client.script(`
    insert into data_keys select 'k' || n, 't', 'w' || n, 'u' || n, 'p', 'b', 'x' from generate_series(1, 5000) n;
    analyze data_keys; set plan_cache_mode = force_generic_plan`);
  const [tenant, workflow, user] = ['t' as TenantId, 'w7' as WorkflowId, 'u7'];
  const plans: readonly (readonly [KeyFilter, string])[] = [
    [{ tenant, workflow }, 'data_keys_workflow'],
    [{ workflow }, 'data_keys_workflow'],
    [{ tenant, workflow: [workflow] }, 'data_keys_workflow'],
    [{ tenant, user }, 'data_keys_owner'],
    [{ tenant, workflow, user }, 'data_keys_'],
  ];
  for (const [at, [filter, index]] of plans.entries()) {
    const { text, values } = listKeys(filter, '', 10);
    await client.script(`prepare listing_${at} (text, text[], text, text, bigint) as ${text}`);
    const literal = (value: unknown): string => (Buffer.isBuffer(value) ? `'{"${workflow}"}'` : `'${String(value)}'`);
    const given = values.map((value) => (value === null ? 'null' : literal(value))).join(', ');
    const [rows] = await client.run([once(`explain execute listing_${at} (${given})`)]);
    expect(JSON.stringify(rows)).toContain(index);
  }
});
