/**
 * A fan-out with a join: one task a file, run in parallel, and one that waits for all of them. A stopped run counts no
 * file twice.
 *
 * Input: `{ "directory": "libs" }`.
 */

import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';

export const countLines = defineWorkflow({
  name: 'count-lines',
  version: 1,
  input: z.object({ directory: z.string() }),
  belief: z.object({}),
  output: z.object({ files: z.number(), lines: z.number() }),
  tasks: { list: z.object({}), count: z.object({ file: z.string() }), total: z.object({}) },
  outputs: { count: z.object({ lines: z.number() }) },
  flow: { list: ['count', 'total'], count: [], total: [] },
  begin: () => ({ belief: {}, next: [task('list', {})] }),
  steps: {
    async list(ctx) {
      const files = await ctx.run('list', () => sourceFiles(ctx.input.directory));
      return { next: [...files.map((file) => task('count', { file })), task('total', {}, { after: 'all' })] };
    },
    async count(ctx, { file }) {
      const lines = await ctx.run('count', async () => (await readFile(file, 'utf8')).split('\n').length);
      return { output: { lines } };
    },
    async total(ctx) {
      const counts = await ctx.outputs('count');
      return { done: { files: counts.length, lines: counts.reduce((sum, { lines }) => sum + lines, 0) } };
    },
  },
});

async function sourceFiles(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && /\.[cm]?[jt]s$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !relative(directory, file).includes('node_modules'))
    .sort();
}
