/** What the chart makes of each of its options, as helm itself renders it. */

import { existsSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { parse } from 'yaml';
import { projectFolder, readProjectFile } from './deployment.ts';
import { helm, type Manifest, named, rendered } from './helm.ts';

vi.setConfig({ testTimeout: 60_000, maxConcurrency: 4 });

/** Of the container, by name. */
const envOf = (pod: Manifest): Record<string, unknown> =>
  Object.fromEntries(pod.spec.containers[0].env.map(({ name, ...value }: { name: string }) => [name, value]));
const podOf = (deployment: Manifest): Manifest => deployment.spec.template;
const refusal = (over: object, values = 'own-servers', kubernetes?: string) =>
  expect(rendered(values, over, kubernetes)).rejects;

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
      expect.arrayContaining(['billing', 'crawl', 'cpu', 'fixed', 'steady']),
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
    expect(counted.size).toBe(6);
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
    const { preStop } = crawl.spec.containers[0].lifecycle;
    expect(preStop.exec.command).toEqual(['sh', '-c', 'echo preStop > "$0"', '/tmp/leaving']);
    expect(podOf(named(pools, 'Deployment', '-coordinator')).spec.containers[0].lifecycle).toBeUndefined();
  });
});

describe('KEDA', () => {
  test("asks coordinators for the pool's demand, and keeps those that are busy where that is asked for", () => {
    const { spec } = named(pools, 'ScaledObject', '-worker-billing');
    expect(spec).toMatchObject({
      minReplicaCount: 2,
      maxReplicaCount: 40,
      scaleTargetRef: { name: 'trial-tidemark-worker-billing' },
    });
    const url = 'http://trial-tidemark-api.agents.svc:7070/v1/scaling/billing';
    expect(spec.triggers).toEqual(
      [
        ['demand', 'demand', '40'],
        ['busy-workers', 'busy_workers', '1'],
      ].map(([name, valueLocation, targetValue]) => ({
        ...{ type: 'metrics-api', name, authenticationRef: { name: 'trial-tidemark-scaler' } },
        metadata: { url, valueLocation, targetValue, authMode: 'bearer', unsafeSsl: 'false' },
      })),
    );
    expect(named(pools, 'ScaledObject', '-worker-crawl').spec.triggers).toHaveLength(1);
    // Two that set the number would undo each other's.
    expect(named(pools, 'Deployment', '-worker-billing').spec).not.toHaveProperty('replicas');
    expect(named(pools, 'Deployment', '-worker-fixed').spec.replicas).toBe(3);
  });

  test('never takes a worker away while the number is not known, and slowly when it is low', () => {
    const { fallback, advanced } = named(pools, 'ScaledObject', '-worker-crawl').spec;
    expect(fallback).toEqual({ failureThreshold: 3, replicas: 1, behavior: 'currentReplicasIfHigher' });
    const { scaleDown } = advanced.horizontalPodAutoscalerConfig.behavior;
    expect(scaleDown.stabilizationWindowSeconds).toBe(300);
    expect(scaleDown.policies).toContainEqual({ type: 'Percent', value: 20, periodSeconds: 60 });
  });

  test('has its key from a Secret, and is let in by name', async () => {
    expect(named(pools, 'TriggerAuthentication', '-scaler').spec.secretTargetRef).toEqual([
      { parameter: 'token', name: 'keda-key', key: 'key' },
    ]);
    expect(named(pools, 'ConfigMap', '-settings').data.TIDEMARK_API_HOSTS).toBe(
      'tidemark.example,trial-tidemark-api.agents.svc',
    );
    await refusal({ worker: { scaling: { kind: 'keda' } } }).toThrow(/scaling\.keySecret is not set/);
    await refusal({
      scaling: { keySecret: 'k' },
      worker: { scaling: { kind: 'keda' } },
      api: { service: { enabled: false } },
    }).toThrow(/api\.service is not enabled/);
  });

  test('runs jobs that end by themselves, as many as the demand less those that run', () => {
    const { spec } = named(pools, 'ScaledJob', '-worker-reports');
    expect(spec.scalingStrategy).toEqual({ strategy: 'default' });
    expect(spec.triggers).toHaveLength(1);
    const { template } = spec.jobTargetRef;
    expect(envOf(template).TIDEMARK_EXIT_IDLE_MS).toEqual({ value: '20000' });
    expect(template.spec.restartPolicy).toBe('Never');
    expect(() => named(pools, 'Deployment', '-worker-reports')).toThrow();
  });
});

