/** Owns the system under measurement of `bench -- resume` and `functions`: real processes on real servers, default settings, and who watches them. */

import os from 'node:os';
import { configFromEnv, type Host, openCluster } from '@tidemark/host';
import { eventually } from '@tidemark/testkit/eventually';
import { type ServiceProcess, startService } from '@tidemark/testkit/processes';
import { type ClusterServers, freshDatabase } from '@tidemark/testkit/servers';
import { type Ticks, ticks } from './resume-workflows.ts';
import { type Seen, Watcher } from './watcher.ts';

/** More steps than any run comes to. */
const ENDLESS = 10_000_000;
const WAIT_MS = 120_000;
const WARM_UP_COUNT = 8;
const WARM_UP_STEPS = 20;
const WARM_UP_STEP_MS = 5;

export const load = (): string =>
  os
    .loadavg()
    .map((value) => value.toFixed(1))
    .join(' ');

/** One coordinator and the workers that are started, on names of their own. */
export class System {
  readonly host: Host;
  readonly watcher: Watcher;
  readonly #env: Readonly<Record<string, string>>;
  readonly #services: ServiceProcess[] = [];
  #warmedCount = 0;

  constructor(host: Host, env: Readonly<Record<string, string>>) {
    this.host = host;
    this.watcher = new Watcher(host);
    this.#env = env;
  }

  async service(name: 'coordinator' | 'worker', env: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
    const service = await startService(name, { ...this.#env, ...env });
    this.#services.push(service);
    return service;
  }

  async start(
    ids: readonly string[],
    given: { history: number; stepMs: number; steps?: number; timed?: boolean },
    workflow: Ticks = ticks,
  ) {
    const whole = { steps: ENDLESS, timed: false, ...given };
    return Promise.all(ids.map((id) => this.host.client.start(workflow, whole, { id })));
  }

  /** The two workers have both run workflows: one that has just been started makes its connections with its first. */
  async warmUp(): Promise<void> {
    const ids = Array.from({ length: WARM_UP_COUNT }, () => `warm-${this.#warmedCount++}`);
    const runs = await this.start(ids, { history: WARM_UP_STEPS, steps: WARM_UP_STEPS, stepMs: WARM_UP_STEP_MS });
    await Promise.all(runs.map((run) => run.result()));
  }

  /** The next checkpoint of each by someone else than now. */
  isUnfinished(ids: readonly string[]): Promise<readonly Seen[]> {
    return Promise.all(
      ids.map((id) => {
        const before = this.watcher.holders.get(id);
        return this.watcher.next(id, ({ type, holder }) => type === 'CheckpointCommitted' && holder !== before);
      }),
    );
  }

  /** Until each has so many checkpoints more. */
  async comeOn(ids: readonly string[], count: number): Promise<void> {
    const counts = this.watcher.checkpointCounts;
    const wanted = new Map(ids.map((id) => [id, (counts.get(id) ?? 0) + count]));
    await eventually(() => ids.every((id) => (counts.get(id) ?? 0) >= wanted.get(id)!), {
      timeoutMs: WAIT_MS,
      what: `${count} checkpoints more`,
    });
  }

  async close(): Promise<void> {
    await this.watcher.stop();
    await Promise.all(this.#services.map((service) => service.kill()));
    await this.host.close();
  }
}

/** `modules`: of definitions that the workers have besides. */
export async function withSystem(
  servers: ClusterServers,
  name: string,
  partitions: number,
  measure: (system: System, coordinator: ServiceProcess) => Promise<void>,
  modules: readonly string[] = [],
): Promise<void> {
  const own = ['./test/bench/resume-workflows.ts', './test/bench/workflows.ts', './test/bench/sleeper.ts'];
  const database = await freshDatabase(servers.postgres.address);
  const env = {
    TIDEMARK_KAFKA_BROKERS: servers.kafka.address,
    TIDEMARK_REDIS_URL: servers.redis.address,
    TIDEMARK_POSTGRES_URL: database.url,
    TIDEMARK_TOPIC: `bench-${process.pid}-${name}`,
    TIDEMARK_PARTITIONS: String(partitions),
    TIDEMARK_PARTITIONS_MAX: String(partitions),
    TIDEMARK_ENCRYPTION: 'off',
    TIDEMARK_WORKFLOWS: [...own, ...modules].join(','),
  };
  const system = new System(await openCluster(configFromEnv(env)), env);
  try {
    const coordinator = await system.service('coordinator');
    await system.watcher.start();
    await measure(system, coordinator);
  } finally {
    await system.close();
    await database.drop();
  }
}
