/** A command reads what it needs and no more: the whole of Tidemark, with its clients of servers, takes ten times as long to read as a question to ask. */

import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, it } from 'vitest';

const MAIN = path.resolve(import.meta.dirname, 'main.ts');

/** Prints the package of each module that a process loaded, as it ends. */
const TOLD = `
  import { registerHooks } from 'node:module';
  const packages = [];
  const load = (url, context, next) => {
    const [, name] = /(?:node_modules|libs)\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? [];
    if (name !== undefined) packages.push(name);
    return next(url, context);
  };
  registerHooks({ load });
  process.on('exit', () => process.stderr.write(JSON.stringify(packages)));
`;

it.each([
  ['its own help', ['--help'], 0, ['cli', 'commander', 'core', 'host', 'ports', 'runtime', 'secrets']],
  [
    'a question to a server',
    ['ls'],
    69,
    ['api', 'cli', 'client', 'commander', 'core', 'host', 'ports', 'runtime', 'secrets'],
  ],
])('reads for %s no more than these packages, and few files of them', (_, args, code, packages) => {
  const hook = `data:text/javascript,${encodeURIComponent(TOLD)}`;
  const env = { ...process.env, TIDEMARK_URL: 'http://127.0.0.1:1' };
  const { status, stderr } = spawnSync(process.execPath, ['--import', hook, MAIN, ...args], { encoding: 'utf8', env });
  expect(status).toBe(code);
  const told = JSON.parse(stderr.split('\n').at(-1)!) as readonly string[];
  expect([...new Set(told)].sort()).toEqual(packages);
  expect(told.length).toBeLessThan(150);
});
