/**
 * Owns the KeyStore of a cluster: the topic is the truth, and the index finds a key by its id. Every change reaches the index only from the
 * topic and in its order, so an index that lags or was lost ends up like any other.
 *
 * A put counts once it is in the topic, and does not wait for the index: running workflows continue while that is unavailable. A
 * destruction counts only once it is in the index too, because readers use the index (K1).
 */

import { UnavailableError } from '@tidemark/core';
import type {
  KeyBatch,
  KeyFilter,
  KeyIndex,
  KeyOffsets,
  KeyPage,
  KeyStore,
  KeyTopic,
  StoredKey,
} from '@tidemark/ports';

/** Times that other processes may move the index of keys while one catches it up, before that one gives up. */
const INDEX_MOVES_MAX = 100;

export class ProjectedKeyStore implements KeyStore {
  readonly #topic: KeyTopic;
  readonly #index: KeyIndex;
  #running: Promise<void> | undefined;
  #following: Promise<void> | undefined;
  #isClosed = false;

  get place(): string {
    return this.#topic.place;
  }

  constructor(topic: KeyTopic, index: KeyIndex) {
    this.#topic = topic;
    this.#index = index;
  }

  async put(keys: readonly StoredKey[]): Promise<void> {
    if (keys.length === 0) return;
    await this.#guarded(() => this.#topic.append(keys));
    // A reader catches the index up when it lacks a key.
    await this.#caughtUp().catch((error: unknown) => {
      if (!(error instanceof UnavailableError)) throw error;
    });
  }

  /** An id without an entry was not in the topic either when this was called (K3). */
  async get(ids: readonly string[]): Promise<ReadonlyMap<string, StoredKey | null>> {
    return this.#guarded(async () => {
      const found = await this.#index.get(ids);
      const missing = ids.filter((id) => !found.has(id));
      if (missing.length === 0) return found;
      await this.#caughtUp();
      return new Map([...found, ...(await this.#index.get(missing))]);
    });
  }

  async destroy(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#guarded(async () => {
      await this.#topic.destroy(ids);
      await this.#caughtUp();
    });
  }

  async *list(filter: KeyFilter): AsyncIterable<StoredKey> {
    await this.#guarded(() => this.#caughtUp());
    const keys = this.#index.list(filter)[Symbol.asyncIterator]();
    for (;;) {
      const key = await this.#guarded(() => keys.next());
      if (key.done === true) return;
      yield key.value;
    }
  }

  /** Closes the topic too; the owner of the index closes that. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#topic.close();
  }

  /** When it resolves, the index has what was in the topic at the call. Callers share the work. */
  #caughtUp(): Promise<void> {
    if (this.#running === undefined) {
      this.#running = this.#catchUp().finally(() => {
        this.#running = undefined;
      });
      return this.#running;
    }
    // The running catch-up may have read the topic's end before this caller's key was written.
    this.#following ??= this.#running
      .catch(() => {}) // its own callers get the error
      .then(() => {
        this.#following = undefined;
        return this.#caughtUp();
      });
    return this.#following;
  }

  async #catchUp(): Promise<void> {
    const revived = new Set<string>();
    for (let moves = 0; !(await this.#applyAll(revived)); moves++) {
      if (moves === INDEX_MOVES_MAX) {
        const message = `Other processes moved the index of keys ${moves} times while this one was catching up.`;
        throw new UnavailableError('keys-unavailable', message);
      }
    }
    // Readers never get these keys, but their bytes would stay in the topic for ever.
    if (revived.size > 0) await this.#topic.destroy([...revived]);
  }

  /** False: another process has moved the index meanwhile. */
  async #applyAll(revived: Set<string>): Promise<boolean> {
    let from = await this.#index.applied();
    for await (const page of this.#topic.readAll(from)) {
      const batch = batchOf(page, from, revived);
      const outcome = await this.#index.apply(batch);
      if (!outcome.isApplied) return false;
      for (const id of outcome.refused) revived.add(id);
      from = new Map([...from, ...page.next]);
    }
    return true;
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new UnavailableError('keys-unavailable', 'The store of keys is closed.');
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof UnavailableError) || error.code === 'keys-unavailable') throw error;
      throw new UnavailableError('keys-unavailable', `The store of keys can't be used: ${error.message}`, {
        cause: error,
      });
    }
  }
}

/** The net changes of the page: the newest wrapping of each key, and nothing for keys that it destroys, before or after. */
function batchOf({ changes, next }: KeyPage, from: KeyOffsets, revived: Set<string>): KeyBatch {
  const puts = new Map<string, StoredKey>();
  const destroyed = new Set<string>();
  for (const change of changes) {
    if (change.kind === 'destroyed') {
      destroyed.add(change.id);
      puts.delete(change.id);
      // An earlier catch-up that found it has already destroyed it again.
      revived.delete(change.id);
    } else if (destroyed.has(change.key.id)) revived.add(change.key.id);
    else puts.set(change.key.id, change.key);
  }
  return { puts: [...puts.values()], destroyed: [...destroyed], from, next };
}
