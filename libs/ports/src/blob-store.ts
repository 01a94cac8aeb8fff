/** Owns the contract of the content-addressed store of large payloads and segments. */

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
