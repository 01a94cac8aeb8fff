/**
 * Owns blobs as objects of a store: `ab/cd/abcd…` by SHA-256. Invariants: an object under its digest was whole and durable before its name
 * existed (O1); one that `put` has returned is never missing until it is deleted, and what `get` returns has the requested digest. Several
 * processes may share the store. It does not know where that is.
 */

import { hash } from 'node:crypto';
import { CorruptError } from '@tidemark/core';
import { type BlobStore, blobPath, digestAt, type ObjectStore } from '@tidemark/ports';

/** What digests begin with: a store lists a bounded number of names at once. */
const FIRST_DIGITS = [...'0123456789abcdef'];

export class ObjectBlobs implements BlobStore {
  readonly #objects: ObjectStore;
  /** Writes in progress: a digest is written once, however many callers store it at the same time. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(objects: ObjectStore) {
    this.#objects = objects;
  }

  async put(bytes: Uint8Array): Promise<string> {
    const digest = hash('sha256', bytes);
    let writing = this.#writing.get(digest);
    if (writing === undefined) {
      writing = this.#objects.put(blobPath(digest), bytes).finally(() => this.#writing.delete(digest));
      this.#writing.set(digest, writing);
    }
    await writing;
    return digest;
  }

  async get(digest: string): Promise<Uint8Array> {
    const bytes = await this.#objects.read(blobPath(digest));
    const { place } = this.#objects;
    if (bytes === undefined) {
      throw new CorruptError('blob-missing', `The blob ${digest} is not in ${place}`, { digest });
    }
    if (hash('sha256', bytes) === digest) return bytes;
    const message = `The blob ${digest} in ${place} is damaged: its bytes have another digest`;
    throw new CorruptError('blob-damaged', message, { digest, bytes: bytes.length });
  }

  async has(digest: string): Promise<boolean> {
    const name = blobPath(digest);
    // A listing needs no more rights than `list`, and archived objects count as well.
    for await (const each of this.#objects.list(name)) if (each === name) return true;
    return false;
  }

  async delete(digest: string): Promise<void> {
    await this.#objects.remove(blobPath(digest));
  }

  async *list(): AsyncIterable<string> {
    for (const first of FIRST_DIGITS) {
      for await (const name of this.#objects.list(first)) {
        const digest = digestAt(name);
        if (digest !== undefined) yield digest;
      }
    }
  }

  /** Waits for writes under way, as the store does. */
  async close(): Promise<void> {
    await this.#objects.close();
  }
}
