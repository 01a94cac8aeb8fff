/**
 * Owns the unwrapped data keys of a process: a cache over provider and store. Who asks gets bytes of his own, so that none that are
 * cleared here can become someone's key. Must not write a data key anywhere, nor tell one in an error.
 *
 * A key that another process destroyed is used here until the age limit at the latest (`DATA_KEY_AGE_MAX_MS`), and so is one whose
 * wrapping key was taken away: the limit counts from before the store was asked. That there is no key is remembered for a moment
 * alone (`DATA_KEY_ABSENT_MS`).
 */

import { CorruptError, InvalidError, uuidv7 } from '@tidemark/core';
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
import {
  DATA_KEY_ABSENT_MS,
  DATA_KEY_AGE_MAX_MS,
  DATA_KEYS_MAX_COUNT,
  KEYS_DESTROYED_AT_ONCE,
  REWRAP_BATCH_COUNT,
  REWRAP_WRONG_TOLD_MAX,
  REWRAPS_AT_ONCE,
} from './limits.ts';

export interface DataKeysOptions {
  readonly provider: KeyProvider;
  readonly store: KeyStore;
  /** Data keys are drawn from it: its bytes must be beyond guessing, but in tests. */
  readonly prng: Prng;
  readonly clock: Clock;
  readonly maxCount?: number;
  readonly maxAgeMs?: number;
  readonly absentMs?: number;
}

export interface DataKey {
  /** What is encrypted names it. */
  readonly id: string;
  readonly key: Uint8Array;
}

/** How far a rotation came. */
export interface RewrapProgress {
  readonly seenCount: number;
  readonly rewrappedCount: number;
  /** Keys that the provider can't unwrap. They stay as they are. */
  readonly wrongCount: number;
  /** The first of them. */
  readonly wrongIds: readonly string[];
}

interface Held {
  /** Undefined: there is none. */
  readonly key: Uint8Array | undefined;
  /** On the monotonic clock. */
  readonly untilMs: number;
}

export class DataKeys {
  readonly #options: DataKeysOptions;
  /** The least recently used first. */
  readonly #held = new Map<string, Held>();
  readonly #loading = new Map<string, Promise<Uint8Array | undefined>>();

  constructor(options: DataKeysOptions) {
    this.#options = options;
  }

