/**
 * Owns who a caller with an API key is. A repeated lookup is free for `KEY_AGE_MAX_MS`, and no request waits for a write: times of last use
 * are stored periodically.
 *
 * K3 While keys can't be looked up, no caller is refused for a wrong key: callers get an error that says when to retry.
 */

import { UnavailableError } from '@tidemark/core';
import type { AccessChanged, Authenticator, Clock, Credentials, Principal } from '@tidemark/ports';
import type { AccessRecords, HashedKey } from './access-records.ts';
import type { ActiveTenants } from './active-tenants.ts';
import { AgedCache } from './aged-cache.ts';
import { hashOfSecret, isSameHash, KEY_PREFIX, parseApiKey } from './api-key.ts';
import { bearerOf } from './bearer.ts';
import {
  KEY_AGE_MAX_MS,
  KEY_USED_PERIOD_MS,
  KEYS_REMEMBERED_MAX_COUNT,
  UNKNOWN_REMEMBERED_MAX_COUNT,
} from './limits.ts';
import { credentialsExpired, credentialsInvalid } from './refusals.ts';

export interface KeyAuthenticatorOptions {
  readonly records: Pick<AccessRecords, 'key' | 'areKnown' | 'noteUsed'>;
  readonly tenants: Pick<ActiveTenants, 'check' | 'forget'>;
  readonly clock: Clock;
  /** Called when times of last use could not be stored; the write is retried. */
  readonly onError?: ((where: string, error: unknown) => void) | undefined;
}

/** Compared with where there is no key, so that the time is the same. */
const NO_HASH = '0'.repeat(64);

export class KeyAuthenticator implements Authenticator {
  readonly #options: KeyAuthenticatorOptions;
  readonly #keys: AgedCache<HashedKey>;
  readonly #ending = new AbortController();
  #used = new Map<string, number>();
  #noting: Promise<void> | undefined;

  constructor(options: KeyAuthenticatorOptions) {
    this.#options = options;
    this.#keys = new AgedCache({
      clock: options.clock,
      ageMaxMs: KEY_AGE_MAX_MS,
      maxCount: KEYS_REMEMBERED_MAX_COUNT,
      undefinedMaxCount: UNKNOWN_REMEMBERED_MAX_COUNT,
      load: (id) => this.#poll(id),
    });
  }

  /** Whether the credentials are meant for it. */
  takes({ authorization = '' }: Credentials): boolean {
    return authorization.replace(/^bearer +/i, '').startsWith(KEY_PREFIX);
  }

  async authenticate(credentials: Credentials): Promise<Principal> {
    const given = parseApiKey(bearerOf(credentials));
    if (given === undefined) throw credentialsInvalid('not of the form of a key');
    const key = await this.#keys.get(given.id);
    const isSame = isSameHash(hashOfSecret(given.secret), key?.hash ?? NO_HASH);
    if (key === undefined || !isSame) throw credentialsInvalid('no such key');
    if (key.revoked !== null) throw credentialsInvalid('the key was revoked');
    const nowMs = this.#options.clock.nowMs();
    if (key.expiresMs !== null && key.expiresMs <= nowMs) throw credentialsExpired();
    await this.#options.tenants.check(key.tenant);
    this.#note(key.id, nowMs);
    const { tenant, roles } = key;
    return { subject: `key:${key.id}`, tenant, roles, kind: 'key' };
  }

  /** Counts at once in this process; in others within `KEY_AGE_MAX_MS`. */
  forget(changed: AccessChanged): void {
    if ('key' in changed) this.#keys.forget(changed.key);
    else this.#options.tenants.forget(changed.tenant);
  }

  /** Stores the times of last use that are not stored yet. */
  async close(): Promise<void> {
    this.#ending.abort();
    await this.#noting;
    await this.#noteAll();
  }

  async #poll(id: string): Promise<HashedKey | undefined> {
    const { records } = this.#options;
    const key = await records.key(id);
    if (key !== undefined) return key;
    // Repeats the lookup, since its row may have come between the two: lost rows come back one after the other.
    if (await records.areKnown()) return records.key(id);
    throw new UnavailableError(
      'keys-unknown',
      'No API key is known: none was ever made (tidemark admin access create-key), or the rows are being rebuilt. Try again.',
    );
  }

  #note(id: string, atMs: number): void {
    if (this.#used.size < KEYS_REMEMBERED_MAX_COUNT || this.#used.has(id)) this.#used.set(id, atMs);
    this.#noting ??= this.#noteLater();
  }

  async #noteLater(): Promise<void> {
    await this.#options.clock.sleep(KEY_USED_PERIOD_MS, this.#ending.signal);
    if (this.#ending.signal.aborted) return;
    await this.#noteAll();
    this.#noting = undefined;
  }

  /** Losing it is harmless: it holds a time, and the next use stores a later one. */
  async #noteAll(): Promise<void> {
    const used = this.#used;
    this.#used = new Map();
    if (used.size === 0) return;
    try {
      await this.#options.records.noteUsed(used);
    } catch (error) {
      this.#options.onError?.('keys used', error);
      this.#used = new Map([...used, ...this.#used]);
    }
  }
}
