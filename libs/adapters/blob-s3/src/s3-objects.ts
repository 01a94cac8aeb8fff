/**
 * Owns the ObjectStore in a bucket of an S3 server: objects under their names below a prefix. Several processes may share the bucket.
 * Invariant (O1): `create` writes only where nothing is (`If-None-Match: *`), in one request, which servers hold as one step. A server
 * that ignores the condition writes over what is there: it is none for this store, which is found out before anything is created.
 *
 * Whose object it is: a request whose answer was lost is sent again (by the SDK, or by a proxy on the way), and then meets the object
 * that it made itself. So each `create` marks what it writes with a name of its own, in the object's metadata, and refused, it looks at
 * the mark of what is there. Equal bytes would not tell: two writers of the same bytes would both be told that they created it. And a
 * mark can be read of archived objects too. On a server that keeps no metadata the answer is then false, to which callers read what
 * is there. When no attempt had an answer, nobody knows (`UnavailableError`), and the next `create` has another mark: false again.
 */

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { StorageClass } from '@aws-sdk/client-s3';
import { ConfigError, LimitError } from '@tidemark/core';
import {
  checkObjectName,
  checkObjectSize,
  isObjectName,
  OBJECT_MAX_BYTES,
  type ObjectStore,
  type Recall,
} from '@tidemark/ports';
import {
  type ArchiveClass,
  archiveClassOf,
  type RestoreTier,
  restoreLongestMs,
  restoreOf,
  restoreRequest,
} from './archive-classes.ts';
import {
  CREATE_PAUSE_MS,
  CREATE_ROUNDS_MAX,
  LISTED_NAMES_MAX,
  PART_BYTES,
  RECALLS_KNOWN_MAX,
  RESTORED_DAYS,
} from './limits.ts';
import { openS3Bucket, type S3Bucket, type S3BucketOptions } from './s3-bucket.ts';
import { requireConditions } from './s3-conditions.ts';
import { type BucketUse, isDisturbed, nameOf, renamed, statusOf } from './s3-faults.ts';

export interface S3ObjectsOptions extends S3BucketOptions {
  /** Of what is written; absent: the bucket's own. What is written to an archive class is not readable before a recall. */
  readonly storageClass?: StorageClass;
  /**
   * Objects above this go up in parts; absent: none do, one request takes the largest. Parts help on a line that breaks, but the server
   * must then hold the condition at the end of an upload too. Amazon's does; SeaweedFS 4.48 lets several win that end at one moment.
   */
  readonly partsAboveBytes?: number;
  /** How long a recalled object stays readable, in days. */
  readonly restoredDays?: number;
  /** Absent: `Standard`. */
  readonly restoreTier?: RestoreTier;
}

const USE: BucketUse = {
  of: 'objects',
  one: 'object',
  prefixInvalid: 'object-prefix-invalid',
  bucketInvalid: 'object-bucket-invalid',
  unavailable: 'objects-unavailable',
  archived: 'object-archived',
};
/** In the object's metadata: which `create` made it. */
const MARK = 'tidemark-created-by';

/**
 * Asks for the bucket once. Throws `InvalidError` (`object-prefix-invalid`), `ConfigError` (`object-bucket-invalid`: there is none, or
 * the credentials don't fit; `objects-unconditional`: see s3-conditions.ts), `UnavailableError` (`objects-unavailable`).
 */
export async function openS3Objects(options: S3ObjectsOptions): Promise<ObjectStore> {
  const bucket = await openS3Bucket(options, USE);
  const objects = new S3Objects(bucket, options);
  try {
    await objects.prove();
  } catch (error) {
    // A store that is full serves reads; before it is written to, this is found out again.
    if (!(error instanceof ConfigError)) return objects;
    bucket.close();
    throw error;
  }
  return objects;
}

class S3Objects implements ObjectStore {
  readonly place: string;
  readonly #bucket: S3Bucket;
  readonly #options: S3ObjectsOptions;
  #proof: Promise<void> | undefined;
  readonly #creating = new Set<Promise<unknown>>();
  /** When this process asked for a recall, by name, in milliseconds since the Unix epoch; the oldest first. */
  readonly #askedAtMs = new Map<string, number>();

  constructor(bucket: S3Bucket, options: S3ObjectsOptions) {
    this.place = bucket.where;
    this.#bucket = bucket;
    this.#options = options;
  }

