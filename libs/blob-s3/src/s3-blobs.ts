/**
 * Owns the BlobStore in a bucket of an S3 server: `ab/cd/abcd…` by SHA-256, below a prefix. Invariants: an object under its
 * digest was whole when it came there (the server checks each part's SHA-256, and shows nothing of an upload before its end);
 * what is there is never written over unless it is damaged; what `get` returns has the digest it was asked for. Several
 * processes may share the bucket. No secret of its credentials is printed or stored.
 */

import { hash } from 'node:crypto';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { InvalidError } from '@tidemark/core';
import { type BlobStore, BlobWrites, blobPath, digestAt, refuseTooLarge } from '@tidemark/ports';
import {
  ATTEMPTS_MAX,
  CONNECT_TIMEOUT_MS,
  CONNECTIONS_MAX,
  PART_BYTES,
  PARTS_AT_ONCE,
  REQUEST_TIMEOUT_MS,
} from './limits.ts';
import { damaged, faultOf, isMissing, isThere, missing } from './s3-faults.ts';

export interface S3BlobsOptions {
  readonly bucket: string;
  /** Stands before every key, such as `tidemark/blobs/`; empty when absent. Ends with a slash, or is empty. */
  readonly prefix?: string;
  /** Of another server than Amazon's; buckets are then named in the path. */
  readonly endpoint?: string;
  readonly region?: string;
  /** Absent: found as the AWS SDK finds them (environment, profile, the machine's role). */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Longest wait for an answer, in milliseconds. */
  readonly requestTimeoutMs?: number;
  /** Attempts of one request, the first included. */
  readonly attemptsMax?: number;
}

/**
 * Asks for the bucket once. Throws `InvalidError` (`blob-prefix-invalid`), `ConfigError` (`blob-bucket-invalid`: there is none, or the
 * credentials don't fit), `UnavailableError` (`blobs-unavailable`).
 */
export async function openS3Blobs(options: S3BlobsOptions): Promise<BlobStore> {
  const { prefix = '', bucket } = options;
  if (prefix !== '' && (!prefix.endsWith('/') || prefix.startsWith('/'))) {
    throw new InvalidError('blob-prefix-invalid', `prefix: '${prefix}' must end with a slash and not begin with one.`, {
      field: 'prefix',
    });
  }
  const blobs = new S3Blobs(new S3Client(configOf(options)), bucket, prefix);
  try {
    await blobs.check();
  } catch (error) {
    await blobs.close();
    throw error;
  }
  return blobs;
}

function configOf({ endpoint, region = 'us-east-1', credentials, ...limits }: S3BlobsOptions): S3ClientConfig {
  const { requestTimeoutMs = REQUEST_TIMEOUT_MS, attemptsMax = ATTEMPTS_MAX } = limits;
  return {
    region,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(credentials !== undefined && { credentials }),
    maxAttempts: attemptsMax,
    // Every blob is held against its digest here.
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: new NodeHttpHandler({
      connectionTimeout: CONNECT_TIMEOUT_MS,
      requestTimeout: requestTimeoutMs,
      throwOnRequestTimeout: true,
      socketTimeout: requestTimeoutMs,
      httpAgent: { maxSockets: CONNECTIONS_MAX },
      httpsAgent: { maxSockets: CONNECTIONS_MAX },
    }),
  };
}

class S3Blobs implements BlobStore {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #writes = new BlobWrites();

  constructor(client: S3Client, bucket: string, prefix: string) {
    this.#client = client;
    this.#bucket = bucket;
    this.#prefix = prefix;
  }

