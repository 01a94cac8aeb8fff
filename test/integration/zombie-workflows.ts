/** Owns the workflows of the zombie test: each of their irreversible calls leaves a line that names the process that made it. */

import { access, appendFile, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { defineEffect, defineWorkflow, done, notDone, task } from '@tidemark/sdk';
import { z } from 'zod';

const paying = (operation: string, begin: (file: string) => Promise<void>) =>
  defineEffect({
    operation,
    kind: 'irreversible',
    request: z.object({ file: z.string(), n: z.int() }),
    response: z.object({ ok: z.literal(true) }),
    timeoutMs: 2_000,
    call: async ({ file, n }, { key }) => {
      await begin(file);
      await appendFile(file, `${process.pid} ${n} ${key}\n`);
      return { ok: true as const };
    },
    probe: async (key, { request: { file } }) =>
      (await readFile(file, 'utf8').catch(() => '')).includes(` ${key}\n`) ? done({ ok: true as const }) : notDone(),
  });

export const pay = paying('test.pay', async () => {});

/** Says in `{file}.calling` that its call is under way, and pays once there is a file `{file}.open`, whatever its signal says. */
export const slowPay = paying('test.slow-pay', async (file) => {
  await appendFile(`${file}.calling`, `${process.pid}\n`);
  const isOpen = (): Promise<boolean> =>
    access(`${file}.open`).then(
      () => true,
      () => false,
    );
  while (!(await isOpen())) await sleep(20);
});

export const slowPayment = defineWorkflow({
  name: 'test-slow-payment',
  version: 1,
  input: z.object({ file: z.string(), n: z.int() }),
  belief: z.object({}),
  output: z.object({ ok: z.literal(true) }),
  tasks: { payment: z.object({}) },
  flow: { payment: [] },
  effects: [slowPay],
  begin: () => ({ belief: {}, next: [task('payment', {})] }),
  steps: { payment: async (ctx) => ({ done: await ctx.effect(slowPay, ctx.input) }) },
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
