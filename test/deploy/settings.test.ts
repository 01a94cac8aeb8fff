/** Compose file, chart and documentation know exactly the settings that the processes read, with their defaults. */

import { TLS_SERVICES, tlsFromEnv } from '@tidemark/host';
import { describe, expect, test } from 'vitest';
import {
  blockOf,
  deploymentFiles,
  otelNamesIn,
  readAccessSettings,
  readAllSettings,
  readCommandSettings,
  readOtelNames,
  readPlainSettings,
  readProjectFile,
  readSettings,
  settingNamesIn,
  tlsFileSettings,
  tlsSwitches,
} from './deployment.ts';

const settings = readPlainSettings();
const names = [...settings.keys()].sort();
const ofCommand = readCommandSettings();
const needed = names.filter((name) => settings.get(name) === undefined);

/**
 * Chosen otherwise than the program's default on purpose: a trial needs workflows and a key, replicas follow the servers, a container's
 * own loop is reached by nobody, and what starts containers wants to know how they are.
 */
const chosenElsewhere = new Set([
  'TIDEMARK_WORKFLOWS',
  'TIDEMARK_REPLICATION',
  'TIDEMARK_ENCRYPTION',
  'TIDEMARK_KEYS_URL',
  'TIDEMARK_API_HOST',
  'TIDEMARK_API_PORT',
  'TIDEMARK_HEALTH_LISTEN',
]);

test('the settings are found in their source', () => {
  expect(needed).toEqual(['TIDEMARK_KAFKA_BROKERS', 'TIDEMARK_POSTGRES_URL', 'TIDEMARK_REDIS_URL']);
  expect(settings.get('TIDEMARK_PARTITIONS_MAX')).toBe('4096');
  expect(settings.get('TIDEMARK_AUTH_OIDC_ROLES')).toBe('');
  expect(readOtelNames()).toContain('OTEL_EXPORTER_OTLP_ENDPOINT');
  const source =
    "const settings = {\n  TIDEMARK_A: list,\n  /** B. */\n  TIDEMARK_B: text\n    .default('b'),\n} as const;";
  expect([...readSettings(source)]).toEqual([
    ['TIDEMARK_A', undefined],
    ['TIDEMARK_B', 'b'],
  ]);
});

test('the settings of TLS are those that are read', () => {
  for (const name of tlsFileSettings) {
    // A certificate and its key go together, so both are named; the first that can't be read is told.
    const pair = /_(CERT|KEY)$/.test(name) ? { [name.replace(/KEY$/, 'CERT')]: '/nowhere' } : {};
    const env = { [name.replace(/_[A-Z]+$/, '')]: 'on', ...pair, [name]: '/nowhere' };
    expect(() => tlsFromEnv(env)).toThrow(name.replace(/KEY$/, 'CERT'));
  }
  for (const name of tlsSwitches) expect(() => tlsFromEnv({ [name]: 'maybe' })).toThrow(`${name}: expected on or off`);
});

describe('no file names a setting that does not exist', () => {
  const known = new Set([...readAllSettings().keys(), ...ofCommand, ...readOtelNames()]);

  test.each(deploymentFiles())('%s', (file) => {
    const text = readProjectFile(file);
    const named = [...settingNamesIn(text), ...otelNamesIn(text)];
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });

  test('one would be found', () => {
    expect([...settingNamesIn('  TIDEMARK_DRIAN_MS: 1 # not TIDEMARK_DRAIN_MS')]).toEqual([
      'TIDEMARK_DRIAN_MS',
      'TIDEMARK_DRAIN_MS',
    ]);
  });
});

describe('docker-compose.yml', () => {
  const environment = blockOf(blockOf(readProjectFile('docker-compose.yml'), 'x-process'), 'environment');

  test('sets every setting', () => expect([...settingNamesIn(environment)].sort()).toEqual(names));

  test('with the default of the program', () => {
    const defaults = [...environment.matchAll(/^ *(TIDEMARK_\w+): \$\{\1:-([^}]*)\}$/gm)];
    expect(defaults.length).toBeGreaterThan(5);
    for (const [, name = '', value] of defaults) {
      if (!chosenElsewhere.has(name)) expect([name, value]).toEqual([name, settings.get(name)]);
    }
  });

  test('is published to this machine alone, with access on', () => {
    const coordinator = blockOf(blockOf(readProjectFile('docker-compose.yml'), 'services'), 'coordinator');
    expect(coordinator).toMatch(/ports: \['\$\{API_PUBLISH:-127\.0\.0\.1:7070\}:7070'\]/);
    expect(environment).toContain("TIDEMARK_AUTH: 'on'");
    expect(environment).toContain('TIDEMARK_API_PORT: 7070');
    const published = [...readProjectFile('docker-compose.yml').matchAll(/^ +ports: \[(.*)\]$/gm)].map(
      ([, ports]) => ports,
    );
    expect(published).toHaveLength(4);
    for (const ports of published) expect(ports).toMatch(/^'\$\{[A-Z]+_PUBLISH:-127\.0\.0\.1:(\d+)\}:\1'$/);
  });

  test('takes no server address from the environment, which may be that of another cluster', () => {
    for (const name of needed) expect(environment).not.toContain(`\${${name}`);
  });
});

