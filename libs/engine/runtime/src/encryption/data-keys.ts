/**
 * Owns the unwrapped data keys of a process: a cache over provider and store. Keys are key objects, whose bytes are never read or changed,
 * and which Node overwrites when it frees them. It must never write a data key anywhere, nor reveal one in an error.
 *
 * A key that another process destroyed, or whose wrapping key was taken away, stays in use here until the age limit at the latest
 * (`DATA_KEY_AGE_MAX_MS`, counted from before the store was read). That a key is destroyed or missing is remembered only for a moment
 * (`DATA_KEY_ABSENT_MS`); the two are never confused (K3).
 */

import { createSecretKey, type KeyObject } from 'node:crypto';
import { CorruptError, InvalidError, uuidv7, type WorkflowId } from '@tidemark/core';
import {
  type Clock,
  DATA_KEY_BYTES,
  isForSecrets,
  type KeyContext,
  type KeyFilter,
  type KeyProvider,
  type KeyStore,
  keyWrong,
  type Prng,
  type StoredKey,
} from '@tidemark/ports';
import { batched } from '@tidemark/ports/batched';
import { boundKeyId, isKeyOf, type KeyUse } from './key-owner.ts';
import { DATA_KEYS_AT_ONCE } from './limits.ts';

/** Unwrapped data keys that a process caches, most recently used. */
const DATA_KEYS_MAX_COUNT = 10_000;
/** Longest time that a cached key is used, in milliseconds: a process may use a key for so long after another has destroyed it. */
const DATA_KEY_AGE_MAX_MS = 300_000;
/** How long the absence of a key is remembered, in milliseconds: many records may name a destroyed key. */
const DATA_KEY_ABSENT_MS = 5_000;
/** Keys that a rotation stores at once, and concurrent calls of the provider. */
export const REWRAP_BATCH_COUNT = 100;
const REWRAPS_AT_ONCE = 8;
/** Keys that a rotation names because they can't be unwrapped; further ones are counted. */
const REWRAP_WRONG_REPORTED_MAX = 100;
/** Keys that are destroyed at once. */
const KEYS_DESTROYED_AT_ONCE = 500;

export interface DataKeysOptions {
  readonly provider: KeyProvider;
  readonly store: KeyStore;
  /** Draws data keys: except in tests, its bytes must be unguessable. */
  readonly prng: Prng;
  readonly clock: Clock;
  readonly maxCount?: number;
  readonly maxAgeMs?: number;
  readonly absentMs?: number;
}

export interface DataKey {
  /** Encrypted content names its key by this id. */
  readonly id: string;
  readonly key: KeyObject;
}

/** The progress of a rotation. */
export interface RewrapProgress {
  readonly seenCount: number;
  readonly rewrappedCount: number;
  /** Keys that the provider can't unwrap; they stay as they are. */
  readonly wrongCount: number;
  /** The first of those keys. */
  readonly wrongIds: readonly string[];
}

interface Loaded {
  readonly key: Answer;
  readonly workflow?: WorkflowId;
}

/** Null: it was destroyed; undefined: the store never had it, or lost it. */
type Answer = KeyObject | null | undefined;

/** Overwrites the given bytes. */
function keyObjectOf(bytes: Uint8Array): KeyObject {
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
}

interface Held {
  readonly key: Answer;
  /** The key's workflow; undefined where there is no key. */
  readonly workflow: WorkflowId | undefined;
  /** On the monotonic clock. */
  readonly untilMs: number;
}

export class DataKeys {
  readonly #options: DataKeysOptions;
  /** Least recently used first. */
  readonly #held = new Map<string, Held>();
  readonly #loading = new Map<string, Promise<Loaded>>();
  readonly #stored: (id: string) => Promise<StoredKey | null | undefined>;
  readonly #put: (key: StoredKey) => Promise<void>;

