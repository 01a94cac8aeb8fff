/** What the chart makes of each of its options, as helm itself renders it. */

import { beforeAll, describe, expect, test, vi } from 'vitest';
import { envOf, helm, type Manifest, migrationOf, named, notes, podOf, rendered } from './helm.ts';

vi.setConfig({ maxConcurrency: 4 });

const KEDA = { scaling: { keySecret: 'keda-key' } };
const POOL = { workflows: './a.ts', scaling: { kind: 'keda' } };

const refusal = (over: object, values = 'own-servers', kubernetes?: string) =>
  expect(rendered(values, over, kubernetes)).rejects;

let pools: readonly Manifest[];
let plain: readonly Manifest[];
beforeAll(async () => {
  await helm();
  [pools, plain] = await Promise.all([rendered('pools'), rendered('own-servers')]);
}, 180_000);

describe('KEDA', () => {
  test("asks coordinators for the pool's demand, and keeps those that are busy where that is asked for", () => {
    const { spec } = named(pools, 'ScaledObject', '-worker-billing');
    expect(spec).toMatchObject({
      minReplicaCount: 2,
      maxReplicaCount: 40,
      scaleTargetRef: { name: 'trial-tidemark-worker-billing' },
    });
    const url = 'http://trial-tidemark-scaler.agents.svc:7070/v1/scaling/billing';
    expect(spec.triggers).toEqual(
      [
        ['demand', 'demand', '40'],
        ['busy-workers', 'busy_workers', '1'],
      ].map(([name, valueLocation, targetValue]) => ({
        ...{ type: 'metrics-api', name, authenticationRef: { name: 'trial-tidemark-scaler' } },
        metadata: { url, valueLocation, targetValue, authMode: 'bearer' },
      })),
    );
    expect(named(pools, 'ScaledObject', '-worker-crawl').spec.triggers).toHaveLength(1);
    // Two that set the number would undo each other's.
    expect(named(pools, 'Deployment', '-worker-billing').spec).not.toHaveProperty('replicas');
    expect(named(pools, 'Deployment', '-worker-fixed').spec.replicas).toBe(3);
  });

  test('never takes a worker away while the number is not known, and slowly when it is low', () => {
    const { fallback, advanced, ...spec } = named(pools, 'ScaledObject', '-worker-crawl').spec;
    // Also of a pool that is new: KEDA counts the former from the last time that there was work.
    expect(spec).toMatchObject({ minReplicaCount: 0, cooldownPeriod: 300, initialCooldownPeriod: 300 });
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
      'tidemark.example,trial-tidemark-scaler.agents.svc',
    );
    await refusal({ worker: { scaling: { kind: 'keda' } } }).toThrow(/scaling\.keySecret is not set/);
  });

  test('reaches coordinators that are behind, which callers of the API do not', async () => {
    const { spec } = named(pools, 'Service', '-scaler');
    expect(spec).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true });
    expect(spec.ports).toEqual([{ name: 'api', port: 7070, targetPort: 'api' }]);
    expect(spec.selector).toEqual(named(pools, 'Deployment', '-coordinator').spec.selector.matchLabels);
    expect(named(pools, 'Service', '-api').spec).not.toHaveProperty('publishNotReadyAddresses');
    const elsewhere = await rendered('pools', { scaling: { url: 'https://tidemark.example' } });
    expect(() => named(elsewhere, 'Service', '-scaler')).toThrow();
    expect(() => named(plain, 'Service', '-scaler')).toThrow();
  });

  test('calls the build of workers as their image, in the pod: one that starts again later keeps its name', async () => {
    const own = await rendered('own-servers', { image: { repository: 'registry.example/agents', tag: '1.4.2' } });
    const { template } = named(own, 'Deployment', '-worker').spec;
    expect(envOf(template).TIDEMARK_BUILD).toEqual({ value: 'registry.example/agents:1.4.2' });
    expect(named(own, 'ConfigMap', '-settings').data).not.toHaveProperty('TIDEMARK_BUILD');
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
    await refusal({ ...scaled, tls: { api: { secret: 'own', ca: 'ca.crt' } } }).toThrow(/shows no cert/);
  });

  test('is a pool that coordinators know, of the modules that its workers load', async () => {
    const narrow = await rendered('own-servers', {
      worker: { ...scaled.worker, workflows: './x.ts' },
      ...{ scaling: scaled.scaling },
    });
    expect(named(narrow, 'ConfigMap', '-settings').data.TIDEMARK_POOLS).toBe('default=./x.ts');
  });

  test('is shared out: a worker runs what it was started for, and not a thousand', async () => {
    const concurrency = async (worker: object) =>
      envOf(podOf(named(await rendered('own-servers', { ...scaled, worker }), 'Deployment', '-worker')))
        .TIDEMARK_CONCURRENCY;
    for (const kind of ['keda', 'hpa']) {
      // An autoscaler tolerates a tenth: more demand than that makes one more.
      expect(await concurrency({ scaling: { kind } })).toEqual({ value: '22' });
      expect(await concurrency({ scaling: { kind, workflowsPerWorker: 1 } })).toEqual({ value: '1' });
      expect(await concurrency({ concurrency: 700, scaling: { kind } })).toEqual({ value: '700' });
    }
    expect(await concurrency({})).toBeUndefined();
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
  test('takes the demand of its pool as an external metric', async () => {
    const [demand, busy] = named(pools, 'HorizontalPodAutoscaler', '-worker-steady').spec.metrics;
    expect(demand.external).toEqual({
      metric: { name: 'tidemark_pool_demand', selector: { matchLabels: { pool: 'steady' } } },
      target: { type: 'AverageValue', averageValue: '20' },
    });
    expect(busy.external.metric.name).toBe('tidemark_pool_busy_workers');
    const own = { pools: { steady: { scaling: { hpa: { matchLabels: { team: 'a' } } } } } };
    for (const { external } of named(await rendered('pools', own), 'HorizontalPodAutoscaler', '-worker-steady').spec
      .metrics)
      expect(external.metric.selector).toEqual({ matchLabels: { pool: 'steady', team: 'a' } });
  });

  test('can not go to none', () =>
    refusal({ worker: { scaling: { kind: 'hpa', minReplicas: 0 } } }).toThrow(/keeps one at least/));
});

