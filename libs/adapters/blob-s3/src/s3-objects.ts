/**
 * Owns the ObjectStore in a bucket of an S3 server: objects under their names below a prefix. Several processes may share the bucket.
 * Invariant (O1): `create` writes only where nothing is (`If-None-Match: *`), in one request, which servers execute as one step. A server
 * that ignores the condition overwrites the object and is refused, before anything is created.
 *
 * The SDK or a proxy repeats a request whose answer was lost, and the repetition meets the object that the request itself created. So each
 * `create` marks its object with a random name in the metadata, and after a refusal it reads the mark of the existing object. Equal bytes
 * would not do: two writers of the same bytes would both learn that they created it. A mark is readable for archived objects too. On a
 * server without metadata the answer is false, after which callers read the object. When no attempt had an answer, the outcome is unknown
 * (`UnavailableError`), and the next `create` has another mark: false again.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { StorageClass } from '@aws-sdk/client-s3';
import { ObjectBlobs } from '@tidemark/codec';
import { ConfigError, LimitError } from '@tidemark/core';
import {
  type BlobStore,
  checkObjectName,
  checkObjectSize,
  isObjectName,
  type ObjectStore,
  type Recall,
} from '@tidemark/ports';
import { type ArchiveClass, archiveClassOf, RESTORE_LONGEST_MS, restoreOf, restoreRequest } from './archive-classes.ts';
import { openS3Bucket, type S3Bucket, type S3BucketOptions, type WriteOptions } from './s3-bucket.ts';
import { requireConditions } from './s3-conditions.ts';
import { type BucketUse, isThere, nameOf, renamed, statusOf } from './s3-faults.ts';

/** Before an object of more bytes is sent, the server is asked whether it has it. */
export const ASKED_FIRST_BYTES = 8 * 1024 * 1024;
/** Tries of a write that others disturb, each with all its attempts. */
const CREATE_ROUNDS_MAX = 4;
/** Pause after the first disturbance, in milliseconds; doubles. */
const CREATE_PAUSE_MS = 50;
/** Names that one listing sorts, at about 100 bytes of memory each. */
const LISTED_NAMES_MAX = 5_000_000;
/** Recalled objects whose time of request is remembered. */
const RECALLS_KNOWN_MAX = 10_000;

export interface S3ObjectsOptions extends S3BucketOptions {
  /** Storage class of new objects; absent: the bucket's own. An object in an archive class is not readable before a recall. */
  readonly storageClass?: StorageClass;
}

/** Metadata that names the `create` which wrote the object. */
const MARK = 'tidemark-created-by';

/**
 * Opens the bucket with one request. Throws `InvalidError` (`object-prefix-invalid`), `ConfigError` (`object-bucket-invalid`: it is
 * missing, or the credentials don't fit; `objects-unconditional`: see s3-conditions.ts), `UnavailableError` (`objects-unavailable`).
 */
export const openS3Objects = ({ storageClass, ...options }: S3ObjectsOptions): Promise<ObjectStore> =>
  open(options, 'object', storageClass);

/**
 * Blobs as objects `ab/abcd…/DIGEST`, in the bucket's own class. Throws as `openS3Objects` does (`blob-prefix-invalid`, `blob-bucket-invalid`,
 * `blobs-unavailable`).
 */
export const openS3Blobs = async (options: S3BucketOptions): Promise<BlobStore> =>
  new ObjectBlobs(await open(options, 'blob'));

async function open(options: S3BucketOptions, use: BucketUse, storageClass?: StorageClass): Promise<ObjectStore> {
  const bucket = await openS3Bucket(options, use);
  const objects = new S3Objects(bucket, storageClass);
  // Blobs are never created under a condition that counts.
  if (use === 'blob') return objects;
  try {
    await objects.prove();
  } catch (error) {
    // A full store still serves reads; the check runs again before the first write.
    if (!(error instanceof ConfigError)) return objects;
    bucket.close();
    throw error;
  }
  return objects;
}

class S3Objects implements ObjectStore {
  readonly place: string;
  readonly #bucket: S3Bucket;
  /** The storage class of what is written, where one is set. */
  readonly #how: WriteOptions;
  #proof: Promise<void> | undefined;
  readonly #writing = new Set<Promise<unknown>>();
  /** When this process requested a recall, by name, in milliseconds since the Unix epoch; the oldest first. */
  readonly #askedAtMs = new Map<string, number>();

  constructor(bucket: S3Bucket, storageClass: StorageClass | undefined) {
    this.place = bucket.where;
    this.#bucket = bucket;
    this.#how = storageClass === undefined ? {} : { StorageClass: storageClass };
  }

  /** Set once the server has proved that it honours conditions. */
  async prove(): Promise<void> {
    this.#proof ??= requireConditions(this.#bucket);
    try {
      await this.#proof;
    } catch (error) {
      this.#proof = undefined;
      throw error;
    }
  }

