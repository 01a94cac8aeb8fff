/**
 * Owns the BlobStore in a folder: `ab/cd/abcd…` by SHA-256, temporary files in `writing/`. Invariants: a file under its digest is whole and
 * durable before the name exists (write, fsync, rename, fsync of the folder); `put` returns once the folders that name it are durable, also
 * when the file existed; what `get` returns has the requested digest. Several processes may share the folder. Must not create the folder
 * again when it vanished (a disk that is not mounted): its content would seem lost.
 */

import { hash } from 'node:crypto';
import { open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import path from 'node:path';
import { CorruptError } from '@tidemark/core';
import { type BlobStore, BlobWrites, blobPath, digestAt, refuseTooLarge, Turns } from '@tidemark/ports';
import { makeFolder, syncFolder, writeDurably } from './durable-files.ts';
import { type FolderUse, GuardedFolder } from './guarded-folder.ts';
import { FILES_OPEN_MAX } from './limits.ts';
import { removeAbandoned, temporaryName } from './temporary-files.ts';

export interface FsBlobsOptions {
  /** Created when missing. */
  readonly folder: string;
}

const SHARD = /^[0-9a-f]{2}$/;
const WRITING = 'writing';
const USE: FolderUse = { of: 'blobs', invalid: 'blob-folder-invalid', unavailable: 'blobs-unavailable' };

/**
 * Opens the folder and removes what dead processes left half written. Throws `ConfigError` (`blob-folder-invalid`) when the path is no
 * folder, `UnavailableError` when it can't be created. A read-only folder serves reads.
 */
export async function openFsBlobs(options: FsBlobsOptions): Promise<BlobStore> {
  const folder = new GuardedFolder(options.folder, USE);
  await folder.make();
  await removeAbandoned(path.join(folder.path, WRITING), Date.now());
  return new FsBlobs(folder);
}

class FsBlobs implements BlobStore {
  readonly #guard: GuardedFolder;
  readonly #folder: string;
  readonly #turns = new Turns(FILES_OPEN_MAX);
  readonly #writes = new BlobWrites();
  /** Folders of the second level (65,536 at most) whose names are known to be durable. */
  readonly #durableShards = new Set<string>();

  constructor(guard: GuardedFolder) {
    this.#guard = guard;
    this.#folder = guard.path;
  }

  async put(bytes: Uint8Array): Promise<string> {
    refuseTooLarge(bytes);
    const digest = hash('sha256', bytes);
    await this.#writes.once(digest, () => this.#turns.run(() => this.#store(digest, bytes)));
    return digest;
  }

  async get(digest: string): Promise<Uint8Array> {
    const file = this.#file(digest);
    const bytes = await this.#guard.guarded(() => this.#turns.run(() => readFile(file)), 'ENOENT');
    if (bytes === undefined) {
      await this.#guard.check();
      throw new CorruptError('blob-missing', `The blob ${digest} is not in ${this.#folder}`, { digest });
    }
    if (hash('sha256', bytes) !== digest) {
      const message = `The blob ${digest} in ${this.#folder} is damaged: its bytes have another digest`;
      throw new CorruptError('blob-damaged', message, { digest, bytes: bytes.length });
    }
    return bytes;
  }

  async has(digest: string): Promise<boolean> {
    const file = this.#file(digest);
    const handle = await this.#guard.guarded(() => open(file, 'r'), 'ENOENT');
    if (handle === undefined) await this.#guard.check();
    await handle?.close();
    return handle !== undefined;
  }

  async delete(digest: string): Promise<void> {
    const file = this.#file(digest);
    const isGone = await this.#guard.guarded(() => unlink(file).then(() => true), 'ENOENT');
    if (isGone === undefined) await this.#guard.check();
  }

  async *list(): AsyncIterable<string> {
    await this.#guard.check();
    for (const first of await this.#shards(this.#folder)) {
      for (const second of await this.#shards(path.join(this.#folder, first))) {
        for (const name of await this.#names(path.join(this.#folder, first, second))) {
          const digest = digestAt(`${first}/${second}/${name}`);
          if (digest !== undefined) yield digest;
        }
      }
    }
  }

  /** Waits for writes under way. */
  async close(): Promise<void> {
    await this.#writes.settled();
  }

  #file(digest: string): string {
    return path.join(this.#folder, blobPath(digest));
  }

  /** Compares an existing file and replaces a damaged one: after a `put`, `get` works. */
  async #store(digest: string, bytes: Uint8Array): Promise<void> {
    const file = this.#file(digest);
    const existing = await this.#guard.guarded(() => readFile(file), 'ENOENT');
    const isThere = existing !== undefined && Buffer.compare(existing, bytes) === 0;
    await this.#guard.guarded(() => (isThere ? this.#nameDurably(path.dirname(file)) : this.#write(file, bytes)));
  }

  async #write(file: string, bytes: Uint8Array): Promise<void> {
    const writing = path.join(this.#folder, WRITING);
    await makeFolder(writing);
    const temporary = path.join(writing, temporaryName());
    const shard = path.dirname(file);
    try {
      await writeDurably(temporary, bytes);
      await makeFolder(path.dirname(shard));
      if (await makeFolder(shard)) this.#durableShards.delete(shard);
      await rename(temporary, file);
      await this.#nameDurably(shard);
    } catch (error) {
      await unlink(temporary).catch(() => {});
      throw error;
    }
  }

  /** A name is durable once its folder is, and the folders that name that one. Runs once for each shard, whichever writer created it. */
  async #nameDurably(shard: string): Promise<void> {
    await syncFolder(shard);
    if (this.#durableShards.has(shard)) return;
    await syncFolder(path.dirname(shard));
    await syncFolder(this.#folder);
    this.#durableShards.add(shard);
  }

  async #shards(folder: string): Promise<string[]> {
    return (await this.#names(folder)).filter((name) => SHARD.test(name));
  }

  async #names(folder: string): Promise<string[]> {
    return (await this.#guard.guarded(() => readdir(folder), 'ENOENT', 'ENOTDIR')) ?? [];
  }
}
