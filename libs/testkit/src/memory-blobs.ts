/**
 * Owns a BlobStore in memory with faults that the test chooses: it is unreachable, loses blobs, or changes their bytes. For unit tests and
 * simulation; it survives nothing. Without a fault it keeps the contract.
 */

import { hash } from 'node:crypto';
import { CorruptError, UnavailableError } from '@tidemark/core';
import { type BlobStore, blobPath } from '@tidemark/ports';

export type BlobOperation = 'put' | 'get' | 'has' | 'delete' | 'list';

export class MemoryBlobs implements BlobStore {
  readonly #blobs = new Map<string, Uint8Array>();
  readonly #failing: { times: number; readonly operation: BlobOperation | undefined }[] = [];
  /** Calls of each operation, refused ones included. */
  readonly calls: Record<BlobOperation, number> = { put: 0, get: 0, has: 0, delete: 0, list: 0 };
  /** Runs before each call, and may wait. */
  onCall: ((operation: BlobOperation) => Promise<void>) | undefined;

  /** The next calls (of the operation, or of any) throw `UnavailableError`, and do nothing. */
  fail(times: number, operation?: BlobOperation): void {
    this.#failing.push({ times, operation });
  }

  /** Ends the effect of `fail`. */
  heal(): void {
    this.#failing.length = 0;
  }

  /** Changes its last byte from now on; a blob put again is whole. */
  damage(digest: string): void {
    const bytes = Uint8Array.from(this.#blobs.get(digest)!);
    bytes[bytes.length - 1]! ^= 1;
    this.#blobs.set(digest, bytes);
  }

  /** Loses the blob behind everybody's back. */
  lose(digest: string): void {
    this.#blobs.delete(digest);
  }

  /** Its content, whatever the faults. */
  digests(): string[] {
    return [...this.#blobs.keys()].sort();
  }

  async put(bytes: Uint8Array): Promise<string> {
    // A copy, taken at once: `slice` of a Buffer would be a view.
    const copy = new Uint8Array(bytes);
    await this.#enter('put');
    const digest = hash('sha256', copy);
    this.#blobs.set(digest, copy);
    return digest;
  }

  async get(digest: string): Promise<Uint8Array> {
    blobPath(digest);
    await this.#enter('get');
    const bytes = this.#blobs.get(digest);
    if (bytes === undefined) throw new CorruptError('blob-missing', `The blob ${digest} is not in memory`, { digest });
    if (hash('sha256', bytes) !== digest) {
      throw new CorruptError('blob-damaged', `The blob ${digest} is damaged: its bytes have another digest`, {
        digest,
      });
    }
    return new Uint8Array(bytes);
  }

  async has(digest: string): Promise<boolean> {
    blobPath(digest);
    await this.#enter('has');
    return this.#blobs.has(digest);
  }

  async delete(digest: string): Promise<void> {
    blobPath(digest);
    await this.#enter('delete');
    this.#blobs.delete(digest);
  }

  async *list(): AsyncIterable<string> {
    await this.#enter('list');
    yield* this.digests();
  }

  async close(): Promise<void> {}

  async #enter(operation: BlobOperation): Promise<void> {
    this.calls[operation]++;
    await this.onCall?.(operation);
    const failing = this.#failing.find((each) => each.times > 0 && (each.operation ?? operation) === operation);
    if (failing === undefined) return;
    failing.times--;
    throw new UnavailableError('blobs-unavailable', `The blobs in memory: ${operation} fails`);
  }
}
