/**
 * `bench -- outage`: the one provider of many agents is down for ten minutes, and then returns with a limit. Who waits for a person, who is
 * left over, and how many calls the provider sees at once on its return, as a share of what it allows. Processes of their own on real servers.
 */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { startClusterServers } from '@tidemark/testkit/servers';
import { agent, PROVIDER_RATE } from './outage-workflows.ts';
import type { Report } from './report.ts';
import { load, type System, withSystem } from './system.ts';

export const OUTAGE_USAGE = 'npm run bench -- outage [--agents 1000] [--down-s 600] [--json]';

const EXIT_USAGE = 64;
const WORKER_COUNT = 2;
const PARTITIONS = 64;
/** The provider's answer takes this long, in milliseconds. */
const ANSWER_MS = 50;
const PERIOD_MS = 10_000;
const POLL_MS = 500;
/** Time after the return in which all must have finished: they spread, and the last wait an eighth of the outage. */
const AFTER_MAX_MS = 600_000;

/** What the provider sees: when, and whether it was down. */
class Provider {
  readonly #seen: { readonly atMs: number; readonly isDown: boolean }[] = [];
  readonly #server: Server;
  isDown = true;

  constructor() {
    this.#server = createServer((request, response) => {
      this.#seen.push({ atMs: performance.now(), isDown: this.isDown });
      request.resume();
      const status = this.isDown ? 503 : 200;
      setTimeout(() => response.writeHead(status).end(), ANSWER_MS);
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  countOf(isDown: boolean): number {
    return this.#seen.filter((call) => call.isDown === isDown).length;
  }

  /** The most calls that began within any window of that length after the return. */
  mostIn(windowMs: number): number {
    const times = this.#seen.filter(({ isDown }) => !isDown).map(({ atMs }) => atMs);
    let most = 0;
    for (let first = 0, last = 0; last < times.length; last++) {
      while (times[last]! - times[first]! >= windowMs) first++;
      most = Math.max(most, last - first + 1);
    }
    return most;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

export async function measureOutage(args: readonly string[], report: Report): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: 'boolean', default: false },
      agents: { type: 'string', default: '1000' },
      'down-s': { type: 'string', default: '600' },
    },
  });
  const [agents, downS] = [Number(values.agents), Number(values['down-s'])];
  if (!(Number.isInteger(agents) && agents > 0 && downS > 0)) {
    process.stderr.write(`usage: ${OUTAGE_USAGE}\n`);
    return EXIT_USAGE;
  }
  const servers = await startClusterServers({ dataIn: 'memory' });
  try {
    await withSystem(servers, 'outage', PARTITIONS, (system) => outage(system, agents, downS * 1_000, report));
  } finally {
    await servers.stop();
  }
  return 0;
}

async function outage(system: System, agents: number, downMs: number, report: Report): Promise<void> {
  const provider = new Provider();
  const url = await provider.listen();
  const env = { BENCH_PROVIDER_URL: url, TIDEMARK_WORKFLOWS: './test/bench/outage-workflows.ts' };
  try {
    for (let at = 0; at < WORKER_COUNT; at++) await system.service('worker', env);
    const { client, ports } = system.host;
    await Promise.all(Array.from({ length: agents }, (_, n) => client.start(agent, { n }, { id: `agent-${n}` })));
    await ports.clock.sleep(downMs);
    const parkedThen = await parkedCount(system);
    provider.isDown = false;
    const backMs = performance.now();
    while (performance.now() - backMs < AFTER_MAX_MS) {
      if ((await countOf(system, 'completed')) + (await parkedCount(system)) >= agents) break;
      await ports.clock.sleep(POLL_MS);
    }
    const { count } = PROVIDER_RATE;
    report.note(
      `outage: ${provider.countOf(true)} calls while it was down, ${provider.countOf(false)} after; at most ${provider.mostIn(1_000)} in a second and ${provider.mostIn(PERIOD_MS)} in ${PERIOD_MS / 1_000} s of ${count}; load ${load()}`,
    );
    report.add('outage.agents', agents, 'workflows');
    report.add('outage.down_s', downMs / 1_000, 's');
    report.add('outage.parked', Math.max(parkedThen, await parkedCount(system)), 'workflows');
    report.add('outage.unfinished', agents - (await countOf(system, 'completed')), 'workflows');
    report.add('outage.burst_ratio', provider.mostIn(PERIOD_MS) / count, 'share');
    report.add('outage.calls_while_down', provider.countOf(true), 'calls');
    report.add('outage.all_s', (performance.now() - backMs) / 1_000, 's');
  } finally {
    provider.close();
  }
}

async function parkedCount({ host }: System): Promise<number> {
  const counts = await host.ports.store.parkedCounts(10);
  return counts.reduce((sum, { count }) => sum + count, 0);
}

async function countOf({ host }: System, wanted: string): Promise<number> {
  const counts = await host.ports.store.statusCounts(null);
  return counts.filter(({ status }) => status === wanted).reduce((sum, { count }) => sum + count, 0);
}