  /** Whether they seal secret fields, and not histories. */
  get isForSecrets(): boolean {
    return isForSecrets({ provider: this.#options.provider.name });
  }

  /** A new key, which is durable when this resolves. Throws as `KeyProvider.wrap` and `KeyStore.put` do; there is no key then. */
  async create({ tenant, workflow, user }: KeyContext & { readonly user: string | null }): Promise<DataKey> {
    const { provider, store, prng, clock } = this.#options;
    const id = uuidv7(clock.nowMs(), prng.bytes(10));
    const key = prng.bytes(DATA_KEY_BYTES);
    const sinceMs = clock.monotonicMs();
    try {
      const wrapped = await provider.wrap(key, { tenant, workflow });
      await store.put([{ id, tenant, workflow, user, ...wrapped }]);
      this.#hold(id, key, sinceMs);
      return { id, key: key.slice() };
    } catch (error) {
      key.fill(0);
      throw error;
    }
  }

  /** Undefined: there is none, or none any more. Those who ask at once share the work. Throws as `get` and `unwrap` do. */
  async key(id: string): Promise<Uint8Array | undefined> {
    const held = this.#fresh(id);
    if (held !== undefined) return held.key?.slice();
    let loading = this.#loading.get(id);
    if (loading === undefined) {
      loading = this.#load(id);
      this.#loading.set(id, loading);
    }
    return (await loading)?.slice();
  }

  /** What `key` would give at once; undefined: it would have to ask, or there is none. */
  peek(id: string): Uint8Array | undefined {
    return this.#fresh(id)?.key?.slice();
  }

  /**
   * Wraps with the current key whatever another one wrapped. What is done is stored as it goes: when this throws, because the provider
   * or the store is away, calling it again goes on; called again at the end it does nothing. A key that can't be unwrapped holds up
   * no other.
   */
  async rewrapAll(filter: KeyFilter, onProgress?: (progress: RewrapProgress) => void): Promise<RewrapProgress> {
    const { provider, store } = this.#options;
    const current = await provider.current();
    const rewrap = new Rewrap(provider, store);
    for await (const key of store.list(filter)) {
      if (isForSecrets(key) !== this.isForSecrets) continue;
      rewrap.seenCount++;
      if (key.provider === provider.name && key.wrappedBy === current) continue;
      if (rewrap.add(key) < REWRAP_BATCH_COUNT) continue;
      await rewrap.flush();
      onProgress?.(rewrap.progress());
    }
    await rewrap.flush();
    onProgress?.(rewrap.progress());
    return rewrap.progress();
  }

  /**
   * Destroys the keys for good; gives their number. Whoever destroys a workflow's has ended it before: what makes a key meanwhile may
   * keep it. Throws `InvalidError` (`key-filter-empty`); as `destroy` does: then call it again.
   */
  async destroy(filter: KeyFilter): Promise<number> {
    if (filter.tenant === undefined && filter.workflow === undefined && filter.user === undefined) {
      const message = 'Name a tenant, a workflow or a user: without any of them every key would be destroyed.';
      throw new InvalidError('key-filter-empty', message);
    }
    let count = 0;
    let ids: string[] = [];
    const flush = async (): Promise<void> => {
      await this.#options.store.destroy(ids);
      for (const id of ids) this.#forget(id);
      count += ids.length;
      ids = [];
    };
    for await (const { id } of this.#options.store.list(filter)) {
      if (ids.push(id) === KEYS_DESTROYED_AT_ONCE) await flush();
    }
    if (ids.length > 0) await flush();
    return count;
  }

  /** Overwrites what is held; who asks again, asks the provider. */
  clear(): void {
    for (const { key } of this.#held.values()) key?.fill(0);
    this.#held.clear();
    this.#loading.clear();
  }

  #load(id: string): Promise<Uint8Array | undefined> {
    const sinceMs = this.#options.clock.monotonicMs();
    const loading = this.#unwrapped(id);
    // Not of the one who asked first: whoever asks after a failure tries again.
    const isWanted = (): boolean => this.#loading.get(id) === loading && this.#loading.delete(id);
    loading.then(
      (key) => {
        // Destroyed or cleared meanwhile: it may go to those who wait, and to nobody else.
        if (isWanted()) this.#hold(id, key?.slice(), sinceMs);
      },
      () => isWanted(),
    );
    return loading;
  }

  async #unwrapped(id: string): Promise<Uint8Array | undefined> {
    const { provider, store } = this.#options;
    const stored = (await store.get([id])).get(id);
    if (stored === undefined) return undefined;
    const key = await provider.unwrap(stored, stored);
    if (key.length !== DATA_KEY_BYTES) throw keyWrong(stored, stored, `has ${key.length} bytes, not ${DATA_KEY_BYTES}`);
    return key;
  }

  /** What is held and not too old; it is the most recently used then. */
  #fresh(id: string): Held | undefined {
    const held = this.#held.get(id);
    if (held === undefined) return undefined;
    if (this.#options.clock.monotonicMs() >= held.untilMs) {
      this.#drop(id, held);
      return undefined;
    }
    this.#held.delete(id);
    this.#held.set(id, held);
    return held;
  }

  #hold(id: string, key: Uint8Array | undefined, sinceMs: number): void {
    const { maxCount = DATA_KEYS_MAX_COUNT, maxAgeMs = DATA_KEY_AGE_MAX_MS } = this.#options;
    const { absentMs = DATA_KEY_ABSENT_MS } = this.#options;
    const before = this.#held.get(id);
    if (before !== undefined) this.#drop(id, before);
    this.#held.set(id, { key, untilMs: sinceMs + (key === undefined ? absentMs : maxAgeMs) });
    for (const [oldest, held] of this.#held) {
      if (this.#held.size <= maxCount) return;
      this.#drop(oldest, held);
    }
  }

  #drop(id: string, held: Held): void {
    held.key?.fill(0);
    this.#held.delete(id);
  }

  #forget(id: string): void {
    this.#loading.delete(id);
    this.#hold(id, undefined, this.#options.clock.monotonicMs());
  }
}

/** One rotation under way. */
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

  /** Returns how many wait. */
  add(key: StoredKey): number {
    return this.#waiting.push(key);
  }

  /** Stores what was wrapped, also when a call failed; then throws that failure. */
  async flush(): Promise<void> {
    const keys = this.#waiting;
    this.#waiting = [];
    const done: StoredKey[] = [];
    let failure: unknown;
    for (let at = 0; at < keys.length && failure === undefined; at += REWRAPS_AT_ONCE) {
      const calls = keys.slice(at, at + REWRAPS_AT_ONCE).map((key) => this.#wrappedAnew(key));
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
  async #wrappedAnew(stored: StoredKey): Promise<StoredKey | undefined> {
    let key: Uint8Array | undefined;
    try {
      key = await this.#provider.unwrap(stored, stored);
      return { ...stored, ...(await this.#provider.wrap(key, stored)) };
    } catch (error) {
      if (!(error instanceof CorruptError)) throw error;
      this.#wrongCount++;
      if (this.#wrongIds.length < REWRAP_WRONG_TOLD_MAX) this.#wrongIds.push(stored.id);
      return undefined;
    } finally {
      key?.fill(0);
    }
  }
}
