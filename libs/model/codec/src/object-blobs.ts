/**
 * Owns blobs as objects of a store: `ab/abcd…/DIGEST`, the first two parts from the SHA-256 of the workflow's id, which may hold any
 * character. Invariants: an object under its digest was whole and durable before its name existed (O1); one that `put` has returned is never
 * missing until its workflow's are removed, and what `get` returns has the requested digest. Several processes may share the store. It does
 * not know where that is.
 */

import { hash } from 'node:crypto';
import { CorruptError, InvalidError, type WorkflowId } from '@tidemark/core';
import type { BlobStore, ObjectStore } from '@tidemark/ports';

const DIGEST = /^[0-9a-f]{64}$/;

export class ObjectBlobs implements BlobStore {
  readonly #objects: ObjectStore;
  /** Writes in progress: bytes are written once, however many callers store them at the same time. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(objects: ObjectStore) {
    this.#objects = objects;
  }

  async put(workflow: WorkflowId, bytes: Uint8Array): Promise<string> {
    const digest = hash('sha256', bytes);
    const name = nameOf(workflow, digest);
    let writing = this.#writing.get(name);
    if (writing === undefined) {
      writing = this.#objects.put(name, bytes).finally(() => this.#writing.delete(name));
      this.#writing.set(name, writing);
    }
    await writing;
    return digest;
  }

  async get(workflow: WorkflowId, digest: string): Promise<Uint8Array> {
    const name = nameOf(workflow, digest);
    const bytes = await this.#objects.read(name);
    const place = `${this.#objects.place} under ${name}`;
    const details = { workflow, digest };
    if (bytes === undefined) throw new CorruptError('blob-missing', `The blob ${digest} is not in ${place}`, details);
    if (hash('sha256', bytes) === digest) return bytes;
    const message = `The blob ${digest} in ${place} is damaged: its bytes have another digest`;
    throw new CorruptError('blob-damaged', message, { ...details, bytes: bytes.length });
  }

  async removeAll(workflow: WorkflowId): Promise<void> {
    for await (const name of this.#objects.list(prefixOf(workflow))) await this.#objects.remove(name);
  }

  /** Waits for writes under way, as the store does. */
  async close(): Promise<void> {
    await this.#objects.close();
  }
}

function prefixOf(workflow: WorkflowId): string {
  const of = hash('sha256', workflow);
  return `${of.slice(0, 2)}/${of}/`;
}

/** Throws `InvalidError` (`digest-invalid`). */
function nameOf(workflow: WorkflowId, digest: string): string {
  if (DIGEST.test(digest)) return `${prefixOf(workflow)}${digest}`;
  throw new InvalidError('digest-invalid', 'A digest is 64 lower-case hex digits', { length: digest.length });
}
