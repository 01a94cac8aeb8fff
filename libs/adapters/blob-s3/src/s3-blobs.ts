/**
 * Owns the BlobStore in a bucket of an S3 server: `ab/cd/abcd…` by SHA-256, below a prefix. Invariants: an object under its digest was
 * whole from the start (the server checks each part's SHA-256, and shows nothing of an upload before its end); an object is never
 * overwritten unless it is damaged; what `get` returns has the requested digest. Several processes may share the bucket.
 */

import { hash } from 'node:crypto';
import { CorruptError } from '@tidemark/core';
import { type BlobStore, BlobWrites, blobPath, digestAt, refuseTooLarge } from '@tidemark/ports';
import { PART_BYTES } from './limits.ts';
import { openS3Bucket, type S3Bucket, type S3BucketOptions } from './s3-bucket.ts';
import { type BucketUse, isThere } from './s3-faults.ts';

export type S3BlobsOptions = S3BucketOptions;

const USE: BucketUse = {
  of: 'blobs',
  one: 'blob',
  prefixInvalid: 'blob-prefix-invalid',
  bucketInvalid: 'blob-bucket-invalid',
  unavailable: 'blobs-unavailable',
  archived: 'blob-archived',
};

/**
 * Opens the bucket with one request. Throws `InvalidError` (`blob-prefix-invalid`), `ConfigError` (`blob-bucket-invalid`: it is missing, or
 * the credentials don't fit), `UnavailableError` (`blobs-unavailable`).
 */
export async function openS3Blobs(options: S3BlobsOptions): Promise<BlobStore> {
  return new S3Blobs(await openS3Bucket(options, USE));
}

class S3Blobs implements BlobStore {
  readonly #bucket: S3Bucket;
  readonly #writes = new BlobWrites();

  constructor(bucket: S3Bucket) {
    this.#bucket = bucket;
  }

  async put(bytes: Uint8Array): Promise<string> {
    refuseTooLarge(bytes);
    const digest = hash('sha256', bytes);
    await this.#writes.once(digest, () => this.#bucket.guarded(() => this.#store(digest, bytes)));
    return digest;
  }

  async get(digest: string): Promise<Uint8Array> {
    const name = blobPath(digest);
    const bytes = await this.#bucket.guarded(() => this.#bucket.read(name));
    if (bytes === undefined) throw missing(this.#bucket.where, digest);
    if (hash('sha256', bytes) !== digest) throw damaged(this.#bucket.where, digest, bytes.length);
    return bytes;
  }

  async has(digest: string): Promise<boolean> {
    const name = blobPath(digest);
    // A listing, not HEAD: it needs no more rights than `list`, and archived objects count as well.
    for await (const each of this.#bucket.names(name)) if (each === name) return true;
    return false;
  }

  async delete(digest: string): Promise<void> {
    await this.#bucket.remove(blobPath(digest));
  }

  async *list(): AsyncIterable<string> {
    for await (const name of this.#bucket.names('')) {
      const digest = digestAt(name);
      if (digest !== undefined) yield digest;
    }
  }

  /** Waits for writes under way. */
  async close(): Promise<void> {
    await this.#writes.settled();
    this.#bucket.close();
  }

  /** Compares an existing object and replaces a damaged one: after a `put`, `get` works. */
  async #store(digest: string, bytes: Uint8Array): Promise<void> {
    const name = blobPath(digest);
    const how = { partsAboveBytes: PART_BYTES };
    // Otherwise all parts of a large blob would go up before the server says that it has the blob.
    if (bytes.length > PART_BYTES && (await this.#holds(name, digest))) return;
    try {
      await this.#bucket.write(name, bytes, { ...how, IfNoneMatch: '*' });
    } catch (error) {
      if (!isThere(error)) throw error;
      if (!(await this.#holds(name, digest))) await this.#bucket.write(name, bytes, how);
    }
  }

  async #holds(name: string, digest: string): Promise<boolean> {
    const existing = await this.#bucket.read(name);
    return existing !== undefined && hash('sha256', existing) === digest;
  }
}

const missing = (where: string, digest: string): CorruptError =>
  new CorruptError('blob-missing', `The blob ${digest} is not in ${where}`, { digest });

const damaged = (where: string, digest: string, bytes: number): CorruptError =>
  new CorruptError('blob-damaged', `The blob ${digest} in ${where} is damaged: its bytes have another digest`, {
    digest,
    bytes,
  });
