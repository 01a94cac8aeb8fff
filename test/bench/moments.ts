/**
 * Owns the world in which a run's moments are seen: coordinator, worker and client are hosts of one process on real servers, whose ports tell
 * when each is called and answers.
 */

import { configFromEnv, type Host, openCluster } from '@tidemark/host';
import type { Definition, Ports } from '@tidemark/runtime';
import { startClusterServers } from '@tidemark/testkit/servers';
import { median, type Report } from './report.ts';

/** When each run came to each moment, in milliseconds of the process. */
export class Moments<Moment extends string> {
  readonly of = new Map<string, Partial<Record<Moment, number>>>();

  /** Only the first time counts, and only of runs that are watched. */
  at(run: string, moment: Moment): void {
    const seen = this.of.get(run);
    if (seen !== undefined) seen[moment] ??= performance.now();
  }
}

export interface PortCall {
  readonly role: 'coordinator' | 'worker' | 'client';
  readonly port: 'log' | 'store' | 'queue';
  readonly operation: string;
  readonly args: readonly unknown[];
  /** It has answered, or failed. */
  readonly isAfter: boolean;
}

type Operation = (...args: unknown[]) => unknown;

/** How often each port was called, and for how many milliseconds, by `role.port.operation`. */
class Calls {
  #of = new Map<string, { count: number; ms: number }>();

  add({ role, port, operation }: PortCall, ms: number): void {
    const name = `${role}.${port}.${operation}`;
    const called = this.#of.get(name) ?? { count: 0, ms: 0 };
    this.#of.set(name, { count: called.count + 1, ms: called.ms + ms });
  }

  clear(): void {
    this.#of = new Map();
  }

  print(when: string, report: Report): void {
    for (const [name, { count, ms }] of [...this.#of].toSorted()) {
      report.note(`${when}: ${name} ${count} times, ${(ms / count).toFixed(2)} ms each`);
    }
  }
}

export interface WatchedCluster {
  readonly client: Host;
  readonly calls: Calls;
  close(): Promise<void>;
}

/** `see` receives every call of a port, before it and once it has answered. */
export async function openWatchedCluster(
  definition: Definition,
  report: Report,
  see: (call: PortCall) => void,
): Promise<WatchedCluster> {
  const servers = await startClusterServers({ dataIn: 'memory' });
  const hosts: Host[] = [];
  const calls = new Calls();
  const close = async (): Promise<void> => {
    for (const host of hosts.toReversed()) await host.close();
    await servers.stop();
  };
  const env = {
    TIDEMARK_KAFKA_BROKERS: servers.kafka.address,
    TIDEMARK_POSTGRES_URL: servers.postgres.address,
    TIDEMARK_REDIS_URL: servers.redis.address,
    TIDEMARK_TOPIC: 'bench-life',
    TIDEMARK_PARTITIONS: '1024',
    TIDEMARK_ENCRYPTION: 'off',
    TIDEMARK_PRESENCE_HOST: '127.0.0.1',
  };
  const open = async (role: PortCall['role']): Promise<Host> => {
    const host = await openCluster(configFromEnv(env));
    hosts.push(host);
    const ports = host.ports as { -readonly [Name in keyof Ports]: Ports[Name] };
    ports.log = watched(ports.log, { role, port: 'log' }, calls, see);
    ports.store = watched(ports.store, { role, port: 'store' }, calls, see);
    ports.queue = watched(ports.queue, { role, port: 'queue' }, calls, see);
    return host;
  };
  try {
    const [coordinator, worker, client] = [await open('coordinator'), await open('worker'), await open('client')];
    await coordinator.startCoordinator({ onError: (where, error) => report.note(`${where}: ${String(error)}`) });
    await worker.startWorker({ definitions: [definition], concurrency: 1_000 });
    return { client, calls, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function watched<P extends object>(
  port: P,
  named: Pick<PortCall, 'role' | 'port'>,
  calls: Calls,
  see: (call: PortCall) => void,
): P {
  return new Proxy(port, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        const call = { ...named, operation: String(key), args, isAfter: false };
        see(call);
        const beganMs = performance.now();
        const done = (): void => {
          calls.add(call, performance.now() - beganMs);
          see({ ...call, isAfter: true });
        };
        const answer = (member as Operation).apply(target, args);
        if (answer instanceof Promise) answer.then(done, done);
        else done();
        return answer;
      };
    },
  });
}

/** Medians since `from`, which each run has. */
export function printMoments<Moment extends string>(
  name: string,
  runs: readonly Partial<Record<Moment, number>>[],
  { from, moments }: { readonly from: Moment; readonly moments: readonly Moment[] },
  report: Report,
): void {
  for (const moment of moments) {
    const since = runs.flatMap((run) => (run[moment] === undefined ? [] : [run[moment] - run[from]!]));
    if (since.length > 0) report.add(`${name}.${moment}_ms`, median(since), 'ms');
  }
}
