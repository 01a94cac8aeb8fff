/** What the deployment files name exists, and is what the tests run on. */

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SERVICE_NODE_FLAGS } from '@tidemark/host';
import { describe, expect, test } from 'vitest';
import { packageFolders } from '../../scripts/workspaces.ts';
import { blockOf, projectFolder, readProjectFile } from './deployment.ts';

const exists = (file: string): boolean => existsSync(path.join(projectFolder, file));
const dockerfile = readProjectFile('deploy/Dockerfile');
const ignoreLines = readProjectFile('.dockerignore').split('\n');
const included = ignoreLines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
const excluded = ignoreLines.filter((line) => line !== '' && line !== '*' && !/^[!#]/.test(line));
const isInContext = (file: string): boolean =>
  included.some((entry) => `${file}/`.startsWith(`${entry}/`)) &&
  !excluded.some((entry) => `${file}/`.startsWith(`${entry}/`));

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const manifests = new Map(
  packageFolders(projectFolder, ['libs', 'services', 'examples']).map((folder) => [
    folder,
    JSON.parse(readProjectFile(`${folder}/package.json`)) as Manifest,
  ]),
);

describe('deploy/Dockerfile', () => {
  test('copies what is there, and what .dockerignore lets through', () => {
    const copies = [...dockerfile.matchAll(/^COPY (?!--from)(?:--\S+ )?(.*)$/gm)];
    const sources = copies.flatMap(([, files = '']) => files.split(' ').slice(0, -1));
    expect(sources.length).toBeGreaterThan(8);
    const folders = new Set(included.map((entry) => entry.split('/')[0]));
    for (const source of sources) {
      expect([source, exists(source)]).toEqual([source, true]);
      expect([source, isInContext(source) || folders.has(source)]).toEqual([source, true]);
    }
  });

  test('every workspace that the image needs is in the build', () => {
    const folderOf = new Map([...manifests].map(([folder, { name }]) => [name, folder]));
    const wanted = [...manifests.keys()].filter((folder) =>
      /^services\/|^libs\/operate\/cli$|^examples\/patterns$/.test(folder),
    );
    const seen = new Set<string>();
    for (let folder = wanted.pop(); folder !== undefined; folder = wanted.pop()) {
      if (seen.has(folder)) continue;
      seen.add(folder);
      expect([folder, isInContext(folder)]).toEqual([folder, true]);
      for (const name of Object.keys(manifests.get(folder)?.dependencies ?? {})) {
        const next = folderOf.get(name);
        if (next !== undefined) wanted.push(next);
      }
    }
    expect(seen.size).toBeGreaterThan(12);
    expect(isInContext('libs/testkit')).toBe(false);
  });

  test('has the Node that the tests run on', () => {
    const lock = JSON.parse(readProjectFile('package-lock.json'));
    expect(/^FROM node:([\d.]+)-\S+ AS base$/m.exec(dockerfile)?.[1]).toBe(lock.packages['node_modules/node'].version);
  });

  test('is installed by the lock file, and runs nothing that a package brings for its installation', () => {
    const commands = dockerfile.split('\n').filter((line) => /npm (?:ci|i|install|add|exec|rebuild) /.test(line));
    expect(commands).toHaveLength(2);
    for (const command of commands) expect(command).toMatch(/npm ci .*--ignore-scripts/);
  });

  test('runs as a user by number, who is not root', () => expect(dockerfile).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m));
});

test('deploy/entrypoint.sh starts programs that are there', () => {
  const script = readProjectFile('deploy/entrypoint.sh');
  const services = /^ {2}([\w |]+)\)\n(?: {4}.*\n)* {4}exec node "\/app\/services\/\$program\/src\/main\.ts"/m
    .exec(script)?.[1]
    ?.split(' | ');
  expect(services).toEqual(['coordinator', 'worker', 'compactor']);
  expect(nodeOptions({})).toBe(SERVICE_NODE_FLAGS.join(' '));
  const programs = [
    ...(services ?? []).map((name) => `services/${name}/src/main.ts`),
    'libs/operate/cli/bin/tidemark.js',
  ];
  for (const program of programs) expect([program, exists(program)]).toEqual([program, true]);
  expect(script).toContain('exec node /app/libs/operate/cli/bin/tidemark.js "$@"');
});

test('deploy/entrypoint.sh gives a service the heap that is said, and what the user adds', () => {
  expect(nodeOptions({ SERVICE_HEAP_MB: '700', NODE_OPTIONS: '--import=./otel.mjs' })).toBe(
    `${SERVICE_NODE_FLAGS[0]} --max-old-space-size=700 --import=./otel.mjs`,
  );
});

/** What Node is started with for a service, told by a program in its place. */
function nodeOptions(env: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'tidemark-entrypoint-'));
  try {
    writeFileSync(path.join(folder, 'node'), '#!/bin/sh\necho $NODE_OPTIONS\n', { mode: 0o755 });
    return execFileSync('sh', [path.join(projectFolder, 'deploy/entrypoint.sh'), 'worker'], {
      ...{ encoding: 'utf8', env: { PATH: `${folder}:/usr/bin:/bin`, ...env } },
    }).trim();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('docs/deploy.md starts packages with the flags of the image', () => {
  expect(readProjectFile('docs/deploy.md')).toContain(`export NODE_OPTIONS='${SERVICE_NODE_FLAGS.join(' ')}'\n`);
});

test.each(['docker-compose.yml', 'deploy/Dockerfile'])('the workflows that %s names are in the image', (file) => {
  const modules = readProjectFile(file).match(/(?<=[=,-])\.\/examples\/[^,}\s]+/g) ?? [];
  expect(modules.length).toBeGreaterThan(1);
  for (const module of modules)
    expect([module, exists(module) && isInContext(path.normalize(module))]).toEqual([module, true]);
});

describe.each(['docker-compose.yml', 'helm/tidemark/values.yaml'])('%s', (file) => {
  const text = readProjectFile(file);

  test.each(['kafka', 'redis', 'postgres'])('%s is the one that the tests run on', (kind) => {
    const tested = new RegExp(`${kind}Image = '([^']+)'`).exec(
      readProjectFile(`libs/testkit/src/servers/${kind}.ts`),
    )?.[1];
    const block = blockOf(text, file.startsWith('helm') ? 'servers' : 'services');
    expect(/image: (\S+)/.exec(blockOf(block, kind))?.[1]).toBe(tested);
    expect(tested).toMatch(/:\d/);
  });

  test('Redis refuses to drop jobs when it is full', () => {
    const redis = file.startsWith('helm') ? readProjectFile('helm/tidemark/templates/servers/redis.yaml') : text;
    expect(redis).toContain('--maxmemory-policy, noeviction');
  });
});

test('the chart has the version of the services', () => {
  const version = /^appVersion: (\S+)$/m.exec(readProjectFile('helm/tidemark/Chart.yaml'))?.[1];
  expect(version).toBe(manifests.get('services/worker')?.version);
});

test('docs/deploy.md: every link leads somewhere', () => {
  const links = [...readProjectFile('docs/deploy.md').matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(
    ([, link = '']) => link,
  );
  expect(links.length).toBeGreaterThan(2);
  for (const link of links) expect([link, exists(path.join('docs', link))]).toEqual([link, true]);
});