describe('what KEDA asks', () => {
  const scaled = { worker: { scaling: { kind: 'keda' } }, scaling: { keySecret: 'scaler-key' } };
  const askedAt = async (over: object): Promise<string> =>
    named(await rendered('own-servers', { ...scaled, ...over }), 'ScaledObject', '-worker').spec.triggers[0].metadata
      .url;

  test('is where the API is served: with TLS where coordinators have a certificate for it', async () => {
    expect(await askedAt({})).toMatch(/^http:/);
    expect(await askedAt({ tls: { api: { secret: 'own' } } })).toMatch(/^https:/);
    expect(await askedAt({ tls: { all: { secret: 'shared' } } })).toMatch(/^https:/);
    // Authorities alone: those are for asking others.
    expect(await askedAt({ tls: { all: { secret: 'shared', cert: '', key: '' } } })).toMatch(/^http:/);
    expect(await askedAt({ tls: { all: { secret: 'shared' }, api: { mode: 'off' } } })).toMatch(/^http:/);
    const settings = { TIDEMARK_API_CLIENT_CERTIFICATES: 'required' };
    await refusal({ ...scaled, settings, tls: { api: { secret: 'own', ca: 'ca.crt' } } }).toThrow(/shows no cert/);
  });

  test('is a pool that coordinators know, of the modules that its workers load', async () => {
    await refusal({ ...scaled, settings: { TIDEMARK_POOLS: 'a=./x.ts' } }).toThrow(/no pool 'default'/);
    const narrow = await rendered('own-servers', {
      worker: { ...scaled.worker, workflows: './x.ts' },
      ...{ scaling: scaled.scaling },
    });
    expect(named(narrow, 'ConfigMap', '-settings').data.TIDEMARK_POOLS).toBe('default=./x.ts');
  });

  test('is answered by jobs of which each takes what it was started for, and none that always runs', async () => {
    const job = named(pools, 'ScaledJob', '-worker-reports').spec;
    expect(envOf(job.jobTargetRef.template).TIDEMARK_CONCURRENCY).toEqual({ value: '1' });
    const jobs = (over: object) => ({ ...scaled, worker: { ...over, scaling: { kind: 'jobs', minReplicas: 0 } } });
    await refusal({ ...scaled, worker: { scaling: { kind: 'jobs', minReplicas: 1 } } }).toThrow(/again and again/);
    await refusal(jobs({ concurrency: 500 })).toThrow(/larger than scaling.workflowsPerWorker/);
  });
});

describe('HorizontalPodAutoscaler', () => {
  test('takes the demand as an external metric, or the CPU', () => {
    const [demand, busy] = named(pools, 'HorizontalPodAutoscaler', '-worker-steady').spec.metrics;
    expect(demand.external).toEqual({
      metric: { name: 'pool_demand', selector: { matchLabels: { pool: 'steady' } } },
      target: { type: 'AverageValue', averageValue: '20' },
    });
    expect(busy.external.metric.name).toBe('pool_busy_workers');
    const { metrics } = named(pools, 'HorizontalPodAutoscaler', '-worker-cpu').spec;
    expect(metrics).toEqual([
      { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } } },
    ]);
  });

  test('can not go to none', () =>
    refusal({ worker: { scaling: { kind: 'hpa', minReplicas: 0 } } }).toThrow(/keeps one at least/));
});

describe('pod deletion cost', () => {
  test('is written by pods of the pools that ask for it alone, with a token that may patch pods and a policy on that', async () => {
    const account = 'trial-tidemark-worker';
    const crawl = podOf(named(pools, 'Deployment', '-worker-crawl')).spec;
    expect(crawl).toMatchObject({ serviceAccountName: account, automountServiceAccountToken: true });
    expect(envOf(podOf(named(pools, 'Deployment', '-worker-crawl'))).TIDEMARK_POD_NAME).toEqual({
      valueFrom: { fieldRef: { fieldPath: 'metadata.name' } },
    });
    for (const { kind, spec, metadata } of pools) {
      if (kind === 'Deployment' && !metadata.name.endsWith('crawl'))
        expect(spec.template.spec.automountServiceAccountToken).toBe(false);
    }
    expect(named(pools, 'Role', '-worker').rules).toEqual([{ apiGroups: [''], resources: ['pods'], verbs: ['patch'] }]);
    const policy = pools.find(({ kind }) => kind === 'ValidatingAdmissionPolicy');
    expect(policy?.spec.matchConditions[0].expression).toContain(`system:serviceaccount:agents:${account}`);
    await refusal({}, 'pools', '1.29.0').toThrow(/needs Kubernetes 1\.30/);
    const without = await rendered('pools', { deletionCostPolicy: { enabled: false } }, '1.29.0');
    expect(without.some(({ kind }) => kind.startsWith('ValidatingAdmission'))).toBe(false);
    expect(plain.some(({ kind }) => kind === 'Role')).toBe(false);
  });
});

