/**
 * `npm run bench -- life`: where the time of a short run goes, from its start to its known result. Coordinator, worker and client are hosts of
 * one process on real servers, whose ports tell when each is called and answers.
 */

import type { WorkflowId } from '@tidemark/core';
import { configFromEnv, type Host, openCluster } from '@tidemark/host';
import type { LogRecord } from '@tidemark/ports';
import type { Ports } from '@tidemark/runtime';
import { defineWorkflow, task } from '@tidemark/sdk';
import { startClusterServers } from '@tidemark/testkit/servers';
import { z } from 'zod';
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
type Moment = (typeof MOMENTS)[number];

class Lives {
  readonly of = new Map<string, Partial<Record<Moment, number>>>();

  at(workflow: string, moment: Moment): void {
    const life = this.of.get(workflow);
    if (life !== undefined) life[moment] ??= performance.now();
  }
}

let lives = new Lives();
/** How often each port was called, and for how many milliseconds, by `role.port.operation`. */
let calls = new Map<string, { count: number; ms: number }>();

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

type Operation = (...args: unknown[]) => unknown;

/** Every operation of the port is counted, and `after` sees its arguments once it has answered. */
function watched<P extends object>(
  role: string,
  port: P,
  name: string,
  see: (operation: string, args: readonly unknown[], isAfter: boolean) => void,
): P {
  return new Proxy(port, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        const operation = String(key);
        see(operation, args, false);
        const beganMs = performance.now();
        const done = (): void => {
          const called = calls.get(`${role}.${name}.${operation}`) ?? { count: 0, ms: 0 };
          calls.set(`${role}.${name}.${operation}`, {
            count: called.count + 1,
            ms: called.ms + performance.now() - beganMs,
          });
          see(operation, args, true);
        };
        const answer = (member as Operation).apply(target, args);
        if (answer instanceof Promise) answer.then(done, done);
        else done();
        return answer;
      };
    },
  });
}

function watch(role: string, host: Host): Host {
  const ports = host.ports as { -readonly [Name in keyof Ports]: Ports[Name] };
  ports.log = watched(role, ports.log, 'log', (operation, args, isAfter) => {
    if (operation !== 'append' || !isAfter) return;
    for (const { owner = { workflow: '' }, type } of args[1] as readonly LogRecord[]) {
      if (type === 'WorkflowOpened') lives.at(owner.workflow, 'opened');
      if (type === 'LeaseClaimed') lives.at(owner.workflow, 'claimed');
      if (type === 'WorkflowCompleted') lives.at(owner.workflow, 'ended');
    }
  });
  ports.store = watched(role, ports.store, 'store', (operation, args, isAfter) => {
    if (operation === 'place' && isAfter) {
      for (const { workflow } of args[0] as readonly { workflow: WorkflowId }[]) lives.at(workflow, 'placed');
    }
    if (role === 'worker' && operation === 'loadStreams') {
      for (const workflow of args[0] as readonly WorkflowId[]) lives.at(workflow, isAfter ? 'read' : 'taken');
    }
    if (role === 'worker' && operation === 'placed') lives.at(args[0] as WorkflowId, isAfter ? 'read' : 'taken');
    if (operation === 'apply' && isAfter) {
      for (const stream of (args[0] as { streams: readonly { workflow: string; status: string }[] }).streams) {
        lives.at(stream.workflow, stream.status === 'completed' ? 'closed' : 'shown');
      }
    }
  });
  ports.queue = watched(role, ports.queue, 'queue', (operation, args, isAfter) => {
    if (operation !== 'enqueue' || !isAfter) return;
    for (const { workflow } of args[0] as readonly { workflow: string }[]) lives.at(workflow, 'sent');
  });
  return host;
}

async function round(host: Host, count: number, prefix: string): Promise<number> {
  lives = new Lives();
  calls = new Map();
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
  const servers = await startClusterServers({ dataIn: 'memory' });
  const hosts: Host[] = [];
  try {
    const env = {
      TIDEMARK_KAFKA_BROKERS: servers.kafka.address,
      TIDEMARK_POSTGRES_URL: servers.postgres.address,
      TIDEMARK_REDIS_URL: servers.redis.address,
      TIDEMARK_TOPIC: 'bench-life',
      TIDEMARK_PARTITIONS: '1024',
      TIDEMARK_ENCRYPTION: 'off',
      TIDEMARK_PRESENCE_HOST: '127.0.0.1',
    };
    const open = async (role: string): Promise<Host> => {
      const host = watch(role, await openCluster(configFromEnv(env)));
      hosts.push(host);
      return host;
    };
    const [coordinator, worker, client] = [await open('coordinator'), await open('worker'), await open('client')];
    await coordinator.startCoordinator({ onError: (where, error) => report.note(`${where}: ${String(error)}`) });
    await worker.startWorker({ definitions: [oneStep], concurrency: 1_000 });
    for (let at = 0; at < 20; at++) await round(client, 1_000, `warm-${at}`);
    for (const count of counts) {
      const rounds: { tookMs: number; lives: Lives }[] = [];
      for (let at = 0; at < Math.max(5, 200 / count); at++) {
        rounds.push({ tookMs: await round(client, count, `c${count}-${at}`), lives });
      }
      printRounds(count, rounds, report);
    }
  } finally {
    for (const host of hosts.toReversed()) await host.close();
    await servers.stop();
  }
}

function printRounds(count: number, rounds: readonly { tookMs: number; lives: Lives }[], report: Report): void {
  report.add(`life.c${count}.run_ms`, median(rounds.map(({ tookMs }) => tookMs)), 'ms');
  const all = rounds.flatMap(({ lives: { of } }) => [...of.values()]);
  for (const moment of MOMENTS.slice(1)) {
    const since = all.flatMap((life) => (life[moment] === undefined ? [] : [life[moment] - life.asked!]));
    if (since.length > 0) report.add(`life.c${count}.${moment}_ms`, median(since), 'ms');
  }
  for (const [name, { count: called, ms }] of [...calls].toSorted()) {
    report.note(`${count} at once, last round: ${name} ${called} times, ${(ms / called).toFixed(2)} ms each`);
  }
}
