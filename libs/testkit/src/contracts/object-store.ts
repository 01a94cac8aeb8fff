/**
 * Owns the contract of ObjectStore as tests; every adapter runs it. `open` gives an empty store for each test; `again` opens the same store
 * as another process would. Damage of stored bytes is not its business: readers hold digests.
 */

import { OBJECT_MAX_BYTES, type ObjectStore } from '@tidemark/ports';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

export interface OpenedObjectStore {
  readonly objects: ObjectStore;
  again(): Promise<ObjectStore>;
  close(): Promise<void>;
}

export interface ObjectStoreContractOptions {
  /** Bytes of a large object, which the adapter stores in another way than small ones. Default 3 MB. */
  readonly largeBytes?: number;
}

/** In the order of their bytes, which is neither that of words nor that of a walk through folders. */
const ORDERED = [
  '0/z',
  '=x/y',
  'M/b',
  'Z',
  '_',
  'a-b',
  'a.b',
  'a/-/z',
  'a/b-c',
  'a/b.c',
  'a/b/c',
  'a/b0',
  'a/d',
  'a0',
  'ab',
  'p=10/q',
  'p=2/q',
];
const REFUSED = [
  '',
  '/',
  'a/',
  '/a',
  'a//b',
  '.',
  '..',
  '.a',
  'a/.b',
  '../../etc/passwd',
  'a/../b',
  'a b',
  'a\\b',
  'a\nb',
  'ä',
  'a%2fb',
  'a'.repeat(256),
  `${'a/'.repeat(256)}a`,
];

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const pattern = (bytes: number): Uint8Array => new Uint8Array(bytes).map((_, index) => (index * 31) >> 3);

