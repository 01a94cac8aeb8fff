/**
 * Owns the KeyStore in one SQLite file: wrapped keys, and the ids of destroyed ones. Invariants: once `destroy` resolves, the destroyed
 * keys are in no table, no free page and no write-ahead log (K1); a destroyed id is never stored again. It promises nothing about the disk
 * below the file system. Must not open or check files.
 */

import path from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { ConfigError, CorruptError, messageOf, TidemarkError, UnavailableError } from '@tidemark/core';
import type { KeyFilter, KeyStore, StoredKey } from '@tidemark/ports';
import {
  listKeys,
  listKeysOfWorkflow,
  noteScrub,
  putKey,
  readDestroyed,
  readKey,
  rememberDestroyed,
  removeKey,
} from './sql/keys.ts';
import { resultCode } from './sqlite-errors.ts';

/** Keys that one page of a listing holds. */
const KEY_PAGE_COUNT = 500;

/** The file in its folder. */
export const KEYS_FILE = 'keys.sqlite';

export class SqliteKeys implements KeyStore {
  readonly place: string;
  readonly #folder: string;
  readonly #database: DatabaseSync;
  readonly #put: StatementSync;
  readonly #read: StatementSync;
  readonly #readDestroyed: StatementSync;
  readonly #list: StatementSync;
  readonly #listOfWorkflow: StatementSync;
  #isClosed = false;

  constructor(folder: string, database: DatabaseSync) {
    this.place = path.join(folder, KEYS_FILE);
    this.#folder = folder;
    this.#database = database;
    this.#put = database.prepare(putKey);
    this.#read = database.prepare(readKey);
    this.#readDestroyed = database.prepare(readDestroyed);
    this.#list = database.prepare(listKeys);
    this.#listOfWorkflow = database.prepare(listKeysOfWorkflow);
  }

  async put(keys: readonly StoredKey[]): Promise<void> {
    if (keys.length === 0) return;
    this.#transaction(() => {
      for (const { id, tenant, workflow, user, provider, wrappedBy, wrapped } of keys) {
        this.#put.run(id, tenant, workflow, user, provider, wrappedBy, wrapped);
      }
    });
  }

  async get(ids: readonly string[]): Promise<ReadonlyMap<string, StoredKey | null>> {
    return this.#guarded(() => {
      const keys = new Map<string, StoredKey | null>();
      for (const id of ids) {
        const row = this.#read.get(id);
        if (row !== undefined) keys.set(id, asKey(row));
        // This check runs second, so that it sees what another process destroys in between.
        else if (this.#readDestroyed.get(id) !== undefined) keys.set(id, null);
      }
      return keys;
    });
  }

  async destroy(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    this.#transaction(() => {
      const remember = this.#database.prepare(rememberDestroyed);
      const remove = this.#database.prepare(removeKey);
      for (const id of ids) {
        remember.run(id);
        remove.run(id);
      }
      this.#database.prepare(noteScrub).run();
    });
    this.finishScrub();
  }

  async *list(filter: KeyFilter): AsyncIterable<StoredKey> {
    const { tenant = null, workflow, user = null } = filter;
    const workflows = workflow === undefined ? null : JSON.stringify([workflow].flat());
    const statement = tenant !== null && workflows !== null ? this.#listOfWorkflow : this.#list;
    // Reads each page at once: an open statement would keep keys in the write-ahead log that are destroyed meanwhile.
    for (let after = ''; ; ) {
      const page = this.#guarded(() => statement.all(after, tenant, workflows, user, KEY_PAGE_COUNT).map(asKey));
      yield* page;
      if (page.length < KEY_PAGE_COUNT) return;
      after = page.at(-1)!.id;
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#database.close();
  }

  /**
   * Rewrites the file where keys were destroyed (a millisecond for a thousand remaining keys): SQLite clears the place of a deleted row,
   * but not those where it lay before its page was rearranged. Then empties the write-ahead log.
   */
  finishScrub(): void {
    this.#guarded(() => {
      if (this.#database.prepare('select 1 from scrubs').get() === undefined) return;
      this.#database.exec('vacuum');
      const { busy } = this.#database.prepare('pragma wal_checkpoint(truncate)').get() as { readonly busy: number };
      if (busy !== 0) {
        const message = `Keys in ${this.#folder} were destroyed, but another process reads and holds old bytes of the file: destroy them again.`;
        throw new UnavailableError('keys-unavailable', message, { folder: this.#folder });
      }
      this.#database.exec('delete from scrubs');
    });
  }

  /** Does all of the work or nothing of it. */
  #transaction(work: () => void): void {
    this.#guarded(() => {
      this.#database.exec('begin immediate');
      try {
        work();
        this.#database.exec('commit');
      } catch (error) {
        // Some errors have already rolled back.
        if (this.#database.isTransaction) this.#database.exec('rollback');
        throw error;
      }
    });
  }

  #guarded<T>(work: () => T): T {
    if (this.#isClosed) throw new UnavailableError('keys-unavailable', `The keys in ${this.#folder} are closed.`);
    try {
      return work();
    } catch (error) {
      throw asKeysError(this.#folder, error);
    }
  }
}

const asKey = (row: object): StoredKey => ({ ...(row as StoredKey) });

export const keysDamaged = (folder: string, why: string, cause?: unknown): CorruptError =>
  new CorruptError('keys-damaged', `The keys in ${folder} are damaged: ${why}. Put a copy of keys.sqlite back.`, {
    folder,
    cause,
  });

const READONLY = 8;
const CORRUPT = 11;
const CANTOPEN = 14;
const NOTADB = 26;

/** Turns what SQLite threw into what the port promises. */
export function asKeysError(folder: string, error: unknown): unknown {
  const code = resultCode(error);
  if (error instanceof TidemarkError || code === undefined) return error;
  const why = messageOf(error);
  if (code === CORRUPT || code === NOTADB) return keysDamaged(folder, why, error);
  const message = `The keys in ${folder} can't be used: ${why}.`;
  if (code !== READONLY && code !== CANTOPEN) {
    return new UnavailableError('keys-unavailable', message, { folder, cause: error });
  }
  return new ConfigError('keys-folder-unusable', message, { folder, cause: error });
}
