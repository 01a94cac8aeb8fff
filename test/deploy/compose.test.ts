/** What the Compose file makes of the servers: no more rights than they need, and the Kafka that the chart has, too. */

import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readProjectFile } from './deployment.ts';
import { envOf, rendered } from './helm.ts';

interface Service {
  readonly user?: string;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly restart?: string;
  readonly logging?: object;
  readonly environment: Readonly<Record<string, string | number>>;
}

const { services } = parse(readProjectFile('docker-compose.yml'), { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>;
};

describe('docker-compose.yml', () => {
  test.each(Object.entries(services))('%s can gain no rights, and has none that it does not name', (_, service) => {
    expect(service.security_opt).toEqual(['no-new-privileges:true']);
    expect(service.cap_drop).toEqual(['ALL']);
  });

  test('those that begin as root alone have any', () => {
    const having = Object.entries(services).filter(([, { cap_add }]) => cap_add !== undefined);
    expect(having.map(([name]) => name).sort()).toEqual(['objects', 'postgres']);
    for (const [, { user, cap_add }] of having) {
      expect(user).toBeUndefined();
      for (const right of cap_add!) expect(['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID']).toContain(right);
    }
  });

  test('every one is started again, and bounds its log', () => {
    for (const [name, { restart, logging }] of Object.entries(services)) {
      if (name === 'tidemark') continue;
      expect([name, restart]).toEqual([name, 'unless-stopped']);
      expect(logging).toMatchObject({ options: { 'max-size': '10m' } });
    }
  });
});

test("Compose's Kafka and the chart's are set alike", async () => {
  const own = ['CLUSTER_ID', 'KAFKA_ADVERTISED_LISTENERS'];
  const kept = (all: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => !own.includes(name)));
  const compose = Object.entries(services.kafka!.environment).map(([name, value]) => {
    // A default of Compose is what counts.
    const [, byDefault] = /^\$\{\w+:-(.*)\}$/.exec(String(value)) ?? [];
    return [name, { value: byDefault ?? String(value) }];
  });
  const chart = (await rendered('trial-servers')).find(
    ({ kind, metadata }) => kind === 'StatefulSet' && metadata.name.endsWith('-kafka'),
  )!;
  expect(kept(Object.fromEntries(compose))).toEqual(kept(envOf(chart.spec.template)));
  expect(compose.length).toBeGreaterThan(15);
}, 180_000);
