/**
 * Owns what lasts of keys and tenants: records of a stream of the system's own, so that rows rebuilt from the log have every one of them
 * (I6). Must not decide who a caller is. A record of a key is written only once, so that no two writers can revert each other: `ID/key`
 * once, `ID/revoked` once, and apart from both `ID/used`. Tenants are alike: `NAME`, and apart from it whether it is suspended.
 */

import { CorruptError, InvalidError, type Json, SYSTEM_TENANT, type TenantId } from '@tidemark/core';
import type { AccessChanged, Clock, Digest, MemoryRow, ProjectionStore, Role } from '@tidemark/ports';
import { ACCESS_SUBJECT, type ClientMemory, checkName, type Guarded, memoryWorkflow } from '@tidemark/runtime';
import { z } from 'zod';
import { type ApiKey, apiKeyText, hashOfSecret, isKeyId, newApiKey } from './api-key.ts';
import { ACCESS_NAME_MAX_CHARS, KEY_USED_AT_ONCE } from './limits.ts';
import { callersTenant, checkedRoles, isRole } from './names.ts';

/** Records that one read fetches when keys or tenants are listed. */
const ACCESS_PAGE_COUNT = 500;
/** Longest life of a key, in milliseconds: ten years. A key without an end must be requested explicitly. */
const KEY_LIFE_MAX_MS = 10 * 366 * 86_400_000;

const KEYS = `${ACCESS_SUBJECT}keys`;
const TENANTS = `${ACCESS_SUBJECT}tenants`;
/** No tenant's name has this prefix. */
const SUSPENDED = '~suspended/';
const [KEY, REVOKED, USED] = ['/key', '/revoked', '/used'];

export interface NewKey {
  /** Null: for every tenant. */
  readonly tenant: TenantId | null;
  readonly roles: readonly Role[];
  /** Purpose, in words. */
  readonly name: string;
  /** Null: it never expires. */
  readonly expiresMs: number | null;
  readonly by: string;
}

export interface StoredKey extends NewKey {
  readonly id: string;
  readonly createdMs: number;
  readonly revoked: { readonly by: string; readonly why: string; readonly atMs: number } | null;
  /** Within `KEY_USED_PERIOD_MS`; null: not yet. */
  readonly usedMs: number | null;
}

/** For authentication alone. */
export interface HashedKey extends StoredKey {
  readonly hash: string;
}

export interface StoredTenant {
  readonly tenant: TenantId;
  readonly createdMs: number;
  readonly by: string;
  /** While it is set, no caller of the tenant is let in. */
  readonly suspended: { readonly by: string; readonly why: string; readonly atMs: number } | null;
}

export interface AccessRecordsOptions {
  readonly memory: Pick<ClientMemory, 'guardOwn' | 'keepOwn'>;
  readonly store: Pick<ProjectionStore, 'memories' | 'workflow' | 'ready'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly digest: Digest;
  /** Called once rows show that a key was revoked, or that a tenant was suspended or resumed. */
  readonly onChanged?: ((changed: AccessChanged) => void) | undefined;
}

const byWhy = z.object({ by: z.string(), why: z.string(), atMs: z.number() });
const keyRecord = z.object({
  hash: z.string().regex(/^[0-9a-f]{64}$/),
  tenant: z.string().nullable(),
  roles: z.array(z.custom<Role>(isRole)),
  name: z.string(),
  expiresMs: z.number().nullable(),
  by: z.string(),
  createdMs: z.number(),
});
const usedRecord = z.object({ atMs: z.number() });
const suspendedRecord = z.object({ suspended: byWhy.nullable() });
const tenantRecord = z.object({ createdMs: z.number(), by: z.string(), suspended: byWhy.nullable() });

export class AccessRecords {
  readonly #options: AccessRecordsOptions;

  constructor(options: AccessRecordsOptions) {
    this.#options = options;
  }

  /** Returns the whole key, which nothing returns again (K1). Throws `InvalidError` (names the field). */
  async createKey(request: NewKey): Promise<{ readonly key: StoredKey; readonly text: string }> {
    const { clock } = this.#options;
    const made: ApiKey = newApiKey();
    const createdMs = clock.nowMs();
    const stored = {
      tenant: request.tenant === null ? null : callersTenant(request.tenant),
      roles: checkedRoles(request.roles),
      name: checkName('name', request.name, ACCESS_NAME_MAX_CHARS),
      expiresMs: checkedExpiry(request.expiresMs, createdMs),
      by: checkName('by', request.by, ACCESS_NAME_MAX_CHARS),
      createdMs,
    };
    const { tenant, name, by } = stored;
    const record = this.#names('key', { tenant, name, by }).as(() => ({ ...stored, hash: hashOfSecret(made.secret) }));
    await this.#write(KEYS, `${made.id}${KEY}`, record);
    return { key: { ...stored, id: made.id, revoked: null, usedMs: null }, text: apiKeyText(made) };
  }

