/**
 * `npm run bench -- control --only families`: many parents at once, each with six children of a few steps, which lie beside their parent or in
 * partitions of their own. A coordinator of its own process, workers and client in this one, on a cluster whose broker keeps its data in
 * memory.
 */

import { configFromEnv, type Host, openCluster } from '@tidemark/host';
import type { EventLog } from '@tidemark/ports';
import { child, defineWorkflow, task } from '@tidemark/sdk';
import { cpuSeconds } from '@tidemark/testkit/processes';
import { z } from 'zod';
import { median, type Report } from '../report.ts';
import { onCluster } from './cluster.ts';

const PARENT_COUNT = 150;
const CHILD_COUNT = 6;
const STEP_COUNT = 4;
const STEP_BYTES = 1_024;
const CONCURRENCY = 500;
const ROUND_COUNT = 3;
/** How long a step takes beside what Tidemark takes: nothing, or as a short call would. */
const STEP_MS = [0, 50];
const WORKER_COUNTS = [1, 2];

const own = z.object({ stepMs: z.int() });

const leaf = (name: string, placement?: 'exclusive') =>
  defineWorkflow({
    name,
    version: 1,
    durability: 'durable',
    placement,
    input: own,
    belief: z.object({}),
    output: z.object({}),
    tasks: { work: z.object({ n: z.int() }) },
    flow: { work: ['work'] },
    starts: ['work'],
    begin: () => ({ belief: {}, next: [task('work', { n: 1 })] }),
    steps: {
      work: async (ctx, { n }) => {
        if (ctx.input.stepMs > 0) await new Promise((resolve) => setTimeout(resolve, ctx.input.stepMs));
        const output = `${n}`.padEnd(STEP_BYTES, 'x');
        return n < STEP_COUNT ? { output, next: [task('work', { n: n + 1 })] } : { output, done: {} };
      },
    },
  });

const children = { apart: leaf('bench-apart', 'exclusive'), beside: leaf('bench-beside') };

const family = defineWorkflow({
  name: 'bench-family',
  version: 1,
  durability: 'durable',
  input: own.extend({ kind: z.enum(['apart', 'beside']) }),
  belief: z.object({}),
  output: z.object({}),
  tasks: { spread: z.object({}), hear: z.object({}), end: z.object({}) },
  flow: { spread: ['hear', 'end'], hear: [], end: [] },
  starts: ['spread'],
  children,
  begin: () => ({ belief: {}, next: [task('spread', {})] }),
  steps: {
    spread: ({ input: { kind, stepMs } }) => {
      const heard = Array.from({ length: CHILD_COUNT }, () => task('hear', {}, { when: child(kind, { stepMs }) }));
      return { next: [...heard, task('end', {}, { after: heard })] };
    },
    hear: ({ cause }) => {
      if (cause?.kind !== 'child' || cause.outcome !== 'completed') throw new Error('A child has not completed.');
      return {};
    },
    end: () => ({ done: {} }),
  },
});

interface Round {
  readonly tookMs: number;
  readonly workerMs: number;
  readonly coordinatorMs: number;
  readonly reads: number;
}

export async function measureFamilies(report: Report): Promise<void> {
  for (const workerCount of WORKER_COUNTS) {
    await onCluster({ worker: false }, async ({ env, coordinator }) => {
      const hosts: Host[] = [];
      let reads = 0;
      try {
        for (let at = 0; at < workerCount; at++) {
          const host = await openCluster(configFromEnv(env));
          hosts.push(host);
          const log = host.ports.log as { read: EventLog['read'] };
          const read = log.read.bind(log);
          log.read = (...given) => {
            reads += 1;
            return read(...given);
          };
          await host.startWorker({ definitions: [family, children.apart, children.beside], concurrency: CONCURRENCY });
        }
        const client = await openCluster(configFromEnv(env));
        hosts.push(client);
        const round = async (kind: 'apart' | 'beside', stepMs: number): Promise<Round> => {
          const before = [await cpuSeconds(coordinator.pid), process.cpuUsage(), reads, performance.now()] as const;
          await Promise.all(
            Array.from({ length: PARENT_COUNT }, async () =>
              (await client.client.start(family, { kind, stepMs })).result(),
            ),
          );
          const tookMs = performance.now() - before[3];
          report.note(`${kind} ${stepMs}: ${tookMs.toFixed(0)} ms, ${reads - before[2]} reads`);
          const { user, system } = process.cpuUsage(before[1]);
          return {
            tookMs,
            workerMs: (user + system) / 1_000,
            coordinatorMs: ((await cpuSeconds(coordinator.pid)) - before[0]) * 1_000,
            reads: reads - before[2],
          };
        };
        for (const kind of ['apart', 'beside', 'apart', 'beside'] as const) await round(kind, 0);
        for (const stepMs of STEP_MS) {
          const rounds = { apart: [] as Round[], beside: [] as Round[] };
          for (let at = 0; at < ROUND_COUNT; at++) {
            for (const kind of ['apart', 'beside'] as const) rounds[kind].push(await round(kind, stepMs));
          }
          for (const kind of ['apart', 'beside'] as const) {
            const called = `families.workers${workerCount}.step${stepMs}ms.${kind}`;
            const of = (pick: (round: Round) => number): number => median(rounds[kind].map(pick)) / PARENT_COUNT;
            report.add(`${called}.each_ms`, of((each) => each.tookMs), 'ms');
            report.add(`${called}.worker_cpu_ms`, of((each) => each.workerMs), 'ms');
            report.add(`${called}.coordinator_cpu_ms`, of((each) => each.coordinatorMs), 'ms');
            report.add(`${called}.reads`, of((each) => each.reads), 'reads');
          }
        }
      } finally {
        for (const host of hosts.toReversed()) await host.close();
      }
    });
  }
}
