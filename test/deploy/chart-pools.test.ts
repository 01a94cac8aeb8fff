/** What the chart makes of pools of workers: what each loads, runs as and is told by, as helm itself renders it. */

import { beforeAll, describe, expect, test, vi } from 'vitest';
import { envOf, helm, type Manifest, named, podOf, rendered } from './helm.ts';

vi.setConfig({ maxConcurrency: 4 });

let pools: readonly Manifest[];
let plain: readonly Manifest[];
beforeAll(async () => {
  await helm();
  [pools, plain] = await Promise.all([rendered('pools'), rendered('own-servers')]);
}, 180_000);

describe('pools of workers', () => {
  test('are one Deployment each, with their own workflows, and the values of worker where they say nothing', () => {
    const workers = pools.filter(({ kind, metadata }) => kind === 'Deployment' && /-worker/.test(metadata.name));
    expect(workers.map(({ metadata }) => metadata.name.replace('trial-tidemark-worker-', ''))).toEqual(
      expect.arrayContaining(['billing', 'crawl', 'fixed', 'steady']),
    );
    const billing = podOf(named(pools, 'Deployment', '-worker-billing'));
    expect(envOf(billing)).toMatchObject({
      TIDEMARK_WORKFLOWS: { value: './workflows/billing.ts,./workflows/refunds.ts' },
      TIDEMARK_CONCURRENCY: { value: '50' },
    });
    expect(billing.spec.containers[0].resources.requests.cpu).toBe('250m');
    expect(envOf(podOf(named(pools, 'Deployment', '-worker-steady')))).toMatchObject({
      TIDEMARK_WORKFLOWS: { value: './workflows/common.ts' },
    });
    const crawl = podOf(named(pools, 'Deployment', '-worker-crawl')).spec;
    expect(crawl.nodeSelector).toEqual({ 'karpenter.sh/capacity-type': 'spot' });
    expect(crawl.tolerations).toHaveLength(1);
  });

  test('select their own pods alone', () => {
    const selectors = pools
      .filter(({ kind }) => kind === 'Deployment')
      .map(({ spec }) => JSON.stringify(spec.selector.matchLabels));
    expect(new Set(selectors).size).toBe(selectors.length);
    for (const { kind, spec } of pools) {
      if (kind === 'Deployment') expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
    }
  });

  test('without them there is one, with the names and selector of before', () => {
    const worker = named(plain, 'Deployment', '-worker');
    expect(worker.spec.replicas).toBe(2);
    expect(worker.spec.selector.matchLabels).toEqual({
      'app.kubernetes.io/name': 'tidemark',
      'app.kubernetes.io/instance': 'trial',
      'app.kubernetes.io/component': 'worker',
    });
    expect(plain.filter(({ apiVersion }) => /keda|monitoring|networking/.test(apiVersion))).toEqual([]);
  });

  test('coordinators count by the modules that the workers load', () => {
    const { data } = named(pools, 'ConfigMap', '-settings');
    const counted = new Map<string, string>(data.TIDEMARK_POOLS.split(';').map((pool: string) => pool.split('=')));
    expect(counted.size).toBe(5);
    for (const [pool, modules] of counted) {
      const of =
        pool === 'reports' ? named(pools, 'ScaledJob', '-worker-reports').spec.jobTargetRef.template : undefined;
      const pod = of ?? podOf(named(pools, 'Deployment', `-worker-${pool}`));
      expect(envOf(pod).TIDEMARK_WORKFLOWS).toEqual({ value: modules });
    }
    // Whatever is started by name over the API.
    for (const modules of counted.values())
      for (const module of modules.split(',')) expect(data.TIDEMARK_WORKFLOWS).toContain(module);
    expect(named(plain, 'ConfigMap', '-settings').data.TIDEMARK_POOLS).toBe('');
  });

  test('a pod has time for its own drain, whatever the others have', () => {
    const crawl = podOf(named(pools, 'Deployment', '-worker-crawl'));
    expect(envOf(crawl).TIDEMARK_DRAIN_MS).toEqual({ value: '15000' });
    expect(crawl.spec.terminationGracePeriodSeconds).toBe(15 + 20);
    expect(podOf(named(pools, 'Deployment', '-worker-fixed')).spec.terminationGracePeriodSeconds).toBe(20 + 20);
  });

  test('one that names no modules loads what it is counted by, and nothing of another', async () => {
    const own = { general: {}, billing: { workflows: './workflows/billing.ts' } };
    const without = await rendered('own-servers', { pools: own, worker: { workflows: './a.ts, ./b.ts' } });
    const { data } = named(without, 'ConfigMap', '-settings');
    expect(data.TIDEMARK_POOLS).toBe('billing=./workflows/billing.ts;general=./a.ts,./b.ts');
    // Which all pods would have by themselves.
    expect(data.TIDEMARK_WORKFLOWS).toContain('billing');
    const loaded = (pool: string) => envOf(podOf(named(without, 'Deployment', `-worker-${pool}`))).TIDEMARK_WORKFLOWS;
    expect(loaded('general')).toEqual({ value: './a.ts,./b.ts' });
    expect(loaded('billing')).toEqual({ value: './workflows/billing.ts' });
  });

  test('name what the image does not: modules that nobody names are left to it', async () => {
    expect(named(plain, 'ConfigMap', '-settings').data).not.toHaveProperty('TIDEMARK_WORKFLOWS');
    expect(envOf(podOf(named(plain, 'Deployment', '-worker')))).not.toHaveProperty('TIDEMARK_WORKFLOWS');
  });

  test('leave the nodes of worker where they name others, and keep the rest of its values', async () => {
    const worker = { nodeSelector: { spot: 'true' }, podLabels: { team: 'agents' } };
    const billing = { workflows: './b.ts', nodeSelector: { role: 'stable' }, podLabels: { part: 'billing' } };
    const both = await rendered('own-servers', { worker, pools: { billing, crawl: { workflows: './c.ts' } } });
    const of = (pool: string) => podOf(named(both, 'Deployment', `-worker-${pool}`));
    expect(of('billing').spec.nodeSelector).toEqual({ role: 'stable' });
    expect(of('crawl').spec.nodeSelector).toEqual({ spot: 'true' });
    expect(of('billing').metadata.labels).toMatchObject({ team: 'agents', part: 'billing' });
  });

  test("have no hook by which a pod that goes writes the node's notice file, which is the others' too", () => {
    expect(named(pools, 'ConfigMap', '-settings').data.TIDEMARK_SPOT_NOTICE_URL).toBe('file:///var/run/node/leaving');
    for (const { kind, spec } of pools)
      if (kind === 'Deployment') expect(spec.template.spec.containers[0]).not.toHaveProperty('lifecycle');
  });
});
