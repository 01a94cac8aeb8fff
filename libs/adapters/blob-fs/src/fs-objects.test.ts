/** Runs the contract of ObjectStore in a folder, and what only this adapter promises: several processes, faults of the disk, leftovers. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import filePromises, { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import type { ObjectStore } from '@tidemark/ports';
import { objectStoreContract } from '@tidemark/testkit/contracts/object-store';
import { eventually } from '@tidemark/testkit/eventually';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openFsObjects } from './fs-objects.ts';
import { temporaryName } from './temporary-files.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-objects-'));
});
afterEach(async () => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
  await rm(folder, { recursive: true, force: true });
});

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const said = async (objects: ObjectStore, name: string): Promise<string> =>
  Buffer.from((await objects.read(name))!).toString();
async function listed(objects: ObjectStore): Promise<string[]> {
  const names: string[] = [];
  for await (const name of objects.list('')) names.push(name);
  return names;
}
const writing = (): string => path.join(folder, '.writing');
const unavailable = { name: 'UnavailableError', code: 'objects-unavailable' };

objectStoreContract('folder', async () => {
  const objects = await openFsObjects({ folder });
  return { objects, again: () => openFsObjects({ folder }), close: () => objects.close() };
});

interface Handle {
  writeFile(): Promise<void>;
  sync(): Promise<void>;
}
/** The prototype of file handles. */
async function handles(): Promise<Handle> {
  const handle = await realOpen(folder, 'r');
  await handle.close();
  return Object.getPrototypeOf(handle) as Handle;
}

/** Makes the next call of a file handle's method fail, as a disk does. */
async function failNext(method: keyof Handle, code: string): Promise<void> {
  vi.spyOn(await handles(), method).mockRejectedValueOnce(Object.assign(new Error(`${code}: simulated`), { code }));
}

const { link: realLink, open: realOpen } = filePromises;
/** Replaces or wraps the calls of link(2). */
function onLink(instead: (link: typeof filePromises.link) => typeof filePromises.link): void {
  vi.spyOn(filePromises, 'link').mockImplementation(instead(realLink));
  syncBuiltinESMExports();
}
const fails =
  (code: string): typeof filePromises.link =>
  async () => {
    throw Object.assign(new Error(`${code}: simulated`), { code, syscall: 'link' });
  };

test('an object is a file under its name', async () => {
  const objects = await openFsObjects({ folder });
  await objects.create('segments/7/a=1.bin', text('x'));
  expect(await readFile(path.join(folder, 'segments/7/a=1.bin'), 'utf8')).toBe('x');
  expect(objects.place).toBe(folder);
  expect(await readdir(writing())).toEqual([]);
});

test('O1: a file is durable before it has its name, and then its folders, up to those that are known to be', async () => {
  const steps: string[] = [];
  const handle = await handles();
  const { sync } = handle;
  vi.spyOn(handle, 'sync').mockImplementation(function (this: Handle) {
    steps.push('sync');
    return sync.call(this);
  });
  vi.spyOn(filePromises, 'open').mockImplementation((file, flags) => {
    const name = path.relative(folder, String(file)).replace(/^\.writing\/.*/, 'temporary');
    steps.push(name === '' ? 'top' : name);
    return realOpen(file, flags);
  });
  onLink((link) => (from, to) => {
    steps.push('link');
    return link(from, to);
  });
  const take = (): string => steps.splice(0).join(' ');

  const objects = await openFsObjects({ folder });
  await objects.create('a/b/c', text('x'));
  expect(take()).toBe('temporary sync link a/b sync a sync top sync');
  await objects.create('a/b/d', text('x'));
  expect(take()).toBe('temporary sync link a/b sync');
  await objects.create('a/e', text('x'));
  expect(take()).toBe('temporary sync link a sync');
  await rm(path.join(folder, 'a'), { recursive: true });
  await objects.create('a/b/c', text('x'));
  expect(take()).toBe('temporary sync link a/b sync a sync top sync');
  // An object of another process, which it may not have made durable yet.
  const other = await openFsObjects({ folder });
  expect(await other.create('a/b/c', text('y'))).toBe(false);
  expect(take()).toBe('a/b sync a sync top sync');
  await openFsObjects({ folder: path.join(folder, 'new/one') });
  expect(take()).toBe('new sync top sync');
});