export function objectStoreContract(
  name: string,
  open: () => Promise<OpenedObjectStore>,
  { largeBytes = 3_000_000 }: ObjectStoreContractOptions = {},
): void {
  describe(`object store contract: ${name}`, () => {
    let opened: OpenedObjectStore;
    let objects: ObjectStore;
    beforeEach(async () => {
      opened = await open();
      objects = opened.objects;
    });
    afterEach(() => opened.close());

    test('O1: an object is created once, and its bytes never change', async () => {
      expect(await objects.create('a/tide', text('in'))).toBe(true);
      expect(await objects.create('a/tide', text('out'))).toBe(false);
      expect(await objects.create('a/tide', text('in'))).toBe(false);
      expect(await said(objects, 'a/tide')).toBe('in');
    });

    test('O1: what is put is there in place of what was, and what is created after it is not', async () => {
      await objects.put('a/tide', text('in'));
      await objects.put('a/tide', text('in'));
      expect(await said(objects, 'a/tide')).toBe('in');
      await objects.put('a/tide', text('out'));
      expect(await said(objects, 'a/tide')).toBe('out');
      expect(await objects.create('a/tide', text('in'))).toBe(false);
      expect(await said(objects, 'a/tide')).toBe('out');
    });

    test('O1: who reads while others put finds one of them, whole', async () => {
      const other = await opened.again();
      const versions = ['a', 'b'].map((letter) => text(letter.repeat(100_000)));
      await objects.put('race', versions[0]!);
      let isOver = false;
      const seen = (async () => {
        const texts = new Set<string | undefined>();
        while (!isOver) texts.add(await said(other, 'race'));
        return [...texts].map((found) => `${found?.length} of ${found?.[0]}`);
      })();
      for (let round = 1; round <= 20; round++) await objects.put('race', versions[round % 2]!);
      isOver = true;
      for (const found of await seen) expect(found).toMatch(/^100000 of [ab]$/);
    });

    test('O1: of many that create one name at once, in two processes, one does', async () => {
      const other = await opened.again();
      for (const round of [1, 2]) {
        const created = await Promise.all(
          Array.from({ length: 6 }, (_, index) =>
            (index % 2 === 0 ? objects : other).create(`race/${round}`, text(`writer ${index}`)),
          ),
        );
        expect(created.filter((isOurs) => isOurs)).toHaveLength(1);
        for (const each of [objects, other]) {
          expect(await said(each, `race/${round}`)).toBe(`writer ${created.indexOf(true)}`);
        }
      }
      await other.close();
    });

    test('no bytes, and a megabyte of any bytes', async () => {
      const megabyte = pattern(1_048_576);
      expect(await objects.create('empty', new Uint8Array())).toBe(true);
      expect(await objects.create('megabyte', megabyte)).toBe(true);
      expect((await objects.read('empty'))!.length).toBe(0);
      expect(Buffer.compare((await objects.read('megabyte'))!, megabyte)).toBe(0);
      expect(await objects.create('empty', text('x'))).toBe(false);
    });

    test('O1: a large object is whole, and created once', async () => {
      const large = pattern(largeBytes);
      const other = pattern(largeBytes).reverse();
      const created = await Promise.all([objects.create('large', large), objects.create('large', other)]);
      expect(created.toSorted()).toEqual([false, true]);
      const kept = created[0] ? large : other;
      expect(Buffer.compare((await objects.read('large'))!, kept)).toBe(0);
      expect(await objects.create('large', text('x'))).toBe(false);
      expect(Buffer.compare((await objects.read('large'))!, kept)).toBe(0);
    });

    test('what is given and what is got are the caller’s to change', async () => {
      const given = text('tide');
      await objects.create('a', given);
      given.fill(0);
      (await objects.read('a'))!.fill(1);
      expect(await said(objects, 'a')).toBe('tide');
    });

    test('O2: another process reads what was created just now, and nothing that was removed just now', async () => {
      const other = await opened.again();
      for (let index = 0; index < 20; index++) {
        expect(await other.read(`n/${index}`)).toBeUndefined();
        await objects.create(`n/${index}`, text(`${index}`));
        expect(await said(other, `n/${index}`)).toBe(`${index}`);
        await objects.remove(`n/${index}`);
        expect(await other.read(`n/${index}`)).toBeUndefined();
      }
      await other.close();
    });

    test('names are listed in the order of their bytes', async () => {
      for (const each of ORDERED.toReversed()) expect(await objects.create(each, text(each))).toBe(true);
      expect(await all(objects, '')).toEqual(ORDERED);
      for (const each of ORDERED) expect(await said(objects, each)).toBe(each);
    });

    test('those that begin with the prefix are listed, wherever it ends', async () => {
      await Promise.all(ORDERED.map((each) => objects.create(each, text(each))));
      for (const prefix of ['a', 'a/', 'a/b', 'a/b/', 'a/b/c', 'a/b/c/', 'p=', 'p=1', 'x', 'M/b', 'a/x/', 'ab']) {
        const expected = ORDERED.filter((each) => each.startsWith(prefix));
        expect([prefix, await all(objects, prefix)]).toEqual([prefix, expected]);
      }
      for (const prefix of ['/', '..', '../', '../../', '.', 'a/../', 'a//']) {
        expect([prefix, await all(objects, prefix)]).toEqual([prefix, []]);
      }
    });

    test('many at once', async () => {
      const names = Array.from({ length: 200 }, (_, index) => `many/${index % 7}/${index}`);
      const created = await Promise.all(names.map((each) => objects.create(each, text(each))));
      expect(created.every((isOurs) => isOurs)).toBe(true);
      expect(await all(objects, 'many/')).toEqual(names.toSorted());
    });

    test('removed is gone, and can be created again', async () => {
      await objects.create('a/b', text('x'));
      await objects.remove('a/b');
      expect(await objects.read('a/b')).toBeUndefined();
      expect(await all(objects, '')).toEqual([]);
      expect(await objects.create('a/b', text('y'))).toBe(true);
      expect(await said(objects, 'a/b')).toBe('y');
    });

    test('absent: read is undefined, remove is harmless, recall says so', async () => {
      await objects.create('a/b', text('x'));
      for (const absent of ['a', 'a/c', 'a/b/c', 'z/z']) {
        expect(await objects.read(absent)).toBeUndefined();
        expect(await objects.recall(absent)).toEqual({ state: 'absent' });
        await objects.remove(absent);
      }
      expect(await said(objects, 'a/b')).toBe('x');
    });

    test('recall of what can be read: ready', async () => {
      await objects.create('a/b', text('x'));
      expect(await objects.recall('a/b')).toEqual({ state: 'ready' });
      expect(await objects.recall('a/b')).toEqual({ state: 'ready' });
    });

    test('what is no name is refused', async () => {
      for (const refused of REFUSED) {
        for (const call of [
          () => objects.create(refused, text('x')),
          () => objects.read(refused),
          () => objects.remove(refused),
          () => objects.recall(refused),
        ]) {
          const invalid = { name: 'InvalidError', code: 'object-name-invalid' };
          await expect(call(), JSON.stringify(refused)).rejects.toMatchObject(invalid);
        }
      }
      expect(await all(objects, '')).toEqual([]);
    });

    test('the longest names', async () => {
      const longest = [`${'a'.repeat(255)}/${'b'.repeat(254)}/c`, `${'d/'.repeat(255)}ef`];
      for (const each of longest) expect([each.length, await objects.create(each, text('x'))]).toEqual([512, true]);
      expect(await all(objects, '')).toEqual(longest);
    });

    test('an object over the limit is refused', async () => {
      // Never touched, so it takes no memory.
      const tooLarge = new Uint8Array(OBJECT_MAX_BYTES + 1);
      await expect(objects.create('a', tooLarge)).rejects.toMatchObject({
        name: 'LimitError',
        code: 'object-too-large',
      });
      expect(await objects.read('a')).toBeUndefined();
    });

    test('close waits for what is being written; another process reads it', async () => {
      const creating = objects.create('a', text('last'));
      await objects.close();
      expect(await Promise.race([creating, Promise.resolve('under way')])).toBe(true);
      const other = await opened.again();
      expect(await said(other, 'a')).toBe('last');
      await other.close();
    });
  });
}

async function said(objects: ObjectStore, name: string): Promise<string | undefined> {
  const bytes = await objects.read(name);
  return bytes && Buffer.from(bytes).toString();
}

async function all(objects: ObjectStore, prefix: string): Promise<string[]> {
  const names: string[] = [];
  for await (const name of objects.list(prefix)) names.push(name);
  return names;
}
