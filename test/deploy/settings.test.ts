/** Compose file, chart and documentation know exactly the settings that the processes read, with their defaults. */

import { describe, expect, test } from 'vitest';
import { blockOf, deploymentFiles, readProjectFile, readSettings, settingNamesIn } from './deployment.ts';

const settings = readSettings();
const names = [...settings.keys()].sort();
const needed = names.filter((name) => settings.get(name) === undefined);

/** Chosen otherwise than the program's default on purpose: a trial needs workflows and a key, and replicas follow the servers. */
const chosenElsewhere = new Set([
  'TIDEMARK_WORKFLOWS',
  'TIDEMARK_REPLICATION',
  'TIDEMARK_ENCRYPTION',
  'TIDEMARK_KEYS_URL',
]);

test('the settings are found in their source', () => {
  expect(needed).toEqual(['TIDEMARK_KAFKA_BROKERS', 'TIDEMARK_POSTGRES_URL', 'TIDEMARK_REDIS_URL']);
  expect(settings.get('TIDEMARK_PARTITIONS_MAX')).toBe('4096');
  const source =
    "const settings = {\n  TIDEMARK_A: list,\n  /** B. */\n  TIDEMARK_B: text\n    .default('b'),\n} as const;";
  expect([...readSettings(source)]).toEqual([
    ['TIDEMARK_A', undefined],
    ['TIDEMARK_B', 'b'],
  ]);
});

describe('no file names a setting that does not exist', () => {
  test.each(deploymentFiles())('%s', (file) => {
    expect([...settingNamesIn(readProjectFile(file))].filter((name) => !settings.has(name))).toEqual([]);
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

  test('takes no server address from the environment, which may be that of another cluster', () => {
    for (const name of needed) expect(environment).not.toContain(`\${${name}`);
  });
});

describe('helm/tidemark', () => {
  const values = blockOf(readProjectFile('helm/tidemark/values.yaml'), 'settings');
  const secret = ['TIDEMARK_POSTGRES_URL', 'TIDEMARK_REDIS_URL'];

  test('sets every setting: plain ones as values, those with credentials from a Secret', () => {
    expect([...settingNamesIn(values), ...secret].sort()).toEqual(names);
    const template = readProjectFile('helm/tidemark/templates/_process.tpl');
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
});

test('docs/deploy.md lists every setting with its default', () => {
  const rows = [...readProjectFile('docs/deploy.md').matchAll(/^\| `(TIDEMARK_\w+)` +\| (\S+) +\| .{10,}$/gm)];
  const listed = Object.fromEntries(rows.map(([, name, value]) => [name, value]));
  const expected = names.map((name) => {
    const value = settings.get(name);
    return [name, value === undefined ? 'needed' : value === '' ? 'none' : `\`${value}\``];
  });
  expect(listed).toEqual(Object.fromEntries(expected));
});
