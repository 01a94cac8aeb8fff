/** Owns what this library's tests share: records in memory. Must not be used outside tests. */

import type { HashedKey, StoredTenant } from './access-records.ts';
import { hashOfSecret, parseApiKey } from './api-key.ts';

/** Records that a test sets; counts the reads. */
export class RecordsInMemory {
  readonly all = new Map<string, HashedKey>();
  readonly tenants = new Map<string, StoredTenant>();
  readonly used: (readonly [string, number])[] = [];
  pollCount = 0;
  failure: Error | undefined;
  isKnown = true;

  async key(id: string): Promise<HashedKey | undefined> {
    this.pollCount++;
    if (this.failure !== undefined) throw this.failure;
    return this.all.get(id);
  }

  async areKnown(): Promise<boolean> {
    return this.isKnown;
  }

  async noteUsed(used: ReadonlyMap<string, number>): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    this.used.push(...used);
  }

  async tenant(name: string): Promise<StoredTenant | undefined> {
    return this.tenants.get(name);
  }

  /** Returns a key as if it had this text. */
  set(text: string, more: Partial<HashedKey> = {}): HashedKey {
    const { id, secret } = parseApiKey(text)!;
    const key: HashedKey = {
      id,
      hash: hashOfSecret(secret),
      tenant: 'acme' as never,
      roles: ['operator'],
      name: 'ci',
      expiresMs: null,
      by: 'ana',
      createdMs: 0,
      revoked: null,
      usedMs: null,
      ...more,
    };
    this.all.set(id, key);
    return key;
  }
}
