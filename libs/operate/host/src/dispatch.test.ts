/** Limits and priorities as a definition states them hold for its workflows, in one process, with everything real. */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { defineWorkflow, task } from '@tidemark/sdk';
import { eventually } from '@tidemark/testkit/eventually';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { openEmbedded } from './embedded.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-dispatch-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** A workflow whose only step waits until it is let go. */
function gated(limits: boolean) {
  const under = new Map<string, () => void>();
  const order: string[] = [];
  const counted = defineWorkflow({
    name: 'counted',
    version: 1,
    input: z.object({ name: z.string(), customer: z.string() }),
    belief: z.object({}),
    output: z.object({}),
    tasks: { only: z.object({ name: z.string() }) },
    flow: { only: [] },
    priority: ({ name }) => (name.startsWith('urgent') ? 1 : 3),
    limits: ({ customer }) => (limits ? [{ key: `customer:${customer}`, concurrency: 2 }] : []),
    begin: ({ name }) => ({ belief: {}, next: [task('only', { name })] }),
    steps: {
      only: async (_, { name }) => {
        order.push(name);
        await new Promise<void>((resolve) => under.set(name, resolve));
        under.delete(name);
        return { done: {} };
      },
    },
  });
  const letGo = (): void => {
    for (const resolve of under.values()) resolve();
  };
  return { counted, under, order, letGo };
}

it("no more of one customer's workflows are at work than the limit; all complete; control: without it, all are at once", async () => {
  for (const limited of [true, false]) {
    const { counted, under, letGo } = gated(limited);
    const host = await openEmbedded({ folder: path.join(folder, `${limited}`) });
    try {
      await host.startWorker({ definitions: [counted], concurrency: 20 });
      const names = ['a', 'b', 'c', 'd', 'e'];
      const runs = await Promise.all(names.map((name) => host.client.start(counted, { name, customer: '42' })));
      const other = await host.client.start(counted, { name: 'other', customer: '7' });
      const most = limited ? 3 : 6;
      let done = 0;
      const results = Promise.all([...runs, other].map((run) => run.result().then(() => done++)));
      await eventually(() => under.size === most);
      while (done < 6) {
        expect(under.size).toBeLessThanOrEqual(most);
        const before = done;
        letGo();
        await eventually(() => done > before || under.size > 0);
      }
      await results;
    } finally {
      letGo();
      await host.close();
    }
  }
});

it('what is urgent goes before what came first, by definition and by the caller', async () => {
  const { counted, under, order, letGo } = gated(false);
  const host = await openEmbedded({ folder });
  try {
    await host.startWorker({ definitions: [counted], concurrency: 1 });
    const start = (name: string, priority?: 5) => host.client.start(counted, { name, customer: '1' }, { priority });
    const runs = [await start('first')];
    await eventually(() => under.size === 1);
    runs.push(await start('low', 5), await start('usual'), await start('urgent'));
    // All of them are known to wait before the first ends.
    await eventually(async () => (await host.ports.queue.depth(['counted'])).get('counted') === 3);
    const results = Promise.all(runs.map((run) => run.result()));
    for (let count = 1; count <= 4; count += 1) {
      await eventually(() => order.length === count && under.size === 1);
      letGo();
    }
    await results;
    expect(order).toEqual(['first', 'urgent', 'usual', 'low']);
  } finally {
    letGo();
    await host.close();
  }
});
