/**
 * The sealed view of rows: no sealed text leaves it, whatever the key cache drops meanwhile; a missing key is not taken for a destroyed
 * one.
 */

import { sealText, textSealedWith } from '@tidemark/codec';
import type { WorkflowId } from '@tidemark/core';
import type { ProjectionBatch, ProjectionStore, ScopeRow } from '@tidemark/ports';
import { MemoryKeyIndex, MemoryKeyProvider, MemoryKeyTopic } from '@tidemark/testkit/contracts/memory-keys';
import { TENANT } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemPrng } from '../kernel/system.ts';
import { turnScope } from '../views/row-texts.ts';
import { transformedStore } from '../views/transformed-store.ts';
import { DataKeys, type DataKeysOptions } from './data-keys.ts';
import { ProjectedKeyStore } from './projected-keys.ts';
import { SealedTexts } from './sealed-store.ts';
import { WorkflowKeys } from './workflow-keys.ts';

const WORKFLOWS = ['w1', 'w2', 'w3'] as unknown as readonly WorkflowId[];
const said = (workflow: WorkflowId): string => JSON.stringify({ value: `said by ${workflow}` });

const provider = new MemoryKeyProvider();
let topic: MemoryKeyTopic;
let index: MemoryKeyIndex;
let rows: readonly ScopeRow[];
let maker: DataKeys;

function keysOf(more: Partial<DataKeysOptions> = {}): WorkflowKeys {
  const store = new ProjectedKeyStore(topic, index);
  const data = new DataKeys({
    provider,
    store,
    prng: systemPrng,
    clock: new SimulatedClock(),
    ...more,
  });
  maker ??= data;
  return new WorkflowKeys(data, store);
}

beforeEach(async () => {
  topic = new MemoryKeyTopic();
  index = new MemoryKeyIndex();
  maker = undefined as never;
  const keys = keysOf();
  rows = await Promise.all(
    WORKFLOWS.map(async (workflow) => {
      const key = await keys.find({ workflow, tenant: TENANT, user: null });
      const row = { workflow, sequence: 1, change: said(workflow) } as unknown as ScopeRow;
      return turnScope(row, (text, place) => sealText(text, place, key));
    }),
  );
});

/** Reads all rows through the sealed view. */
async function read(keys: WorkflowKeys): Promise<readonly string[]> {
  const inner = { scopes: async () => rows } as unknown as ProjectionStore;
  return (await transformedStore(inner, new SealedTexts(keys)).scopes(WORKFLOWS[0]!, 10 as never)).map(
    ({ change }) => change,
  );
}

describe('rows', () => {
  it('are opened, and sealed below: the control', async () => {
    expect(rows.every(({ change }) => textSealedWith(change) !== undefined)).toBe(true);
    expect(await read(keysOf())).toEqual(WORKFLOWS.map(said));
  });

  it('are written sealed, whether keys are at hand for none, some or all of them', async () => {
    const keys = keysOf();
    const streams = WORKFLOWS.map((workflow) => ({ workflow, tenant: TENANT, state: '' }));
    const scopes = WORKFLOWS.map((workflow) => ({ workflow, sequence: 1, change: said(workflow) }));
    const written: ProjectionBatch[] = [];
    const inner = { apply: async (batch: ProjectionBatch) => void written.push(batch) } as unknown as ProjectionStore;
    for (const count of [1, 2, WORKFLOWS.length, WORKFLOWS.length]) {
      const batch = { closed: [], streams, context: { texts: [], scopes: scopes.slice(0, count) } };
      await transformedStore(inner, new SealedTexts(keys)).apply(batch as unknown as ProjectionBatch);
      rows = written.at(-1)!.context!.scopes;
      expect(rows.map(({ change }) => textSealedWith(change) !== undefined)).toEqual(Array(count).fill(true));
      expect(await read(keysOf())).toEqual(WORKFLOWS.slice(0, count).map(said));
    }
  });

  it('are opened all although the cache gives up keys while others are fetched', async () => {
    const keys = keysOf({ maxCount: 1 });
    for (const _ of rows) expect(await read(keys)).toEqual(WORKFLOWS.map(said));
  });

  it('of a workflow whose keys were destroyed are empty; those of lost keys are missing (K3)', async () => {
    await maker.destroy({ workflow: WORKFLOWS[0]! });
    expect(await read(keysOf())).toEqual(['{}', ...WORKFLOWS.slice(1).map(said)]);
    topic.lose();
    index.lose();
    await expect(read(keysOf())).rejects.toMatchObject({
      code: 'key-missing',
      details: { key: expect.any(String), workflow: expect.stringMatching(/^w/) },
    });
  });
});

describe('what somebody changed who may write to the rows and has no keys', () => {
  it('is not taken for what the workflow said: plain text where it has a key', async () => {
    const [first, ...rest] = rows;
    rows = [{ ...first!, change: said('somebody' as WorkflowId) }, ...rest];
    await expect(read(keysOf())).rejects.toMatchObject({ code: 'sealed-wrong', details: { workflow: WORKFLOWS[0] } });
    // The controls: null reveals nothing, and a workflow without a key is read as it was written.
    rows = [
      { ...first!, change: 'null' },
      { ...first!, workflow: 'old' as WorkflowId, change: said('old' as WorkflowId) },
    ];
    expect(await read(keysOf())).toEqual(['null', said('old' as WorkflowId)]);
  });

  it('reads as forgotten by no key but the workflow’s own', async () => {
    const [first, second, third] = rows;
    await maker.destroy({ workflow: WORKFLOWS[1]! });
    const [mine, gone] = [first!, second!].map(({ change }) => textSealedWith(change)!);
    rows = [{ ...first!, change: first!.change.replace(mine!, gone!) }];
    await expect(read(keysOf())).rejects.toMatchObject({ code: 'sealed-wrong', details: { workflow: WORKFLOWS[0] } });
    rows = [second!, third!];
    expect(await read(keysOf())).toEqual(['{}', said(WORKFLOWS[2]!)]);
  });
});
