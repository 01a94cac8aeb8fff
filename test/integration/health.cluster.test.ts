/**
 * The services tell the truth to probes: ready while they can do their work, not ready and still alive while the broker is away, ready
 * again when it is back; and a coordinator that leaves says so before it stops answering.
 */

import { eventually } from '@tidemark/testkit/eventually';
import { type ServiceProcess, startService } from '@tidemark/testkit/processes';
import { freePort } from '@tidemark/testkit/servers';
import { describeServers, freshTopicName, ownServer } from '@tidemark/testkit/suites';
import { afterEach, expect, it } from 'vitest';

const TIMEOUT_MS = 120_000;
const NAMES = ['coordinator', 'worker', 'compactor'] as const;

interface Probed {
  readonly status: number;
  readonly body: { readonly checks: readonly { readonly name: string; readonly ok: boolean }[] };
}

describeServers('health of the services', ['redis', 'postgres'], (servers) => {
  const services: ServiceProcess[] = [];
  const ports = new Map<string, number>();

  afterEach(async () => {
    await Promise.all(services.splice(0).map((service) => service.kill()));
  });

  const probe = async (name: string, path: string): Promise<Probed> => {
    const response = await fetch(`http://127.0.0.1:${ports.get(name)}${path}`);
    return { status: response.status, body: (await response.json()) as Probed['body'] };
  };
  const failedChecks = ({ body }: Probed): readonly string[] =>
    body.checks.filter(({ ok }) => !ok).map(({ name }) => name);
  const allReady = () =>
    eventually(
      async () =>
        (await Promise.all(NAMES.map((name) => probe(name, '/readyz')))).every(({ status }) => status === 200),
      {
        timeoutMs: TIMEOUT_MS,
        what: 'all three are ready',
      },
    );

  it('follows the broker down and up, and a signal to the end', { timeout: 3 * TIMEOUT_MS }, async (context) => {
    const [kafka, postgres, apiPort] = await Promise.all([
      ownServer(context, 'kafka'),
      servers.freshDatabase(),
      freePort(),
    ]);
    const env = {
      TIDEMARK_KAFKA_BROKERS: kafka.address,
      TIDEMARK_REDIS_URL: servers.redis,
      TIDEMARK_POSTGRES_URL: postgres,
      TIDEMARK_TOPIC: freshTopicName('health'),
      TIDEMARK_PARTITIONS: '2',
      TIDEMARK_ENCRYPTION: 'off',
      TIDEMARK_AUTH: 'off',
      TIDEMARK_API_PORT: String(apiPort),
      TIDEMARK_WORKFLOWS: './test/integration/workflows.ts',
    };
    const start = async (name: (typeof NAMES)[number]): Promise<ServiceProcess> => {
      ports.set(name, await freePort());
      const service = await startService(name, { ...env, TIDEMARK_HEALTH_LISTEN: `127.0.0.1:${ports.get(name)}` });
      services.push(service);
      return service;
    };
    const [coordinator] = await Promise.all(NAMES.map(start));
    await allReady();

    await kafka.kill();
    for (const name of NAMES) {
      const away = await eventually(
        async () => {
          const probed = await probe(name, '/readyz');
          return probed.status === 503 && probed;
        },
        { timeoutMs: TIMEOUT_MS, what: `${name} is not ready` },
      );
      expect([name, failedChecks(away)[0]]).toEqual([name, 'log']);
      expect([name, (await probe(name, '/livez')).status]).toEqual([name, 200]);
    }
    await kafka.startAgain();
    await allReady();

    // Asked to end, it is not ready at once, and still answers who has not heard of it yet.
    const ended = coordinator!.stop();
    const leaving = await eventually(async () => {
      const probed = await probe('coordinator', '/readyz');
      return probed.status === 503 && probed;
    });
    expect(failedChecks(leaving)).toEqual(['staying']);
    expect((await fetch(`http://127.0.0.1:${apiPort}/healthz`)).status).toBe(200);
    expect((await probe('coordinator', '/livez')).status).toBe(200);
    expect(await ended).toBe(0);
  });
});
