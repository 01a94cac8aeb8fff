/**
 * Owns the contract of the store of archived objects: bytes under names, each written once. Segments of the log lie in it, and the
 * manifests that name them. Must not know what the bytes mean; whoever reads holds them against a digest of its own.
 *
 * O1 An object is whole and durable before its name exists, and never changes. Of several that create one name, one does.
 * O2 `list` is a hint: it may lack what was created just now, and have what was removed. `read` is never stale.
 *
 * Whoever chooses names keeps out of the way of folders: where there is an object `a/b` there is none `a`. Some stores could hold both,
 * others refuse the second as unavailable. Names that differ in case alone are one name to some.
 */

import { InvalidError, LimitError } from '@tidemark/core';

/** What became of asking for an object of an archive class back. */
export type Recall =
  | { readonly state: 'ready' }
  /** `expectedAtMs`: when it is likely to be there, in milliseconds since the Unix epoch; null: nobody says. */
  | { readonly state: 'recalling'; readonly expectedAtMs: number | null }
  | { readonly state: 'absent' };

export interface ObjectStore {
  /** Where it is, as people know it: `s3://bucket/prefix/`, a folder. Without credentials. */
  readonly place: string;
  /**
   * Stores the bytes under the name, unless there is an object of that name: then false, whatever its bytes are, and as durable. Throws
   * `LimitError` (`object-too-large`), `InvalidError` (`object-name-invalid`), `UnavailableError` (`objects-unavailable`; whether it was
   * stored is then unknown: ask again, and at false read what is there, which may be one's own).
   */
  create(name: string, bytes: Uint8Array): Promise<boolean>;
  /** The bytes; undefined when there is no such object. Throws `UnavailableError` (`object-archived`: recall it first). */
  read(name: string): Promise<Uint8Array | undefined>;
  /** Names that begin with the prefix, in the order of their bytes (O2). */
  list(prefix: string): AsyncIterable<string>;
  /** Harmless when absent. */
  remove(name: string): Promise<void>;
  /** Asks for an object to be made readable, where its class needs that. Harmless when repeated. */
  recall(name: string): Promise<Recall>;
  /** What is being written is finished. */
  close(): Promise<void>;
}

/** Bytes of one object; beyond it `create` throws `LimitError`. */
export const OBJECT_MAX_BYTES = 512 * 1024 * 1024;
/** Longest name, in characters. */
export const OBJECT_NAME_MAX_CHARS = 512;
/** Longest part of a name between slashes, in characters: file systems take no longer. */
export const OBJECT_NAME_PART_MAX_CHARS = 255;

/** Parts of letters, digits and `=._-`, none of them beginning with a dot, with slashes between them. */
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
    `'${name.slice(0, 100)}' is no name of an object: parts of letters, digits and =._- with slashes between them, each of at most ${OBJECT_NAME_PART_MAX_CHARS} characters and not beginning with a dot, together at most ${OBJECT_NAME_MAX_CHARS}.`,
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
