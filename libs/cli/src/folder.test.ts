/** State folders that can't be used as they are, and sockets where the path is too long for one. */

import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { UnavailableError } from '@tidemark/core';
import { openEmbedded } from '@tidemark/host';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FOLDER_WAIT_MS, SOCKET_PATH_MAX_BYTES } from './limits.ts';
import { AGENTS, cliFolder } from './spawned-cli.ts';
import type { Desk, News } from './state/desk.ts';
import { holdFolder, openToRead } from './state/open-desk.ts';
import { connectSocket } from './state/socket-desk.ts';
import { serveSocket } from './state/socket-server.ts';

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
  const checked = await here('doctor');
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
  expect([shown.code, shown.err]).toEqual([74, expect.stringMatching(/^error: .*damaged/)]);

  await mkdir(path.join(folder, '.tidemark', 'rows'), { recursive: true });
  await rm(log, { recursive: true });
  for (const [command = '', ...more] of [['ls'], ['show', 'g1'], ['preflight', '--workflows', AGENTS]]) {
    const said = await here(command, ...more);
    expect([command, said.code, said.err]).toEqual([command, 74, expect.stringContaining('its log is gone')]);
  }
  expect((await here('doctor')).code).toBe(74);

  await writeFile(path.join(folder, 'a-file'), '');
  const wrong = await here('ls', '--state', 'a-file');
  expect([wrong.code, wrong.err]).toEqual([78, expect.stringContaining('a-file is a file')]);
});

it('is answered through the socket of a folder whose path is long', async () => {
  const folder = path.join(root, 'a'.repeat(SOCKET_PATH_MAX_BYTES), 'state');
  await mkdir(folder, { recursive: true });
  const target = { kind: 'embedded', folder, shown: 'state' } as const;
  const held = await holdFolder(target);
  const server = await serveSocket(held, folder, 'dev');
  const desk = (await openToRead(target)) as Desk;
  expect(desk.place).toEqual({ kind: 'embedded', folder: 'state', holder: { pid: process.pid, command: 'dev' } });
  expect(await desk.reads.workflows({ limit: 1 })).toEqual([]);
  expect((await desk.health()).store.ready).toBe(true);

  // Calls that are under way when the holder ends fail, and whoever listens is told.
  const heard: News[] = [];
  await desk.onNews((news) => heard.push(news));
  await server.close();
  await expect(desk.reads.counts()).rejects.toThrow(UnavailableError);
  expect(heard).toEqual([{ type: 'gone' }]);
  expect(await connectSocket(folder, 'state')).toBeUndefined();
  await held.close();
});
