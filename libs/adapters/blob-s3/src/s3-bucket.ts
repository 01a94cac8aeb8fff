/**
 * Owns the requests to a bucket of an S3 server that blobs and objects share: the client and its limits, whole and conditional writes with
 * the server's check of SHA-256, reads, listings. A name is the part of a key after the prefix. Must not know what the bytes mean, and must
 * not print or store a secret of the credentials.
 */

import { hash } from 'node:crypto';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  PutObjectCommand,
  type PutObjectCommandInput,
  paginateListObjectsV2,
  RestoreObjectCommand,
  type RestoreRequest,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { InvalidError } from '@tidemark/core';
import { Turns } from '@tidemark/ports';
import { type BucketUse, faultOf, isMissing, renamed } from './s3-faults.ts';

/** Requests under way at once; more wait their turn. */
export const REQUESTS_AT_ONCE = 64;
/** Connections to the server. There must be enough: the SDK takes the wait for a free one for a server that doesn't answer. */
const CONNECTIONS_MAX = 4 * REQUESTS_AT_ONCE;
/** Attempts of one request, the first included; the pauses between them grow. */
const ATTEMPTS_MAX = 4;
/** How long a connection may take to open, in milliseconds. */
const CONNECT_TIMEOUT_MS = 3_000;
/** How long a request may go without an answer, or a connection without a byte, in milliseconds. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Time that a request with bytes gets for sending them, beside the time for its answer. */
const SLOWEST_UPLOAD_BYTES_PER_S = 1024 * 1024;

export interface S3BucketOptions {
  readonly bucket: string;
  /** Stands before every key, such as `tidemark/blobs/`; empty when absent. Ends with a slash, or is empty. */
  readonly prefix?: string;
  /** Address of a server other than Amazon's; its buckets are then named in the path. */
  readonly endpoint?: string;
  readonly region?: string;
  /** Absent: the AWS SDK finds them (environment, profile, the machine's role). */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /** Longest wait for an answer, in milliseconds; sending bytes has time of its own. */
  readonly requestTimeoutMs?: number;
  /** Attempts of one request, the first included. */
  readonly attemptsMax?: number;
}

/** What S3 learns about a written object. */
export type WriteOptions = Pick<PutObjectCommandInput, 'IfNoneMatch' | 'StorageClass' | 'Metadata'>;

/**
 * Opens the bucket with one request. Throws `InvalidError` (the prefix), `ConfigError` (the bucket is missing, or the credentials don't
 * fit), `UnavailableError`, with the codes of the use.
 */
export async function openS3Bucket(options: S3BucketOptions, use: BucketUse): Promise<S3Bucket> {
  const { prefix = '' } = options;
  if (prefix !== '' && (!prefix.endsWith('/') || prefix.startsWith('/'))) {
    throw new InvalidError(
      `${use}-prefix-invalid`,
      `prefix: '${prefix}' must end with a slash and not begin with one.`,
      {
        field: 'prefix',
      },
    );
  }
  const bucket = new S3Bucket(options, use);
  try {
    await bucket.check();
  } catch (error) {
    bucket.close();
    throw error;
  }
  return bucket;
}

function configOf({ endpoint, region = 'us-east-1', credentials, ...limits }: S3BucketOptions): S3ClientConfig {
  const { requestTimeoutMs = REQUEST_TIMEOUT_MS, attemptsMax = ATTEMPTS_MAX } = limits;
  return {
    region,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    ...(credentials !== undefined && { credentials }),
    maxAttempts: attemptsMax,
    // The reader compares a digest itself.
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

export class S3Bucket {
  /** Name of the bucket in messages. */
  readonly where: string;
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #use: BucketUse;
  readonly #requestTimeoutMs: number;
  readonly #turns = new Turns(REQUESTS_AT_ONCE);

  constructor(options: S3BucketOptions, use: BucketUse) {
    this.#client = new S3Client(configOf(options));
    this.#bucket = options.bucket;
    this.#prefix = options.prefix ?? '';
    this.#use = use;
    this.#requestTimeoutMs = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
    this.where = `s3://${this.#bucket}/${this.#prefix}`;
  }

  check(): Promise<void> {
    return this.guarded(async () => {
      try {
        await this.#client.send(new HeadBucketCommand({ Bucket: this.#bucket }));
      } catch (error) {
        // The answer has no body; its status is enough.
        throw isMissing(error) ? renamed(error, 'NoSuchBucket') : error;
      }
    });
  }

  /**
   * The server checks the SHA-256 of the bytes, and shows nothing of them before their end. They go up in one request, whose condition every
   * server decides once: SeaweedFS 4.48 lets several win the end of an upload in parts. Throws what the SDK throws.
   */
  async write(name: string, bytes: Uint8Array, options: WriteOptions): Promise<void> {
    const ChecksumSHA256 = hash('sha256', bytes, 'base64');
    const put = new PutObjectCommand({ ...this.#at(name), Body: bytes, ...options, ChecksumSHA256 });
    const requestTimeout = this.#requestTimeoutMs + (bytes.length / SLOWEST_UPLOAD_BYTES_PER_S) * 1_000;
    await this.#turns.run(() => this.#client.send(put, { requestTimeout }));
  }

  /** Undefined: it is missing. Throws what the SDK throws. */
  read(name: string): Promise<Uint8Array | undefined> {
    const got = async () => {
      const { Body } = await this.#client.send(new GetObjectCommand(this.#at(name)));
      return Body!.transformToByteArray();
    };
    return unlessMissing(() => this.#turns.run(got));
  }

  /** Describes the object; undefined: it is missing. Throws what the SDK throws. */
  head(name: string): Promise<HeadObjectCommandOutput | undefined> {
    return unlessMissing(() => this.#turns.run(() => this.#client.send(new HeadObjectCommand(this.#at(name)))));
  }

  /** Whether a copy is readable already; undefined: the object is missing. Throws what the SDK throws. */
  async restore(name: string, RestoreRequest: RestoreRequest): Promise<boolean | undefined> {
    const asked = () => this.#client.send(new RestoreObjectCommand({ ...this.#at(name), RestoreRequest }));
    const answer = await unlessMissing(() => this.#turns.run(asked));
    return answer && answer.$metadata.httpStatusCode === 200;
  }

  async remove(name: string): Promise<void> {
    const removed = () => this.#client.send(new DeleteObjectCommand(this.#at(name)));
    await this.guarded(() => this.#turns.run(removed));
  }

  /** Names with that prefix, in the server's order: by their bytes at Amazon's, as a walk through folders elsewhere. */
  async *names(begin: string): AsyncIterable<string> {
    const place = { Bucket: this.#bucket, Prefix: `${this.#prefix}${begin}` };
    const pages = paginateListObjectsV2({ client: this.#client }, place);
    for (const iterator = pages[Symbol.asyncIterator](); ; ) {
      const page = await this.guarded(() => this.#turns.run(() => iterator.next()));
      if (page.done === true) return;
      for (const { Key } of page.value.Contents ?? []) if (Key !== undefined) yield Key.slice(this.#prefix.length);
    }
  }

  /** Runs the work and translates its errors. `name`: of the object concerned. */
  async guarded<T>(work: () => Promise<T>, name?: string): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw faultOf(this.#use, this.where, error, name);
    }
  }

  close(): void {
    this.#client.destroy();
  }

  #at(name: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#bucket, Key: `${this.#prefix}${name}` };
  }
}

async function unlessMissing<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}
