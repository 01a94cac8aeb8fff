/** `npm run bench -- reset`: one job that resets many workflows that have ended, embedded, until each has ended again. */

import { defineEffect, defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';
import type { Report } from './report.ts';
import { withEmbedded } from './steps.ts';

const RUNS = 1_000;
const STEPS = 5;
const POLL_MS = 50;

let callCount = 0;
const pay = defineEffect({
  operation: 'bench.pay',
  kind: 'idempotent',
  request: z.object({ n: z.int() }),
  response: z.object({ n: z.int() }),
  call: async ({ n }) => {
    callCount++;
    return { n };
  },
});

const order = defineWorkflow({
  name: 'bench-order',
  version: 1,
  input: z.object({}),
  belief: z.object({ done: z.int() }),
  output: z.object({ done: z.int() }),
  tasks: { pay: z.object({ n: z.int() }) },
  flow: { pay: ['pay'] },
  starts: ['pay'],
  effects: [pay],
  begin: () => ({ belief: { done: 0 }, next: [task('pay', { n: 1 })] }),
  steps: {
    async pay(ctx, { n }) {
      await ctx.effect(pay, { n });
      const belief = () => ({ done: n });
      return n < STEPS ? { belief, next: [task('pay', { n: n + 1 })] } : { belief, done: { done: n } };
    },
  },
});

export function measureReset(report: Report): Promise<void> {
  return withEmbedded(report, [order], async (host) => {
    const runs = await Promise.all(
      Array.from({ length: RUNS }, (_, n) => host.client.start(order, {}, { id: `o${n}` })),
    );
    await Promise.all(runs.map((run) => run.result()));
    const before = callCount;
    const begunMs = performance.now();
    const job = { id: 'mend', act: 'reset', filter: { definition: order.name }, by: 'bench', why: 'a bench' } as const;
    await host.client.bulk.start({ ...job, signal: null, reset: { effects: 'keep', at: 1 } });
    for (;;) {
      const found = await host.client.bulk.get('mend');
      if (found?.status === 'completed') {
        report.add('reset.runs', found.doneCount, 'workflows');
        break;
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    report.add('reset.ms', performance.now() - begunMs, 'ms');
    await Promise.all(Array.from({ length: RUNS }, (_, n) => host.client.run(`o${n}~2`).result()));
    report.add('reset.ended_ms', performance.now() - begunMs, 'ms');
    report.add('reset.called_again', callCount - before, 'calls');
  });
}
