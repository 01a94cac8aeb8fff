/** Sealed rows are compared table by table, each text at the place that it is bound to; texts that can't be opened never count as equal. */

import { sealText } from '@tidemark/codec';
import type { WorkflowId } from '@tidemark/core';
import type { ClosedTexts, ProjectionBatch } from '@tidemark/ports';
import { MemoryKeyIndex, MemoryKeyProvider, MemoryKeyTopic } from '@tidemark/testkit/contracts/memory-keys';
import { TENANT } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { beforeEach, expect, it } from 'vitest';
import { DataKeys } from '../encryption/data-keys.ts';
import { ProjectedKeyStore } from '../encryption/projected-keys.ts';
import { SealedTexts } from '../encryption/sealed-store.ts';
import { WorkflowKeys } from '../encryption/workflow-keys.ts';
import { systemPrng } from '../kernel/system.ts';
import { contentsThrough } from './row-contents.ts';
import { type TransformText, turnBatch } from './row-texts.ts';

const W = 'w' as WorkflowId;
let seal: TransformText;
let compare: ReturnType<typeof contentsThrough>;
beforeEach(async () => {
  const store = new ProjectedKeyStore(new MemoryKeyTopic(), new MemoryKeyIndex());
  const data = new DataKeys({
    provider: new MemoryKeyProvider(),
    store,
    prng: systemPrng,
    clock: new SimulatedClock(),
  });
  const keys = new WorkflowKeys(data, store);
  const key = await keys.find({ workflow: W, tenant: TENANT, user: null });
  seal = (text, place) => sealText(text, place, key);
  compare = contentsThrough(new SealedTexts(keys));
});

/** A row of each table as the projection seals it, with this text everywhere. */
function sealed(said: string): readonly Pick<ClosedTexts, 'table' | 'key' | 'made'>[] {
  const batch = {
    closed: [{ workflow: W, result: said }],
    memories: [{ workflow: W, tenant: TENANT, subject: 'user:ana', kind: 'fact', key: 'k', value: said }],
    context: {
      texts: [{ workflow: W, digest: 'd', text: said }],
      scopes: [{ workflow: W, sequence: 4, change: said }],
    },
  } as unknown as ProjectionBatch;
  const { closed, memories = [], context } = turnBatch(batch, seal);
  return [
    { table: 'workflows', key: { workflow: W }, made: { result: closed[0]!.result } },
    { table: 'scopes', key: { workflow: W, sequence: '4' }, made: { change: context!.scopes[0]!.change } },
    { table: 'texts', key: { workflow: W, digest: 'd' }, made: { text: context!.texts[0]!.text } },
    {
      table: 'memories',
      key: { tenant: TENANT, subject: 'user:ana', kind: 'fact', key: 'k' },
      made: { value: memories[0]!.value },
    },
  ];
}

const sides = (inUse: string, made: string): readonly ClosedTexts[] => {
  const used = sealed(inUse);
  return sealed(made).map((row, at) => ({ ...row, inUse: used[at]!.made }));
};
it('the same that was sealed twice is the same, and something else is named by its columns', async () => {
  const [same, other] = [sides('"a"', '"a"'), sides('"a"', '"b"')];
  for (const [at, row] of same.entries()) {
    expect(row.inUse).not.toEqual(row.made);
    expect([row.table, await compare([row])]).toEqual([row.table, [[]]]);
    const columns = Object.keys(row.made);
    expect([row.table, await compare([other[at]!, row])]).toEqual([row.table, [columns, []]]);
  }
});

it('what was moved from another place, or cut, differs, and the rows beside it are compared all the same', async () => {
  const [row] = sides('"a"', '"a"').filter(({ table }) => table === 'scopes');
  const moved = { ...row!, key: { ...row!.key, sequence: '5' } };
  const cut = { ...row!, inUse: { change: row!.inUse.change!.slice(0, -8) } };
  expect(await compare([row!, moved, cut, row!])).toEqual([[], ['change'], ['change'], []]);
});

it('what no key opens is neither the same nor another', async () => {
  const without = contentsThrough({
    inward: async (work) => work((text) => text),
    outward: async (work) => work((text) => text),
  });
  for (const row of sides('"a"', '"a"')) expect(await without([row])).toEqual([undefined]);
});
