/** A command in a folder starts without the clients of servers: they are half as much again to load. */

import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, it } from 'vitest';

const MAIN = path.resolve(import.meta.dirname, 'main.ts');
const CLIENTS = ['kafkajs', '@platformatic/kafka', 'bullmq', 'ioredis', '@aws-sdk/client-s3', '@aws-sdk/client-kms'];
const OTHERS = ['prom-client', '@opentelemetry/api', 'ajv', 'fastify', 'testcontainers'];

/** Prints the packages that a process loaded, as it ends. */
const TOLD = `
  import { registerHooks } from 'node:module';
  const packages = new Set();
  const load = (url, context, next) => {
    const [, name] = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? [];
    if (name !== undefined) packages.add(name);
    return next(url, context);
  };
  registerHooks({ load });
  process.on('exit', () => process.stderr.write(JSON.stringify([...packages])));
`;

it('loads no client of a server, and nothing that measures, for a command that needs none', () => {
  const hook = `data:text/javascript,${encodeURIComponent(TOLD)}`;
  const { status, stderr } = spawnSync(process.execPath, ['--import', hook, MAIN, '--help'], { encoding: 'utf8' });
  expect(status).toBe(0);
  const packages = JSON.parse(stderr) as string[];
  expect(packages).toContain('zod');
  expect(packages.filter((name) => [...CLIENTS, ...OTHERS].includes(name))).toEqual([]);
});
