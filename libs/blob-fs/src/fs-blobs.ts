/**
 * Owns the BlobStore in a folder: `ab/cd/abcd…` by SHA-256, temporary files in `writing/`. Invariants: a file under its
 * digest is whole and durable before the name exists (write, fsync, rename, fsync of the folder); what `get` returns has
 * the digest it was asked for. Several processes may share the folder.
 */

import { hash } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, CorruptError, UnavailableError } from '@tidemark/core';
import { type BlobStore, BlobWrites, blobPath, digestAt, refuseTooLarge } from '@tidemark/ports';
import { codeOf, syncFolder, writeDurably } from './durable-files.ts';
import { FILES_OPEN_MAX } from './limits.ts';
import { removeLeftBehind, temporaryName } from './temporary-files.ts';
import { Turns } from './turns.ts';

export interface FsBlobsOptions {
  /** Made when absent. */
  readonly folder: string;
}

const SHARD = /^[0-9a-f]{2}$/;
const WRITING = 'writing';

/**
 * Opens the folder and removes what dead processes left half written. Throws `ConfigError` (`blob-folder-invalid`) when
 * the path is no folder, `UnavailableError` when it can't be made. A folder that can only be read serves reads.
 */
export async function openFsBlobs(options: FsBlobsOptions): Promise<BlobStore> {
  const folder = path.resolve(options.folder);
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST' || code === 'ENOTDIR') {
      throw new ConfigError('blob-folder-invalid', `${folder} is not a folder`, { folder });
    }
    throw unavailable(folder, error);
  }
  await removeLeftBehind(path.join(folder, WRITING), Date.now());
  return new FsBlobs(folder);
}

class FsBlobs implements BlobStore {
  readonly #folder: string;
  readonly #turns = new Turns(FILES_OPEN_MAX);
  readonly #writes = new BlobWrites();
  /** Folders of the second level (65,536 at most) whose names are known to be durable. */
  readonly #durableShards = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async put(bytes: Uint8Array): Promise<string> {
    refuseTooLarge(bytes);
    const digest = hash('sha256', bytes);
    await this.#writes.once(digest, () => this.#turns.run(() => this.#store(digest, bytes)));
    return digest;
  }

  async get(digest: string): Promise<Uint8Array> {
    const file = this.#file(digest);
    const bytes = await this.#guarded(() => this.#turns.run(() => readFile(file)), 'ENOENT');
    if (bytes === undefined) {
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
    const handle = await this.#guarded(() => open(file, 'r'), 'ENOENT');
    await handle?.close();
    return handle !== undefined;
  }

  async delete(digest: string): Promise<void> {
    const file = this.#file(digest);
    await this.#guarded(() => unlink(file), 'ENOENT');
  }

  async *list(): AsyncIterable<string> {
    for (const first of await this.#shards(this.#folder)) {
      for (const second of await this.#shards(path.join(this.#folder, first))) {
        for (const name of await this.#names(path.join(this.#folder, first, second))) {
          const digest = digestAt(`${first}/${second}/${name}`);
          if (digest !== undefined) yield digest;
        }
      }
    }
  }

  /** What is being written is finished. */
  async close(): Promise<void> {
    await this.#writes.settled();
  }

  #file(digest: string): string {
    return path.join(this.#folder, blobPath(digest));
  }

  /** What is there already is compared and, when damaged, replaced: after a `put`, `get` works. */
  async #store(digest: string, bytes: Uint8Array): Promise<void> {
    const file = this.#file(digest);
    const held = await this.#guarded(() => readFile(file), 'ENOENT');
    if (held && Buffer.compare(held, bytes) === 0) return;
    await this.#guarded(() => this.#write(file, bytes));
  }

  async #write(file: string, bytes: Uint8Array): Promise<void> {
    const writing = path.join(this.#folder, WRITING);
    await mkdir(writing, { recursive: true });
    const temporary = path.join(writing, temporaryName());
    const shard = path.dirname(file);
    try {
      await writeDurably(temporary, bytes);
      const made = await mkdir(shard, { recursive: true });
      if (made !== undefined) this.#durableShards.delete(shard);
      await rename(temporary, file);
      await syncFolder(shard);
      await this.#makeDurable(shard);
    } catch (error) {
      await unlink(temporary).catch(() => {});
      throw error;
    }
  }

  /** A new folder is durable once those that name it are; once a shard, whoever of several writers made it. */
  async #makeDurable(shard: string): Promise<void> {
    if (this.#durableShards.has(shard)) return;
    await syncFolder(path.dirname(shard));
    await syncFolder(this.#folder);
    this.#durableShards.add(shard);
  }

  async #shards(folder: string): Promise<string[]> {
    return (await this.#names(folder)).filter((name) => SHARD.test(name));
  }

  async #names(folder: string): Promise<string[]> {
    return (await this.#guarded(() => readdir(folder), 'ENOENT', 'ENOTDIR')) ?? [];
  }

  /** Undefined for an error of the expected codes; every other is `UnavailableError`. */
  async #guarded<T>(work: () => Promise<T>, ...expected: readonly string[]): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (expected.includes(codeOf(error))) return undefined;
      throw unavailable(this.#folder, error);
    }
  }
}

function unavailable(folder: string, error: unknown): UnavailableError {
  const code = codeOf(error);
  const reason = REASONS[code] ?? (error instanceof Error ? error.message : String(error));
  return new UnavailableError('blobs-unavailable', `The folder of blobs ${folder}: ${reason}`, {
    folder,
    reason: code,
    cause: error,
  });
}

/** What a person can do something about. */
const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'no permission',
  EPERM: 'no permission',
  EMFILE: 'too many open files',
};
