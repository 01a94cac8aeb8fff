/** Which pods write their own deletion cost, by which account, and what is said where a scaler takes any of them; as helm itself renders it. */

import { beforeAll, expect, test, vi } from 'vitest';
import { envOf, helm, type Manifest, named, notes, podOf, rendered } from './helm.ts';

vi.setConfig({ maxConcurrency: 4 });

let pools: readonly Manifest[];
beforeAll(async () => {
  await helm();
  pools = await rendered('pools');
}, 180_000);

const writers = (manifests: readonly Manifest[]): readonly string[] =>
  manifests
    .filter(({ kind, spec }) => kind === 'Deployment' && spec.template.spec.automountServiceAccountToken)
    .map(({ metadata, spec }) => {
      expect(envOf(spec.template)).toHaveProperty('TIDEMARK_POD_NAME');
      return metadata.name.replace('trial-tidemark-', '');
    });
const refusal = (over: object, kubernetes?: string) => expect(rendered('own-servers', over, kubernetes)).rejects;

const keda = { scaling: { keySecret: 'k' }, worker: { scaling: { kind: 'keda' } } };
const deploymentOf = async (over: object, kubernetes?: string) => {
  const manifests = await rendered('own-servers', over, kubernetes);
  return { manifests, pod: podOf(named(manifests, 'Deployment', '-worker')).spec };
};

test('is written by pods that a scaler takes away, and by those that ask for it; by no others', async () => {
  // `fixed` has a number, and `reports` are jobs that end by themselves.
  expect(writers(pools)).toEqual(['worker-billing', 'worker-crawl', 'worker-steady']);
  expect(named(pools, 'ScaledJob', '-worker-reports').spec.jobTargetRef.template.spec).toMatchObject({
    automountServiceAccountToken: false,
  });
  const chosen = { worker: { podDeletionCost: true }, pools: { billing: { podDeletionCost: false } } };
  expect(writers(await rendered('pools', chosen))).toEqual(
    ['crawl', 'fixed', 'steady'].map((pool) => `worker-${pool}`),
  );
  expect(writers(await rendered('own-servers'))).toEqual([]);
});

test('is written by no default where nothing bounds it: that is told, and also where it is turned off', async () => {
  for (const [over, kubernetes, reason] of [
    [keda, '1.29.0', 'Kubernetes is older than 1.30'],
    [{ ...keda, deletionCostPolicy: { enabled: false } }, undefined, 'deletionCostPolicy.enabled is false'],
    [{ ...keda, serviceAccount: { create: false } }, undefined, "no account but the namespace's own"],
    [{ ...keda, worker: { ...keda.worker, podDeletionCost: false } }, undefined, 'podDeletionCost is false'],
  ] as const) {
    const { manifests } = await deploymentOf(over, kubernetes);
    expect([reason, writers(manifests)]).toEqual([reason, []]);
    expect(manifests.some(({ kind }) => kind === 'Role' || kind.startsWith('ValidatingAdmission'))).toBe(false);
    // The notes are made for the helm's own version of Kubernetes.
    if (kubernetes === undefined) expect(await notes('own-servers', over)).toMatch(new RegExp(`WARNING.*${reason}`));
  }
  expect(await notes('own-servers', keda)).not.toContain('WARNING');
  expect(await notes('own-servers')).not.toContain('WARNING');
});

test('its token may patch pods, and a policy leaves of that the one annotation', async () => {
  expect(named(pools, 'Role', '-worker').rules).toEqual([{ apiGroups: [''], resources: ['pods'], verbs: ['patch'] }]);
  const policy = pools.find(({ kind }) => kind === 'ValidatingAdmissionPolicy');
  expect(policy?.spec.matchConditions[0].expression).toBe(
    "request.userInfo.username in ['system:serviceaccount:agents:trial-tidemark-worker']",
  );
  await refusal({ worker: { podDeletionCost: true } }, '1.29.0').toThrow(/needs Kubernetes 1\.30/);
  const without = await rendered('pools', { deletionCostPolicy: { enabled: false } }, '1.29.0');
  expect(without.some(({ kind }) => kind.startsWith('ValidatingAdmission'))).toBe(false);
});

test('changes nothing of which account pods run as, and makes none', async () => {
  const mine = { serviceAccount: { create: false, name: 'my-irsa' } };
  const before = await deploymentOf(mine);
  expect(before.pod.serviceAccountName).toBe('my-irsa');
  const { manifests, pod } = await deploymentOf({ ...mine, ...keda });
  expect(writers(manifests)).toEqual(['worker']);
  expect(pod.serviceAccountName).toBe('my-irsa');
  expect(manifests.some(({ kind }) => kind === 'ServiceAccount')).toBe(false);
  expect(named(manifests, 'RoleBinding', '-worker').subjects).toEqual([
    { kind: 'ServiceAccount', name: 'my-irsa', namespace: 'agents' },
  ]);
  await refusal({ serviceAccount: { create: false }, worker: { podDeletionCost: true } }).toThrow(
    /namespace's own account/,
  );
});

test('is written by the accounts of the pools that have their own', async () => {
  const over = {
    pools: {
      billing: { serviceAccount: { name: 'billing-steps' } },
      fixed: { serviceAccount: { name: 'fixed-steps' } },
    },
  };
  const manifests = await rendered('pools', over);
  const accountOf = (name: string) => podOf(named(manifests, 'Deployment', name)).spec.serviceAccountName;
  expect(['-worker-billing', '-worker-fixed', '-worker-crawl', '-coordinator'].map(accountOf)).toEqual([
    ...['billing-steps', 'fixed-steps', 'trial-tidemark-worker', 'trial-tidemark-worker'],
  ]);
  const { subjects } = named(manifests, 'RoleBinding', '-worker');
  expect(subjects.map(({ name }: { name: string }) => name)).toEqual(['billing-steps', 'trial-tidemark-worker']);
  const policy = manifests.find(({ kind }) => kind === 'ValidatingAdmissionPolicy');
  expect(policy?.spec.matchConditions[0].expression).toContain("'system:serviceaccount:agents:billing-steps', '");
});
