/**
 * Owns the contract of KeyStore as tests; every adapter runs it. `open` gives an empty store for each test; `again` opens the same
 * keys as another process would, at the same time or after the first was closed.
 */

import { randomBytes } from 'node:crypto';
import { tenantId, uuidv7, workflowId } from '@tidemark/core';
import type { KeyFilter, KeyStore, StoredKey } from '@tidemark/ports';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

export interface OpenedKeyStore {
  readonly store: KeyStore;
  again(): Promise<KeyStore>;
  /** Closes whatever is still open, and removes what was stored. */
  close(): Promise<void>;
}

let made = 0;

/** A key unlike any other. Its id is greater than those made before. */
export function storedKey(about: Partial<StoredKey> = {}): StoredKey {
  made += 1;
  return {
    id: uuidv7(1_700_000_000_000 + made, randomBytes(10)),
    tenant: tenantId('harbour'),
    workflow: workflowId('unload'),
    user: null,
    provider: 'local',
    wrappedBy: 'key 1',
    wrapped: randomBytes(60).toString('base64'),
    ...about,
  };
}

const many = (count: number, about: Partial<StoredKey> = {}): StoredKey[] =>
  Array.from({ length: count }, () => storedKey(about));
const idsOf = (keys: readonly StoredKey[]): string[] => keys.map(({ id }) => id);

export async function listed(store: KeyStore, filter: KeyFilter = {}): Promise<StoredKey[]> {
  const keys: StoredKey[] = [];
  for await (const key of store.list(filter)) keys.push(key);
  return keys;
}

