/**
 * Places that can't be written and disks that are full: as the file system's own errors at the port, and for real where
 * this machine has such a place (tests may run as root, whom permissions do not stop).
 */

import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { nodeFiles, type StateFiles } from './files.ts';
import { aState, testPlace } from './place-fixture.ts';

const failure = (code: string): Error => Object.assign(new Error(`${code}: made by the test`), { code });

/** The file system, with writes below `folder` failing as long as `code` says so. */
function failing(folder: string, fault: { code: string | undefined; after?: number }): StateFiles {
  let writes = 0;
  const check = (file: string): void => {
    if (fault.code === undefined || !file.startsWith(folder)) return;
    writes += 1;
    if (writes > (fault.after ?? 0)) throw failure(fault.code);
  };
  return {
    ...nodeFiles,
    async makeFolder(below, secluded) {
      check(below);
      await nodeFiles.makeFolder(below, secluded);
    },
    canWrite: async (file) => (fault.code === undefined || !file.startsWith(folder)) && nodeFiles.canWrite(file),
    async writeNew(file, bytes) {
      check(file);
      await nodeFiles.writeNew(file, bytes);
    },
    async rename(from, to) {
      check(to);
      await nodeFiles.rename(from, to);
    },
    async remove(file) {
      check(file);
      await nodeFiles.remove(file);
    },
  };
}

/** A small file system of its own, or undefined where this process may not mount one. */
async function mounted(options: string): Promise<string | undefined> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-mount-'));
  const mount = (...args: string[]): void => void execFileSync('mount', [...args, folder], { stdio: 'ignore' });
  onTestFinished(async () => {
    try {
      execFileSync('umount', [folder], { stdio: 'ignore' });
    } catch {
      // It was not mounted.
    }
    await rm(folder, { recursive: true, force: true });
  });
  try {
    mount('-t', 'tmpfs', '-o', options, 'tmpfs');
    return folder;
  } catch {
    return undefined;
  }
}

