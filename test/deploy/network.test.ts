/** Who may reach the pods, and whom they may, as helm itself renders it. */

import { beforeAll, describe, expect, test, vi } from 'vitest';
import { helm, type Manifest, named, rendered } from './helm.ts';

vi.setConfig({ maxConcurrency: 4 });

let pools: readonly Manifest[];
beforeAll(async () => {
  await helm();
  pools = await rendered('pools');
}, 180_000);

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

  test("open the node's metadata to nobody, unless it is asked for or a notice is looked for there", async () => {
    const open = async (over: object) => {
      const manifests = await rendered('pools', over);
      return ['worker', 'compactor', 'coordinator', 'migrate'].filter((part) =>
        JSON.stringify(named(manifests, 'NetworkPolicy', `-${part}`)).includes('169.254'),
      );
    };
    expect(await open({})).toEqual([]);
    // One's own agent, which egress leads to.
    expect(await open({ settings: { TIDEMARK_SPOT_NOTICE_URL: 'http://agent.node:80/169.254.169.254/' } })).toEqual([]);
    for (const TIDEMARK_SPOT_NOTICE_URL of [
      'http://169.254.169.254/latest/meta-data/spot/instance-action',
      'http://metadata.google.internal/computeMetadata/v1/instance/preempted',
    ])
      expect(await open({ settings: { TIDEMARK_SPOT_NOTICE_URL } })).toEqual(['worker']);
    const asked = await rendered('pools', { networkPolicy: { metadataEgress: ['169.254.170.23/32'] } });
    for (const part of ['worker', 'compactor', 'coordinator'])
      expect(named(asked, 'NetworkPolicy', `-${part}`).spec.egress).toContainEqual({
        ports: [{ port: 80 }, { port: 988 }],
        to: [{ ipBlock: { cidr: '169.254.170.23/32' } }],
      });
  });

  test('name the port by which workers come', async () => {
    const presenceOf = async (over: object) => {
      const manifests = await rendered('own-servers', over);
      const { data } = named(manifests, 'ConfigMap', '-settings');
      const policy = manifests.find(
        ({ kind, metadata }) => kind === 'NetworkPolicy' && /coordinator/.test(metadata.name),
      );
      return { listens: data.TIDEMARK_PRESENCE_PORT, ingress: policy?.spec.ingress };
    };
    const { listens, ingress } = await presenceOf({ networkPolicy: { enabled: true } });
    expect(listens).toBe('7072');
    // One without ports would let workers to the API, past apiFrom.
    for (const { ports } of ingress) expect(ports).toHaveLength(1);
    expect(ingress[1].ports).toEqual([{ port: 7072 }]);
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
