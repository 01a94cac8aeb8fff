/** Owns the contract of KeyIndex as tests; every adapter runs it. `open` gives an empty index for each test. */

import { type Offset, type Partition, partition } from '@tidemark/core';
import type { KeyBatch, KeyFilter, KeyIndex, KeyOffsets, StoredKey } from '@tidemark/ports';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { storedKey } from './key-store.ts';

export interface OpenedKeyIndex {
  readonly index: KeyIndex;
  close(): Promise<void>;
}

const [P0, P1] = [partition(0), partition(1)];
const at = (...offsets: readonly (readonly [Partition, number])[]): KeyOffsets =>
  new Map(offsets.map(([where, offset]) => [where, offset as Offset]));

export function keyIndexContract(name: string, open: () => Promise<OpenedKeyIndex>): void {
  describe(`key index contract: ${name}`, () => {
    let opened: OpenedKeyIndex;
    let index: KeyIndex;
    beforeEach(async () => {
      opened = await open();
      index = opened.index;
    });
    afterEach(() => opened.close());

    const apply = (batch: Partial<KeyBatch>) =>
      index.apply({ puts: [], destroyed: [], from: at(), next: at([P0, 1]), ...batch });
    const listed = async (filter: KeyFilter = {}): Promise<StoredKey[]> => {
      const keys: StoredKey[] = [];
      for await (const key of index.list(filter)) keys.push(key);
      return keys;
    };

    test('an empty one has nothing and stands nowhere', async () => {
      expect(await index.applied()).toEqual(at());
      expect((await index.get([storedKey().id])).size).toBe(0);
      expect(await listed()).toEqual([]);
    });

    test('what is applied is found and listed, and moves it', async () => {
      const keys = [storedKey(), storedKey({ user: 'ann "ä"' })];
      expect(await apply({ puts: keys, next: at([P0, 7]) })).toEqual({ isApplied: true, refused: [] });
      expect(await index.applied()).toEqual(at([P0, 7]));
      expect(await index.get([keys[1]!.id, storedKey().id])).toEqual(new Map([[keys[1]!.id, keys[1]]]));
      expect(await listed()).toEqual(keys);
    });

    test('a newer wrapping takes the place of the older', async () => {
      const key = storedKey();
      await apply({ puts: [key] });
      const rewrapped = { ...key, provider: 'transit', wrappedBy: 'transit/key:v2', wrapped: 'vault:v2:AAA=' };
      await apply({ puts: [rewrapped], from: at([P0, 1]), next: at([P0, 2]) });
      expect(await listed()).toEqual([rewrapped]);
    });

    test('from elsewhere than where it stands nothing is applied', async () => {
      const first = storedKey();
      await apply({ puts: [first], next: at([P0, 5]) });
      for (const [from, next] of [
        [at(), at([P0, 6])],
        [at([P0, 4]), at([P0, 6])],
        [at([P0, 6]), at([P0, 7])],
        [at([P0, 5], [P1, 1]), at([P0, 6], [P1, 2])],
      ] as const) {
        const batch = { puts: [storedKey()], destroyed: [first.id], from, next };
        expect(await apply(batch)).toEqual({ isApplied: false });
      }
      expect(await listed()).toEqual([first]);
      expect(await index.applied()).toEqual(at([P0, 5]));
    });

    test('of two who apply at once from the same place one is told that it was moved', async () => {
      const keys = [storedKey(), storedKey()];
      const outcomes = await Promise.all(keys.map((key) => apply({ puts: [key], next: at([P0, 1]) })));
      expect(outcomes.map(({ isApplied }) => isApplied).sort()).toEqual([false, true]);
      expect(await listed()).toHaveLength(1);
    });

    test('each partition has a place of its own', async () => {
      await apply({ next: at([P0, 3]) });
      await apply({ next: at([P1, 2]) });
      await apply({ from: at([P0, 3], [P1, 2]), next: at([P1, 9]) });
      expect(await index.applied()).toEqual(at([P0, 3], [P1, 9]));
    });

    test('what was destroyed once is refused for ever, also when it was never there', async () => {
      const [key, unknown, other] = [storedKey(), storedKey(), storedKey()];
      await apply({ puts: [key, other] });
      await apply({ destroyed: [key.id, unknown.id], from: at([P0, 1]), next: at([P0, 2]) });
      expect(await listed()).toEqual([other]);
      const again = { ...key, wrappedBy: 'key 2' };
      const outcome = await apply({ puts: [again, unknown, other], from: at([P0, 2]), next: at([P0, 3]) });
      expect(outcome).toMatchObject({ isApplied: true });
      expect(outcome.isApplied && [...outcome.refused].sort()).toEqual([key.id, unknown.id].sort());
      expect(await listed()).toEqual([other]);
      expect(await index.get([key.id, unknown.id, storedKey().id])).toEqual(
        new Map([
          [key.id, null],
          [unknown.id, null],
        ]),
      );
      await apply({ destroyed: [key.id, key.id], from: at([P0, 3]), next: at([P0, 4]) });
    });

    test('filters narrow', async () => {
      const keys = ['ann', 'bob', null].map((user) => storedKey({ user }));
      await apply({ puts: keys });
      const { tenant, workflow } = keys[0]!;
      expect(await listed({ tenant, workflow })).toEqual(keys);
      expect(await listed({ user: 'bob' })).toEqual([keys[1]]);
      expect(await listed({ tenant, user: 'carl' })).toEqual([]);
    });

    test('thousands, in whatever order they come, are listed by id', async () => {
      const keys = Array.from({ length: 2_300 }, () => storedKey());
      await apply({ puts: keys.toSorted((a, b) => a.wrapped.localeCompare(b.wrapped)) });
      expect((await listed()).map(({ id }) => id)).toEqual(keys.map(({ id }) => id));
      expect((await index.get(keys.map(({ id }) => id))).size).toBe(keys.length);
    });
  });
}
