/**
 * Real coordinators that serve the API: commands are let in by a key and make, revoke and look with it; a revocation counts at a
 * coordinator that knew the key, keys outlive the loss of Postgres's database (I6), and what was done is in the audit, also when the
 * coordinator is killed after.
 */

import path from 'node:path';
import { type ServiceProcess, startService } from '@tidemark/testkit/processes';
import { freePort } from '@tidemark/testkit/servers';
import { describeServers, freshTopicName } from '@tidemark/testkit/suites';
import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { callCli } from './called-cli-fixture.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

const FIXTURES = path.resolve(import.meta.dirname, '../fixtures');
const PATIENCE = { timeout: 60_000, interval: 200 };

const spoilt = (text: string): string => `${text.slice(0, -1)}${text.endsWith('a') ? 'b' : 'a'}`;

describeServers('access on a cluster', ['kafka', 'redis', 'postgres'], (servers) => {
  const env: Record<string, string> = {};
  const services: ServiceProcess[] = [];
  const urls: string[] = [];
  /** For administrators of all tenants. */
  let first: string;
  let key: { readonly key: string; readonly secret: string };
  /** Through the coordinator that lives all the time. */
  const call = (...args: string[]) =>
    callCli(args, { cwd: FIXTURES, env: { TIDEMARK_URL: urls[1]!, TIDEMARK_TOKEN: first } });
  const ask = async (url: string, token: string | undefined, method = 'GET', at = '/v1/workflows', body?: object) => {
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    const answer = await fetch(`${url}${at}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    return { ...((await answer.json()) as { readonly code?: string }), status: answer.status };
  };
  const audited = async (...args: string[]) =>
    JSON.parse((await call('audit', '--tenant', 'acme', '--json', ...args)).out).entries as readonly unknown[];
  /** Nobody can log in yet: the one with the servers' passwords creates it. */
  const makeFirst = async (): Promise<string> => {
    const asked = ['admin', 'access', 'create-key', '--name', 'first', '--role', 'admin', '--all-tenants', '--json'];
    return JSON.parse((await callCli(asked, { cwd: FIXTURES, env })).out).secret as string;
  };

  beforeAll(async () => {
    env.TIDEMARK_KAFKA_BROKERS = servers.kafka;
    env.TIDEMARK_REDIS_URL = servers.redis;
    env.TIDEMARK_POSTGRES_URL = await servers.freshDatabase();
    env.TIDEMARK_TOPIC = freshTopicName('access');
    env.TIDEMARK_PARTITIONS = '4';
    env.TIDEMARK_ENCRYPTION = 'off';
    env.TIDEMARK_WORKFLOWS = path.join(FIXTURES, 'agents.ts');
    // Commands have the environment of the first, as in its pod.
    const own = { ...env };
    env.TIDEMARK_METRICS_LISTEN = `127.0.0.1:${await freePort()}`;
    for (const given of [env, own]) {
      const port = await freePort();
      urls.push(`http://127.0.0.1:${port}`);
      services.push(await startService('coordinator', { ...given, TIDEMARK_API_PORT: String(port) }));
    }
  });
  afterAll(async () => {
    for (const service of services) await service.stop();
  });

  it('lets in who has a key, and nobody else', async () => {
    for (const url of urls) {
      expect(await ask(url, undefined)).toMatchObject({ status: 401, code: 'credentials-missing' });
      // Nobody has made a key: nothing follows from its absence.
      expect(await ask(url, `tmk_${'a'.repeat(16)}_${'b'.repeat(52)}`)).toMatchObject({
        status: 503,
        code: 'keys-unknown',
      });
    }
    first = await makeFirst();
    const made = await call(
      ...['access', 'create-key', '--name', 'of CI', '--role', 'operator', '--tenant', 'acme', '--json'],
    );
    expect(made.code).toBe(0);
    key = JSON.parse(made.out);
    for (const url of urls) {
      expect(await ask(url, key.secret)).toMatchObject({ status: 200 });
      expect(await ask(url, spoilt(key.secret))).toMatchObject({ status: 401, code: 'credentials-invalid' });
    }
    const begun = await ask(urls[0]!, key.secret, 'POST', '/v1/workflows', {
      definition: 'greet',
      input: { name: 'Eve' },
      id: 'acmes',
    });
    expect(begun.status).toBe(201);
  });

  it('has what was done in the audit, also when the coordinator is killed after', async () => {
    await vi.waitFor(async () => {
      expect(await audited('--action', 'startWorkflow')).toMatchObject([
        { subject: `key:${key.key}`, target: 'acmes', outcome: 'done' },
      ]);
    }, PATIENCE);
    await services[0]!.kill();
    expect(await audited('--target', 'acmes')).not.toEqual([]);
    const port = new URL(urls[0]!).port;
    services[0] = await startService('coordinator', { ...env, TIDEMARK_API_PORT: port });
  });

  it('knows the key when the database was lost, and never calls it wrong meanwhile (I6)', async () => {
    const at = new URL(env.TIDEMARK_POSTGRES_URL!);
    const name = at.pathname.slice(1);
    const client = new pg.Client({ connectionString: new URL('/postgres', at).href });
    await client.connect();
    await client.query(`drop database ${name} with (force)`);
    await client.end();
    const seen = new Set<number>();
    await vi.waitFor(async () => {
      const { status } = await ask(urls[1]!, key.secret);
      seen.add(status);
      expect(status).toBe(200);
      expect((await ask(urls[1]!, key.secret, 'GET', '/v1/workflows/acmes')).status).toBe(200);
    }, PATIENCE);
    expect([...seen].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    await vi.waitFor(async () => expect(await audited('--target', 'acmes')).not.toEqual([]), PATIENCE);
  });

  it('refuses a revoked key at every coordinator', async () => {
    for (const url of urls)
      await vi.waitFor(async () => expect((await ask(url, key.secret)).status).toBe(200), PATIENCE);
    expect((await call('access', 'revoke-key', key.key, '--why', 'it leaked')).code).toBe(0);
    for (const url of urls) {
      await vi.waitFor(async () => expect((await ask(url, key.secret)).status).toBe(401), PATIENCE);
    }
  });
});
