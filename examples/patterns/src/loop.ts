/**
 * A plain loop: follow the links of Markdown pages, one page a step, until none is left. What is known so far is belief,
 * so a stopped run goes on with the next page.
 *
 * Input: `{ "start": "README.md" }`.
 */

import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path/posix';
import { defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';

export const checkLinks = defineWorkflow({
  name: 'check-links',
  version: 1,
  input: z.object({ start: z.string() }),
  belief: z.object({ todo: z.array(z.string()), seen: z.array(z.string()), broken: z.array(z.string()) }),
  output: z.object({ pages: z.number(), broken: z.array(z.string()) }),
  tasks: { visit: z.object({ page: z.string() }) },
  flow: { visit: ['visit'] },
  begin: ({ start }) => ({
    belief: { todo: [], seen: [start], broken: [] },
    next: [task('visit', { page: start })],
  }),
  steps: {
    async visit(ctx, { page }) {
      const links = await ctx.run('read', () => linksOf(page));
      const { seen } = ctx.belief;
      const broken = links === null ? [...ctx.belief.broken, page] : ctx.belief.broken;
      const found = (links ?? []).filter((link) => !seen.includes(link));
      const [next, ...todo] = [...ctx.belief.todo, ...found];
      if (next === undefined) return { done: { pages: seen.length, broken } };
      return { belief: () => ({ todo, seen: [...seen, ...found], broken }), next: [task('visit', { page: next })] };
    },
  },
});

/** The pages that a page links to, each once; null when there is no such page. */
async function linksOf(page: string): Promise<string[] | null> {
  const text = await readFile(page, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (text === null) return null;
  const targets = [...text.matchAll(/\]\(([^():#\s]+\.md)(?:#[^()\s]*)?\)/g)].map((match) => match[1]!);
  return [...new Set(targets.map((target) => join(dirname(page), target)))];
}