describe('every process', () => {
  test('is alive and ready as it says itself', () => {
    for (const part of ['coordinator', 'worker', 'compactor']) {
      const [container] = podOf(named(plain, 'Deployment', `-${part}`)).spec.containers;
      expect(container.ports).toContainEqual({ name: 'health', containerPort: 7071 });
      expect(container.livenessProbe.httpGet).toEqual({ path: '/livez', port: 'health' });
      expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'health' });
    }
  });

  test('has minutes to load its modules, before anything could end it for not being alive', async () => {
    for (const { kind, spec } of [...plain, ...pools]) {
      if (kind !== 'Deployment' && kind !== 'ScaledJob') continue;
      const pod = kind === 'Deployment' ? spec.template : spec.jobTargetRef.template;
      const { startupProbe, livenessProbe } = pod.spec.containers[0];
      expect(startupProbe.httpGet).toEqual(livenessProbe.httpGet);
      // Measured with `limits.cpu: 50m`: 27 s until it answers on a calm machine, where nothing else starts on the node.
      expect(startupProbe.periodSeconds * startupProbe.failureThreshold).toBeGreaterThanOrEqual(300);
      expect(livenessProbe).not.toHaveProperty('initialDelaySeconds');
    }
  });

  test('is kept apart from its like as it is asked to be', () => {
    const [preferred, required] = ['preferred', 'required'].map(
      (how) => `${how}DuringSchedulingIgnoredDuringExecution`,
    );
    const coordinator = (of: readonly Manifest[]) => podOf(named(of, 'Deployment', '-coordinator')).spec;
    for (const of of [plain, pools]) {
      // No other key beside it: a scheduler counts no node that lacks one of them, and not every cluster has zones.
      expect(coordinator(of).topologySpreadConstraints).toMatchObject([
        {
          topologyKey: 'kubernetes.io/hostname',
          whenUnsatisfiable: 'ScheduleAnyway',
          matchLabelKeys: ['pod-template-hash'],
        },
      ]);
      expect(coordinator(of).affinity.podAntiAffinity).toHaveProperty(
        [preferred!, 0, 'podAffinityTerm', 'topologyKey'],
        'topology.kubernetes.io/zone',
      );
    }
    expect(coordinator(plain).affinity.podAntiAffinity).not.toHaveProperty(required!);
    expect(coordinator(pools).affinity.podAntiAffinity).toHaveProperty(
      [required!, 0, 'topologyKey'],
      'kubernetes.io/hostname',
    );
    // Where each has a node for itself, the next one's place is that of one that left.
    const rolling = (of: readonly Manifest[]) => named(of, 'Deployment', '-coordinator').spec.strategy.rollingUpdate;
    expect(rolling(plain)).toEqual({ maxSurge: '25%', maxUnavailable: 0 });
    expect(rolling(pools)).toEqual({ maxSurge: 0, maxUnavailable: 1 });
  });

  test('is no root, has no capabilities, can not write its own files, and can not become more', async () => {
    const trial = await rendered('trial-servers');
    const pods = [...plain, ...pools, ...trial].flatMap(({ kind, spec }) =>
      kind === 'ScaledJob' ? [spec.jobTargetRef.template.spec] : (spec?.template?.spec ?? []),
    );
    expect(pods.length).toBeGreaterThan(10);
    for (const { securityContext, containers, initContainers = [] } of pods) {
      expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      for (const { name, securityContext: own } of [...containers, ...initContainers]) {
        const wanted = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
        expect([name, own]).toEqual([name, expect.objectContaining(wanted)]);
        if (/tidemark|worker|coordinator|compactor/.test(name)) expect(own.readOnlyRootFilesystem).toBe(true);
      }
    }
  });

  test('has its credentials from Secrets, and the ConfigMap none', async () => {
    for (const { kind, spec, data } of [...plain, ...pools, ...(await rendered('everything'))]) {
      if (kind === 'ConfigMap')
        expect(Object.keys(data).filter((name) => /(REDIS|POSTGRES)_URL|HEADERS|PASSWORD$/.test(name))).toEqual([]);
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
    const job = migrationOf(plain);
    expect(job.metadata.annotations?.['helm.sh/hook']).toBe('pre-install,pre-upgrade');
    const { spec } = job.spec.template;
    expect(spec.containers[0].args).toEqual(['tidemark', 'admin', 'migrate', '--wait', '--json']);
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
    expect(migrationOf(await rendered('trial-servers')).metadata).not.toHaveProperty('annotations');
  });
});

