/** Owns one process's access to blobs: some at a time, until it closes. It does not decide what goes into a blob. */

import { CorruptError, type WorkflowId } from '@tidemark/core';
import { type BlobReference, type BlobStore, Turns } from '@tidemark/ports';

/** Blobs that one process writes or reads at once. */
const BLOBS_AT_ONCE = 8;

export class Blobs {
  readonly #store: BlobStore;
  readonly #turns = new Turns(BLOBS_AT_ONCE);
  readonly #closing = new AbortController();

  constructor(store: BlobStore) {
    this.#store = store;
  }

  /** Aborts waits for the store to become available. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Completes running writes. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#store.close();
  }

  /** Throws what `BlobStore.put` throws. */
  async put(workflow: WorkflowId, bytes: Uint8Array): Promise<BlobReference> {
    return { digest: await this.#turns.run(() => this.#store.put(workflow, bytes)), bytes: bytes.length };
  }

  /** The verified bytes. Throws what `BlobStore.get` throws. */
  async get(workflow: WorkflowId, { digest, bytes }: BlobReference): Promise<Uint8Array> {
    const found = await this.#turns.run(() => this.#store.get(workflow, digest));
    if (found.length === bytes) return found;
    throw new CorruptError('blob-damaged', `The blob ${digest} has ${found.length} bytes, and is named with ${bytes}`, {
      digest,
      bytes,
      found: found.length,
    });
  }

  /** Throws what `BlobStore.removeAll` throws. */
  removeAll(workflow: WorkflowId): Promise<void> {
    return this.#turns.run(() => this.#store.removeAll(workflow));
  }
}