describe('a place that can not be written', () => {
  it.each(['EROFS', 'EACCES', 'EPERM'])(
    'is replaced by a temporary one, with a warning (%s), until it can be',
    async (code) => {
      const { open, folder, write, temporaryFolder, list, read, state } = await testPlace({ onTestFinished });
      await write(aState({ notes: [{ text: 'before' }] }));
      const fault: { code: string | undefined } = { code };
      const files = failing(folder, fault);
      const first = await open({ files }).checkpoint({ stages: ['fix'], status: 'done' });
      expect(first.warnings).toEqual([expect.stringMatching(/can't be written, so the state is kept in .*temporary/)]);
      expect(first.file.startsWith(temporaryFolder)).toBe(true);
      expect(JSON.parse(await read())).toEqual(aState({ notes: [{ text: 'before' }] }));
      // The next process finds it there, and resumes it.
      expect(await open({ files }).resume()).toMatchObject({
        line: 'Resuming from stage 3: test. Stages 1–2 already done.',
        conflicts: [],
      });
      const second = await open({ files }).checkpoint({ note: 'still away' });
      expect(second.state).toMatchObject({
        current_stage: 'test',
        notes: [{ text: 'before' }, { text: 'still away' }],
      });
      expect(second.state.conflicts).toBeUndefined();
      expect(await list()).toEqual(['audit-state.json']);

      await expect(open({ files }).complete({ open: true })).rejects.toMatchObject({ code: 'place-read-only' });

      fault.code = undefined;
      const back = await open({ files }).resume();
      expect(back.conflicts).toMatchObject([{ kept: first.file, because: expect.stringContaining('newer') }]);
      expect(await state()).toMatchObject({
        current_stage: 'test',
        notes: [{ text: 'before' }, { text: 'still away' }],
      });
      expect(await list()).toEqual(['.gitignore', 'archive', 'audit-state.json']);
      expect(await open({ files }).resume()).toMatchObject({ warnings: [] });
      await open().complete({ open: true });
      expect(await open().resume()).toMatchObject({ fresh: true });
    },
  );

  it('is replaced by the folder that other programs use, unless that holds the state of another folder', async () => {
    const { open, folder, temporaryFolder, write, state } = await testPlace({ onTestFinished });
    const shared = path.join(temporaryFolder, 'workflow-state', 'audit-state.json');
    const files = failing(folder, { code: 'EROFS' });
    const elsewhere = path.join(path.dirname(folder), 'elsewhere');
    await mkdir(elsewhere);
    const other = open({ folder: elsewhere, files: failing(elsewhere, { code: 'EROFS' }) });
    expect((await other.init({ stages: ['theirs'] })).file).toBe(shared);
    expect(await open({ files }).resume()).toMatchObject({ fresh: true });
    const first = await open({ files }).init({ stages: ['a'] });
    expect(first.file).toContain('tidemark-state-');
    expect(first.warnings).toEqual([expect.stringContaining(`${shared} is of ${elsewhere}`)]);
    expect((await open().resume()).line).toBe('Resuming from stage 1: a.');
    expect((await other.resume()).line).toBe('Resuming from stage 1: theirs.');
    // Another program's says of which folder it is by the state that it continues.
    await writeFile(
      shared,
      JSON.stringify(aState({ created_at: '2020-01-01T00:00:00Z', updated_at: '2030-01-01T00:00:00Z' })),
    );
    expect((await open().resume()).line).toBe('Resuming from stage 1: a.');
    await write(aState());
    await writeFile(shared, JSON.stringify(aState({ updated_at: '2030-01-01T00:00:00Z', notes: 'theirs' })));
    expect((await open().resume()).state?.notes).toEqual([{ text: 'theirs' }]);
    expect(await state()).not.toHaveProperty('fallback_for');
    // Where there is none and none can be written, theirs is the only one.
    const third = path.join(path.dirname(folder), 'third');
    await mkdir(third);
    await writeFile(shared, JSON.stringify(aState({ notes: 'theirs' })));
    const theirs = open({ folder: third, files: failing(third, { code: 'EROFS' }) });
    expect((await theirs.resume()).state?.notes).toEqual([{ text: 'theirs' }]);
    expect((await theirs.checkpoint({ note: 'ours' })).file).toBe(shared);
    expect((await open({ folder: third, files: failing(third, { code: undefined }) }).resume()).state).toMatchObject({
      notes: [{ text: 'theirs' }, { text: 'ours' }],
    });
  });

  it('may have no state yet', async () => {
    const { open, folder, list } = await testPlace({ onTestFinished });
    const files = failing(folder, { code: 'EROFS' });
    expect((await open({ files }).init({ stages: ['a'] })).warnings).toHaveLength(1);
    await expect(open({ files }).init({ stages: ['a'] })).rejects.toMatchObject({ code: 'state-exists' });
    expect(await open().resume()).toMatchObject({
      fresh: false,
      line: 'Resuming from stage 1: a.',
      conflicts: [],
    });
    expect(await list()).toEqual(['.gitignore', 'audit-state.json']);
  });

  it('with no other place is an error that says so', async () => {
    const { open, folder, temporaryFolder } = await testPlace({ onTestFinished });
    const files = failing(path.dirname(folder), { code: 'EROFS' });
    await expect(open({ files, temporaryFolder }).init({ stages: [] })).rejects.toMatchObject({
      code: 'place-read-only',
    });
  });

  it('is not replaced by one that somebody else laid out', async () => {
    const { open, folder, temporaryFolder } = await testPlace({ onTestFinished });
    const files = failing(folder, { code: 'EROFS' });
    const trap = path.join(temporaryFolder, `tidemark-state-${process.getuid?.() ?? 'user'}`);
    await mkdir(path.join(folder, 'mine'));
    await symlink(path.join(folder, 'mine'), trap);
    await symlink(path.join(folder, 'mine'), path.join(temporaryFolder, 'workflow-state'));
    await expect(open({ files }).init({ stages: [] })).rejects.toMatchObject({ code: 'place-foreign' });
    await rm(trap);
    const foreign = {
      ...files,
      stat: async (file: string) => ({ ...(await nodeFiles.stat(file)), ...(file === trap && { owner: 4242 }) }),
    };
    await expect(open({ files: foreign }).init({ stages: [] })).rejects.toMatchObject({ code: 'place-foreign' });
  });

  it('for real: /sys takes no folder from anybody', async (context) => {
    if (process.platform !== 'linux') context.skip();
    const { open, temporaryFolder } = await testPlace({ onTestFinished });
    const { warnings, file } = await open({ folder: '/sys' }).init({ stages: ['a'] });
    expect(warnings).toEqual([expect.stringContaining("/sys/.workflow-state can't be written")]);
    expect(file.startsWith(temporaryFolder)).toBe(true);
    expect((await open({ folder: '/sys' }).resume()).line).toBe('Resuming from stage 1: a.');
  });

  it('for real: a file system that is mounted for reading', async (context) => {
    const { open } = await testPlace({ onTestFinished });
    const folder = await mounted('size=1m');
    if (folder === undefined) context.skip('mounting is not allowed here');
    await open({ folder: folder! }).init({ stages: ['a', 'b'] });
    execFileSync('mount', ['-o', 'remount,ro', folder!]);
    const checkpoint = await open({ folder: folder! }).checkpoint({ stages: ['a'], status: 'done' });
    expect(checkpoint).toMatchObject({
      warnings: [expect.stringContaining("can't be written")],
      state: { current_stage: 'b' },
    });
    execFileSync('mount', ['-o', 'remount,rw', folder!]);
    expect(await open({ folder: folder! }).resume()).toMatchObject({
      line: 'Resuming from stage 2: b. Stage 1 already done.',
    });
  });
});

describe('a full disk', () => {
  it.each(['ENOSPC', 'EDQUOT'])('at any write (%s) leaves the old state, and is told', async (code) => {
    const { open, folder, write, read, list } = await testPlace({ onTestFinished });
    const text = JSON.stringify(aState());
    await write(text);
    for (let after = 0; ; after += 1) {
      const fault = { code, after };
      const outcome = await open({ files: failing(folder, fault) })
        .checkpoint({ note: 'x' })
        .then(
          () => 'written',
          (error: unknown) => error,
        );
      if (outcome === 'written') {
        expect(after).toBeGreaterThan(2);
        break;
      }
      expect(outcome).toMatchObject({ code: 'disk-full', message: expect.stringContaining('Nothing was changed') });
      expect(await read()).toBe(text);
    }
    // What a failed write could not take away, the next one does.
    await open().checkpoint({ note: 'y' });
    expect(await list()).toEqual(['.gitignore', 'audit-state.json']);
  });

  it('for real: nothing is torn, nothing is left', async (context) => {
    const { open } = await testPlace({ onTestFinished });
    const folder = await mounted('size=64k');
    if (folder === undefined) context.skip('mounting is not allowed here');
    const audit = open({ folder: folder! });
    await audit.init({ stages: ['a'] });
    const outcome = await audit.checkpoint({ note: 'words '.repeat(20_000) }).catch((error: unknown) => error);
    expect(outcome).toMatchObject({ code: 'disk-full' });
    expect((await audit.show()).state).toMatchObject({ notes: [], stages: [{ id: 'a' }] });
    expect((await readdir(path.join(folder!, '.workflow-state'))).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    await audit.checkpoint({ note: 'a few words' });
  });
});

describe('a crash', () => {
  it('between the archive and the removal repeats a copy, and loses nothing', async () => {
    const { open, write, folder, list, state } = await testPlace({ onTestFinished });
    await write(aState({ notes: [{ text: 'older' }] }));
    await write(aState({ updated_at: '2026-03-01T15:00:00.000Z', notes: [{ text: 'newer' }] }), 'audit-state (1).json');
    for (let after = 1; after < 6; after += 1) {
      // EIO is neither a full disk nor a place to leave: it ends the change wherever it is.
      await open({ files: failing(folder, { code: 'EIO', after }) })
        .resume()
        .catch(() => {});
      const { state: seen } = await open().show();
      expect(seen?.notes.map(({ text }) => text)).toEqual(['newer']);
    }
    await open().resume();
    expect(await state()).toMatchObject({ notes: [{ text: 'newer' }] });
    expect(await list('archive')).toContainEqual(expect.stringMatching(/^conflict-audit-state-/));
  });
});

describe('a place that is none', () => {
  it('is told', async () => {
    const { open, folder } = await testPlace({ onTestFinished });
    await expect(open({ folder: path.join(folder, 'missing') }).init({ stages: [] })).rejects.toMatchObject({
      code: 'place-missing',
    });
    await writeFile(path.join(folder, 'file'), '');
    await expect(open({ folder: path.join(folder, 'file') }).init({ stages: [] })).rejects.toMatchObject({
      code: 'place-invalid',
    });
    await writeFile(path.join(folder, '.workflow-state'), '');
    await expect(open().init({ stages: [] })).rejects.toMatchObject({ code: 'place-invalid' });
  });

  it('has a lock that is somebody else’s file', async () => {
    const { open, write, list } = await testPlace({ onTestFinished });
    await write('pid 12\n'.repeat(200), 'audit-state.lock');
    await expect(open().init({ stages: [] })).rejects.toMatchObject({ code: 'lock-foreign' });
    expect(await list()).toEqual([]);
  });
});
