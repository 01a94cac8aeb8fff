/** A command reads what it needs and no more: the whole of Tidemark, with its clients of servers, takes ten times as long to read as a question to ask. */

import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';

const MAIN = path.resolve(import.meta.dirname, 'main.ts');
const CLIENTS = ['kafkajs', '@platformatic/kafka', 'bullmq', 'ioredis', '@aws-sdk/client-s3', '@aws-sdk/client-kms'];
const OTHERS = ['prom-client', '@opentelemetry/api', 'ajv', 'fastify', 'testcontainers'];

/** Prints the package of each module that a process loaded, as it ends. */
const REPORTED = `
  import { registerHooks } from 'node:module';
  const packages = [];
  const load = (url, context, next) => {
    const [, name] = /(?:node_modules|libs\\/[a-z]+)\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? [];
    if (name !== undefined) packages.push(name);
    return next(url, context);
  };
  registerHooks({ load });
  process.on('exit', () => process.stderr.write(JSON.stringify(packages)));
`;

/** Runs a command to its end; the package of each module that it loaded. */
function loadedBy(args: readonly string[], code: number, env: NodeJS.ProcessEnv = {}): readonly string[] {
  const hook = `data:text/javascript,${encodeURIComponent(REPORTED)}`;
  const options = { encoding: 'utf8', env: { ...process.env, ...env } } as const;
  const { status, stderr } = spawnSync(process.execPath, ['--import', hook, MAIN, ...args], options);
  expect(status).toBe(code);
  // A thread of it tells of itself.
  const reported = stderr
    .split('\n')
    .at(-1)!
    .matchAll(/\[[^\]]*\]/g);
  return [...reported].flatMap(([packages]) => JSON.parse(packages) as readonly string[]);
}

it.each([
  [
    'its own help',
    ['--help'],
    0,
    ['@commander-js/extra-typings', 'cli', 'client', 'commander', 'core', 'host', 'ports', 'runtime', 'secrets'],
  ],
  [
    'a question to a server',
    ['ls'],
    69,
    ['@commander-js/extra-typings', 'api', 'cli', 'client', 'commander', 'core', 'host', 'ports', 'runtime', 'secrets'],
  ],
])('reads for %s no more than these packages, and few files of them', (_, args, code, packages) => {
  const loaded = loadedBy(args, code, { TIDEMARK_URL: 'http://127.0.0.1:1' });
  expect([...new Set(loaded)].sort()).toEqual(packages);
  expect(loaded.length).toBeLessThan(160);
});

it('loads no client of a server, and nothing that measures, to open a folder', async (context) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-start-'));
  context.onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const args = ['user', 'set', 'tone', 'dry', '--user', 'ana', '--state', folder];
  const packages = loadedBy(args, 0, { TIDEMARK_URL: undefined, TIDEMARK_KAFKA_BROKERS: undefined });
  expect(packages).toContain('zod');
  expect(packages.filter((name) => [...CLIENTS, ...OTHERS].includes(name))).toEqual([]);
});
