/** The key that seals a workflow's writes: found by tenant and workflow, created once, and never replaced while one is missing. */

import type { TenantId, WorkflowId } from '@tidemark/core';
import type { KeyFilter } from '@tidemark/ports';
import { listed, storedKey } from '@tidemark/testkit/contracts/key-store';
import { MemoryKeyIndex, MemoryKeyProvider, MemoryKeyTopic } from '@tidemark/testkit/contracts/memory-keys';
import { TENANT } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { beforeEach, expect, it } from 'vitest';
import { systemPrng } from '../kernel/system.ts';
import { DataKeys } from './data-keys.ts';
import { ProjectedKeyStore } from './projected-keys.ts';
import { WorkflowKeys } from './workflow-keys.ts';

const OWNER = { tenant: TENANT, workflow: 'w' as WorkflowId, user: null };

let topic: MemoryKeyTopic;
let index: MemoryKeyIndex;
let store: ProjectedKeyStore;
let data: DataKeys;
let asked: KeyFilter[];
beforeEach(() => {
  topic = new MemoryKeyTopic();
  index = new MemoryKeyIndex();
  store = new ProjectedKeyStore(topic, index);
  data = new DataKeys({ provider: new MemoryKeyProvider(), store, prng: systemPrng, clock: new SimulatedClock() });
  asked = [];
});

const open = (): WorkflowKeys =>
  new WorkflowKeys(data, {
    list(filter) {
      asked.push(filter);
      return store.list(filter);
    },
  });

it('is asked for by tenant and workflow, which stores have an index for', async () => {
  await open().find(OWNER);
  await open().all(OWNER);
  expect(asked.length).toBeGreaterThan(1);
  for (const filter of asked) expect(filter).toEqual({ tenant: OWNER.tenant, workflow: [OWNER.workflow] });
});

it('is looked for together with those of others', async () => {
  const owners = ['v', 'w', 'x'].map((name) => ({ ...OWNER, workflow: name as WorkflowId }));
  const other = { ...OWNER, tenant: 'other' as TenantId, workflow: 'y' as WorkflowId };
  const there = await data.create(owners[1]!);
  const keys = open();
  const found = await Promise.all([...owners, other].map((owner) => keys.find(owner)));
  expect(found[1]!.id).toBe(there.id);
  expect(new Set(found.map(({ id }) => id)).size).toBe(4);
  expect(asked).toEqual([
    { tenant: OWNER.tenant, workflow: ['v', 'w', 'x'] },
    { tenant: other.tenant, workflow: ['y'] },
  ]);
});

it('is not looked for where it was met when something was read', async () => {
  const { id } = await data.create(OWNER);
  const reader = open();
  expect(reader.peek(OWNER)).toBeUndefined();
  await reader.opening(new Map([[id, OWNER.workflow]]));
  expect(reader.peek(OWNER)?.id).toBe(id);
  expect(asked).toEqual([]);
  await open().find(OWNER);
  expect(asked).toHaveLength(1); // the control
});

it('is not the one that another workflow is said to have', async () => {
  const { id } = await data.create({ ...OWNER, workflow: 'v' as WorkflowId });
  const reader = open();
  await reader.opening(new Map([[id, OWNER.workflow]]));
  expect(reader.peek(OWNER)).toBeUndefined();
  expect((await reader.find(OWNER)).id).not.toBe(id);
});

it('is the one that was there, and a new one once that was destroyed', async () => {
  const first = await open().find(OWNER);
  expect((await open().find(OWNER)).id).toBe(first.id);
  await data.destroy({ workflow: OWNER.workflow });
  expect((await open().find(OWNER)).id).not.toBe(first.id);
});

it('that is known and has gone missing is told, and no other is made', async () => {
  const keys = open();
  await keys.find(OWNER);
  data.clear();
  topic.lose();
  index.lose();
  await store.put([storedKey()]);
  await expect(keys.find(OWNER)).rejects.toMatchObject({ code: 'key-missing', details: { workflow: OWNER.workflow } });
  expect(await listed(store, { workflow: OWNER.workflow })).toEqual([]);
});
