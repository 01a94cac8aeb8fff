/** Owns what is done to the cluster, one thing after another. Each leaves two ready workers of the steady pool. */

import { rmSync, writeFileSync } from 'node:fs';
import { eventually } from '@tidemark/testkit/eventually';
import { externalMetricsManifest, serveExternalMetrics } from './external-metrics.ts';
import { holders, unevenShare } from './marks.ts';
import type { Run } from './run.ts';
import { OUTSIDE } from './world.ts';

const LOAD_COUNT = 10;
const METRICS_PORT = 8443;
const PER_WORKER_COUNT = 5;
/** Runs that must wait for the build that has their version. */
const WAITING_COUNT = 3;
/** Half of a load, less what the coordinators take for near enough. */
const SHARE_MIN_COUNT = 3;

export interface Phase {
  readonly name: string;
  readonly needsTwoNodes?: boolean;
  run(run: Run): Promise<void>;
}

/** The migrations' pod waits for the key, by name; what runs is left as it is. */
async function lackKey(run: Run): Promise<void> {
  const { installation } = run;
  const names = async (): Promise<string> => {
    const ready = (await installation.pods()).filter(({ isReady }) => isReady);
    return ready.map(({ name }) => name).join(' ');
  };
  const before = await names();
  await installation.createSecret('lacking', { TIDEMARK_REDIS_URL: `redis://${OUTSIDE}:6379` });
  const said = await installation.refusedUpgrade('--set-string', 'existingSecret=lacking');
  run.check(said.includes('TIDEMARK_POSTGRES_URL'), `a Secret without the address of Postgres: ${said}`);
  const after = await names();
  run.check(before === after, `pods were changed by an upgrade that was refused: ${before}, then ${after}`);
}

async function deletePod(run: Run): Promise<void> {
  await run.load('steady', 'deleted', LOAD_COUNT);
  const pod = await run.busiest('deleted');
  const sinceMs = Date.now();
  await run.installation.deletePod(pod.name);
  run.figure('pod_deleted_ms', await run.resumed('deleted', [pod.name], sinceMs), 'ms');
  await run.end('deleted');
}

async function killWorker(run: Run): Promise<void> {
  await run.installation.untilReady();
  await run.load('steady', 'killed', LOAD_COUNT);
  const pod = await run.busiest('killed');
  const pid = run.world.processOf(pod.name, 'worker');
  const sinceMs = Date.now();
  // The container that takes its place has the pod's name.
  run.lost([pod.name], () => process.kill(pid, 'SIGKILL'))();
  run.figure('killed_ms', await run.resumed('killed', [pod.name], sinceMs), 'ms');
  await run.end('killed');
  await run.installation.restarted(pod);
}

/** Who is replaced, and who is started first, has a node without its like where there is one. */
async function areApart(run: Run, when: string): Promise<void> {
  for (const part of ['worker', 'coordinator']) {
    const nodes = (await run.installation.pods(part)).map(({ node }) => node);
    run.check(new Set(nodes).size === run.world.nodes.length, `${when} each ${part} is on one of the nodes ${nodes}`);
  }
}

async function giveNotice(run: Run): Promise<void> {
  await run.installation.untilReady();
  await areApart(run, 'before anything was drained');
  await run.load('steady', 'noticed', LOAD_COUNT);
  const pod = await run.busiest('noticed');
  const notice = run.world.fileOf(pod.node, '/run/node/leaving');
  const leaving = (await run.installation.pods('worker'))
    .filter(({ node }) => node === pod.node)
    .map(({ name }) => name);
  const sinceMs = Date.now();
  writeFileSync(notice, 'leaving\n');
  run.figure('noticed_ms', await run.resumed('noticed', leaving, sinceMs), 'ms');
  await run.end('noticed');
  await run.installation.restarted(pod);
  rmSync(notice);
}

