/**
 * Owns the contract of BlobStore as tests; every adapter runs it. `open` gives an empty store for each test; `damage`
 * changes stored bytes behind its back; `again` opens the same store as another process would.
 */

import { hash } from 'node:crypto';
import type { BlobStore } from '@tidemark/ports';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

export interface OpenedBlobStore {
  readonly blobs: BlobStore;
  damage(digest: string): Promise<void>;
  again(): Promise<BlobStore>;
  close(): Promise<void>;
}

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const absent = hash('sha256', 'absent');

export function blobStoreContract(name: string, open: () => Promise<OpenedBlobStore>): void {
  describe(`blob store contract: ${name}`, () => {
    let opened: OpenedBlobStore;
    let blobs: BlobStore;
    beforeEach(async () => {
      opened = await open();
      blobs = opened.blobs;
    });
    afterEach(() => opened.close());

    test('what is put is got, under its SHA-256', async () => {
      const digest = await blobs.put(text('tide'));
      expect(digest).toBe(hash('sha256', 'tide'));
      expect(Buffer.from(await blobs.get(digest)).toString()).toBe('tide');
      expect(await blobs.has(digest)).toBe(true);
    });

    test('no bytes, and a megabyte of any bytes', async () => {
      const empty = await blobs.put(new Uint8Array());
      expect((await blobs.get(empty)).length).toBe(0);
      const large = new Uint8Array(1_048_576).map((_, index) => (index * 31) >> 3);
      const got = await blobs.get(await blobs.put(large));
      expect(Buffer.compare(got, large)).toBe(0);
    });

    test('the same bytes are stored once, also when put at the same time', async () => {
      const digests = await Promise.all(Array.from({ length: 8 }, () => blobs.put(text('same'))));
      expect(new Set(digests).size).toBe(1);
      expect(await all(blobs)).toEqual([...new Set(digests)]);
    });

    test('many at once', async () => {
      const digests = await Promise.all(Array.from({ length: 200 }, (_, index) => blobs.put(text(`blob ${index}`))));
      expect((await all(blobs)).sort()).toEqual(digests.sort());
    });

    test('another process sees them', async () => {
      const digest = await blobs.put(text('shared'));
      const other = await opened.again();
      expect(Buffer.from(await other.get(digest)).toString()).toBe('shared');
      await other.close();
    });

    test('absent: get throws blob-missing, has says so, delete is harmless', async () => {
      await expect(blobs.get(absent)).rejects.toMatchObject({ name: 'CorruptError', code: 'blob-missing' });
      expect(await blobs.has(absent)).toBe(false);
      await blobs.delete(absent);
    });

    test('deleted is gone, and can be put again', async () => {
      const digest = await blobs.put(text('x'));
      await blobs.delete(digest);
      expect(await blobs.has(digest)).toBe(false);
      expect(await all(blobs)).toEqual([]);
      await blobs.put(text('x'));
      expect(await blobs.has(digest)).toBe(true);
    });

    test('damaged bytes are never returned; putting the right ones again heals', async () => {
      const digest = await blobs.put(text('precious'));
      await opened.damage(digest);
      await expect(blobs.get(digest)).rejects.toMatchObject({ name: 'CorruptError', code: 'blob-damaged' });
      await blobs.put(text('precious'));
      expect(Buffer.from(await blobs.get(digest)).toString()).toBe('precious');
    });

    test.each(['', '..', '../../etc/passwd', 'ABCDEF', `${'a'.repeat(63)}G`, 'a'.repeat(65)])(
      'the digest %j is refused',
      async (digest) => {
        for (const call of [blobs.get(digest), blobs.has(digest), blobs.delete(digest)]) {
          await expect(call).rejects.toMatchObject({ name: 'InvalidError', code: 'digest-invalid' });
        }
      },
    );
  });
}

async function all(blobs: BlobStore): Promise<string[]> {
  const digests: string[] = [];
  for await (const digest of blobs.list()) digests.push(digest);
  return digests;
}
