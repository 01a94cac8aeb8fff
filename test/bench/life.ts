/** `npm run bench -- life`: where the time of a short run goes, from its start to its known result. */

import type { WorkflowId } from '@tidemark/core';
import type { Host } from '@tidemark/host';
import type { LogRecord } from '@tidemark/ports';
import { defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';
import { Moments, openWatchedCluster, type PortCall, printMoments } from './moments.ts';
import { median, type Report } from './report.ts';

/** The moments of a run, in the order in which they are expected. */
const MOMENTS = [
  'asked', // `start` was called
  'placed', // its placement is in the rows
  'opened', // its opening is in the log
  'started', // `start` has resolved
  'shown', // its rows are written
  'sent', // its job is in the queue
  'taken', // a worker reads its rows
  'read', // it has read them
  'claimed', // its claim is in the log
  'step', // its step begins
  'ended', // its end is in the log
  'closed', // its rows say so
  'known', // the client has the result
] as const;
type Lives = Moments<(typeof MOMENTS)[number]>;

let lives: Lives = new Moments();

const oneStep = defineWorkflow({
  name: 'bench-life',
  version: 1,
  durability: 'durable',
  input: z.object({ id: z.string() }),
  belief: z.object({}),
  output: z.object({ payload: z.string() }),
  tasks: { step: z.object({}) },
  flow: { step: [] },
  starts: ['step'],
  begin: () => ({ belief: {}, next: [task('step', {})] }),
  steps: {
    async step(ctx) {
      lives.at(ctx.input.id, 'step');
      return { done: { payload: 'x'.repeat(1_024) } };
    },
  },
});

function see({ role, port, operation, args, isAfter }: PortCall): void {
  const called = `${port}.${operation}`;
  if (role === 'worker' && called === 'store.loadStreams') {
    for (const workflow of args[0] as readonly WorkflowId[]) lives.at(workflow, isAfter ? 'read' : 'taken');
  }
  if (role === 'worker' && called === 'store.placed') lives.at(args[0] as WorkflowId, isAfter ? 'read' : 'taken');
  if (!isAfter) return;
  if (called === 'log.append') {
    for (const { owner = { workflow: '' }, type } of args[1] as readonly LogRecord[]) {
      if (type === 'WorkflowOpened') lives.at(owner.workflow, 'opened');
      if (type === 'LeaseClaimed') lives.at(owner.workflow, 'claimed');
      if (type === 'WorkflowCompleted') lives.at(owner.workflow, 'ended');
    }
  }
  if (called === 'store.place') {
    for (const { workflow } of args[0] as readonly { workflow: WorkflowId }[]) lives.at(workflow, 'placed');
  }
  if (called === 'store.apply') {
    for (const stream of (args[0] as { streams: readonly { workflow: string; status: string }[] }).streams) {
      lives.at(stream.workflow, stream.status === 'completed' ? 'closed' : 'shown');
    }
  }
  if (called === 'queue.enqueue') {
    for (const { workflow } of args[0] as readonly { workflow: string }[]) lives.at(workflow, 'sent');
  }
}

async function round(host: Host, count: number, prefix: string): Promise<number> {
  lives = new Moments();
  const beganMs = performance.now();
  await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      const id = `${prefix}-${at}`;
      lives.of.set(id, { asked: performance.now() });
      const run = await host.client.start(oneStep, { id }, { id });
      lives.at(id, 'started');
      await run.result();
      lives.at(id, 'known');
    }),
  );
  return performance.now() - beganMs;
}

export async function measureLife(report: Report, counts: readonly number[]): Promise<void> {
  const { client, calls, close } = await openWatchedCluster(oneStep, report, see);
  try {
    for (let at = 0; at < 20; at++) await round(client, 1_000, `warm-${at}`);
    for (const count of counts) {
      const rounds: { tookMs: number; lives: Lives }[] = [];
      for (let at = 0; at < Math.max(5, 200 / count); at++) {
        calls.clear();
        rounds.push({ tookMs: await round(client, count, `c${count}-${at}`), lives });
      }
      report.add(`life.c${count}.run_ms`, median(rounds.map(({ tookMs }) => tookMs)), 'ms');
      const runs = rounds.flatMap((each) => [...each.lives.of.values()]);
      printMoments(`life.c${count}`, runs, { from: 'asked', moments: MOMENTS.slice(1) }, report);
      calls.print(`${count} at once, last round`, report);
    }
  } finally {
    await close();
  }
}