async function drain(run: Run): Promise<void> {
  await run.installation.untilReady();
  await run.load('steady', 'drained', LOAD_COUNT);
  const { node } = await run.busiest('drained');
  const drained = (await run.installation.pods('worker')).filter((pod) => pod.node === node).map(({ name }) => name);
  const { kube } = run.world;
  const sinceMs = Date.now();
  const done = kube.kubectl(
    'drain',
    `n${node}`,
    '--ignore-daemonsets',
    '--delete-emptydir-data',
    '--force',
    '--timeout=120s',
  );
  run.figure('drained_ms', await run.resumed('drained', drained, sinceMs), 'ms');
  await done;
  await kube.kubectl('uncordon', `n${node}`);
  await run.end('drained');
}

/** The last of the new workers came when all runs had theirs: the others give it a share. */
async function shareOut(run: Run, prefixes: readonly string[]): Promise<void> {
  const sinceMs = Date.now();
  const counts = (): readonly number[] => {
    const pods = prefixes.flatMap((prefix) => [...holders(run.outside.attempts, prefix).values()]);
    return [...Map.groupBy(pods, (pod) => pod).values()].map(({ length }) => length);
  };
  run.note(`  at first the workers have ${counts().join(' and ')} runs`);
  const isEven = (): boolean => counts().length === 2 && counts().every((count) => count >= SHARE_MIN_COUNT);
  await eventually(isEven, { what: 'both workers have a share of the runs', timeoutMs: 60_000 });
  run.figure('shared_ms', Date.now() - sinceMs, 'ms');
}

/** The next build has another version of `ticks`: what began under the old one ends under it. */
async function upgrade(run: Run): Promise<void> {
  await run.installation.untilReady();
  await Promise.all([run.load('steady', 'upgraded', LOAD_COUNT / 2), run.load('ticks', 'changed', LOAD_COUNT / 2)]);
  await run.installation.upgrade('--set-string', 'image.tag=2');
  const isChanged = async (): Promise<boolean> => (await run.runs.state('changed-0')).definition_version === 2;
  await eventually(isChanged, { what: 'changed-0 is at version 2' });
  await shareOut(run, ['upgraded', 'changed']);
  await areApart(run, 'after an upgrade');
  await Promise.all([run.end('upgraded'), run.end('changed')]);
}

/** A run that has reached the next version never goes back: it waits for its build, and ends there. */
async function rollBack(run: Run): Promise<void> {
  await Promise.all([run.load('steady', 'rolled-back', LOAD_COUNT), run.load('ticks', 'waiting', WAITING_COUNT)]);
  await run.world.kube.helm('rollback', 'tidemark', '1', '-n', 'agents', '--wait', '--timeout', '3m');
  await run.end('rolled-back');
  const { status, definition_version: version } = await run.runs.state('waiting-0');
  run.check(status === 'open' && version === 2, `waiting-0 is ${status} at version ${version} after the rollback`);
}

async function addPools(run: Run): Promise<void> {
  const { installation, world } = run;
  const key = await installation.createKey('keda', 'scaler');
  await installation.createSecret('keda-key', { key });
  for (const name of ['keda-operator', 'keda-metrics-apiserver']) {
    await world.kube.kubectl('-n', 'keda', 'rollout', 'status', `deploy/${name}`, '--timeout=120s');
  }
  await installation.upgrade(...installation.withPools());
  await run.end('waiting');
}

async function scaleByKeda(run: Run): Promise<void> {
  const workers = async (): Promise<readonly string[]> =>
    (await run.installation.pods('worker')).map(({ name }) => name).filter((name) => name.includes('-keda-'));
  await eventually(async () => (await workers()).length === 0, {
    what: 'the pool of KEDA is empty',
    timeoutMs: 120_000,
  });
  const sinceMs = Date.now();
  await run.load('keda', 'keda', 4 * PER_WORKER_COUNT);
  const first = run.outside.attempts.find((each) => each.run.startsWith('keda-'))!;
  run.figure('keda_first_step_ms', first.atMs - sinceMs, 'ms');
  const pods = [...new Set(holders(run.outside.attempts, 'keda').values())];
  run.check(pods.length === 4, `${pods.length} pods of KEDA have work, not 4`);
  run.figure('keda_all_steps_ms', Date.now() - sinceMs, 'ms');
  const evenFrom = run.outside.attempts.length;
  await run.underWay('keda', 20);
  run.figure('keda_uneven', 100 * unevenShare(run.outside.attempts.slice(evenFrom), pods), '%');
  await run.end('keda');
}