test.each([
  ['writeFile', 'ENOSPC', /disk is full/],
  ['writeFile', 'EDQUOT', /quota is used up/],
  ['writeFile', 'EROFS', /read-only/],
  ['sync', 'EIO', /EIO/],
] as const)(
  '%s fails with %s: UnavailableError, nothing half written is left, and later it works',
  async (method, code, said_) => {
    const objects = await openFsObjects({ folder });
    await failNext(method, code);
    const refused = { ...unavailable, message: expect.stringMatching(said_) };
    await expect(objects.create('a/b', text('x'))).rejects.toMatchObject(refused);
    expect([await readdir(writing()), await listed(objects)]).toEqual([[], []]);
    expect(await objects.read('a/b')).toBeUndefined();
    expect(await objects.create('a/b', text('x'))).toBe(true);
    expect(await said(objects, 'a/b')).toBe('x');
  },
);

test('a disk that is full when the name is written, and one without hard links, are told as what they are', async () => {
  const objects = await openFsObjects({ folder });
  for (const [code, reason] of [
    ['ENOSPC', /disk is full/],
    ['EPERM', /no hard links/],
    ['ENOTSUP', /no hard links/],
    ['EXDEV', /other file systems/],
  ] as const) {
    onLink(() => fails(code));
    const refused = { ...unavailable, message: expect.stringMatching(reason) };
    await expect(objects.create('a', text('x'))).rejects.toMatchObject(refused);
    expect([await readdir(writing()), await listed(objects)]).toEqual([[], []]);
  }
});

test('a folder that can’t be made durable: unavailable, and asked again it says that it is there, durably', async () => {
  const objects = await openFsObjects({ folder });
  onLink((link) => async (from, to) => {
    await link(from, to);
    await failNext('sync', 'EIO');
  });
  await expect(objects.create('a', text('x'))).rejects.toMatchObject(unavailable);
  await failNext('sync', 'EIO');
  await expect(objects.create('a', text('x'))).rejects.toMatchObject(unavailable);
  expect(await objects.create('a', text('x'))).toBe(false);
});

test('a link that was made and whose answer was lost is ours; control: one of somebody else is not', async () => {
  const objects = await openFsObjects({ folder });
  onLink((link) => async (from, to) => {
    await link(from, to);
    await fails('EEXIST')(from, to);
  });
  expect(await objects.create('a', text('ours'))).toBe(true);
  onLink(() => async (from, to) => {
    await writeFile(to, 'theirs');
    await fails('EEXIST')(from, to);
  });
  expect(await objects.create('b', text('ours'))).toBe(false);
  expect([await said(objects, 'a'), await said(objects, 'b')]).toEqual(['ours', 'theirs']);
});

test('something else at the place is UnavailableError and stays; a file as the folder is ConfigError', async () => {
  const objects = await openFsObjects({ folder });
  await objects.create('file', text('x'));
  await objects.create('folder/a', text('x'));
  await symlink('nowhere', path.join(folder, 'dangling'));
  for (const name of ['folder', 'file/a', 'file/a/b', 'dangling']) {
    await expect(objects.create(name, text('y'))).rejects.toMatchObject(unavailable);
  }
  expect(await readdir(writing())).toEqual([]);
  expect([await said(objects, 'file'), await said(objects, 'folder/a')]).toEqual(['x', 'x']);
  const file = path.join(folder, 'file');
  for (const place of [file, path.join(file, 'below')]) {
    await expect(openFsObjects({ folder: place })).rejects.toMatchObject({ code: 'object-folder-invalid' });
  }
});

test('the folder is gone, as of a disk that is not mounted: unavailable, not empty; it is not made again', async () => {
  const objects = await openFsObjects({ folder });
  await objects.create('a/b', text('x'));
  await rename(folder, `${folder}-gone`);
  for (const call of [
    () => objects.read('a/b'),
    () => objects.recall('a/b'),
    () => listed(objects),
    () => objects.remove('a/b'),
    () => objects.create('a/c', text('x')),
  ]) {
    await expect(call()).rejects.toMatchObject({ ...unavailable, message: expect.stringMatching(/it is gone/) });
  }
  await rename(`${folder}-gone`, folder);
  expect([await said(objects, 'a/b'), await objects.read('a/c')]).toEqual(['x', undefined]);
});

