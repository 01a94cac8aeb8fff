/** State folders that can't be used as they are, and sockets where the path is too long for one. */

import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { OWN_VERSION } from '@tidemark/api/local';
import { UnavailableError } from '@tidemark/core';
import { openEmbedded } from '@tidemark/host';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callCli } from './called-cli-fixture.ts';
import { FOLDER_WAIT_MS } from './limits.ts';
import { SOCKET_PATH_MAX_BYTES } from './place/folder-socket.ts';
import { failIfHolderGone } from './place/gone.ts';
import { holdFolder } from './place/held-folder.ts';
import { holderPlace } from './place/place.ts';
import { AGENTS, cliFolder } from './spawned-cli-fixture.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'tidemark-cli-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

it('names the process that holds the folder and does not answer for it', async (context) => {
  const { folder, call, here } = await cliFolder(context);
  // Somebody's own program on the folder: it has the lock, and no socket.
  const host = await openEmbedded({ folder: path.join(folder, '.tidemark') });
  const startedMs = performance.now();
  const listed = await call('ls', '--json');
  expect(performance.now() - startedMs).toBeGreaterThan(FOLDER_WAIT_MS);
  const checked = await here('admin', 'doctor');
  expect([listed.code, listed.out]).toEqual([78, '']);
  expect(JSON.parse(listed.err)).toEqual({
    error: { code: 'log-locked', message: expect.stringContaining(`.tidemark is in use by process ${process.pid}`) },
  });
  expect([checked.code, checked.out]).toEqual([0, expect.stringMatching(/warn +In use/)]);
  await host.close();
  expect((await here('run', 'greet', '--input', '{"name":"Di"}', '--workflows', AGENTS)).code).toBe(0);
});

it('is not taken for empty or waited for, when its log is damaged or gone, or it is a file', async (context) => {
  const { folder, here } = await cliFolder(context);
  await here('run', 'greet', '--id', 'g1', '--input', '{"name":"Quetzalcoatl"}', '--workflows', AGENTS);
  const log = path.join(folder, '.tidemark', 'log');
  const file = path.join(log, 'log.db');
  const bytes = (await readFile(file)).toString('latin1').replace('Quetzalcoatl', 'Quetzalcoatx');
  await writeFile(file, bytes, 'latin1');
  await rm(path.join(folder, '.tidemark', 'rows'), { recursive: true });
  const shown = await here('show', 'g1');
  expect([shown.code, shown.err]).toEqual([74, expect.stringMatching(/^error: .*damaged/m)]);

  await mkdir(path.join(folder, '.tidemark', 'rows'), { recursive: true });
  await rm(log, { recursive: true });
  for (const [command = '', ...more] of [['ls'], ['show', 'g1'], ['admin', 'preflight', '--workflows', AGENTS]]) {
    const said = await here(command, ...more);
    expect([command, said.code, said.err]).toEqual([command, 74, expect.stringContaining('its log is gone')]);
  }
  expect((await here('admin', 'doctor')).code).toBe(74);

  await writeFile(path.join(folder, 'a-file'), '');
  const wrong = await here('ls', '--state', 'a-file');
  expect([wrong.code, wrong.err]).toEqual([78, expect.stringContaining('a-file is a file')]);
});

it.runIf(process.getuid?.() === 0)('asks nothing through a socket that another user made, or led to', async () => {
  const folder = path.join(root, 'foreign');
  await mkdir(folder);
  const target = { kind: 'embedded', folder, shown: 'state', env: {} } as const;
  const server = createServer((socket) => socket.destroy());
  const theirs = path.join(root, 'theirs.sock');
  await new Promise<void>((resolve) => server.listen(theirs, resolve));
  await chown(theirs, 12_345, 12_345);
  await symlink(theirs, path.join(folder, 'api.sock'));
  const message = expect.stringContaining('uid 12345');
  await expect(holderPlace(target, 'ana')).rejects.toMatchObject({ code: 'holder-foreign', message });
  await new Promise((resolve) => server.close(resolve));
});

it.each([
  [['--id', 'r 1'], /The same command with the same --id 'r 1' is safe to repeat/],
  [[], /tidemark ls shows whether the run was started/],
])('says what is safe when its holder ends before it answers a start: %#', async (id, then) => {
  const folder = await mkdtemp(path.join(root, 'killed-'));
  const server = createHttpServer(({ url, socket }, answer) => {
    const me = { server: { version: OWN_VERSION, holder: { pid: 77, command: 'dev' } } };
    if (url === '/v1/me') answer.end(JSON.stringify(me));
    else socket.destroy();
  });
  await mkdir(path.join(folder, '.tidemark', 'log'), { recursive: true });
  await new Promise<void>((resolve) => server.listen(path.join(folder, '.tidemark', 'api.sock'), resolve));
  const { code, err } = await callCli(['run', 'greet', '--input', '{}', '--detach', ...id], { cwd: folder });
  expect([code, err]).toEqual([69, expect.stringMatching(then)]);
  expect(err).toContain('Process 77 (tidemark dev), which held .tidemark, has ended before it answered.');
  for (const args of [['ls'], ['signal', 'w1', 'go'], ['schedule']]) {
    const said = await callCli(args, { cwd: folder });
    expect([said.code, said.err]).toEqual([69, expect.stringMatching(/^error: Process 77 \(tidemark dev\).*again/)]);
    expect(said.err).not.toMatch(/http:|socket/);
  }
  await new Promise((resolve) => server.close(resolve));
});