  create(name: string, bytes: Uint8Array): Promise<boolean> {
    return this.#write(name, bytes, async () => {
      await this.prove();
      return await this.#bucket.guarded(() => this.#create(name, bytes), name);
    });
  }

  put(name: string, bytes: Uint8Array): Promise<void> {
    return this.#write(name, bytes, () => this.#bucket.guarded(() => this.#put(name, bytes), name));
  }

  async #write<T>(name: string, bytes: Uint8Array, write: () => Promise<T>): Promise<T> {
    checkObjectName(name);
    checkObjectSize(bytes);
    const writing = write();
    this.#writing.add(writing);
    try {
      return await writing;
    } finally {
      this.#writing.delete(writing);
    }
  }

  async read(name: string): Promise<Uint8Array | undefined> {
    checkObjectName(name);
    return this.#bucket.guarded(() => this.#bucket.read(name), name);
  }

  /** Sorted and filtered here: not every server lists in the order of bytes, or takes each prefix as it is (SeaweedFS: as a path). */
  async *list(prefix: string): AsyncIterable<string> {
    const names: string[] = [];
    for await (const name of this.#bucket.names(prefix)) {
      if (!name.startsWith(prefix) || !isObjectName(name)) continue;
      if (names.length === LISTED_NAMES_MAX) throw tooMany(this.place, prefix);
      names.push(name);
    }
    yield* names.sort();
  }

  async remove(name: string): Promise<void> {
    await this.#bucket.remove(checkObjectName(name));
    this.#askedAtMs.delete(name);
  }

  async recall(name: string): Promise<Recall> {
    checkObjectName(name);
    return this.#bucket.guarded(() => this.#recall(name), name);
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#writing);
    this.#bucket.close();
  }

  async #create(name: string, bytes: Uint8Array): Promise<boolean> {
    const mark = randomUUID();
    const how = { ...this.#how, IfNoneMatch: '*', Metadata: { [MARK]: mark } };
    // Otherwise all its bytes would go up before the server says that the object exists.
    if (bytes.length > ASKED_FIRST_BYTES && (await this.#bucket.head(name)) !== undefined) return false;
    for (let round = 1; ; round++) {
      try {
        await this.#bucket.write(name, bytes, how);
        return true;
      } catch (error) {
        if (!isThere(error)) throw error;
        const existing = await this.#bucket.head(name);
        if (existing !== undefined) return existing.Metadata?.[MARK] === mark;
        // Another process removed the object in between, or two concurrent writes hindered each other.
        if (round === CREATE_ROUNDS_MAX) throw error;
        await pause(CREATE_PAUSE_MS * 2 ** (round - 1));
      }
    }
  }

  async #put(name: string, bytes: Uint8Array): Promise<void> {
    const isThereAlready = async (): Promise<boolean> => {
      const existing = await this.#bucket.read(name);
      return existing !== undefined && Buffer.compare(existing, bytes) === 0;
    };
    // Otherwise all its bytes would go up before the server says that the object exists.
    if (bytes.length > ASKED_FIRST_BYTES && (await isThereAlready())) return;
    try {
      await this.#bucket.write(name, bytes, { ...this.#how, IfNoneMatch: '*' });
    } catch (error) {
      if (!isThere(error)) throw error;
      if (!(await isThereAlready())) await this.#bucket.write(name, bytes, this.#how);
    }
  }

  async #recall(name: string): Promise<Recall> {
    const existing = await this.#bucket.head(name);
    if (existing === undefined) return { state: 'absent' };
    const archive = archiveClassOf(existing);
    const restore = restoreOf(existing);
    if (archive === undefined || restore === 'done') return this.#ready(name);
    if (restore === 'not-asked') {
      const isReady = await this.#restore(name, archive);
      if (isReady === undefined) return { state: 'absent' };
      if (isReady) return this.#ready(name);
    }
    return { state: 'recalling', expectedAtMs: this.#expectedAtMs(name, archive) };
  }

  /** Whether the object is readable at once; undefined: it is missing. */
  async #restore(name: string, archive: ArchiveClass): Promise<boolean | undefined> {
    try {
      const isReady = await this.#bucket.restore(name, restoreRequest(archive));
      if (isReady === false) this.#asked(name);
      return isReady;
    } catch (error) {
      if (nameOf(error) === 'RestoreAlreadyInProgress') return false;
      if (nameOf(error) === 'ObjectAlreadyInActiveTierError') return true;
      // The server keeps classes as mere labels, and has nothing to restore.
      if (statusOf(error) === 405 || statusOf(error) === 501) return true;
      // The error says that the restore is refused, not that the object is archived.
      throw nameOf(error) === 'InvalidObjectState' ? renamed(error, 'RestoreRefused') : error;
    }
  }

  #ready(name: string): Recall {
    this.#askedAtMs.delete(name);
    return { state: 'ready' };
  }

  #asked(name: string): void {
    if (this.#askedAtMs.size >= RECALLS_KNOWN_MAX) this.#askedAtMs.delete(this.#askedAtMs.keys().next().value!);
    this.#askedAtMs.set(name, Date.now());
  }

  /** Null when another process requested it: S3 does not say when that was. */
  #expectedAtMs(name: string, archive: ArchiveClass): number | null {
    const askedAtMs = this.#askedAtMs.get(name);
    return askedAtMs === undefined ? null : askedAtMs + RESTORE_LONGEST_MS[archive];
  }
}

function tooMany(place: string, prefix: string): LimitError {
  return new LimitError(
    'object-list-too-long',
    `The bucket ${place} holds more than ${LISTED_NAMES_MAX} names that begin with '${prefix}': list by a longer prefix.`,
    { place, prefix, limitCount: LISTED_NAMES_MAX },
  );
}