export function keyStoreContract(name: string, open: () => Promise<OpenedKeyStore>): void {
  describe(`key store contract: ${name}`, () => {
    let opened: OpenedKeyStore;
    let store: KeyStore;
    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(() => opened.close());

    test('what is put is got, and what is not is absent', async () => {
      const keys = [storedKey(), storedKey({ user: 'ann "ä"\n' }), storedKey({ wrapped: 'vault:v1:AAA=' })];
      await store.put(keys);
      const got = await store.get([...idsOf(keys), storedKey().id, keys[0]!.id]);
      expect([...got.keys()].sort()).toEqual(idsOf(keys).sort());
      for (const key of keys) expect(got.get(key.id)).toEqual(key);
    });

    test('K3: destroyed is told from never there, by every process and for ever', async () => {
      const [key, unknown, unheard] = [storedKey(), storedKey(), storedKey()];
      await store.put([key]);
      await store.destroy([key.id, unheard.id]);
      const [ids, reported] = [idsOf([key, unknown, unheard]), { [key.id]: null, [unheard.id]: null }];
      const other = await opened.again();
      for (const reader of [store, other]) expect(Object.fromEntries(await reader.get(ids))).toEqual(reported);
      await Promise.all([store.close(), other.close()]);
      const later = await opened.again();
      await later.put([storedKey()]);
      expect(Object.fromEntries(await later.get(ids))).toEqual(reported);
      await later.close();
    });

    test('says where it is', () => {
      expect(store.place).toMatch(/\w/);
    });

    test('nothing to put, to get, to destroy', async () => {
      await store.put([]);
      await store.destroy([]);
      expect((await store.get([])).size).toBe(0);
      expect(await listed(store)).toEqual([]);
    });

    test('K1: another process gets it at once, and whoever opens it later', async () => {
      const other = await opened.again();
      const key = storedKey();
      await store.put([key]);
      expect((await other.get([key.id])).get(key.id)).toEqual(key);
      expect(await listed(other)).toEqual([key]);
      await Promise.all([store.close(), other.close()]);
      const later = await opened.again();
      expect((await later.get([key.id])).get(key.id)).toEqual(key);
      await later.close();
    });

    test('K2: put again it is the same key, wrapped anew', async () => {
      const [first, second] = [storedKey(), storedKey()];
      await store.put([first, second]);
      const rewrapped = { ...first, wrappedBy: 'key 2', wrapped: randomBytes(90).toString('base64') };
      await store.put([rewrapped]);
      await store.put([rewrapped]);
      expect(await listed(store)).toEqual([rewrapped, second]);
      const other = await opened.again();
      expect((await other.get([first.id])).get(first.id)).toEqual(rewrapped);
      await other.close();
    });

    test('K1: destroyed, nobody gets it any more, nor any other less', async () => {
      const keys = many(5);
      await store.put(keys);
      const other = await opened.again();
      expect((await other.get(idsOf(keys))).size).toBe(5);
      const [gone, left] = [keys.slice(1, 3), [keys[0]!, ...keys.slice(3)]];
      await store.destroy(idsOf(gone));
      for (const reader of [store, other]) {
        const got = await reader.get(idsOf(keys));
        for (const key of keys) expect(got.get(key.id)).toEqual(gone.includes(key) ? null : key);
        expect(await listed(reader)).toEqual(left);
      }
      await Promise.all([store.close(), other.close()]);
      const later = await opened.again();
      expect(await listed(later)).toEqual(left);
      expect([...(await later.get(idsOf(gone))).values()]).toEqual([null, null]);
      await later.close();
    });

    test('K1: a put that comes later does not bring it back, whoever makes it', async () => {
      const [key, bystander] = [storedKey(), storedKey()];
      await store.put([key, bystander]);
      const other = await opened.again();
      const held = (await other.get([key.id])).get(key.id)!;
      await store.destroy([key.id]);
      const fresh = storedKey();
      // As a process that was rewrapping it does.
      await other.put([{ ...held, wrappedBy: 'key 2', wrapped: 'anew' }, fresh]);
      await store.put([key]);
      await Promise.all([store.close(), other.close()]);
      const later = await opened.again();
      expect((await later.get([key.id])).get(key.id)).toBeNull();
      expect(await listed(later)).toEqual([bystander, fresh]);
      await later.close();
    });

    test('destroying is harmless when repeated, and when there is no such key', async () => {
      const key = storedKey();
      await store.put([key]);
      await store.destroy([storedKey().id]);
      expect(await listed(store)).toEqual([key]);
      await store.destroy([key.id, key.id]);
      await store.destroy([key.id]);
      expect(await listed(store)).toEqual([]);
    });

    test('filters narrow, alone and together', async () => {
      const tenants = ['harbour', 'shipyard'].map(tenantId);
      const workflows = ['load', 'unload'].map(workflowId);
      const users = ['ann', 'bob', null];
      const keys = tenants.flatMap((tenant) =>
        workflows.flatMap((workflow) => users.map((user) => storedKey({ tenant, workflow, user }))),
      );
      await store.put(keys);
      const filters: KeyFilter[] = [
        {},
        ...tenants.map((tenant) => ({ tenant })),
        ...workflows.map((workflow) => ({ workflow })),
        { user: 'ann' },
        { user: 'nobody' },
        { tenant: tenants[0]!, workflow: workflows[1]! },
        { tenant: tenants[1]!, workflow: [workflowId('other'), ...workflows] },
        { workflow: [workflows[1]!], user: 'bob' },
        { tenant: tenants[0]!, workflow: [] },
        { tenant: tenants[1]!, user: 'bob' },
        { workflow: workflows[0]!, user: 'bob' },
        { tenant: tenants[0]!, workflow: workflows[0]!, user: 'ann' },
        { tenant: tenantId('load') },
      ];
      for (const filter of filters) {
        const wanted = keys.filter((key) =>
          Object.entries(filter).every(([name, value]) => [value].flat().includes(key[name as 'user'])),
        );
        expect(await listed(store, filter)).toEqual(wanted);
      }
    });

    test('thousands are listed by id, in whatever order they came', async () => {
      const keys = many(2_100, { user: 'ann' });
      const mixed = keys.toSorted((a, b) => a.wrapped.localeCompare(b.wrapped));
      for (let at = 0; at < mixed.length; at += 300) await store.put(mixed.slice(at, at + 300));
      expect(idsOf(await listed(store))).toEqual(idsOf(keys));
      expect(idsOf(await listed(store, { tenant: keys[0]!.tenant, workflow: keys[0]!.workflow }))).toEqual(idsOf(keys));
    });

    test('while it is listed, others put, wrap anew and destroy; each that stays is listed once', async () => {
      const keys = many(1_200);
      await store.put(keys);
      const seen: string[] = [];
      for await (const { id } of store.list({})) {
        if (seen.push(id) !== 100) continue;
        await store.put(keys.slice(0, 200).map((key) => ({ ...key, wrappedBy: 'key 2' })));
        await store.destroy(idsOf(keys.slice(50, 60)));
        await store.put([storedKey()]);
      }
      expect(seen.slice(0, 1_200)).toEqual(idsOf(keys));
      expect(new Set(seen).size).toBe(seen.length);
    });

    test('many put at once, by two processes', async () => {
      const other = await opened.again();
      const keys = many(200);
      await Promise.all(keys.map((key, index) => (index % 2 === 0 ? store : other).put([key])));
      for (const reader of [store, other]) expect(idsOf(await listed(reader))).toEqual(idsOf(keys));
      await other.close();
    });

    test('closed, it says so', async () => {
      await store.close();
      await store.close();
      await expect(store.get([storedKey().id])).rejects.toMatchObject({ code: 'keys-unavailable' });
      await expect(store.put([storedKey()])).rejects.toMatchObject({ code: 'keys-unavailable' });
    });
  });
}
