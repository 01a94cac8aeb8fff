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

it.runIf(existsSync('/dev/full'))('output that cannot be written is said, in one line', () => {
  const full = openSync('/dev/full', 'w');
  onTestFinished(() => closeSync(full));
  const { status, stderr } = spawnSync(process.execPath, [MAIN, '--help'], { stdio: ['ignore', full, 'pipe'] });
  expect(String(stderr)).toMatch(/^error: The output can't be written: ENOSPC.*\n$/);
  expect(status).toBe(69);
});
