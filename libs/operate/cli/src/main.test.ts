/** How a command ends where it can't say why itself: its output is full, or a user's module never finishes loading. */

import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

const MAIN = path.resolve(import.meta.dirname, '../bin/tidemark.js');

it('a module that waits for ever at its top level is an error, not an end without a word', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-main-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(path.join(folder, 'stuck.ts'), 'await new Promise(() => {});\n');
  const args = [MAIN, 'run', 'greet', '--workflows', 'stuck.ts'];
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });
  expect(stderr).toMatch(/^error: A module of yours waits, at its top level/);
  expect(status).toBe(78);
});

it.runIf(process.platform !== 'win32')('a folder that was deleted under the command is said, in one line', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-main-'));
  const inGone = (...args: string[]) => {
    const script = `mkdir gone && cd gone && rmdir "$PWD" && exec "$0" "$@"`;
    return spawnSync('sh', ['-c', script, process.execPath, MAIN, ...args], { cwd: folder, encoding: 'utf8' });
  };
  onTestFinished(() => rm(folder, { recursive: true }));
  const said = inGone('ls');
  expect([said.status, said.stderr]).toEqual([78, expect.stringMatching(/^error: The folder .* deleted\. .*cd.*\n$/)]);
  expect(JSON.parse(inGone('ls', '--json').stderr)).toMatchObject({ error: { code: 'folder-deleted' } });
});

it.runIf(existsSync('/dev/full'))('output that cannot be written is said, in one line', () => {
  const full = openSync('/dev/full', 'w');
  onTestFinished(() => closeSync(full));
  const { status, stderr } = spawnSync(process.execPath, [MAIN, '--help'], { stdio: ['ignore', full, 'pipe'] });
  expect(String(stderr)).toMatch(/^error: The output can't be written: ENOSPC.*\n$/);
  expect(status).toBe(69);
});
