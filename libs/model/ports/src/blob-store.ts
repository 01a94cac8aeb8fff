/**
 * Owns the contract of the content-addressed store of large payloads, and what all its adapters share: how large a blob may be, where it
 * lies, that it is written once, and how a text names one.
 */

import { InvalidError, LimitError } from '@tidemark/core';

export interface BlobStore {
  /** Stores bytes under their SHA-256 (64 hex digits) and returns it. The same bytes again are stored once. Atomic. */
  put(bytes: Uint8Array): Promise<string>;
  /** The bytes, verified against the digest. Throws `CorruptError` (`blob-missing`, `blob-damaged`). */
  get(digest: string): Promise<Uint8Array>;
  has(digest: string): Promise<boolean>;
  /** Harmless when absent. */
  delete(digest: string): Promise<void>;
  /** All digests held, in no particular order. */
  list(): AsyncIterable<string>;
  close(): Promise<void>;
}

/** Bytes of one blob; beyond it `put` throws `LimitError`. */
export const BLOB_MAX_BYTES = 512 * 1024 * 1024;

const DIGEST = /^[0-9a-f]{64}$/;

/** Names a blob in place of its bytes. */
export interface BlobReference {
  /** SHA-256 of its bytes, as 64 hex digits. */
  readonly digest: string;
  readonly bytes: number;
}

/** How every text that names a blob begins. JSON never begins so. */
export const BLOB_REFERENCE_HEAD = 'blob:';
/** Longest text that names a blob, in bytes. */
export const BLOB_REFERENCE_MAX_BYTES = BLOB_REFERENCE_HEAD.length + 64 + 1 + 9;

const REFERENCE = /^blob:([0-9a-f]{64}):(0|[1-9]\d{0,8})$/;

export const blobReferenceText = ({ digest, bytes }: BlobReference): string =>
  `${BLOB_REFERENCE_HEAD}${digest}:${bytes}`;

/** Undefined: the text names none. */
export function blobReferenceOf(text: string): BlobReference | undefined {
  if (text.length > BLOB_REFERENCE_MAX_BYTES || !text.startsWith(BLOB_REFERENCE_HEAD)) return undefined;
  const [, digest, bytes] = REFERENCE.exec(text) ?? [];
  return digest === undefined ? undefined : { digest, bytes: Number(bytes) };
}

/** Throws `LimitError` (`blob-too-large`). */
export function refuseTooLarge({ length: bytes }: Uint8Array): void {
  if (bytes <= BLOB_MAX_BYTES) return;
  throw new LimitError('blob-too-large', `A blob of ${bytes} bytes is over the limit of ${BLOB_MAX_BYTES}`, {
    bytes,
    limitBytes: BLOB_MAX_BYTES,
  });
}

/** Where a blob lies, in every store that has paths: `ab/cd/abcd…`. Throws `InvalidError` (`digest-invalid`). */
export function blobPath(digest: string): string {
  if (DIGEST.test(digest)) return `${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`;
  throw new InvalidError('digest-invalid', 'A digest is 64 lower-case hex digits', { length: digest.length });
}

/** The digest of what lies there; undefined where no blob would. */
export function digestAt(path: string): string | undefined {
  const digest = path.slice(path.lastIndexOf('/') + 1);
  return DIGEST.test(digest) && blobPath(digest) === path ? digest : undefined;
}

/** Writes under way: the same digest is written once, however many want it. */
export class BlobWrites {
  readonly #underWay = new Map<string, Promise<void>>();

  once(digest: string, write: () => Promise<void>): Promise<void> {
    let writing = this.#underWay.get(digest);
    if (writing === undefined) {
      writing = write().finally(() => this.#underWay.delete(digest));
      this.#underWay.set(digest, writing);
    }
    return writing;
  }

  /** Resolves once those under way have ended, whichever way. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay.values());
  }
}