describe('every process', () => {
  test('is alive and ready as it says itself; where it says nothing, a coordinator as its API answers', async () => {
    for (const part of ['coordinator', 'worker', 'compactor']) {
      const [container] = podOf(named(plain, 'Deployment', `-${part}`)).spec.containers;
      expect(container.ports).toContainEqual({ name: 'health', containerPort: 7071 });
      expect(container.livenessProbe.httpGet).toEqual({ path: '/livez', port: 'health' });
      expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'health' });
    }
    const silent = await rendered('own-servers', { settings: { TIDEMARK_HEALTH_LISTEN: '' } });
    const [coordinator] = podOf(named(silent, 'Deployment', '-coordinator')).spec.containers;
    expect(coordinator).not.toHaveProperty('livenessProbe');
    expect(coordinator.readinessProbe.tcpSocket).toEqual({ port: 'api' });
  });

  test('is kept apart from its like as it is asked to be', () => {
    const term = (of: readonly Manifest[]) =>
      podOf(named(of, 'Deployment', '-coordinator')).spec.affinity.podAntiAffinity;
    expect(Object.keys(term(plain))).toEqual(['preferredDuringSchedulingIgnoredDuringExecution']);
    expect(Object.keys(term(pools))).toEqual(['requiredDuringSchedulingIgnoredDuringExecution']);
    expect(podOf(named(plain, 'Deployment', '-worker')).spec).not.toHaveProperty('affinity');
    // Where each has a node for itself, the next one's place is that of one that left.
    const rolling = (of: readonly Manifest[]) => named(of, 'Deployment', '-coordinator').spec.strategy.rollingUpdate;
    expect(rolling(plain)).toEqual({ maxSurge: '25%', maxUnavailable: 0 });
    expect(rolling(pools)).toEqual({ maxSurge: 0, maxUnavailable: 1 });
  });

  test('has its credentials from Secrets, and the ConfigMap none', async () => {
    for (const { kind, spec, data } of [...plain, ...pools, ...(await rendered('everything'))]) {
      if (kind === 'ConfigMap')
        expect(Object.keys(data).filter((name) => /(REDIS|POSTGRES)_URL|HEADERS|PASSWORD/.test(name))).toEqual([]);
      if (kind === 'Deployment')
        expect(envOf(spec.template).TIDEMARK_POSTGRES_URL).toHaveProperty('valueFrom.secretKeyRef');
      expect(kind).not.toBe('Secret');
    }
  });

  test('is bounded by a disruption budget where there is one', () => {
    const budgets = pools.filter(({ kind }) => kind === 'PodDisruptionBudget').map(({ metadata }) => metadata.name);
    expect(budgets).toContain('trial-tidemark-coordinator');
    expect(budgets).toContain('trial-tidemark-worker-billing');
    // Those count no pods of jobs.
    expect(budgets).not.toContain('trial-tidemark-worker-reports');
  });
});

describe('migrations', () => {
  test("run before the release's pods, with its settings and nothing of it that isn't there yet", async () => {
    const job = named(plain, 'Job', '-migrate-1');
    expect(job.metadata.annotations?.['helm.sh/hook']).toBe('pre-install,pre-upgrade');
    const { spec } = job.spec.template;
    expect(spec.containers[0].args).toEqual(['tidemark', 'migrate', '--wait', '--json']);
    expect(spec.containers[0]).not.toHaveProperty('envFrom');
    expect(spec).not.toHaveProperty('serviceAccountName');
    expect(envOf(job.spec.template)).toMatchObject({
      TIDEMARK_KAFKA_BROKERS: { value: expect.stringContaining('kafka-0.example') },
      TIDEMARK_POSTGRES_URL: { valueFrom: { secretKeyRef: { name: 'tidemark-addresses' } } },
    });
    const off = await rendered('own-servers', { migrations: { enabled: false } });
    expect(off.some(({ kind }) => kind === 'Job')).toBe(false);
  });

  test("are no hook where the chart's own servers are made with them", async () => {
    expect(named(await rendered('trial-servers'), 'Job', '-migrate-1').metadata).not.toHaveProperty('annotations');
  });
});

