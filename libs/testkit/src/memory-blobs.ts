/**
 * Owns a BlobStore in memory with faults that the test chooses: it is unreachable, loses blobs, or changes their bytes. For unit tests and
 * simulation; it survives nothing. Without a fault it keeps the contract.
 */

import { hash } from 'node:crypto';
import { CorruptError, InvalidError, UnavailableError, type WorkflowId } from '@tidemark/core';
import type { BlobStore } from '@tidemark/ports';

export type BlobOperation = 'put' | 'get' | 'removeAll';

export class MemoryBlobs implements BlobStore {
  readonly #blobs = new Map<string, Uint8Array>();
  readonly #failing: { times: number; readonly operation: BlobOperation | undefined }[] = [];
  /** Calls of each operation, refused ones included. */
  readonly calls: Record<BlobOperation, number> = { put: 0, get: 0, removeAll: 0 };
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

  /** Changes the last byte of the workflow's blob; a blob put again is whole. */
  damage(workflow: WorkflowId, digest: string): void {
    const bytes = Uint8Array.from(this.#blobs.get(nameOf(workflow, digest))!);
    bytes[bytes.length - 1]! ^= 1;
    this.#blobs.set(nameOf(workflow, digest), bytes);
  }

  /** Loses the blob behind everybody's back. */
  lose(workflow: WorkflowId, digest: string): void {
    this.#blobs.delete(nameOf(workflow, digest));
  }

  /** Its content as `WORKFLOW/DIGEST`, whatever the faults. */
  names(): string[] {
    return [...this.#blobs.keys()].sort();
  }

  async put(workflow: WorkflowId, bytes: Uint8Array): Promise<string> {
    // A copy, taken at once: `slice` of a Buffer would be a view.
    const copy = new Uint8Array(bytes);
    await this.#enter('put');
    const digest = hash('sha256', copy);
    this.#blobs.set(nameOf(workflow, digest), copy);
    return digest;
  }

  async get(workflow: WorkflowId, digest: string): Promise<Uint8Array> {
    const name = nameOf(workflow, digest);
    await this.#enter('get');
    const bytes = this.#blobs.get(name);
    if (bytes === undefined) throw new CorruptError('blob-missing', `The blob ${name} is not in memory`, { digest });
    if (hash('sha256', bytes) !== digest) {
      throw new CorruptError('blob-damaged', `The blob ${name} is damaged: its bytes have another digest`, { digest });
    }
    return new Uint8Array(bytes);
  }

  async removeAll(workflow: WorkflowId): Promise<void> {
    await this.#enter('removeAll');
    for (const name of this.names()) if (name.slice(0, name.lastIndexOf('/')) === workflow) this.#blobs.delete(name);
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

/** Throws `InvalidError` (`digest-invalid`). */
function nameOf(workflow: WorkflowId, digest: string): string {
  if (/^[0-9a-f]{64}$/.test(digest)) return `${workflow}/${digest}`;
  throw new InvalidError('digest-invalid', 'A digest is 64 lower-case hex digits', { length: digest.length });
}
