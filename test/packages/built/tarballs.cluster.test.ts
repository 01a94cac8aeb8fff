/** The tarballs of a build as the README says that they are installed from a clone: every door, its types, and the services on real servers. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { freshTopicName } from '@tidemark/testkit/servers';
import { describeServers } from '@tidemark/testkit/suites';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { quickStart } from './quick-start.ts';
import { readPacked } from './registry.ts';
import { UserFolder } from './user-folder.ts';

const TIMEOUT_MS = 300_000;
const all = readPacked(process.env.TIDEMARK_PACKAGES!);
const start = quickStart();
const inside = start.folder;
const doors = all.flatMap(({ manifest }) =>
  Object.keys(manifest.exports)
    .filter((door) => !door.endsWith('.json'))
    .map((door) => `${manifest.name}${door.slice(1)}`),
);

const user = new UserFolder();
beforeAll(async () => {
  await user.run(start.fromTarballs(path.dirname(process.env.TIDEMARK_PACKAGES!)));
  await writeFile(path.join(user.path, inside, start.file.name), start.file.text);
}, TIMEOUT_MS);
afterAll(() => user.remove());

describe('the tarballs that a laptop needs', { timeout: TIMEOUT_MS }, () => {
  it('run the quick start', async () => {
    const said = await user.run(`${start.commands[0]} --json`, { inside });
    expect(JSON.parse(said)).toMatchObject({ status: 'completed' });
  });

  it('name the package that a cluster or a collector needs', async () => {
    const cluster = {
      TIDEMARK_KAFKA_BROKERS: 'localhost:9',
      TIDEMARK_REDIS_URL: 'redis://localhost:9',
      TIDEMARK_POSTGRES_URL: 'postgres://localhost:9/x',
      TIDEMARK_ENCRYPTION: 'off',
    };
    const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:9' };
    for (const [command, env] of [
      ['npx tidemark admin doctor', cluster],
      [start.commands[0], collector],
    ] as const) {
      expect(await user.run(`${command} 2>&1 || true`, { inside, env })).toContain('npm install @tidemark/cluster');
    }
  });
});

describe('all tarballs', { timeout: TIMEOUT_MS }, () => {
  beforeAll(async () => {
    await user.run(`npm install ${process.env.TIDEMARK_PACKAGES}/tarballs/more/*.tgz`, { inside });
  }, TIMEOUT_MS);

  it('open every door', async () => {
    expect(doors.length).toBeGreaterThan(30);
    const script = `for (const door of ${JSON.stringify(doors)}) if (Object.keys(await import(door)).length === 0) throw new Error(door)`;
    await writeFile(path.join(user.path, inside, 'doors.mjs'), script);
    await user.run('node --no-strip-types doors.mjs', { inside });
  });

  it('have types that a strict compiler takes', async () => {
    await user.run(start.checks.install, { inside });
    const imports = doors.map((door, index) => `export * as door${index} from '${door}';`).join('\n');
    await writeFile(path.join(user.path, inside, 'doors.ts'), imports);
    const compile = start.checks.compile.replace(start.file.name, 'doors.ts');
    const said = await user.run(`${compile} --skipLibCheck false --pretty false || true`, { inside });
    const ours = said
      .split('\n')
      .filter((line) => /^(doors\.ts|node_modules\/(@tidemark\/|tidemark\/dist))/.test(line));
    expect(ours).toEqual([]);
    // Control: the compiler does look at them.
    await writeFile(path.join(user.path, inside, 'doors.ts'), `${imports}\nexport { absent } from '@tidemark/sdk';\n`);
    expect(await user.run(`${compile} || true`, { inside })).toContain('absent');
  });

  it('bring the world for tests of workflows', async () => {
    const text = [
      "import assert from 'node:assert/strict';",
      "import { test } from 'node:test';",
      "import { testWorld } from '@tidemark/testkit';",
      `import { countWords } from './${start.file.name}';`,
      "test('counts', async () => {",
      '  const world = await testWorld({ workflows: [countWords] });',
      `  const run = await world.start(countWords, { files: ['${start.file.name}'] });`,
      `  assert.deepEqual(await run.result(), { words: ${start.file.text.split(/\s+/).length} });`,
      '  await world.close();',
      '});',
    ];
    await writeFile(path.join(user.path, inside, 'words.test.ts'), text.join('\n'));
    expect(await user.run('node --test words.test.ts', { inside })).toMatch(/pass 1/);
  });
});

describeServers('the services', ['kafka', 'redis', 'postgres'], (servers) => {
  it('run a workflow between them, and end when asked', { timeout: TIMEOUT_MS }, async () => {
    const env = {
      TIDEMARK_KAFKA_BROKERS: servers.kafka,
      TIDEMARK_REDIS_URL: servers.redis,
      TIDEMARK_POSTGRES_URL: await servers.freshDatabase(),
      TIDEMARK_TOPIC: freshTopicName('packages'),
      TIDEMARK_KEYS_URL: pathToFileURL(path.join(user.path, 'keys.json')).href,
      TIDEMARK_WORKFLOWS: `./${start.file.name}`,
      TIDEMARK_API_PORT: '0',
      TIDEMARK_AUTH: 'off',
    };
    const services = ['coordinator', 'worker', 'compactor'].map((name) => ({
      name,
      service: user.start(`npx tidemark-${name}`, { inside, env }),
    }));
    for (const { name, service } of services) await service.says(new RegExp(`${name} started`));
    const url = /"url":"(http[^"]+)"/.exec(services[0]!.service.said)![1]!;
    const command = start.commands[0]!.replace(/ --workflows \S+/, '').concat(' --json');
    const said = await user.run(command, { inside, env: { TIDEMARK_URL: url } });
    expect(JSON.parse(said)).toMatchObject({ status: 'completed' });
    for (const { service } of services) {
      await service.end('SIGTERM');
      expect(service.said).not.toMatch(/"level":"(error|fatal)"/);
    }
  });
});
