/**
 * `npm run bench -- path`: what one more `ctx.effect` of a step runs, from the step to its row, on the embedded host. Functions and their
 * files are counted by V8's own coverage: those that run once more, at the least, for each effect more.
 */

import { Session } from 'node:inspector/promises';
import type { Host } from '@tidemark/host';
import { defineEffect, defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';
import type { Report } from './report.ts';
import { caughtUp } from './run-steps.ts';
import { withEmbedded } from './steps.ts';

const EFFECTS = 40;
const ROUNDS = 5;

const pay = defineEffect({
  operation: 'pay',
  kind: 'idempotent',
  request: z.object({ n: z.int() }),
  response: z.object({ paid: z.int() }),
  call: async ({ n }) => ({ paid: n }),
});

const count = z.object({ effects: z.int() });
const paying = defineWorkflow({
  name: 'bench-path',
  version: 1,
  input: count,
  belief: z.object({}),
  output: count,
  tasks: { pay: count },
  flow: { pay: [] },
  starts: ['pay'],
  begin: (given) => ({ belief: {}, next: [task('pay', given)] }),
  steps: {
    async pay(ctx, { effects }) {
      for (let n = 0; n < effects; n += 1) await ctx.effect(pay, { n });
      return { done: { effects } };
    },
  },
});

type Counts = ReadonlyMap<string, number>;

/** How often each function of the product ran for one workflow, as `file name offset`. */
async function ran(host: Host, session: Session, effects: number, id: string): Promise<Counts> {
  await session.post('Profiler.takePreciseCoverage');
  const run = await host.client.start(paying, { effects }, { id });
  await run.result();
  await caughtUp(host);
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const counts = new Map<string, number>();
  for (const { url, functions } of result) {
    const file = /\/(libs\/(?!testkit).*)$/.exec(url)?.[1];
    if (file === undefined || file.includes('node_modules')) continue;
    for (const { functionName, ranges } of functions) {
      const [range] = ranges;
      if (range !== undefined) counts.set(`${file} ${functionName} ${range.startOffset}`, range.count);
    }
  }
  return counts;
}

export async function measureEffectPath(report: Report): Promise<void> {
  const session = new Session();
  session.connect();
  await withEmbedded(report, [paying], async (host) => {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    const none: Counts[] = [];
    const many: Counts[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      none.push(await ran(host, session, 0, `none-${round}`));
      many.push(await ran(host, session, EFFECTS, `many-${round}`));
    }
    // What runs by the clock, or once for a batch, is not an effect's.
    const most = (name: string): number => Math.max(...none.map((counts) => counts.get(name) ?? 0));
    const least = (name: string): number => Math.min(...many.map((counts) => counts.get(name) ?? 0));
    const names = [...many[0]!.keys()].filter((name) => least(name) - most(name) >= EFFECTS);
    const files = new Set(names.map((name) => name.split(' ')[0]!));
    for (const file of [...files].toSorted()) report.note(file);
    report.add('path.effect.functions', names.length, 'functions');
    report.add('path.effect.files', files.size, 'files');
  });
  session.disconnect();
}
