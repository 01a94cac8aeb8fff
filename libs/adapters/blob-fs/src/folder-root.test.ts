/** Owns the tests of a folder that somebody named: no name and no link leads out, and only files of ours are removed. */

import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeDurably } from './durable-files.ts';
import { FolderRoot, isNameWithin } from './folder-root.ts';

const MAX_BYTES = 1_000;
let parent: string;
let outside: string;
let root: FolderRoot;
const at = (...parts: string[]): string => path.join(parent, 'root', ...parts);
const open = async (writeNew?: (file: string, bytes: Uint8Array) => Promise<void>): Promise<FolderRoot> =>
  (await FolderRoot.open(at(), { drafts: '.drafts', makes: true, writeNew }))!;
const text = async (name: string): Promise<string | undefined> => (await root.read(name, MAX_BYTES))?.toString();

beforeEach(async () => {
  parent = await realpath(await mkdtemp(path.join(os.tmpdir(), 'tidemark-root-')));
  outside = path.join(parent, 'outside');
  await mkdir(outside);
  await writeFile(path.join(outside, 'secret'), 'mine');
  root = await open();
});
afterEach(() => rm(parent, { recursive: true }));

const BYTES = Buffer.from('new');
const linked = { name: 'InvalidError', code: 'path-linked' };

it('writes, replaces, reads and moves files in folders of its own', async () => {
  await root.write('a/b/c.txt', Buffer.from('old'));
  await root.write('a/b/c.txt', BYTES);
  expect(await text('a/b/c.txt')).toBe('new');
  for (const absent of ['a/none', 'none/none', 'a/b/c.txt/none']) expect(await text(absent)).toBeUndefined();
  await root.write('d', BYTES);
  expect([await root.move('a/b/c.txt', 'd'), await text('d-2')]).toEqual(['d-2', 'new']);
  await root.tidy();
  expect((await readdir(at(), { recursive: true })).sort()).toEqual(['a', 'a/b', 'd', 'd-2']);
  await writeFile(at('large'), 'x'.repeat(MAX_BYTES + 1));
  await expect(text('large')).rejects.toMatchObject({ code: 'file-too-large' });
});

it.each(['', '.', '..', '../outside/x', 'a/../../outside/x', '/etc/x', 'a//b', 'a/', 'a\0b', 'a\nb', 'C:x', 'C:\\x'])(
  '%j is no name within it',
  async (name) => {
    expect(isNameWithin(name)).toBe(false);
    await expect(root.write(name, BYTES)).rejects.toMatchObject({ name: 'InvalidError', code: 'path-outside' });
  },
);

it.each(['..\\x', 'a\\..\\..\\x', 'nul', 'a/CON.txt', 'com1', 'x'.repeat(256), `${'x/'.repeat(500)}y`])(
  'nor is %j, on any system',
  (name) => {
    expect(isNameWithin(name)).toBe(false);
  },
);

it.each(['a', 'a.b/c~d-e_f', '.hidden', 'a..b', 'console.txt', 'tür/ß'])('%j is one', (name) => {
  expect(isNameWithin(name)).toBe(true);
});

describe('a link below it', () => {
  it.each(['folder', 'nowhere'])('to a %s is not followed in place of a folder', async (to) => {
    await symlink(to === 'folder' ? outside : path.join(parent, 'nowhere'), at('out'));
    const tries = [
      () => root.write('out/secret', BYTES),
      () => root.write('out/deep/new', BYTES),
      () => root.read('out/secret', MAX_BYTES),
      () => root.openFile('out/secret'),
      () => root.stat('out/secret'),
      () => root.move('out/secret', 'stolen'),
    ];
    for (const attempt of tries) await expect(attempt()).rejects.toMatchObject(linked);
    await root.write('mine', BYTES);
    await expect(root.move('mine', 'out/mine')).rejects.toMatchObject(linked);
    expect([await readdir(outside), await readdir(parent)]).toEqual([['secret'], ['outside', 'root']]);
    expect(await readFile(path.join(outside, 'secret'), 'utf8')).toBe('mine');
  });

  it('is not followed in place of a file either', async () => {
    await symlink(path.join(outside, 'secret'), at('file'));
    await expect(text('file')).rejects.toMatchObject(linked);
    await expect(root.openFile('file')).rejects.toMatchObject(linked);
    await root.write('file', BYTES);
    expect([await text('file'), await readFile(path.join(outside, 'secret'), 'utf8')]).toEqual(['new', 'mine']);
  });

  it.runIf(process.platform === 'linux')('that comes while a file is written leads nowhere', async () => {
    await root.write('out/before', BYTES);
    root = await open(async (file, bytes) => {
      await rename(at('out'), at('moved'));
      await symlink(outside, at('out'));
      await writeDurably(file, bytes);
    });
    await root.write('out/secret', BYTES);
    expect(await readFile(path.join(outside, 'secret'), 'utf8')).toBe('mine');
    expect(await readdir(at('moved'))).toEqual(['before', 'secret']);
  });

  it('is what the folder itself may be: it was named', async () => {
    await symlink(at(), path.join(parent, 'named'));
    const named = await FolderRoot.open(path.join(parent, 'named'), { drafts: '.drafts', makes: true });
    await named!.write('a', BYTES);
    expect([named!.path, await text('a')]).toEqual([at(), 'new']);
  });
});

it('a pipe is refused, and keeps nobody waiting', async () => {
  execFileSync('mkfifo', [at('pipe')]);
  await expect(text('pipe')).rejects.toMatchObject({ code: 'path-not-plain' });
});

describe('drafts', () => {
  it('that were left go, and nothing else', async () => {
    root = await open(async (file, bytes) => {
      await writeDurably(file, bytes);
      throw new Error('the power failed');
    });
    await mkdir(at('.drafts'));
    await mkdir(at('sub'));
    const left = `${crypto.randomUUID()}.part`;
    const others = ['.a.part', 'sub/.b.1-1.part', '.drafts/mine.part', '.drafts/notes'];
    for (const name of [`.drafts/${left}`, ...others]) await writeFile(at(name), 'x');
    await expect(root.write('a', BYTES)).rejects.toThrow('the power failed');
    expect((await readdir(at('.drafts'))).sort()).toEqual([left, 'mine.part', 'notes'].sort());
    await root.tidy();
    const files = (await readdir(at(), { recursive: true, withFileTypes: true })).filter((each) => each.isFile());
    expect(files.map((each) => path.relative(at(), path.join(each.parentPath, each.name))).sort()).toEqual(
      others.sort(),
    );
  });

  it('that would lie elsewhere are refused', async () => {
    await symlink(outside, at('.drafts'));
    await writeFile(path.join(outside, `${crypto.randomUUID()}.part`), 'x');
    await expect(root.tidy()).rejects.toMatchObject(linked);
    await expect(root.write('a', BYTES)).rejects.toMatchObject(linked);
    expect(await readdir(outside)).toHaveLength(2);
  });
});
