/** Owns the workflow of the zombie test: each of its irreversible calls leaves a line that names the process that made it. */

import { appendFile, readFile } from 'node:fs/promises';
import { defineEffect, defineWorkflow, done, notDone, task } from '@tidemark/sdk';
import { z } from 'zod';

export const pay = defineEffect({
  operation: 'test.pay',
  kind: 'irreversible',
  request: z.object({ file: z.string(), n: z.int() }),
  response: z.object({ ok: z.literal(true) }),
  call: async ({ file, n }, { key }) => {
    await appendFile(file, `${process.pid} ${n} ${key}\n`);
    return { ok: true as const };
  },
  probe: async (key, { request: { file } }) =>
    (await readFile(file, 'utf8')).includes(` ${key}\n`) ? done({ ok: true as const }) : notDone(),
});

/** Each step says in the file `{file}.begun` that it has begun, thinks for a while, and pays. */
export const payments = defineWorkflow({
  name: 'test-payments',
  version: 1,
  input: z.object({ count: z.int().positive(), file: z.string(), thinkMs: z.int().min(0) }),
  belief: z.object({ sum: z.int() }),
  output: z.object({ sum: z.int() }),
  tasks: { payment: z.object({ n: z.int() }) },
  flow: { payment: ['payment'] },
  starts: ['payment'],
  effects: [pay],
  begin: () => ({ belief: { sum: 0 }, next: [task('payment', { n: 1 })] }),
  steps: {
    async payment(ctx, { n }) {
      const { count, file, thinkMs } = ctx.input;
      await appendFile(`${file}.begun`, `${process.pid} ${n}\n`);
      await new Promise((resolve) => setTimeout(resolve, thinkMs));
      await ctx.effect(pay, { file, n });
      const sum = ctx.belief.sum + n;
      if (n === count) return { belief: () => ({ sum }), done: { sum } };
      return { belief: () => ({ sum }), next: [task('payment', { n: n + 1 })] };
    },
  },
});
