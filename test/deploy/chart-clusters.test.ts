/** The chart on clusters that restrict pods, or that others than helm apply it to, as helm itself renders it. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { projectFolder } from './deployment.ts';
import { helm, type Manifest, rendered } from './helm.ts';

beforeAll(() => helm(), 180_000);

const podsOf = (manifests: readonly Manifest[]) =>
  manifests.flatMap(({ kind, spec, metadata: { name } }) => {
    const template = kind === 'ScaledJob' ? spec.jobTargetRef.template : spec?.template;
    return template?.spec?.containers === undefined ? [] : [{ name, spec: template.spec }];
  });

describe('Pod Security restricted', () => {
  /** https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted; deploy/check.sh --apiserver asks a real server. */
  const VOLUMES = new Set(['configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'persistentVolumeClaim']);
  VOLUMES.add('projected').add('secret');

  test.each([
    ['own-servers', {}],
    ['own-servers', { idsFromCluster: true }],
    ['everything', {}],
    ['trial-servers', {}],
  ])('%s with %o', async (values, over) => {
    const pods = podsOf(await rendered(values, over));
    expect(pods.length).toBeGreaterThan(3);
    for (const { name, spec } of pods) {
      for (const host of ['hostNetwork', 'hostPID', 'hostIPC'])
        expect([name, spec[host] ?? false]).toEqual([name, false]);
      const { securityContext } = spec;
      expect([name, securityContext]).toEqual([
        name,
        expect.objectContaining({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }),
      ]);
      expect(securityContext.runAsUser).not.toBe(0);
      for (const { name: volume, ...kind } of spec.volumes ?? [])
        for (const one of Object.keys(kind)) expect([name, volume, VOLUMES.has(one)]).toEqual([name, volume, true]);
      for (const { securityContext: own, ports = [] } of [...spec.containers, ...(spec.initContainers ?? [])]) {
        expect(own).toMatchObject({ allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } });
        expect(own).not.toHaveProperty('capabilities.add');
        expect(own).not.toHaveProperty('privileged');
        for (const port of ports) expect(port).not.toHaveProperty('hostPort');
      }
    }
  });
});

test('users and groups are left to the cluster where it chooses them', async () => {
  const ids = async (over: object) =>
    podsOf(await rendered('own-servers', over)).map(({ spec: { securityContext, containers } }) =>
      JSON.stringify([securityContext, containers]).match(/"(runAsUser|runAsGroup|fsGroup)":\d+/g),
    );
  for (const named of await ids({ idsFromCluster: true })) expect(named).toBeNull();
  // The control.
  for (const named of await ids({})) expect(named).toEqual(['"runAsUser":1000', '"runAsGroup":1000', '"fsGroup":1000']);
  await expect(rendered('trial-servers', { idsFromCluster: true })).rejects.toThrow(/users of their images/);
});

describe('whoever applies it', () => {
  const text = async (...how: readonly string[]): Promise<string> => {
    const args = ['template', 'trial', 'helm/tidemark', '--namespace', 'agents', '--kube-version', '1.36.3', ...how];
    return (await promisify(execFile)(await helm(), args, { cwd: projectFolder, maxBuffer: 16 * 1024 * 1024 })).stdout;
  };

  test.each(['own-servers', 'pools', 'trial-servers'])(
    'two renderings are the same, of an installation and of an upgrade: %s',
    async (values) => {
      const given = ['--values', `helm/tidemark/ci/${values}.yaml`];
      const [first, second, upgrade] = await Promise.all([
        text(...given),
        text(...given),
        text(...given, '--is-upgrade'),
      ]);
      expect(second).toBe(first);
      expect(upgrade).toBe(first);
    },
  );

  test('the Job of another image is another Job, since a Job can not be changed', async () => {
    const nameWith = async (tag: string) => {
      const made = await rendered('trial-servers', { image: { repository: 'tidemark', tag } });
      return made.find(({ kind }) => kind === 'Job')!.metadata.name;
    };
    expect(await nameWith('2')).not.toBe(await nameWith('1'));
    expect(await nameWith('2')).toMatch(/^trial-tidemark-migrate-[0-9a-f]{8}$/);
  });
});

test('dashboards are ConfigMaps by which the sidecar finds them, of the files that Compose mounts', async () => {
  const dashboards = { enabled: true, annotations: { grafana_folder: 'Agents' } };
  const made = await rendered('own-servers', { monitoring: { dashboards } });
  const maps = made.filter(({ metadata }) => /-dashboard-/.test(metadata.name));
  expect(maps.map(({ metadata }) => metadata.name.replace('trial-tidemark-dashboard-', ''))).toEqual(
    expect.arrayContaining(['fleet', 'life', 'scaling', 'storage']),
  );
  for (const { data, metadata } of maps) {
    expect(metadata.labels).toMatchObject({ grafana_dashboard: '1' });
    expect(metadata.annotations).toEqual({ grafana_folder: 'Agents' });
    for (const file of Object.values<string>(data)) expect(JSON.parse(file)).toMatchObject({ tags: ['tidemark'] });
  }
  expect((await rendered('own-servers')).some(({ metadata }) => /-dashboard-/.test(metadata.name))).toBe(false);
});
