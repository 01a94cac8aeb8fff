/** Runs the contract of BlobStore in a folder, and what only this adapter promises: faults of the disk, leftovers. */

import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdir, mkdtemp, open, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { workflowId } from '@tidemark/core';
import { blobStoreContract } from '@tidemark/testkit/contracts/blob-store';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openFsBlobs } from './fs-objects.ts';
import { FOREIGN_TEMPORARY_MAX_MS, temporaryName } from './temporary-files.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-blobs-'));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

const W = workflowId('w');
const of = hash('sha256', W);
const fileOf = (digest: string, workflow = W): string => {
  const name = hash('sha256', workflow);
  return path.join(folder, name.slice(0, 2), name, digest);
};
const unavailable = { name: 'UnavailableError', code: 'blobs-unavailable' };
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

blobStoreContract('folder', async () => {
  const blobs = await openFsBlobs({ folder });
  return {
    blobs,
    async damage(workflow, digest) {
      const stored = await readFile(fileOf(digest, workflow));
      stored[0]! ^= 1;
      await writeFile(fileOf(digest, workflow), stored);
    },
    again: () => openFsBlobs({ folder }),
    close: () => blobs.close(),
  };
});

/** Makes one of the next calls of a file handle's method fail as a disk does. */
async function failNext(method: 'writeFile' | 'sync', code: string, after = 0): Promise<void> {
  const handle = await open(folder, 'r');
  const prototype = Object.getPrototypeOf(handle) as { [name in typeof method]: () => Promise<void> };
  await handle.close();
  const real = prototype[method];
  const spy = vi.spyOn(prototype, method);
  for (let done = 0; done < after; done++) spy.mockImplementationOnce(real);
  spy.mockRejectedValueOnce(Object.assign(new Error(`${code}: simulated`), { code }));
}

test.each([
  ['writeFile', 'ENOSPC', /disk is full/],
  ['writeFile', 'EROFS', /read-only/],
  ['sync', 'EIO', /EIO/],
] as const)(
  '%s fails with %s: UnavailableError, nothing half written is left, and later it works',
  async (method, code, said) => {
    const blobs = await openFsBlobs({ folder });
    await failNext(method, code);
    await expect(blobs.put(W, bytes('x'))).rejects.toMatchObject({
      name: 'UnavailableError',
      message: expect.stringMatching(said),
    });
    expect(await readdir(path.join(folder, '.writing'))).toEqual([]);
    expect((await readdir(folder, { recursive: true })).filter((name) => name.length > 100)).toEqual([]);
    const digest = await blobs.put(W, bytes('x'));
    expect(Buffer.from(await blobs.get(W, digest)).toString()).toBe('x');
  },
);

test('a file cut short is damaged, not shorter data', async () => {
  const blobs = await openFsBlobs({ folder });
  const digest = await blobs.put(W, bytes('long enough'));
  await writeFile(fileOf(digest), 'long');
  await expect(blobs.get(W, digest)).rejects.toMatchObject({ code: 'blob-damaged', details: { digest, bytes: 4 } });
});

test('something else at the place of a folder of blobs is UnavailableError; a file as the folder is ConfigError', async () => {
  const blobs = await openFsBlobs({ folder });
  await blobs.put(W, bytes('x'));
  await rm(path.join(folder, of.slice(0, 2)), { recursive: true });
  await writeFile(path.join(folder, of.slice(0, 2)), 'a file');
  await expect(blobs.put(W, bytes('x'))).rejects.toMatchObject({ name: 'UnavailableError', code: 'blobs-unavailable' });
  const file = path.join(folder, 'file');
  await writeFile(file, '');
  for (const place of [file, path.join(file, 'below')]) {
    await expect(openFsBlobs({ folder: place })).rejects.toMatchObject({ code: 'blob-folder-invalid' });
  }
});

test('the folder is gone, as of a disk that is not mounted: unavailable, not empty; it is not made again', async () => {
  const blobs = await openFsBlobs({ folder });
  const digest = await blobs.put(W, bytes('x'));
  await rename(folder, `${folder}-gone`);
  for (const call of [
    () => blobs.get(W, digest),
    () => blobs.removeAll(W),
    () => blobs.put(W, bytes('x')),
    () => blobs.put(W, bytes('y')),
  ]) {
    await expect(call()).rejects.toMatchObject({ ...unavailable, message: expect.stringMatching(/it is gone/) });
  }
  await expect(readdir(folder)).rejects.toMatchObject({ code: 'ENOENT' });
  await rename(`${folder}-gone`, folder);
  expect(Buffer.from(await blobs.get(W, digest)).toString()).toBe('x');
  // Control: a missing blob is reported as missing.
  await blobs.removeAll(W);
  await expect(blobs.get(W, digest)).rejects.toMatchObject({ code: 'blob-missing' });
});

test('folders that were removed under us are made again', async () => {
  const blobs = await openFsBlobs({ folder });
  const digest = await blobs.put(W, bytes('x'));
  await rm(path.join(folder, of.slice(0, 2)), { recursive: true });
  await rm(path.join(folder, '.writing'), { recursive: true });
  expect(await blobs.put(W, bytes('x'))).toBe(digest);
  expect(Buffer.from(await blobs.get(W, digest)).toString()).toBe('x');
});

test('what is there already is as durable as what is written: its name is made so, or nothing is said', async () => {
  const blobs = await openFsBlobs({ folder });
  await failNext('sync', 'EIO', 1);
  // The file has its bytes and its name, but the disk doesn't have the name yet.
  await expect(blobs.put(W, bytes('x'))).rejects.toMatchObject(unavailable);
  for (const by of [blobs, await openFsBlobs({ folder })]) {
    await failNext('sync', 'EIO');
    await expect(by.put(W, bytes('x'))).rejects.toMatchObject(unavailable);
  }
  const digest = await blobs.put(W, bytes('x'));
  expect(Buffer.from(await blobs.get(W, digest)).toString()).toBe('x');
});

test('opening removes what dead processes left half written, and nothing else', async () => {
  const writing = path.join(folder, '.writing');
  await mkdir(writing);
  const machine = Buffer.from(hostname()).toString('hex');
  const deadPid = spawnSync(process.execPath, ['--version']).pid;
  const dead = `${machine}-${deadPid}-1-1`;
  const before = `${machine}-${process.pid}-1-1`;
  const own = temporaryName();
  const living = `${machine}-${process.ppid}-1-1`;
  const elsewhere = 'aa-1-1-1';
  const elsewhereOld = 'aa-1-1-2';
  for (const name of [dead, before, own, living, elsewhere, elsewhereOld, 'foreign']) {
    await writeFile(path.join(writing, name), 'half');
  }
  const old = new Date(Date.now() - FOREIGN_TEMPORARY_MAX_MS - 60_000);
  await utimes(path.join(writing, elsewhereOld), old, old);
  await openFsBlobs({ folder });
  expect((await readdir(writing)).sort()).toEqual([own, living, elsewhere, 'foreign'].sort());
});
