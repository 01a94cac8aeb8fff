/**
 * Owns the contract of the store of archived objects: bytes under names, each written once. It holds segments of the log, and the manifests
 * that name them. Must not know what the bytes mean; readers verify them against a digest of their own.
 *
 * O1 An object is whole and durable before its name exists, and only `put` changes it, at once for all readers. When several processes create
 * one name, one of them succeeds.
 * O2 `list` is a hint: it may lack what was just created, and contain what was removed. `read` is never stale.
 *
 * Callers choose names that work as paths: where there is an object `a/b` there is none `a`. Some stores could hold both, others refuse the
 * second as unavailable. Some treat names that differ in case alone as one.
 */

import { InvalidError, LimitError } from '@tidemark/core';

/** The state of an object of an archive class that a caller wants to read. */
export type Recall =
  | { readonly state: 'ready' }
  /** `expectedAtMs`: when it will probably be readable, in milliseconds since the Unix epoch; null: unknown. */
  | { readonly state: 'recalling'; readonly expectedAtMs: number | null }
  | { readonly state: 'absent' };

export interface ObjectStore {
  /** Where it is, for people: `s3://bucket/prefix/`, a folder. Without credentials. */
  readonly place: string;
  /**
   * Stores the bytes under the name, unless the name exists: then returns false, whatever its bytes are; that object is as durable. Throws
   * `LimitError` (`object-too-large`), `InvalidError` (`object-name-invalid`), `UnavailableError` (`objects-unavailable`: whether it was
   * stored is unknown; call again, and when that returns false read the object, which may be one's own).
   */
  create(name: string, bytes: Uint8Array): Promise<boolean>;
  /**
   * Stores the bytes under the name, in place of what it has. Readers find the old bytes or the new ones, whole. For names that follow from
   * the bytes, so that it doesn't matter who is last. Writes nothing where the name has these bytes. Throws as `create` does.
   */
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** The bytes; undefined when there is no such object. Throws `UnavailableError` (`object-archived`: recall it first). */
  read(name: string): Promise<Uint8Array | undefined>;
  /** Names that begin with the prefix, in the order of their bytes (O2). */
  list(prefix: string): AsyncIterable<string>;
  /** Harmless when absent. */
  remove(name: string): Promise<void>;
  /** Requests that an object be made readable, where its class needs that. Harmless when repeated. */
  recall(name: string): Promise<Recall>;
  /** Finishes the writes in progress. */
  close(): Promise<void>;
}

/** Bytes of one object; above this it is refused with `LimitError`. */
export const OBJECT_MAX_BYTES = 512 * 1024 * 1024;
/** Longest name, in characters. */
export const OBJECT_NAME_MAX_CHARS = 512;
/** Longest part of a name between slashes, in characters: the limit of file systems. */
export const OBJECT_NAME_PART_MAX_CHARS = 255;

/** Parts of letters, digits and `=._-`, separated by slashes; no part begins with a dot. */
const NAME = /^[A-Za-z0-9=_-][A-Za-z0-9=._-]*(\/[A-Za-z0-9=_-][A-Za-z0-9=._-]*)*$/;

export function isObjectName(name: string): boolean {
  if (!NAME.test(name) || name.length > OBJECT_NAME_MAX_CHARS) return false;
  return name.split('/').every((part) => part.length <= OBJECT_NAME_PART_MAX_CHARS);
}

/** Throws `InvalidError` (`object-name-invalid`). */
export function checkObjectName(name: string): string {
  if (isObjectName(name)) return name;
  throw new InvalidError(
    'object-name-invalid',
    `'${name.slice(0, 100)}' is not a name of an object: parts of letters, digits and =._- with slashes between them, each of at most ${OBJECT_NAME_PART_MAX_CHARS} characters and not beginning with a dot, together at most ${OBJECT_NAME_MAX_CHARS}.`,
    { name: name.slice(0, 100) },
  );
}

/** Throws `LimitError` (`object-too-large`). */
export function checkObjectSize({ length: bytes }: Uint8Array): void {
  if (bytes <= OBJECT_MAX_BYTES) return;
  throw new LimitError('object-too-large', `An object of ${bytes} bytes is over the limit of ${OBJECT_MAX_BYTES}`, {
    bytes,
    limitBytes: OBJECT_MAX_BYTES,
  });
}
