/** An upgrade keeps the number of workers that a scaler, or a person, has set: helm itself, asking an API server that stands in for the cluster's. */

import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { projectFolder } from './deployment.ts';
import { helm, type Manifest, named, rendered } from './helm.ts';

/** What runs in the cluster, by the deployment's name. */
const live = new Map<string, number>();
let kinds: ReadonlyMap<string, ReadonlySet<string>>;
let server: Server;

beforeAll(async () => {
  await helm();
  kinds = kindsOf(await rendered('pools'));
  server = createServer((request, response) => {
    const answer = answerOf(new URL(request.url!, 'http://cluster').pathname);
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify(answer ?? { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
}, 180_000);

afterAll(() => new Promise((resolve) => server.close(resolve)));

test('of pools that are scaled, also where it is none; others have the one of their values', async () => {
  live.set('trial-tidemark-worker-billing', 17).set('trial-tidemark-worker-crawl', 0);
  live.set('trial-tidemark-worker-fixed', 9);
  const upgrade = await renderedInCluster();
  const replicasOf = (pool: string) => named(upgrade, 'Deployment', `-worker-${pool}`).spec.replicas;
  expect(['billing', 'crawl', 'fixed'].map(replicasOf)).toEqual([17, 0, 3]);
  // Not there yet: the scaler begins with what the cluster puts there.
  expect(named(upgrade, 'Deployment', '-worker-steady').spec).not.toHaveProperty('replicas');
  // Without a cluster nothing is known.
  expect(named(await rendered('pools'), 'Deployment', '-worker-billing').spec).not.toHaveProperty('replicas');
});

async function renderedInCluster(): Promise<readonly Manifest[]> {
  const { port } = server.address() as { port: number };
  const cluster = ['--kube-apiserver', `http://127.0.0.1:${port}`, '--kubeconfig', '/dev/null'];
  const how = ['--namespace', 'agents', '--is-upgrade', '--dry-run=server', '--disable-openapi-validation'];
  const args = ['template', 'trial', 'helm/tidemark', ...how, ...cluster, '--values', 'helm/tidemark/ci/pools.yaml'];
  const { stdout } = await promisify(execFile)(await helm(), args, { cwd: projectFolder, maxBuffer: 16 * 1024 * 1024 });
  return parseAllDocuments(stdout).flatMap((document) => (document.toJSON() as Manifest | null) ?? []);
}

/** Kinds by group and version. */
function kindsOf(manifests: readonly Manifest[]): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const { apiVersion, kind } of manifests) found.set(apiVersion, (found.get(apiVersion) ?? new Set()).add(kind));
  return found;
}

function answerOf(where: string): object | undefined {
  if (where === '/version') return { major: '1', minor: '36', gitVersion: 'v1.36.3' };
  if (where === '/api') return { kind: 'APIVersions', versions: ['v1'] };
  if (where === '/apis') {
    const groups = [...kinds.keys()].flatMap((groupVersion) => {
      const [name, version] = groupVersion.split('/');
      const preferredVersion = { groupVersion, version };
      return version === undefined ? [] : [{ name, versions: [preferredVersion], preferredVersion }];
    });
    return { kind: 'APIGroupList', apiVersion: 'v1', groups };
  }
  const groupVersion = where.replace(/^\/apis?\//, '');
  const known = kinds.get(groupVersion);
  if (known !== undefined) {
    const resources = [...known].map((kind) => ({
      ...{ kind, name: `${kind.toLowerCase()}s`, singularName: kind.toLowerCase(), namespaced: true, verbs: ['get'] },
    }));
    return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources };
  }
  const name = /^\/apis\/apps\/v1\/namespaces\/agents\/deployments\/(.+)$/.exec(where)?.[1] ?? '';
  const replicas = live.get(name);
  if (replicas === undefined) return undefined;
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name, namespace: 'agents' }, spec: { replicas } };
}
