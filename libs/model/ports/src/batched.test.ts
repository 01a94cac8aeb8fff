/** Requests are gathered while a batch runs, each gets its own answer, and none is lost. */

import { describe, expect, it } from 'vitest';
import { batched, batchedByKey } from './batched.ts';

describe('a batcher', () => {
  it('asks for equal keys once, and answers each', async () => {
    const asked: (readonly string[])[] = [];
    const lookUp = batchedByKey<string, number>(10, async (keys) => {
      asked.push(keys);
      return new Map([['a', 1]]);
    });
    expect(await Promise.all(['a', 'b', 'a'].map(lookUp))).toEqual([1, undefined, 1]);
    expect(asked).toEqual([['a', 'b']]);
  });

  it('takes the requests of one turn together, and those that come meanwhile with the next', async () => {
    const batches: number[][] = [];
    const gates: (() => void)[] = [];
    const ask = batched<number, number>(10, async (requests) => {
      batches.push([...requests]);
      await new Promise<void>((resolve) => gates.push(resolve));
      return requests.map((request) => request * 2);
    });
    const first = [ask(1), ask(2)];
    await turns();
    expect(batches).toEqual([[1, 2]]);
    const next = [ask(3), ask(4)];
    await turns();
    expect(batches).toHaveLength(1);
    gates[0]!();
    expect(await Promise.all(first)).toEqual([2, 4]);
    await turns();
    expect(batches).toEqual([
      [1, 2],
      [3, 4],
    ]);
    gates[1]!();
    expect(await Promise.all(next)).toEqual([6, 8]);
  });

  it('holds no batch larger than its limit, one at a time', async () => {
    let underWay = 0;
    const sizes: number[] = [];
    const ask = batched<number, number>(3, async (requests) => {
      expect(++underWay).toBe(1);
      sizes.push(requests.length);
      await turns();
      underWay--;
      return requests;
    });
    expect(await Promise.all(Array.from({ length: 8 }, (_, at) => ask(at)))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(sizes).toEqual([3, 3, 2]);
  });

  it('fails a batch alone, and serves what comes after it', async () => {
    let failures = 1;
    const ask = batched<number, number>(2, async (requests) => {
      if (failures-- > 0) throw new Error('away');
      return requests;
    });
    const all = await Promise.allSettled([ask(1), ask(2), ask(3)]);
    expect(all.map((one) => one.status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    expect(await ask(4)).toBe(4);
  });

  it('starts again after it has run dry', async () => {
    const ask = batched<number, number>(2, async (requests) => requests);
    for (const request of [1, 2, 3]) expect(await ask(request)).toBe(request);
  });
});

async function turns(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
