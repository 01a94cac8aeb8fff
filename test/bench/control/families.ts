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

const CHILD_COUNT = 6;
const STEP_COUNT = 4;
const STEP_BYTES = 1_024;
const CONCURRENCY = 500;
const WARM_ROUND_COUNT = 2;
const ROUND_COUNT = 4;
const KINDS = ['apart', 'beside'] as const;
type Kind = (typeof KINDS)[number];
const WORKER_COUNT = 2;
/** Parents at once, and how long a step takes beside what Tidemark takes: processors that are full, with steps of no time and short calls, and idle ones. */
const CASES = [
  { called: 'full', parentCount: 150, stepMs: 0 },
  { called: 'full_calls', parentCount: 150, stepMs: 50 },
  { called: 'idle_calls', parentCount: 6, stepMs: 50 },
];

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
  input: own.extend({ kind: z.enum(KINDS) }),
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

export function measureFamilies(report: Report): Promise<void> {
  return onCluster({ worker: false }, async ({ env, coordinator }) => {
    const hosts: Host[] = [];
    try {
      let reads = 0;
      for (let at = 0; at < WORKER_COUNT; at++) {
        const host = await openCluster(configFromEnv(env));
        hosts.push(host);
        countReads(host.ports.log, () => (reads += 1));
        await host.startWorker({ definitions: [family, ...Object.values(children)], concurrency: CONCURRENCY });
      }
      const client = await openCluster(configFromEnv(env));
      hosts.push(client);
      const round = async (kind: Kind, { parentCount, stepMs }: (typeof CASES)[number]): Promise<Round> => {
        const readsBefore = reads;
        const coordinatorBefore = await cpuSeconds(coordinator.pid);
        const ownBefore = process.cpuUsage();
        const beganMs = performance.now();
        const run = async () => (await client.client.start(family, { kind, stepMs })).result();
        await Promise.all(Array.from({ length: parentCount }, run));
        const tookMs = performance.now() - beganMs;
        const { user, system } = process.cpuUsage(ownBefore);
        const coordinatorMs = ((await cpuSeconds(coordinator.pid)) - coordinatorBefore) * 1_000;
        return { tookMs, workerMs: (user + system) / 1_000, coordinatorMs, reads: reads - readsBefore };
      };
      for (let at = 0; at < WARM_ROUND_COUNT; at++) for (const kind of KINDS) await round(kind, CASES[0]!);
      for (const each of CASES) {
        const rounds: Record<Kind, Round[]> = { apart: [], beside: [] };
        for (let at = 0; at < ROUND_COUNT; at++) for (const kind of KINDS) rounds[kind].push(await round(kind, each));
        for (const kind of KINDS) {
          const add = (name: string, of: (round: Round) => number, unit: string, share = each.parentCount): void =>
            report.add(`families.${each.called}.${kind}.${name}`, median(rounds[kind].map(of)) / share, unit);
          add('all_ms', ({ tookMs }) => tookMs, 'ms', 1);
          add('each_workers_cpu_ms', ({ workerMs }) => workerMs, 'ms');
          add('each_coordinator_cpu_ms', ({ coordinatorMs }) => coordinatorMs, 'ms');
          add('each_reads', (round) => round.reads, 'reads');
        }
      }
    } finally {
      for (const host of hosts.toReversed()) await host.close();
    }
  });
}

function countReads(log: { read: EventLog['read'] }, count: () => void): void {
  const read = log.read.bind(log);
  log.read = (...given) => {
    count();
    return read(...given);
  };
}
