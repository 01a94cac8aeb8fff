/**
 * `npm run bench -- control --only children`: one parent that waits for children, from its start to its end, on an embedded host; each child
 * is one step. What one child takes must not rise with how many there are.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openEmbedded } from '@tidemark/host';
import { child, defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';
import type { Report } from '../report.ts';

const COUNTS = [250, 500, 1_000, 2_000];
const CONCURRENCY = 50;

const leaf = defineWorkflow({
  name: 'leaf',
  version: 1,
  input: z.object({ n: z.number() }),
  belief: z.object({}),
  output: z.object({ n: z.number() }),
  tasks: { work: z.object({}) },
  flow: { work: [] },
  begin: () => ({ belief: {}, next: [task('work', {})] }),
  steps: { work: ({ input }) => ({ done: { n: input.n } }) },
});

const tree = defineWorkflow({
  name: 'tree',
  version: 1,
  input: z.object({ count: z.number() }),
  belief: z.object({ sum: z.number() }),
  output: z.object({ sum: z.number() }),
  tasks: { spread: z.object({}), add: z.object({}), end: z.object({}) },
  flow: { spread: ['add', 'end'], add: [], end: [] },
  starts: ['spread'],
  children: { leaf },
  begin: () => ({ belief: { sum: 0 }, next: [task('spread', {})] }),
  steps: {
    spread: ({ input }) => {
      const added = Array.from({ length: input.count }, (_, n) => task('add', {}, { when: child('leaf', { n }) }));
      return { next: [...added, task('end', {}, { after: 'all' })] };
    },
    add: ({ cause }) => {
      const n = cause?.kind === 'child' && cause.outcome === 'completed' ? cause.output.n : Number.NaN;
      return { belief: ({ sum }) => ({ sum: sum + n }) };
    },
    end: ({ belief }) => ({ done: { sum: belief.sum } }),
  },
});

export async function measureChildren(report: Report): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-children-'));
  const host = await openEmbedded({ folder: path.join(folder, 'state') });
  try {
    await host.startWorker({ definitions: [tree, leaf], concurrency: CONCURRENCY });
    report.note('control: a parent and its children, each of one step, embedded');
    // The first of a process pays for what is compiled.
    await (await host.client.start(tree, { count: 100 })).result();
    for (const count of COUNTS) {
      const beganMs = performance.now();
      const { sum } = await (await host.client.start(tree, { count })).result();
      if (sum !== (count * (count - 1)) / 2) throw new Error(`${count} children summed up to ${sum}.`);
      report.add(`control.children${count}.each_ms`, (performance.now() - beganMs) / count, 'ms');
    }
  } finally {
    await host.close();
    await rm(folder, { recursive: true, force: true });
  }
}
