/** A lock whose file goes with it: what was opened before its holder removed it is no lock any more. */

import { existsSync, unlinkSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished, vi } from 'vitest';
import { withPassingLock } from './lock.ts';

it('is taken on the file that has the name, however often a holder removed it after it was opened', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-lock-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'a.lock');
  let removals = 3;
  const { exec } = DatabaseSync.prototype;
  // The file is open by then, and not locked yet.
  vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql) {
    if (removals-- > 0) unlinkSync(file);
    exec.call(this, sql);
  });
  expect(await withPassingLock(file, 60_000, async () => existsSync(file))).toBe(true);
  expect(removals).toBe(-1);
  expect(await readdir(folder)).toEqual([]);
});
