/** A lock whose file goes with it: what was opened before its holder removed it is no lock any more. */

import { existsSync, unlinkSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { withPassingLock } from './lock.ts';

/** Called once the file of a lock is open, before it is locked. */
const onOpen = vi.hoisted(() => ({ call: (_file: string): void => {} }));
vi.mock('node:sqlite', async (importOriginal) => {
  const original = await importOriginal<typeof import('node:sqlite')>();
  return {
    ...original,
    DatabaseSync: class extends original.DatabaseSync {
      constructor(file: string, options: object) {
        super(file, options);
        onOpen.call(file);
      }
    },
  };
});

it('is taken on the file that has the name, however often a holder removed it after it was opened', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-lock-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'a.lock');
  let removals = 3;
  onOpen.call = (opened) => {
    if (removals-- > 0) unlinkSync(opened);
  };
  expect(await withPassingLock(file, 60_000, async () => existsSync(file))).toBe(true);
  expect(removals).toBe(-1);
  expect(await readdir(folder)).toEqual([]);
});