  /** Once it is proved, that the server holds conditions is not asked again. */
  async prove(): Promise<void> {
    this.#proof ??= requireConditions(this.#bucket);
    try {
      await this.#proof;
    } catch (error) {
      this.#proof = undefined;
      throw error;
    }
  }

  async create(name: string, bytes: Uint8Array): Promise<boolean> {
    checkObjectName(name);
    checkObjectSize(bytes);
    const creating = this.prove().then(() => this.#bucket.guarded(() => this.#create(name, bytes), name));
    this.#creating.add(creating);
    try {
      return await creating;
    } finally {
      this.#creating.delete(creating);
    }
  }

  async read(name: string): Promise<Uint8Array | undefined> {
    checkObjectName(name);
    return this.#bucket.guarded(() => this.#bucket.read(name), name);
  }

  /** Sorted and sifted here: not every server lists in the order of bytes, or takes each prefix as it is (SeaweedFS: as a path). */
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
    await Promise.allSettled(this.#creating);
    this.#bucket.close();
  }

  async #create(name: string, bytes: Uint8Array): Promise<boolean> {
    const mark = randomUUID();
    // All its bytes would go up before the server says that there is one.
    if (bytes.length > PART_BYTES && (await this.#bucket.head(name)) !== undefined) return false;
    for (let round = 1; ; round++) {
      try {
        await this.#write(name, bytes, mark);
        return true;
      } catch (error) {
        if (!isDisturbed(error)) throw error;
        const held = await this.#bucket.head(name);
        if (held !== undefined) return held.Metadata?.[MARK] === mark;
        // Removed in between, or two that wrote at this moment hindered each other.
        if (round === CREATE_ROUNDS_MAX) throw error;
        await pause(CREATE_PAUSE_MS * 2 ** (round - 1));
      }
    }
  }

  async #write(name: string, bytes: Uint8Array, mark: string): Promise<void> {
    const { storageClass, partsAboveBytes = OBJECT_MAX_BYTES } = this.#options;
    await this.#bucket.write(name, bytes, {
      IfNoneMatch: '*',
      Metadata: { [MARK]: mark },
      ...(storageClass !== undefined && { StorageClass: storageClass }),
      partsAboveBytes,
    });
  }

  async #recall(name: string): Promise<Recall> {
    const held = await this.#bucket.head(name);
    if (held === undefined) return { state: 'absent' };
    const archive = archiveClassOf(held);
    const restore = restoreOf(held);
    if (archive === undefined || restore === 'done') return this.#ready(name);
    if (restore === 'not-asked') {
      const isReady = await this.#restore(name, archive);
      if (isReady === undefined) return { state: 'absent' };
      if (isReady) return this.#ready(name);
    }
    return { state: 'recalling', expectedAtMs: this.#expectedAtMs(name, archive) };
  }

  /** Whether it can be read at once; undefined: there is none. */
  async #restore(name: string, archive: ArchiveClass): Promise<boolean | undefined> {
    const { restoreTier = 'Standard', restoredDays = RESTORED_DAYS } = this.#options;
    try {
      const isReady = await this.#bucket.restore(name, restoreRequest(archive, restoreTier, restoredDays));
      if (isReady === false) this.#asked(name);
      return isReady;
    } catch (error) {
      if (nameOf(error) === 'RestoreAlreadyInProgress') return false;
      if (nameOf(error) === 'ObjectAlreadyInActiveTierError') return true;
      // A server that keeps classes as mere labels, and has nothing to restore.
      if (statusOf(error) === 405 || statusOf(error) === 501) return true;
      // Not that the object is archived, but that the class has no such tier.
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

  /** Null when another process asked for it: S3 does not say when that was. */
  #expectedAtMs(name: string, archive: ArchiveClass): number | null {
    const askedAtMs = this.#askedAtMs.get(name);
    const longestMs = restoreLongestMs(archive, this.#options.restoreTier ?? 'Standard');
    return askedAtMs === undefined || longestMs === null ? null : askedAtMs + longestMs;
  }
}

function tooMany(place: string, prefix: string): LimitError {
  return new LimitError(
    'object-list-too-long',
    `The bucket of objects ${place} holds more than ${LISTED_NAMES_MAX} names that begin with '${prefix}': list by a longer prefix.`,
    { place, prefix, limitCount: LISTED_NAMES_MAX },
  );
}
