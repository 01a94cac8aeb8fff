/** Owns what commands do with API keys, tenants and the audit, as flat calls with plain data, so that they cross a socket unchanged. */

import { type AuditQuery, type AuditRecord, readAudit, type StoredKey, type StoredTenant } from '@tidemark/access';
import { InvalidError, type TenantId } from '@tidemark/core';
import { accessRecords, type Host } from '@tidemark/host';
import type { Role } from '@tidemark/ports';
import { ACCESS_LIST_MAX_COUNT } from '../limits.ts';

export interface NewKeyCall {
  /** Null: every tenant's. */
  readonly tenant: TenantId | null;
  readonly roles: readonly Role[];
  readonly name: string;
  /** From now on, in milliseconds; null: it never expires. */
  readonly lifeMs: number | null;
  readonly by: string;
}

export interface ByWhy {
  readonly by: string;
  readonly why: string;
}

export interface CommandAccess {
  /** `text` is the whole key, told this once. Throws `InvalidError` (names the field). */
  createKey(call: NewKeyCall): Promise<{ readonly key: StoredKey; readonly text: string }>;
  /** Null: those of every tenant. */
  keys(tenant: TenantId | null): Promise<readonly StoredKey[]>;
  /** Throws `InvalidError` (`key-unknown`). */
  revokeKey(id: string, said: ByWhy): Promise<StoredKey>;
  tenants(): Promise<readonly StoredTenant[]>;
  createTenant(name: string, by: string): Promise<StoredTenant>;
  suspendTenant(name: string, suspended: boolean, said: ByWhy): Promise<StoredTenant>;
  audit(query: AuditQuery): Promise<readonly AuditRecord[]>;
}

/** Names of the calls, as a socket passes them on. */
export const ACCESS_CALLS = [
  'createKey',
  'keys',
  'revokeKey',
  'tenants',
  'createTenant',
  'suspendTenant',
  'audit',
] as const satisfies readonly (keyof CommandAccess)[];

export function hostAccess(host: Host): CommandAccess {
  const records = accessRecords(host);
  const { store, clock } = host.ports;
  return {
    createKey: ({ lifeMs, ...asked }) =>
      records.createKey({ ...asked, expiresMs: lifeMs === null ? null : clock.nowMs() + lifeMs }),
    keys: (tenant) => listed(records.keys(tenant)),
    revokeKey: (id, said) => records.revokeKey(bareId(id), said),
    tenants: () => listed(records.tenants()),
    createTenant: (name, by) => records.createTenant(name, by),
    suspendTenant: (name, suspended, said) => records.suspendTenant(name, suspended, said),
    audit: (query) => readAudit(store, query),
  };
}

/** Whoever pastes a whole key shows its secret: to the log of a shell at least. Throws `InvalidError` (`key-unknown`). */
function bareId(id: string): string {
  if (!id.startsWith('tmk_')) return id.replace(/^key:/, '');
  throw new InvalidError(
    'key-unknown',
    'Give the id of the key alone, which stands between tmk_ and the next underscore: the rest is its secret.',
  );
}

async function listed<T>(all: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const one of all) {
    found.push(one);
    if (found.length >= ACCESS_LIST_MAX_COUNT) break;
  }
  return found;
}
