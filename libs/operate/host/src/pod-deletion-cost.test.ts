/** The deletion cost of a worker's pod: what it is, that it reaches an API server over TLS as Kubernetes wants it, and how seldom. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually } from '@tidemark/testkit/eventually';
import { ThrowAwayAuthority } from '@tidemark/testkit/servers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ClusterApi, costOf, inClusterApi, keepDeletionCost } from './pod-deletion-cost.ts';

/** Short, so that what is written seldom is seen to be. */
const PERIOD_MS = 20;

test('an idle worker costs nothing; else by what it has and how long its steps have run', () => {
  expect(costOf({ workflowCount: 0, stepMs: 0 })).toBe(0);
  expect(costOf({ workflowCount: 3, stepMs: 0 })).toBe(3);
  expect(costOf({ workflowCount: 2, stepMs: 90_400 })).toBe(92);
  expect(costOf({ workflowCount: 1_000, stepMs: 1e15 })).toBe(2_147_483_647);
});

test('is found where Kubernetes says, and not elsewhere', () => {
  const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };
  expect(inClusterApi(env)).toMatchObject({ host: '10.0.0.1', port: 443 });
  expect(() => inClusterApi({})).toThrow(expect.objectContaining({ code: 'not-in-cluster' }));
});

describe('an API server', () => {
  let folder: string;
  let server: Server;
  let api: ClusterApi;
  let asked: Record<string, unknown>[];
  let status: number;
  let stop: () => void;
  let errors: unknown[];

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'tidemark-account-'));
    const authority = await ThrowAwayAuthority.make(folder);
    const { cert, key } = await authority.sign('api');
    await writeFile(path.join(folder, 'ca.crt'), await readFile(authority.ca));
    await writeFile(path.join(folder, 'namespace'), 'agents\n');
    server = createServer({ cert: await readFile(cert), key: await readFile(key) }, async (request, response) => {
      let body = '';
      for await (const part of request) body += part;
      const { method, url, headers } = request;
      const { authorization, 'content-type': type } = headers;
      asked.push({ method, url, authorization, type, body: JSON.parse(body) as unknown });
      response.writeHead(status).end('{}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    api = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, accountFolder: folder };
  });
  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  });
  beforeEach(async () => {
    [asked, errors, status] = [[], [], 200];
    await writeFile(path.join(folder, 'token'), 'first');
  });
  afterEach(() => stop());

  const keep = (of: () => { workflowCount: number; stepMs: number }, to = api) => {
    const onError = (_: string, error: unknown) => errors.push(error);
    stop = keepDeletionCost({ api: to, pod: 'worker-1', of, onError, periodMs: PERIOD_MS });
  };
  const costs = () =>
    asked.map(({ body }) => Object.values((body as { metadata: { annotations: object } }).metadata.annotations)[0]);

  test('is told of the annotation of this one pod, with the token that counts then', async () => {
    let work = { workflowCount: 2, stepMs: 1_000 };
    keep(() => work);
    await eventually(() => asked.length === 1);
    expect(asked[0]).toEqual({
      method: 'PATCH',
      url: '/api/v1/namespaces/agents/pods/worker-1',
      authorization: 'Bearer first',
      type: 'application/merge-patch+json',
      body: { metadata: { annotations: { 'controller.kubernetes.io/pod-deletion-cost': '3' } } },
    });
    await writeFile(path.join(folder, 'token'), 'second');
    work = { workflowCount: 0, stepMs: 0 };
    await eventually(() => asked.length === 2);
    expect(asked[1]).toMatchObject({ authorization: 'Bearer second' });
    expect(costs()).toEqual(['3', '0']);
    expect(errors).toEqual([]);
  });

  test('is not asked again for what has hardly changed, nor more often than each period', async () => {
    let pollCount = 0;
    keep(() => ({ workflowCount: 100 + Math.min(pollCount++, 10), stepMs: 0 }));
    await eventually(() => pollCount > 30);
    expect(costs()).toEqual(['100']);
    const before = asked.length;
    const startedMs = performance.now();
    stop();
    pollCount = 0;
    keep(() => ({ workflowCount: 2 ** (pollCount++ % 20), stepMs: 0 }));
    await eventually(() => asked.length >= before + 5);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(4 * PERIOD_MS - 4);
  });

  test('may refuse or be away: it is told, asked ever more seldom, and told the cost when it is back', async () => {
    status = 403;
    keep(() => ({ workflowCount: 1, stepMs: 0 }));
    await eventually(() => errors.length === 3);
    expect(errors[0]).toMatchObject({ code: 'deletion-cost', message: expect.stringContaining('403') });
    status = 200;
    await eventually(() => costs().length === 4);
    expect(errors).toHaveLength(3);
  });

  test('is told nothing when it is another than the authority says', async () => {
    const other = await mkdtemp(path.join(tmpdir(), 'tidemark-other-'));
    const { ca } = await ThrowAwayAuthority.make(other);
    await writeFile(path.join(other, 'ca.crt'), await readFile(ca));
    for (const name of ['token', 'namespace']) await writeFile(path.join(other, name), 'x');
    keep(() => ({ workflowCount: 1, stepMs: 0 }), { ...api, accountFolder: other });
    await eventually(() => errors.length > 0);
    expect(asked).toEqual([]);
    stop();
    await rm(other, { recursive: true });
  });
});
