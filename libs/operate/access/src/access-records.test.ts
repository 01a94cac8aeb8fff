/** Records of keys and tenants keep existing data when a late writer comes. */

import type { Json, TenantId } from '@tidemark/core';
import type { MemoryQuery } from '@tidemark/ports';
import { expect, it } from 'vitest';
import { AccessRecords, type AccessRecordsOptions } from './access-records.ts';

interface StoredRecord {
  readonly key: string;
  readonly value: Json;
}

/** As a guard that finds nothing. */
const guarded = (_field: string, value: unknown): object => ({
  value,
  as: (shape: (value: unknown) => unknown) => guarded('', shape(value)),
});

it('a tenant that is suspended stays so where its creation comes late', async () => {
  const rows = new Map<string, Json>();
  let hold: Promise<void> | undefined;
  const options = {
    clock: { nowMs: () => 1 },
    memory: {
      guardOwn: () => ({
        names: guarded,
        content: (_where: string, field: string, value: Json) => guarded(field, value),
      }),
      keepOwn: async (_tenant: TenantId, _subject: string, records: { readonly value: readonly StoredRecord[] }) => {
        for (const { key, value } of records.value) rows.set(key, value);
      },
    },
    store: {
      memories: async ({ key: asked, prefix = '' }: MemoryQuery) => {
        const found = [...rows].filter(([key]) => (asked === undefined || key === asked) && key.startsWith(prefix));
        await hold;
        return found.map(([key, value]) => ({ key, value: JSON.stringify(value) }));
      },
    },
  } as unknown as AccessRecordsOptions;
  const records = new AccessRecords(options);
  let release = (): void => {};
  hold = new Promise((resolve) => {
    release = resolve;
  });
  // It has read that there is none.
  const creating = records.createTenant('acme', 'deploy');
  hold = undefined;
  await records.suspendTenant('acme', true, { by: 'ana', why: 'unpaid' });
  release();
  await creating;
  const suspended = { by: 'ana', why: 'unpaid', atMs: 1 };
  expect(await records.tenant('acme' as TenantId)).toMatchObject({ suspended });
  const listed = [];
  for await (const tenant of records.tenants()) listed.push(tenant);
  expect(listed).toMatchObject([{ tenant: 'acme', suspended }]);
});

it('a key’s absence says nothing while lost rows come back: that of the workflow may come before its own', async () => {
  let isComplete = false;
  const store = { ready: async () => isComplete, workflow: async () => ({}) };
  const records = new AccessRecords({ digest: { sha256: () => '' }, store } as unknown as AccessRecordsOptions);
  expect(await records.areKnown()).toBe(false);
  isComplete = true;
  expect(await records.areKnown()).toBe(true);
});