describe('helm/tidemark', () => {
  const values = blockOf(readProjectFile('helm/tidemark/values.yaml'), 'settings');
  const secret = ['TIDEMARK_POSTGRES_URL', 'TIDEMARK_REDIS_URL'];
  /** Which a pool of workers has of its own, and nobody else. */
  const ofPools = [
    'TIDEMARK_BUILD',
    'TIDEMARK_CONCURRENCY',
    'TIDEMARK_DRAIN_MS',
    'TIDEMARK_EXIT_IDLE_MS',
    'TIDEMARK_POD_NAME',
  ];
  /** Which follow from `pools`, and what a pod listens on. */
  const derived = [
    'TIDEMARK_POOLS',
    'TIDEMARK_WORKFLOWS',
    'TIDEMARK_API_HOST',
    'TIDEMARK_API_PORT',
    'TIDEMARK_HEALTH_LISTEN',
    'TIDEMARK_PRESENCE_HOST',
    'TIDEMARK_PRESENCE_PORT',
  ];
  /** Who comes by the network shows who it is, and reaches a pod by its own address. */
  const leftOut = ['TIDEMARK_AUTH', 'TIDEMARK_PRESENCE_ADVERTISED_HOST'];

  test('sets every setting: plain ones as values, those with credentials from a Secret', () => {
    expect([...settingNamesIn(values), ...secret, ...ofPools, ...derived, ...leftOut].sort()).toEqual(names);
    for (const name of derived) expect(readProjectFile('helm/tidemark/templates/settings.yaml')).toContain(name);
    const pools = readProjectFile('helm/tidemark/templates/_pools.tpl');
    for (const name of ofPools) expect(pools).toContain(`name: ${name}`);
    const template = readProjectFile('helm/tidemark/templates/_pod.tpl');
    expect([...settingNamesIn(template)].sort()).toEqual(secret);
    expect(template).toContain('secretKeyRef');
  });

  test('with the default of the program', () => {
    for (const [, name = '', value = ''] of values.matchAll(/^ *(TIDEMARK_\w+): (.*)$/gm)) {
      if (chosenElsewhere.has(name) || needed.includes(name)) continue;
      expect([name, value.replaceAll("'", '')]).toEqual([name, settings.get(name)]);
    }
  });

  test('checks every value', () => {
    const schema = JSON.parse(readProjectFile('helm/tidemark/values.schema.json'));
    const { properties, additionalProperties } = schema.properties.settings;
    expect(Object.keys(properties).sort()).toEqual([...settingNamesIn(values)].sort());
    expect(additionalProperties).toBe(false);
  });

  test('secures all that can be, by names of Secrets', () => {
    const template = readProjectFile('helm/tidemark/templates/_tls.tpl');
    expect([...settingNamesIn(template)].sort()).toEqual([...tlsSwitches].sort());
    const entries = ['all', ...TLS_SERVICES.map((service) => service.toLowerCase())];
    const own = blockOf(readProjectFile('helm/tidemark/values.yaml'), 'tls');
    expect([...own.matchAll(/^ {2}(\w+): \{ mode: '', secret: ''/gm)].map(([, name]) => name)).toEqual(entries);
    const schema = JSON.parse(readProjectFile('helm/tidemark/values.schema.json'));
    expect(Object.keys(schema.properties.tls.properties)).toEqual(entries);
  });
});

describe('docs', () => {
  /** Rows `| names | default | meaning |`; settings that mean the same of several share one. */
  const listedIn = (file: string): Readonly<Record<string, string>> => {
    const rows = readProjectFile(file).matchAll(/^\| (`TIDEMARK_\w+`(?:, `TIDEMARK_\w+`)*) +\| (\S+) +\| .{10,}$/gm);
    return Object.fromEntries(
      [...rows].flatMap(([, cell = '', value = '']) => [...settingNamesIn(cell)].map((name) => [name, value])),
    );
  };
  const asListed = (of: ReadonlyMap<string, string | undefined>) =>
    Object.fromEntries(
      [...of].map(([name, value]) => [name, value === undefined ? 'needed' : value === '' ? 'none' : `\`${value}\``]),
    );

  test('deploy.md and access.md list every setting with its default', () => {
    const listed: Record<string, string> = { ...listedIn('docs/deploy.md'), ...listedIn('docs/access.md') };
    expect(ofCommand.size).toBeGreaterThan(2);
    for (const name of ofCommand) {
      expect(listed).toHaveProperty(name);
      delete listed[name];
    }
    expect(listed).toEqual(asListed(readAllSettings()));
  });

  test('access.md lists those of access with the same', () => {
    expect(listedIn('docs/access.md')).toEqual(asListed(readAccessSettings()));
  });

  test('tracing.md lists those of OpenTelemetry that deploy.md does', () => {
    const explained = readProjectFile('docs/tracing.md');
    for (const name of otelNamesIn(readProjectFile('docs/deploy.md'))) expect(explained).toContain(name);
  });
});