test('folders that were removed under us are made again', async () => {
  const objects = await openFsObjects({ folder });
  await objects.create('a/b/c', text('x'));
  await rm(path.join(folder, 'a'), { recursive: true });
  await rm(writing(), { recursive: true });
  expect(await objects.create('a/b/c', text('y'))).toBe(true);
  expect(await said(objects, 'a/b/c')).toBe('y');
});

test('foreign files in the folder are not listed', async () => {
  const objects = await openFsObjects({ folder });
  await objects.create('a/b', text('x'));
  for (const name of ['.DS_Store', 'a/.b.swp', 'a b', 'ü', '.writing/x']) await writeFile(path.join(folder, name), '');
  await mkdir(path.join(folder, '.git/refs'), { recursive: true });
  await writeFile(path.join(folder, '.git/refs/head'), '');
  await symlink('b', path.join(folder, 'a/link'));
  expect(await listed(objects)).toEqual(['a/b']);
});

test('opening removes what dead processes left half written, and nothing of the living', async () => {
  const machine = Buffer.from(hostname()).toString('hex');
  const dead = `${machine}-${spawnSync(process.execPath, ['--version']).pid}-1-1`;
  const own = temporaryName();
  await mkdir(writing());
  for (const name of [dead, own]) await writeFile(path.join(writing(), name), 'half');
  const objects = await openFsObjects({ folder });
  expect([await readdir(writing()), await listed(objects)]).toEqual([[own], []]);
});

/** A process of its own that works on the folder: `objects` is open there. */
function otherProcess(work: string): ChildProcess {
  const library = new URL('./fs-objects.ts', import.meta.url).href;
  const script = `
    import { openFsObjects } from ${JSON.stringify(library)};
    const objects = await openFsObjects({ folder: ${JSON.stringify(folder)} });
    ${work}`;
  return spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
}

test('O1: several processes create the same names at once: each is created by one, and has its bytes', async () => {
  const names = Array.from({ length: 100 }, (_, index) => `${index % 10}/${index}`);
  const workers = Array.from({ length: 4 }, (_, worker) =>
    otherProcess(`
      const bytes = Buffer.alloc(100_000, ${worker});
      const names = ${JSON.stringify(names)};
      const created = await Promise.all(names.map((name) => objects.create(name, bytes)));
      console.log(JSON.stringify(names.filter((name, index) => created[index])));`),
  );
  const created = await Promise.all(workers.map(async ({ stdout }) => JSON.parse(await textOf(stdout!)) as string[]));
  expect(created.flat().toSorted()).toEqual(names.toSorted());
  const objects = await openFsObjects({ folder });
  for (const [worker, own] of created.entries()) {
    for (const name of own) expect(Buffer.compare((await objects.read(name))!, Buffer.alloc(100_000, worker))).toBe(0);
  }
  expect(await readdir(writing())).toEqual([]);
});

test('O1: a process that is killed while it writes leaves whole objects, and rubbish that the next one removes', async () => {
  const size = 4_000_000;
  const worker = otherProcess(`
    for (let index = 0; ; index++) {
      await Promise.all([0, 1, 2, 3].map((each) => objects.create(\`\${index}/\${each}\`, Buffer.alloc(${size}, index))));
    }`);
  await eventually(async () => (await readdir(folder)).length > 3 && (await readdir(writing())).length > 0);
  worker.kill('SIGKILL');
  await once(worker, 'exit');
  const objects = await openFsObjects({ folder });
  const names = await listed(objects);
  expect(names.length).toBeGreaterThan(0);
  for (const name of names) {
    const expected = Buffer.alloc(size, Number(name.split('/')[0]));
    expect([name, Buffer.compare((await objects.read(name))!, expected)]).toEqual([name, 0]);
  }
  expect(await readdir(writing())).toEqual([]);
});
