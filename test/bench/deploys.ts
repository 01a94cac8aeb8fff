/**
 * The part `deploys` of `bench -- resume`: a deploy that breaks 1,000 live workflows, and the one that mends it. How many ended, and how soon
 * all go on: by themselves, beside workers of the broken build, and by one job that retries what a filter finds.
 */

import { eventually } from '@tidemark/testkit/eventually';
import { cpuSeconds, type ServiceProcess } from '@tidemark/testkit/processes';
import type { ClusterServers } from '@tidemark/testkit/servers';
import { median, type Report } from './report.ts';
import { turns } from './resume-workflows.ts';
import { load, type System, withSystem } from './system.ts';

const RUNS = 1_000;
const WAIT_MS = 120_000;
const DEFINITION = turns.name;

type Way = 'by_itself' | 'beside_old' | 'by_job';

export async function measureDeploys(servers: ClusterServers, report: Report): Promise<void> {
  for (const way of ['by_itself', 'beside_old', 'by_job'] as const) {
    await withSystem(servers, `deploys-${way.replace('_', '-')}`, 256, (system) => deploys(system, way, report));
  }
}

async function deploys(system: System, way: Way, report: Report): Promise<void> {
  const onFailure = way === 'by_job' ? 'park' : 'retry-on-new-build';
  const deploy = (build: string, isBroken: boolean): Promise<ServiceProcess> =>
    system.service('worker', {
      TIDEMARK_BUILD: build,
      BENCH_ON_FAILURE: onFailure,
      BENCH_IS_BROKEN: isBroken ? 'yes' : 'no',
    });
  const ids = Array.from({ length: RUNS }, (_, n) => `live-${n}`);
  const good = await deploy('one', false);
  await Promise.all(ids.map((id) => system.host.client.start(turns, {}, { id })));
  await system.comeOn(ids, 2);
  const broken = await deploy('two', true);
  await good.stop();
  await eventually(async () => (await parkedCount(system)) === RUNS, { timeoutMs: WAIT_MS, what: 'all parked' });
  // All of them have ended or wait: neither has ended.
  report.add(`deploys.${way}_ended`, await endedCount(system), 'workflows');
  if (way !== 'beside_old') await broken.stop();
  const going = system.isUnfinished(ids);
  const spawnedMs = performance.now();
  const mended = await deploy('three', false);
  let fromMs = performance.now();
  if (way === 'by_job') {
    fromMs = performance.now();
    const filter = { definition: DEFINITION, status: 'parked', reason: 'step-failed' } as const;
    await system.host.client.bulk.start({
      ...{ id: 'mended', act: 'retry', filter, by: 'bench', why: 'the bug is mended', signal: null },
    });
  }
  const atMs = (await going).map((seen) => seen.atMs);
  const tookMs = atMs.map((ms) => Math.max(0, ms - fromMs));
  report.note(`deploys ${way}: the worker used ${(await cpuSeconds(mended.pid)).toFixed(1)} s of a processor`);
  report.note(
    `deploys ${way}: median ${median(tookMs).toFixed(0)} ms, the last ${Math.max(...tookMs).toFixed(0)} ms after the new worker was there, ${(Math.max(...atMs) - spawnedMs).toFixed(0)} ms after its process began; load ${load()}`,
  );
  report.add(`deploys.${way}_ended_after`, await endedCount(system), 'workflows');
  report.add(`deploys.${way}_all_s`, Math.max(...tookMs) / 1_000, 's');
}

async function parkedCount({ host }: System): Promise<number> {
  const counts = await host.ports.store.parkedCounts(10);
  return counts.reduce((sum, { count }) => sum + count, 0);
}

async function endedCount({ host }: System): Promise<number> {
  const counts = await host.ports.store.statusCounts(null);
  return counts
    .filter(({ status }) => status === 'failed' || status === 'completed' || status === 'compensated')
    .reduce((sum, { count }) => sum + count, 0);
}