  async check(): Promise<void> {
    try {
      await this.#client.send(new HeadBucketCommand({ Bucket: this.#bucket }));
    } catch (error) {
      // An answer without a body: its status says it all.
      const named = isMissing(error) ? Object.assign(new Error(), { name: 'NoSuchBucket' }) : error;
      throw faultOf(this.#where, named);
    }
  }

  async put(bytes: Uint8Array): Promise<string> {
    refuseTooLarge(bytes);
    const digest = hash('sha256', bytes);
    await this.#writes.once(digest, () => this.#guarded(() => this.#store(digest, bytes)));
    return digest;
  }

  async get(digest: string): Promise<Uint8Array> {
    const key = this.#key(digest);
    const bytes = await this.#guarded(() => this.#read(key));
    if (bytes === undefined) throw missing(this.#where, digest);
    if (hash('sha256', bytes) !== digest) throw damaged(this.#where, digest, bytes.length);
    return bytes;
  }

  async has(digest: string): Promise<boolean> {
    const prefix = this.#key(digest);
    // A listing, not HEAD: it needs no more rights than `list`, and archived objects count as well.
    for await (const key of this.#keys(prefix)) if (key === prefix) return true;
    return false;
  }

  async delete(digest: string): Promise<void> {
    const place = { Bucket: this.#bucket, Key: this.#key(digest) };
    await this.#guarded(() => this.#client.send(new DeleteObjectCommand(place)));
  }

  async *list(): AsyncIterable<string> {
    for await (const key of this.#keys(this.#prefix)) {
      const digest = digestAt(key.slice(this.#prefix.length));
      if (digest !== undefined) yield digest;
    }
  }

  /** What is being written is finished. */
  async close(): Promise<void> {
    await this.#writes.settled();
    this.#client.destroy();
  }

  /** As people know it. */
  get #where(): string {
    return `s3://${this.#bucket}/${this.#prefix}`;
  }

  #key(digest: string): string {
    return `${this.#prefix}${blobPath(digest)}`;
  }

  /** What is there already is compared and, when damaged, replaced: after a `put`, `get` works. */
  async #store(digest: string, bytes: Uint8Array): Promise<void> {
    const key = this.#key(digest);
    // Parts of a large blob would all go up before the server says that it has it.
    if (bytes.length > PART_BYTES && (await this.#holds(key, digest))) return;
    try {
      await this.#write(key, bytes, { IfNoneMatch: '*' });
    } catch (error) {
      if (!isThere(error)) throw error;
      if (!(await this.#holds(key, digest))) await this.#write(key, bytes, {});
    }
  }

  async #holds(key: string, digest: string): Promise<boolean> {
    const held = await this.#read(key);
    return held !== undefined && hash('sha256', held) === digest;
  }

  async #write(key: string, bytes: Uint8Array, condition: { readonly IfNoneMatch?: '*' }): Promise<void> {
    const params = { Bucket: this.#bucket, Key: key, Body: bytes, ...condition };
    if (bytes.length <= PART_BYTES) {
      const ChecksumSHA256 = hash('sha256', bytes, 'base64');
      await this.#client.send(new PutObjectCommand({ ...params, ChecksumSHA256 }));
      return;
    }
    // Parts that went up are taken away when one fails.
    await new Upload({
      client: this.#client,
      params: { ...params, ChecksumAlgorithm: 'SHA256' },
      partSize: PART_BYTES,
      queueSize: PARTS_AT_ONCE,
    }).done();
  }

  /** Undefined: there is none. */
  async #read(key: string): Promise<Uint8Array | undefined> {
    try {
      const { Body } = await this.#client.send(new GetObjectCommand({ Bucket: this.#bucket, Key: key }));
      return await Body!.transformToByteArray();
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async *#keys(prefix: string): AsyncIterable<string> {
    const pages = paginateListObjectsV2({ client: this.#client }, { Bucket: this.#bucket, Prefix: prefix });
    for (const iterator = pages[Symbol.asyncIterator](); ; ) {
      const page = await this.#guarded(() => iterator.next());
      if (page.done === true) return;
      for (const { Key } of page.value.Contents ?? []) if (Key !== undefined) yield Key;
    }
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw faultOf(this.#where, error);
    }
  }
}
