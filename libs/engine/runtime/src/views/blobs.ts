/**
 * Owns one process's access to blobs: a blob that was recently stored or read is not stored again, and one that a sweep has moved aside is
 * still found. It does not decide what goes into a blob, and removes none (see blob-sweep.ts).
 */

import { hash } from 'node:crypto';
import { CorruptError } from '@tidemark/core';
import { type BlobReference, type BlobStore, type Clock, Turns } from '@tidemark/ports';

/** Blobs that one process writes or reads at once. */
const BLOBS_AT_ONCE = 8;
/** How long a blob counts as stored after a write or read, in milliseconds; and digests that are remembered. */
const BLOB_KNOWN_MS = 600_000;
const BLOBS_KNOWN_MAX_COUNT = 10_000;

export interface BlobStores {
  readonly live: BlobStore;
  /** Where a sweep keeps seemingly unreferenced blobs until it is sure. */
  readonly aside: BlobStore;
}

export class Blobs {
  readonly stores: BlobStores;
  readonly #clock: Clock;
  readonly #turns = new Turns(BLOBS_AT_ONCE);
  /** When each blob was last known to be stored, on the monotonic clock, oldest first. */
  readonly #known = new Map<string, number>();
  readonly #closing = new AbortController();

  constructor(stores: BlobStores, clock: Clock) {
    this.stores = stores;
    this.#clock = clock;
  }

  /** Aborts waits for the stores to become available. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Completes running writes. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.stores.live.close();
    await this.stores.aside.close();
  }

  /** Stores the bytes, unless they are known to be stored. Throws what `BlobStore.put` throws. */
  async put(bytes: Uint8Array): Promise<BlobReference> {
    const digest = hash('sha256', bytes);
    const knownMs = this.#known.get(digest);
    if (knownMs === undefined || this.#clock.monotonicMs() - knownMs > BLOB_KNOWN_MS) {
      const sinceMs = this.#clock.monotonicMs();
      await this.#turns.run(() => this.stores.live.put(bytes));
      this.#know(digest, sinceMs);
    }
    return { digest, bytes: bytes.length };
  }

  /** The verified bytes. Throws what `BlobStore.get` throws. */
  get(reference: BlobReference): Promise<Uint8Array> {
    return this.#turns.run(() => this.#get(reference));
  }

  async #get({ digest, bytes }: BlobReference): Promise<Uint8Array> {
    const { live, aside } = this.stores;
    let wrong: CorruptError | undefined;
    // A sweep may move it back between the first two reads.
    for (const store of [live, aside, live]) {
      try {
        const sinceMs = this.#clock.monotonicMs();
        const found = await store.get(digest);
        if (found.length !== bytes) throw otherLength(digest, bytes, found.length);
        if (store === live) this.#know(digest, sinceMs);
        return found;
      } catch (error) {
        if (!(error instanceof CorruptError)) throw error;
        wrong ??= error;
      }
    }
    throw wrong!;
  }

  #know(digest: string, sinceMs: number): void {
    this.#known.delete(digest);
    this.#known.set(digest, sinceMs);
    if (this.#known.size > BLOBS_KNOWN_MAX_COUNT) this.#known.delete(this.#known.keys().next().value!);
  }
}

const otherLength = (digest: string, bytes: number, found: number): CorruptError =>
  new CorruptError('blob-damaged', `The blob ${digest} has ${found} bytes, and is named with ${bytes}`, {
    digest,
    bytes,
    found,
  });
