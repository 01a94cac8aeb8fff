/**
 * Owns the contract of the content-addressed store of large payloads, and what its users share: the path of a blob, and the text that
 * names a blob.
 */

import { InvalidError } from '@tidemark/core';

export interface BlobStore {
  /**
   * Stores bytes under their SHA-256 (64 hex digits) and returns it. Storing the same bytes again changes nothing, but heals a
   * damaged blob. Atomic. Throws as `put` of an object store does.
   */
  put(bytes: Uint8Array): Promise<string>;
  /** The bytes, verified against the digest. Throws `CorruptError` (`blob-missing`, `blob-damaged`). */
  get(digest: string): Promise<Uint8Array>;
  has(digest: string): Promise<boolean>;
  /** Harmless when absent. */
  delete(digest: string): Promise<void>;
  /** All stored digests, in no particular order. */
  list(): AsyncIterable<string>;
  close(): Promise<void>;
}

const DIGEST = /^[0-9a-f]{64}$/;

/** Names a blob; a row or record has it in place of the bytes. */
export interface BlobReference {
  /** SHA-256 of the bytes, as 64 hex digits. */
  readonly digest: string;
  readonly bytes: number;
}

/** Every text that names a blob begins with this. JSON never does. */
export const BLOB_REFERENCE_HEAD = 'blob:';
/** Longest text that names a blob, in bytes. */
export const BLOB_REFERENCE_MAX_BYTES = BLOB_REFERENCE_HEAD.length + 64 + 1 + 9;

const REFERENCE = /^blob:([0-9a-f]{64}):(0|[1-9]\d{0,8})$/;

export const blobReferenceText = ({ digest, bytes }: BlobReference): string =>
  `${BLOB_REFERENCE_HEAD}${digest}:${bytes}`;

/** Undefined when the text names no blob. */
export function blobReferenceOf(text: string): BlobReference | undefined {
  if (text.length > BLOB_REFERENCE_MAX_BYTES || !text.startsWith(BLOB_REFERENCE_HEAD)) return undefined;
  const [, digest, bytes] = REFERENCE.exec(text) ?? [];
  return digest === undefined ? undefined : { digest, bytes: Number(bytes) };
}

/** The path of a blob, in every store that has paths: `ab/cd/abcd…`. Throws `InvalidError` (`digest-invalid`). */
export function blobPath(digest: string): string {
  if (DIGEST.test(digest)) return `${digest.slice(0, 2)}/${digest.slice(2, 4)}/${digest}`;
  throw new InvalidError('digest-invalid', 'A digest is 64 lower-case hex digits', { length: digest.length });
}

/** The digest of the blob at a path; undefined when no blob has such a path. */
export function digestAt(path: string): string | undefined {
  const digest = path.slice(path.lastIndexOf('/') + 1);
  return DIGEST.test(digest) && blobPath(digest) === path ? digest : undefined;
}
