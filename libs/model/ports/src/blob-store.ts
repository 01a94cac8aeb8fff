/**
 * Owns the contract of the store of large payloads, and the text that names one. A payload lies under its digest in the prefix of its
 * workflow, so that whoever deletes a workflow's history deletes the prefix, and nothing counts who else names the bytes.
 */

import type { WorkflowId } from '@tidemark/core';

export interface BlobStore {
  /**
   * Stores bytes of the workflow under their SHA-256 (64 hex digits) and returns it. Storing the same bytes again changes nothing, but heals
   * a damaged blob. Atomic. Throws as `put` of an object store does.
   */
  put(workflow: WorkflowId, bytes: Uint8Array): Promise<string>;
  /** The bytes, verified against the digest. Throws `CorruptError` (`blob-missing`, `blob-damaged`). */
  get(workflow: WorkflowId, digest: string): Promise<Uint8Array>;
  /** Removes all blobs of the workflow. Harmless when there are none. */
  removeAll(workflow: WorkflowId): Promise<void>;
  close(): Promise<void>;
}

/** Names a blob among those of its workflow; a record has it in place of its payload. */
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