describe('network policies', () => {
  test('let in whom they name: to the API, to the presence of coordinators from workers, to metrics', () => {
    const { spec } = named(pools, 'NetworkPolicy', '-coordinator');
    const [api, presence, metrics] = spec.ingress;
    expect(api).toEqual({
      ports: [{ port: 'api' }],
      from: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'keda' } } }],
    });
    expect(presence.ports).toEqual([{ port: 7072 }]);
    expect(presence.from[0].podSelector.matchLabels).toMatchObject({ 'app.kubernetes.io/component': 'worker' });
    expect(metrics.ports).toEqual([{ port: 'metrics' }]);
    const worker = named(pools, 'NetworkPolicy', '-worker').spec;
    expect(worker.policyTypes).toEqual(['Ingress', 'Egress']);
    expect(worker.egress).toContainEqual({ ports: [{ port: 443 }], to: [{ ipBlock: { cidr: '0.0.0.0/0' } }] });
    expect(named(pools, 'NetworkPolicy', '-compactor').spec.egress).toHaveLength(3);
  });

  test("keep others from the chart's own servers", async () => {
    const trial = await rendered('trial-servers', { networkPolicy: { enabled: true } });
    for (const server of ['kafka', 'redis', 'postgres']) {
      const [{ from }] = named(trial, 'NetworkPolicy', `-${server}`).spec.ingress;
      expect(from[0].podSelector.matchLabels).toEqual({
        'app.kubernetes.io/name': 'tidemark',
        'app.kubernetes.io/instance': 'trial',
      });
    }
  });
});

describe('monitoring', () => {
  const metrics = { settings: { TIDEMARK_METRICS_LISTEN: '0.0.0.0:9464' } };

  test('scrapes all pods, by themselves or by a service, and not twice', async () => {
    expect(named(pools, 'PodMonitor', '').metadata.labels).toMatchObject({ release: 'prometheus' });
    const byService = await rendered('own-servers', { ...metrics, monitoring: { serviceMonitor: { enabled: true } } });
    const service = named(byService, 'Service', '-metrics');
    const { matchLabels } = named(byService, 'ServiceMonitor', '').spec.selector;
    expect(service.metadata.labels).toMatchObject(matchLabels);
    expect(service.spec.ports).toEqual([{ name: 'metrics', port: 9464, targetPort: 'metrics' }]);
    const both = { podMonitor: { enabled: true }, serviceMonitor: { enabled: true } };
    await refusal({ ...metrics, monitoring: both }).toThrow(/scraped twice/);
    await refusal({ monitoring: { podMonitor: { enabled: true } } }).toThrow(/TIDEMARK_METRICS_LISTEN is not set/);
  });
});

test('alerts are those of deploy/prometheus, as they are there', async () => {
  const file = 'deploy/prometheus/rules.yml';
  if (!existsSync(path.join(projectFolder, file))) {
    await refusal({ monitoring: { rules: { enabled: true } } }).toThrow(/no files\/rules\.yml/);
    return;
  }
  // After a change: cp deploy/prometheus/rules.yml helm/tidemark/files/rules.yml
  expect(readProjectFile('helm/tidemark/files/rules.yml')).toBe(readProjectFile(file));
  const rule = named(await rendered('own-servers', { monitoring: { rules: { enabled: true } } }), 'PrometheusRule', '');
  expect(rule.spec.groups).toEqual(parse(readProjectFile(file)).groups);
});

test.each([
  [{ pools: { Billing: {} } }, /Billing|pools/],
  [{ pools: { a: { scaling: { kind: 'magic' } } } }, /kind/],
  [{ pools: { a: { workflow: 'x' } } }, /workflow/],
  [{ worker: { scaling: { maxReplicas: 0 } } }, /maxReplicas/],
  [{ networkPolicy: { metricsFrom: [] } }, /metricsFrom/],
  [{ coordinator: { antiAffinity: 'yes' } }, /antiAffinity/],
  [{ pools: { a: {} }, settings: { TIDEMARK_WORKFLOWS: '' } }, /pools\.a\.workflows is not set/],
])('%j is refused', (over, told) => refusal(over).toThrow(told));

test('what is asked for in the notes is there', () => {
  const notes = readProjectFile('helm/tidemark/templates/NOTES.txt');
  expect(notes).toContain('--role scaler --all-tenants');
});