it('runs nothing that lies in it, is for its owner alone, and is not opened where a repository brought it', async () => {
  const folder = await mkdtemp(path.join(root, 'cloned-'));
  const call = (...args: string[]) => callCli(args, { cwd: folder });
  const state = path.join(folder, '.tidemark');
  await call('memory', 'remember', 'The oven burns', '--about', 'domain:kitchen');
  const open = await readdir(state, { recursive: true, withFileTypes: true });
  const modes = open.map(async (entry) =>
    ((await stat(path.join(entry.parentPath, entry.name))).mode & 0o77).toString(8),
  );
  expect(new Set(await Promise.all([...modes, stat(state).then(({ mode }) => (mode & 0o77).toString(8))]))).toEqual(
    new Set(['0']),
  );
  const ran = path.join(folder, 'ran');
  const model = await modelWithCode(path.join(state, 'embedder'), `writeFileSync(${JSON.stringify(ran)}, 'it ran');`);
  expect((await call('ls')).code).toBe(0);
  expect((await call('memory', 'recall', 'oven', '--about', 'domain:kitchen')).err).toContain('no embedder is set up');
  await expect(readFile(ran)).rejects.toThrow('ENOENT');

  await promisify(execFile)('sh', ['-c', 'git init -q . && git add -f .tidemark'], { cwd: folder });
  for (const command of [['ls'], ['memory', 'list', '--about', 'tenant'], ['admin', 'doctor'], ['admin', 'rebuild']]) {
    const said = await call(...command);
    expect([said.code, said.err]).toEqual([78, expect.stringMatching(/came with the git repository.*--state/)]);
  }
  // Nor is code run that somebody named in the settings lies in the repository.
  const named = { TIDEMARK_EMBEDDER_FOLDER: model };
  const recall = ['memory', 'recall', 'oven', '--about', 'domain:kitchen', '--state', path.join(root, 'own-state')];
  await call(
    'memory',
    'remember',
    'The oven burns',
    '--about',
    'domain:kitchen',
    '--state',
    path.join(root, 'own-state'),
  );
  const tracked = await callCli(recall, { cwd: folder, env: named });
  expect([tracked.code, tracked.err]).toEqual([78, expect.stringContaining('beside the model')]);
  await rm(path.join(folder, '.git'), { recursive: true });
  const own = await modelWithCode(
    path.join(folder, '.data/tidemark/embedder'),
    `writeFileSync(${JSON.stringify(ran)}, 'own');`,
  );
  await call(...recall);
  expect(await readFile(ran, 'utf8')).toBe('own');
  await rm(ran);
  await chmod(path.dirname(own), 0o777);
  await call(...recall);
  await expect(readFile(ran)).rejects.toThrow('ENOENT');
});

/** A folder as `tidemark admin install-embedder` makes it, whose code is the given one. Returns the model's. */
async function modelWithCode(installed: string, code: string): Promise<string> {
  const model = path.join(installed, 'all-MiniLM-L6-v2');
  const made = path.join(installed, 'node_modules', '@huggingface', 'transformers');
  await mkdir(path.join(model, 'onnx'), { recursive: true });
  await mkdir(made, { recursive: true });
  await writeFile(path.join(model, 'config.json'), '{"hidden_size":4}');
  for (const name of ['tokenizer.json', 'tokenizer_config.json', 'onnx/model.onnx']) {
    await writeFile(path.join(model, name), '{}');
  }
  await writeFile(path.join(made, 'package.json'), '{"name":"@huggingface/transformers","main":"index.js"}');
  await writeFile(path.join(made, 'index.js'), `const { writeFileSync } = require('node:fs');\n${code}\n`);
  return model;
}

it('serves on a socket for this user alone, and leaves nothing of it behind', async () => {
  const folder = path.join(root, 'own');
  const held = await holdFolder({ kind: 'embedded', folder, shown: 'state', env: {} });
  await held.serve('dev');
  expect((await stat(path.join(folder, 'api.sock'))).mode & 0o777).toBe(0o600);
  expect(await holderPlace({ kind: 'embedded', folder, shown: 'state', env: {} }, 'ana')).toBeDefined();
  await held.close();
  expect((await readdir(folder)).filter((name) => /api/.test(name))).toEqual([]);
});

it('is answered through the socket of a folder whose path is long', async () => {
  const folder = path.join(root, 'a'.repeat(SOCKET_PATH_MAX_BYTES), 'state');
  await mkdir(folder, { recursive: true });
  const target = { kind: 'embedded', folder, shown: 'state', env: {} } as const;
  const held = await holdFolder(target);
  await held.serve('dev');
  const place = (await holderPlace(target, 'ana'))!;
  expect(place).toMatchObject({ shown: 'state', holder: { pid: process.pid, command: 'dev' } });
  expect((await place.client.list({ limit: 1 })).workflows).toEqual([]);

  // Who follows when the holder ends is told, and nobody answers any more.
  const changes = place.client.changes({ onLost: failIfHolderGone(place) });
  const next = changes.next();
  next.catch(() => {});
  await held.close();
  await expect(next).rejects.toThrow(UnavailableError);
  expect(await holderPlace(target, 'ana')).toBeUndefined();
});
