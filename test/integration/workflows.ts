/** Owns the workflows that the integration tests run in worker processes: each leaves evidence outside of what it did. */

import { appendFile } from 'node:fs/promises';
import { defineEffect, defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';

/** Appends a line to a file: whoever reads it sees how often the effect was really made. */
export const note = defineEffect({
  operation: 'test.note',
  kind: 'idempotent',
  request: z.object({ file: z.string(), line: z.string() }),
  response: z.object({ ok: z.literal(true) }),
  call: async ({ file, line }, { key }) => {
    await appendFile(file, `${key} ${line}\n`);
    return { ok: true as const };
  },
});

/** `count` steps one after the other; each notes itself and adds to a sum. */
export const chain = defineWorkflow({
  name: 'test-chain',
  version: 1,
  input: z.object({ count: z.int().positive(), file: z.string(), pauseMs: z.int().min(0) }),
  belief: z.object({ sum: z.int() }),
  output: z.object({ sum: z.int() }),
  tasks: { link: z.object({ n: z.int() }) },
  flow: { link: ['link'] },
  starts: ['link'],
  effects: [note],
  begin: () => ({ belief: { sum: 0 }, next: [task('link', { n: 1 })] }),
  steps: {
    async link(ctx, { n }) {
      const { count, file, pauseMs } = ctx.input;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      await ctx.effect(note, { file, line: String(n) });
      const sum = ctx.belief.sum + n;
      if (n === count) return { belief: () => ({ sum }), done: { sum } };
      return { belief: () => ({ sum }), next: [task('link', { n: n + 1 })] };
    },
  },
});
