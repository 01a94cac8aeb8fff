/** Which key seals what a workflow writes: found by tenant and workflow, made once, never made anew in place of one that is missing. */

import type { WorkflowId } from '@tidemark/core';
import type { KeyFilter } from '@tidemark/ports';
import { listed, storedKey } from '@tidemark/testkit/contracts/key-store';
import { MemoryKeyIndex, MemoryKeyTopic, plainKeyProvider } from '@tidemark/testkit/contracts/memory-keys';
import { beforeEach, expect, it } from 'vitest';
import { DataKeys } from './data-keys.ts';
import { ProjectedKeyStore } from './projected-keys.ts';
import { TENANT } from './simulated-definition.ts';
import { SimulatedClock } from './simulated-ports.ts';
import { systemPrng } from './system.ts';
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
  data = new DataKeys({ provider: plainKeyProvider, store, prng: systemPrng, clock: new SimulatedClock() });
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
  for (const filter of asked) expect(filter).toEqual({ tenant: OWNER.tenant, workflow: OWNER.workflow });
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