  constructor(options: DataKeysOptions) {
    this.#options = options;
    const { store } = options;
    this.#stored = batched(DATA_KEYS_AT_ONCE, async (ids) => {
      const found = await store.get(ids);
      return ids.map((id) => found.get(id));
    });
    this.#put = batched(DATA_KEYS_AT_ONCE, async (keys) => {
      await store.put(keys);
      return keys.map(() => undefined);
    });
  }

  /** Whether these keys seal secret fields, rather than histories. */
  get isForSecrets(): boolean {
    return isForSecrets({ provider: this.#options.provider.name });
  }

  /** Creates a key, which is durable when this resolves. Throws what `KeyProvider.wrap` and `KeyStore.put` throw; there is then no key. */
  async create(
    { tenant, workflow, user }: KeyContext & { readonly user: string | null },
    use: KeyUse = 'sealing',
  ): Promise<DataKey> {
    const { provider, prng, clock } = this.#options;
    // The id carries no time: the 74 bits that remain of it are all random.
    const id = boundKeyId(uuidv7(Buffer.from(prng.bytes(6)).readUIntBE(0, 6), prng.bytes(10)), workflow, use);
    const bytes = prng.bytes(DATA_KEY_BYTES);
    const sinceMs = clock.monotonicMs();
    try {
      const wrapped = await provider.wrap(bytes, { tenant, workflow });
      await this.#put({ id, tenant, workflow, user, ...wrapped });
      const key = keyObjectOf(bytes);
      this.#hold(id, { key, workflow }, sinceMs);
      return { id, key };
    } finally {
      bytes.fill(0);
    }
  }

  /**
   * Null: it was destroyed. Concurrent callers share the work. Throws what `get` and `unwrap` throw, and `CorruptError`: `key-missing`
   * where the store doesn't know it; `sealed-wrong` where it has another use, or where its id doesn't fit its workflow, without a call of
   * the provider. `workflow` is named in the error when the key is missing.
   */
  async key(id: string, workflow?: WorkflowId): Promise<KeyObject | null> {
    const held = this.#fresh(id);
    const answer = (held ?? (await this.#loaded(id))).key;
    if (answer === undefined) throw keyMissing(id, workflow, this.#options.store.place);
    return answer;
  }

  #loaded(id: string): Promise<Loaded> {
    let loading = this.#loading.get(id);
    if (loading === undefined) {
      loading = this.#load(id);
      this.#loading.set(id, loading);
    }
    return loading;
  }

  /** What `key` would return at once; undefined: it must ask, or there is no key. */
  peek(id: string): KeyObject | undefined {
    return this.#fresh(id)?.key ?? undefined;
  }

  /** The key's workflow, by the store; undefined: it is not cached, or there is no key. */
  workflowOf(id: string): WorkflowId | undefined {
    return this.#fresh(id)?.workflow;
  }

  /**
   * Wraps every key again that another than the current key has wrapped. Progress is stored as it goes: if this throws, because the
   * provider or the store is unavailable, a further call continues; after the end it does nothing. A key that can't be unwrapped does not
   * hold up the others.
   */
  async rewrapAll(filter: KeyFilter): Promise<RewrapProgress> {
    const { provider, store } = this.#options;
    const current = await provider.current();
    const rewrap = new Rewrap(provider, store);
    for await (const key of store.list(filter)) {
      if (isForSecrets(key) !== this.isForSecrets) continue;
      rewrap.seenCount++;
      if (key.provider === provider.name && key.wrappedBy === current) continue;
      if (rewrap.add(key) === REWRAP_BATCH_COUNT) await rewrap.flush();
    }
    await rewrap.flush();
    return rewrap.progress();
  }

  /**
   * Destroys the keys for good and returns their number. The caller must have ended the workflows before: one that is running may create a
   * key that stays. Throws `InvalidError` (`key-filter-empty`), and what `destroy` of the store throws: then call it again.
   */
  async destroy(filter: KeyFilter): Promise<number> {
    if (filter.tenant === undefined && filter.workflow === undefined && filter.user === undefined) {
      const message = 'Name a tenant, a workflow or a user: without any of them every key would be destroyed.';
      throw new InvalidError('key-filter-empty', message);
    }
    let count = 0;
    let ids: string[] = [];
    for await (const { id } of this.#options.store.list(filter)) {
      count++;
      if (ids.push(id) < KEYS_DESTROYED_AT_ONCE) continue;
      await this.destroyAll(ids);
      ids = [];
    }
    await this.destroyAll(ids);
    return count;
  }

  /** Destroys these keys for good. Throws what `destroy` of the store throws: then call it again. */
  async destroyAll(ids: readonly string[]): Promise<void> {
    for (let at = 0; at < ids.length; at += KEYS_DESTROYED_AT_ONCE) {
      const some = ids.slice(at, at + KEYS_DESTROYED_AT_ONCE);
      await this.#options.store.destroy(some);
      for (const id of some) this.#forget(id);
    }
  }

  /** Drops all cached keys; the next caller asks the provider. */
  clear(): void {
    this.#held.clear();
    this.#loading.clear();
  }

  #load(id: string): Promise<Loaded> {
    const sinceMs = this.#options.clock.monotonicMs();
    const loading = this.#unwrapped(id);
    // Removed on failure too, so that a caller after a failure tries again.
    const isWanted = (): boolean => this.#loading.get(id) === loading && this.#loading.delete(id);
    loading.then(
      (loaded) => {
        // If it was destroyed or cleared meanwhile, the callers that wait still get it, but it is not cached.
        if (isWanted()) this.#hold(id, loaded, sinceMs);
      },
      () => isWanted(),
    );
    return loading;
  }

  async #unwrapped(id: string): Promise<Loaded> {
    const { provider } = this.#options;
    const stored = await this.#stored(id);
    if (stored === undefined || stored === null) return { key: stored };
    if (isForSecrets(stored) !== this.isForSecrets || !isKeyOf(id, stored.workflow)) throw keyOfAnotherUse(id);
    const key = await provider.unwrap(stored, stored);
    if (key.length !== DATA_KEY_BYTES) throw keyWrong(stored, stored, `has ${key.length} bytes, not ${DATA_KEY_BYTES}`);
    return { key: keyObjectOf(key), workflow: stored.workflow };
  }

  /**
   * The cached key, if it is not too old. Once the cache is half full, a use makes the key the most recent; before that the order doesn't
   * matter, and each record asks.
   */
  #fresh(id: string): Held | undefined {
    const held = this.#held.get(id);
    if (held === undefined) return undefined;
    if (this.#options.clock.monotonicMs() >= held.untilMs) {
      this.#held.delete(id);
      return undefined;
    }
    const { maxCount = DATA_KEYS_MAX_COUNT } = this.#options;
    if (this.#held.size > maxCount / 2) {
      this.#held.delete(id);
      this.#held.set(id, held);
    }
    return held;
  }

  #hold(id: string, { key, workflow }: Loaded, sinceMs: number): void {
    const { maxCount = DATA_KEYS_MAX_COUNT, maxAgeMs = DATA_KEY_AGE_MAX_MS } = this.#options;
    const { absentMs = DATA_KEY_ABSENT_MS } = this.#options;
    this.#held.delete(id);
    this.#held.set(id, { key, workflow, untilMs: sinceMs + (key ? maxAgeMs : absentMs) });
    for (const oldest of this.#held.keys()) {
      if (this.#held.size <= maxCount) return;
      this.#held.delete(oldest);
    }
  }

  #forget(id: string): void {
    this.#loading.delete(id);
    this.#hold(id, { key: null }, this.#options.clock.monotonicMs());
  }
}

