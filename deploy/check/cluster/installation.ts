/** Owns the chart as it is installed on the cluster, and what is read of its pods. */

import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openFileKeys } from '@tidemark/keys-file';
import { eventually } from '@tidemark/testkit/eventually';
import type { Thing } from './kube.ts';
import { OUTSIDE, type World } from './world.ts';

const HERE = import.meta.dirname;
const CHART = path.resolve(HERE, '../../../helm/tidemark');
const NAMESPACE = '/api/v1/namespaces/agents';
/** The user of the image. */
const USER = 1_000;
/** How long helm waits for what will not be. */
const REFUSED_AFTER = '8s';

export interface Pod {
  readonly name: string;
  readonly part: string;
  readonly node: number;
  readonly address: string;
  readonly isReady: boolean;
  readonly restartCount: number;
}

export class Installation {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  /** What the chart asks for beside it, and the chart. */
  async install(): Promise<void> {
    const { kube, place } = this.#world;
    mkdirSync(`${place.run}/archive`);
    chownSync(`${place.run}/archive`, USER, USER);
    const keys = `${place.run}/keys.json`;
    await openFileKeys({ file: keys });
    await kube.ask('POST', '/api/v1/namespaces', { metadata: { name: 'agents' } });
    const addresses = {
      TIDEMARK_REDIS_URL: `redis://${OUTSIDE}:6379`,
      TIDEMARK_POSTGRES_URL: `postgres://tidemark@${OUTSIDE}:5432/tidemark`,
    };
    await this.createSecret('tidemark-addresses', addresses);
    await this.createSecret('tidemark-keys', { 'keys.json': readFileSync(keys, 'utf8') });
    await this.#helm('install', '3m');
  }

  async createSecret(name: string, stringData: object): Promise<void> {
    await this.#world.kube.ask('POST', `${NAMESPACE}/secrets`, { metadata: { name }, stringData });
  }

  upgrade(...more: readonly string[]): Promise<string> {
    return this.#helm('upgrade', '3m', ...more);
  }

  /** An upgrade that can't be made: what the containers wait for that helm waited for. */
  async refusedUpgrade(...more: readonly string[]): Promise<string> {
    const isMade = await this.#helm('upgrade', REFUSED_AFTER, ...more).then(
      () => true,
      () => false,
    );
    const { items } = await this.#world.kube.ask('GET', `${NAMESPACE}/pods`);
    const states = (items as readonly Thing[]).flatMap(({ status }) => status.containerStatuses ?? []);
    const messages = states.map(({ state }: Thing) => state.waiting?.message ?? '');
    await this.#world.kube.kubectl('-n', 'agents', 'delete', 'jobs', '--all', '--wait=false');
    return isMade ? 'it was made' : messages.filter((text) => text !== '').join(' ');
  }

  /** Waits until its pods are ready. */
  #helm(verb: 'install' | 'upgrade', timeout: string, ...more: readonly string[]): Promise<string> {
    const values = ['--values', this.#values('values')];
    const all = [verb, 'tidemark', CHART, '-n', 'agents', ...values, ...more, '--wait', '--timeout', timeout];
    return this.#world.kube.helm(...all);
  }

  withPools(): readonly string[] {
    return ['--values', this.#values('pools')];
  }

  /** Of the role, for all tenants: made within a coordinator, as docs/deploy.md says. */
  async createKey(name: string, role: string): Promise<string> {
    const make = [
      'tidemark-entrypoint',
      'tidemark',
      'admin',
      'access',
      'create-key',
      '--name',
      name,
      '--role',
      role,
      '--all-tenants',
    ];
    const said = await this.#world.kube.kubectl('-n', 'agents', 'exec', 'deploy/tidemark-coordinator', '--', ...make);
    return said.split('\n')[0]!.trim();
  }

  async apiUrl(): Promise<string> {
    const { spec } = await this.#world.kube.ask('GET', `${NAMESPACE}/services/tidemark-api`);
    return `http://${spec.clusterIP}:7070`;
  }

  /** Those that are not about to end, of the part (`worker`, `coordinator`, …). */
  async pods(part?: string): Promise<readonly Pod[]> {
    const { items } = await this.#world.kube.ask('GET', `${NAMESPACE}/pods`);
    return (items as readonly Thing[])
      .filter(
        ({ metadata, status }) =>
          metadata.deletionTimestamp === undefined && !['Succeeded', 'Failed'].includes(status.phase),
      )
      .map(({ metadata, spec, status }) => ({
        name: metadata.name,
        part: metadata.labels['app.kubernetes.io/component'] ?? '',
        node: Number(spec.nodeName?.slice(1) ?? 0),
        address: status.podIP ?? '',
        isReady: (status.conditions ?? []).some(({ type, status: is }: Thing) => type === 'Ready' && is === 'True'),
        restartCount: status.containerStatuses?.[0]?.restartCount ?? 0,
      }))
      .filter((pod) => part === undefined || pod.part === part);
  }

  /** Two workers of the steady pool, which has its name once there are pools. */
  async untilReady(): Promise<void> {
    const steady = async (): Promise<readonly Pod[]> =>
      (await this.pods('worker')).filter(({ name }) => !/-worker-(keda|hpa|jobs)-/.test(name));
    const ready = async (): Promise<boolean> => (await steady()).filter(({ isReady }) => isReady).length === 2;
    await eventually(ready, { what: 'two workers are ready', timeoutMs: 120_000 });
  }

  /** Waits for the container that takes the place of the one that has ended. */
  async restarted({ name, restartCount }: Pod): Promise<void> {
    const again = async (): Promise<boolean> =>
      (await this.pods()).some((pod) => pod.name === name && pod.restartCount > restartCount);
    await eventually(again, { what: `${name} starts again` });
  }

  deletePod(name: string): Promise<unknown> {
    return this.#world.kube.ask('DELETE', `${NAMESPACE}/pods/${name}`);
  }

  #values(name: string): string {
    const { run } = this.#world.place;
    const text = readFileSync(`${HERE}/${name}.yaml`, 'utf8')
      .replaceAll('RUN/', `${run}/`)
      .replaceAll('OUTSIDE:', `${OUTSIDE}:`);
    writeFileSync(`${run}/${name}.yaml`, text);
    return `${run}/${name}.yaml`;
  }
}