  /** Undefined: no key has this id. */
  async key(id: string): Promise<HashedKey | undefined> {
    if (!isKeyId(id)) return undefined;
    return keysIn(await this.#page(KEYS, { prefix: `${id}/` }))[0];
  }

  /** Keys that may act for the tenant alone; null: every key. In the order of their ids, after the given one. */
  async *keys(tenant: TenantId | null, after?: string): AsyncGenerator<StoredKey> {
    for await (const { hash: _, ...key } of this.#allKeys(after))
      if (tenant === null || key.tenant === tenant) yield key;
  }

  /** A second revocation changes nothing. Throws `InvalidError` (`key-unknown`). */
  async revokeKey(id: string, { by, why }: { readonly by: string; readonly why: string }): Promise<StoredKey> {
    const known = await this.key(id);
    if (known === undefined) throw new InvalidError('key-unknown', `No key has the id '${id.slice(0, 100)}'.`, { id });
    const { hash: _, ...key } = known;
    if (key.revoked !== null) return key;
    const revoked = this.#said(by, why);
    await this.#write(KEYS, `${id}${REVOKED}`, revoked);
    this.#options.onChanged?.({ key: id });
    return { ...key, revoked: revoked.value };
  }

  /** Stores when keys were used last. */
  async noteUsed(used: ReadonlyMap<string, number>): Promise<void> {
    const records = Array.from(used, ([id, atMs]) => ({ key: `${id}${USED}`, value: { atMs } }));
    for (let at = 0; at < records.length; at += KEY_USED_AT_ONCE) {
      const some = records.slice(at, at + KEY_USED_AT_ONCE);
      await this.#options.memory.keepOwn(SYSTEM_TENANT, KEYS, this.#names('keys', some));
    }
  }

  /**
   * Whether rows hold any key, and all keys that were created. While they don't, a key's absence proves nothing: nobody ever created one,
   * or the rows are being rebuilt.
   */
  async areKnown(): Promise<boolean> {
    const { store, digest } = this.#options;
    if (!(await store.ready())) return false;
    return (await store.workflow(memoryWorkflow(digest, SYSTEM_TENANT, KEYS))) !== undefined;
  }

  async tenant(tenant: TenantId): Promise<StoredTenant | undefined> {
    const of = (key: string) => this.#options.store.memories({ ...query(TENANTS), key, limit: 1 });
    const [[row], [suspended]] = await Promise.all([of(tenant), of(`${SUSPENDED}${tenant}`)]);
    return row === undefined ? undefined : tenantOf(row, suspended);
  }

  /** In the order of their names, after the given one. */
  async *tenants(after?: string): AsyncGenerator<StoredTenant> {
    const suspended = new Map<string, MemoryRow>();
    for await (const row of this.#rows(TENANTS, undefined, SUSPENDED)) suspended.set(row.key, row);
    for await (const row of this.#rows(TENANTS, after)) {
      if (!row.key.startsWith(SUSPENDED)) yield tenantOf(row, suspended.get(`${SUSPENDED}${row.key}`));
    }
  }

  /** An existing one stays as it is. */
  async createTenant(name: string, by: string): Promise<StoredTenant> {
    const tenant = callersTenant(name);
    const known = await this.tenant(tenant);
    if (known !== undefined) return known;
    const made = { createdMs: this.#options.clock.nowMs(), by: checkName('by', by), suspended: null };
    await this.#write(
      TENANTS,
      tenant,
      this.#names('tenant', { tenant, by }).as(() => made),
    );
    return { tenant, ...made };
  }

  /**
   * Suspends or resumes a tenant. No caller of a suspended one is let in. A missing one is created to be suspended; throws `InvalidError`
   * (`tenant-unknown`) where it is to be resumed.
   */
  async suspendTenant(
    name: string,
    suspended: boolean,
    { by, why }: { readonly by: string; readonly why: string },
  ): Promise<StoredTenant> {
    const said = this.#said(by, why);
    const found = suspended ? await this.createTenant(name, by) : await this.tenant(callersTenant(name));
    if (found === undefined)
      throw new InvalidError('tenant-unknown', `tenant: no tenant '${name.slice(0, 200)}' was ever suspended.`);
    const { tenant, ...known } = found;
    if ((known.suspended !== null) === suspended) return { tenant, ...known };
    const changed = said.as((stored) => ({ suspended: suspended ? stored : null }));
    await this.#write(TENANTS, `${SUSPENDED}${tenant}`, changed);
    this.#options.onChanged?.({ tenant });
    return { tenant, ...known, ...changed.value };
  }

  async #write(subject: string, key: string, value: Guarded<Json>): Promise<void> {
    await this.#options.memory.keepOwn(
      SYSTEM_TENANT,
      subject,
      value.as((stored) => [{ key, value: stored }]),
    );
  }

  #names<T>(field: string, names: T): Guarded<T> {
    return this.#options.memory.guardOwn(ACCESS_SUBJECT).names(field, names);
  }