async function scaleByHpaAndJobs(run: Run): Promise<void> {
  const { installation, world } = run;
  const pki = `${world.place.run}/pki`;
  const addresses = async (): Promise<readonly string[]> =>
    (await installation.pods('coordinator')).map(({ address }) => `${address}:9464`);
  await serveExternalMetrics({ host: OUTSIDE, port: METRICS_PORT, pki }, addresses);
  await world.kube.kubectl('delete', 'apiservice', 'v1beta1.external.metrics.k8s.io');
  await world.kube.apply(externalMetricsManifest(OUTSIDE, METRICS_PORT));
  const sinceMs = Date.now();
  const firstOf = (pool: string): number =>
    run.outside.attempts.find((each) => each.run.startsWith(`${pool}-`))!.atMs - sinceMs;
  await Promise.all([run.load('hpa', 'hpa', 2 * PER_WORKER_COUNT), run.load('jobs', 'jobs', 2 * PER_WORKER_COUNT)]);
  run.figure('hpa_all_steps_ms', Date.now() - sinceMs, 'ms');
  run.figure('jobs_first_step_ms', firstOf('jobs'), 'ms');
  for (const pool of ['hpa', 'jobs']) {
    const pods = new Set(holders(run.outside.attempts, pool).values());
    run.check(pods.size === 2, `${pods.size} pods of ${pool} have work, not 2`);
  }
  await Promise.all([run.end('hpa'), run.end('jobs')]);
}

async function cutLink(run: Run): Promise<void> {
  await run.installation.untilReady();
  await run.load('steady', 'cut', LOAD_COUNT);
  const { node, names } = await everythingBeside(run, 'cut');
  const sinceMs = Date.now();
  const mended = run.lost(names, () => run.world.cut(node));
  run.figure('link_cut_ms', await run.resumed('cut', names, sinceMs), 'ms');
  mended();
  run.world.mend();
  await run.end('cut');
}

async function loseNode(run: Run): Promise<void> {
  await run.installation.untilReady();
  await run.load('steady', 'vanished', LOAD_COUNT);
  const { node, names } = await everythingBeside(run, 'vanished');
  for (const part of [/-worker-(?!keda|hpa|jobs)/, /-coordinator-/])
    run.check(
      names.some((name) => part.test(name)),
      `no ${part} was on the node that vanished`,
    );
  const sinceMs = Date.now();
  run.lost(names, () => run.world.vanish(node));
  run.figure('node_lost_ms', await run.resumed('vanished', names, sinceMs), 'ms');
  await run.end('vanished');
}

/** The node with most of the load, and the pods that are there. */
async function everythingBeside(
  run: Run,
  prefix: string,
): Promise<{ readonly node: number; readonly names: readonly string[] }> {
  const { node } = await run.busiest(prefix);
  const pods = await run.installation.pods();
  return { node, names: pods.filter((pod) => pod.node === node).map(({ name }) => name) };
}

export const PHASES: readonly Phase[] = [
  { name: 'a Secret lacks a key', run: lackKey },
  { name: 'a pod of workers is deleted', run: deletePod },
  { name: 'a worker is killed', run: killWorker },
  { name: 'a node gives notice', needsTwoNodes: true, run: giveNotice },
  { name: 'a node is drained', needsTwoNodes: true, run: drain },
  { name: 'upgraded under load', run: upgrade },
  { name: 'rolled back under load', run: rollBack },
  { name: 'upgraded again, with pools', run: addPools },
  { name: 'KEDA scales from nothing', run: scaleByKeda },
  { name: 'a HorizontalPodAutoscaler scales, and jobs', run: scaleByHpaAndJobs },
  { name: 'the link of a node is cut and mended', needsTwoNodes: true, run: cutLink },
  { name: 'a node vanishes', needsTwoNodes: true, run: loseNode },
];