const keyMissing = (id: string, workflow: WorkflowId | undefined, place: string): CorruptError =>
  new CorruptError(
    'key-missing',
    `The data key ${id}${workflow === undefined ? '' : ` of workflow ${workflow}`} is not in ${place}, and was not destroyed: the store of keys was lost, emptied or replaced. Put a copy of it back and start again. What the key has sealed was left as it is.`,
    { key: id, place, ...(workflow !== undefined && { workflow }) },
  );

const keyOfAnotherUse = (id: string): CorruptError =>
  new CorruptError(
    'sealed-wrong',
    `What is stored names the data key ${id}, which is for something else: it was changed. Nothing was taken from it.`,
    { key: id },
  );

/** One rotation. */
class Rewrap {
  seenCount = 0;
  readonly #provider: KeyProvider;
  readonly #store: KeyStore;
  #waiting: StoredKey[] = [];
  #rewrappedCount = 0;
  #wrongCount = 0;
  readonly #wrongIds: string[] = [];

  constructor(provider: KeyProvider, store: KeyStore) {
    this.#provider = provider;
    this.#store = store;
  }

  progress(): RewrapProgress {
    return {
      seenCount: this.seenCount,
      rewrappedCount: this.#rewrappedCount,
      wrongCount: this.#wrongCount,
      wrongIds: [...this.#wrongIds],
    };
  }

  /** Returns how many keys wait. */
  add(key: StoredKey): number {
    return this.#waiting.push(key);
  }

  /** Stores wrapped keys, even when a call failed; then throws that failure. */
  async flush(): Promise<void> {
    const keys = this.#waiting;
    this.#waiting = [];
    const done: StoredKey[] = [];
    let failure: unknown;
    for (let at = 0; at < keys.length && failure === undefined; at += REWRAPS_AT_ONCE) {
      const calls = keys.slice(at, at + REWRAPS_AT_ONCE).map((key) => this.#rewrapped(key));
      for (const call of await Promise.allSettled(calls)) {
        if (call.status === 'rejected') failure ??= call.reason;
        else if (call.value !== undefined) done.push(call.value);
      }
    }
    if (done.length > 0) await this.#store.put(done);
    this.#rewrappedCount += done.length;
    if (failure !== undefined) throw failure;
  }

  /** Undefined: it can't be unwrapped. */
  async #rewrapped(stored: StoredKey): Promise<StoredKey | undefined> {
    let key: Uint8Array | undefined;
    try {
      key = await this.#provider.unwrap(stored, stored);
      return { ...stored, ...(await this.#provider.wrap(key, stored)) };
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
      this.#wrongCount++;
      if (this.#wrongIds.length < REWRAP_WRONG_REPORTED_MAX) this.#wrongIds.push(stored.id);
      return undefined;
    } finally {
      key?.fill(0);
    }
  }
}