  /** Who does it now, and why. */
  #said(by: string, why: string): Guarded<{ readonly by: string; readonly why: string; readonly atMs: number }> {
    const [who, atMs] = [checkName('by', by), this.#options.clock.nowMs()];
    this.#names('by', who);
    const guard = this.#options.memory.guardOwn(ACCESS_SUBJECT);
    return guard.content('decision', 'why', checkName('why', why, 1_000)).as((said) => ({ by: who, why: said, atMs }));
  }

  #page(subject: string, where: { readonly prefix?: string | undefined; readonly after?: string | undefined }) {
    const { prefix, after } = where;
    return this.#options.store.memories({
      ...query(subject),
      ...(prefix !== undefined && { prefix }),
      ...(after !== undefined && { after: { kind: 'record', key: after } }),
      limit: ACCESS_PAGE_COUNT,
    });
  }

  async *#rows(subject: string, first?: string, prefix?: string): AsyncGenerator<MemoryRow> {
    for (let after = first; ; ) {
      const page = await this.#page(subject, { after, prefix });
      yield* page;
      if (page.length < ACCESS_PAGE_COUNT) return;
      after = page.at(-1)!.key;
    }
  }

  async *#allKeys(after?: string): AsyncGenerator<HashedKey> {
    let one: MemoryRow[] = [];
    // Sorts after all of that key's records.
    for await (const row of this.#rows(KEYS, after === undefined ? undefined : `${after}${USED}`)) {
      if (one[0] !== undefined && idIn(one[0]) !== idIn(row)) {
        yield* keysIn(one);
        one = [];
      }
      one.push(row);
    }
    yield* keysIn(one);
  }
}

const query = (subject: string) => ({ tenant: SYSTEM_TENANT, subject, kind: 'record' as const });

const idIn = ({ key }: MemoryRow): string => key.slice(0, key.indexOf('/'));

/** The key of these rows, if one of them describes it. */
function keysIn(rows: readonly MemoryRow[]): readonly HashedKey[] {
  const [at, revokedAt, usedAt] = [KEY, REVOKED, USED].map((part) => rows.find(({ key }) => key.endsWith(part!)));
  if (at === undefined) return [];
  const { tenant, ...key } = read(keyRecord, at);
  return [
    {
      ...key,
      id: idIn(at),
      tenant: tenant as TenantId | null,
      revoked: revokedAt === undefined ? null : read(byWhy, revokedAt),
      usedMs: usedAt === undefined ? null : read(usedRecord, usedAt).atMs,
    },
  ];
}

const tenantOf = (row: MemoryRow, suspended: MemoryRow | undefined): StoredTenant => ({
  tenant: row.key as TenantId,
  ...read(tenantRecord, row),
  ...(suspended !== undefined && read(suspendedRecord, suspended)),
});

/** Throws `CorruptError` (`access-unreadable`): an unreadable record lets nobody in. */
function read<T>(schema: z.ZodType<T>, { key, value }: MemoryRow): T {
  const parsed = schema.safeParse(JSON.parse(value));
  if (parsed.success) return parsed.data;
  throw new CorruptError(
    'access-unreadable',
    `The record ${key} of access was changed, or a newer release wrote it. It admits nobody.`,
    { key },
  );
}

function checkedExpiry(expiresMs: number | null, nowMs: number): number | null {
  if (expiresMs === null) return null;
  if (Number.isSafeInteger(expiresMs) && expiresMs > nowMs && expiresMs - nowMs <= KEY_LIFE_MAX_MS) return expiresMs;
  throw new InvalidError(
    'expires-invalid',
    'expires: give a time in the future, within ten years, or null for never.',
    {
      field: 'expires',
    },
  );
}