test.each([
  [{ pools: { Billing: {} } }, /Billing|pools/],
  [{ pools: { a: { scaling: { kind: 'magic' } } } }, /kind/],
  [{ pools: { a: { workflow: 'x' } } }, /workflow/],
  [{ worker: { scaling: { maxReplicas: 0 } } }, /maxReplicas/],
  [{ networkPolicy: { metricsFrom: [] } }, /metricsFrom/],
  [{ coordinator: { antiAffinity: 'yes' } }, /antiAffinity/],
  [{ pools: { a: {} } }, /pools\.a\.workflows is not set/],
  [{ settings: { TIDEMARK_KEEP: '30d' } }, /TIDEMARK_KEEP \(30d\) is less than TIDEMARK_WARM \(90d\)/],
  [{ settings: { TIDEMARK_METRICS_LISTEN: '0.0.0.0:7071' } }, /TIDEMARK_METRICS_LISTEN/],
  [{ tls: { api: { ca: 'ca.crt' } } }, /tls\.api\.ca asks callers for certificates/],
  [{ tls: { api: { ca: 'ca.crt' }, all: { secret: 'shared' } } }, /no secret that has that authority/],
  [{ ...KEDA, worker: { concurrency: 5, scaling: { kind: 'keda' } } }, /workflowsPerWorker .* is 20, and one runs 5/],
  [
    { ...KEDA, worker: { scaling: { kind: 'keda', minReplicas: 11 } } },
    /\(11\) is more than scaling\.maxReplicas \(10\)/,
  ],
])('%j is refused', (over, told) => refusal(over).toThrow(told));

test('a name too long for the label that KEDA makes of it is refused', async () => {
  const values = { ...KEDA, pools: { ['b'.repeat(30)]: POOL } };
  await expect(rendered('own-servers', values, undefined, 'r'.repeat(40))).rejects.toThrow(/has \d+ letters/);
  expect(await rendered('own-servers', values)).not.toEqual([]);
});

test('what bounds values takes those at the bound', async () => {
  const settings = { TIDEMARK_KEEP: '90d' };
  const scaling = { kind: 'keda', minReplicas: 10, workflowsPerWorker: 5 };
  const made = await rendered('own-servers', { ...KEDA, settings, pools: { a: { ...POOL, concurrency: 5, scaling } } });
  expect(named(made, 'ScaledObject', '-worker-a').spec.minReplicaCount).toBe(10);
});

test('notes tell workers as they are scaled, what asks for the workflows that there are, and the key that KEDA asks with', async () => {
  const [own, shown] = await Promise.all([notes('own-servers'), notes('pools')]);
  for (const command of ['definitions', 'run NAME']) expect(own).toContain(`tidemark-entrypoint tidemark ${command}`);
  // What an image has is not known here.
  expect(own).not.toContain('count-lines');
  expect(own).toContain('trial-tidemark-worker: 2\n');
  expect(shown).toContain('trial-tidemark-worker-crawl: 0 to 10, by demand');
  expect(shown).toContain('trial-tidemark-worker-fixed: 3\n');
  expect(shown).toContain('--role scaler --all-tenants');
});
