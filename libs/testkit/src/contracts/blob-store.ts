/**
 * Owns the contract of BlobStore as tests; every adapter runs it. `open` gives an empty store for each test; `damage`
 * changes stored bytes behind its back; `again` opens the same store as another process would.
 */

import { hash } from 'node:crypto';
import { type WorkflowId, workflowId } from '@tidemark/core';
import type { BlobStore } from '@tidemark/ports';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

export interface OpenedBlobStore {
  readonly blobs: BlobStore;
  damage(workflow: WorkflowId, digest: string): Promise<void>;
  again(): Promise<BlobStore>;
  close(): Promise<void>;
}

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const W = workflowId('w');
/** No path, and none that could be one. */
const OTHER = workflowId('w/../.. #é');
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
      const digest = await blobs.put(W, text('tide'));
      expect(digest).toBe(hash('sha256', 'tide'));
      expect(Buffer.from(await blobs.get(W, digest)).toString()).toBe('tide');
    });

    test('no bytes, and a megabyte of any bytes', async () => {
      const empty = await blobs.put(W, new Uint8Array());
      expect((await blobs.get(W, empty)).length).toBe(0);
      const large = new Uint8Array(1_048_576).map((_, index) => (index * 31) >> 3);
      const got = await blobs.get(W, await blobs.put(W, large));
      expect(Buffer.compare(got, large)).toBe(0);
    });

    test('the same bytes are stored once, also when put at the same time', async () => {
      const digests = await Promise.all(Array.from({ length: 8 }, () => blobs.put(W, text('same'))));
      expect(new Set(digests).size).toBe(1);
    });

    test('many at once', async () => {
      const digests = await Promise.all(Array.from({ length: 200 }, (_, index) => blobs.put(W, text(`blob ${index}`))));
      const got = await Promise.all(digests.map((digest) => blobs.get(W, digest)));
      expect(got.map((bytes) => Buffer.from(bytes).toString())).toEqual(digests.map((_, index) => `blob ${index}`));
    });

    test('another process sees them', async () => {
      const digest = await blobs.put(W, text('shared'));
      const other = await opened.again();
      expect(Buffer.from(await other.get(W, digest)).toString()).toBe('shared');
      await other.close();
    });

    test('absent: get throws blob-missing, and removing is harmless', async () => {
      await expect(blobs.get(W, absent)).rejects.toMatchObject({ name: 'CorruptError', code: 'blob-missing' });
      await blobs.removeAll(W);
    });

    test('those of a workflow are its own, and are removed together, without those of others', async () => {
      const digests = await Promise.all(['x', 'y'].map((said) => blobs.put(W, text(said))));
      await expect(blobs.get(OTHER, digests[0]!)).rejects.toMatchObject({ code: 'blob-missing' });
      expect(await blobs.put(OTHER, text('x'))).toBe(digests[0]);
      await blobs.removeAll(W);
      for (const digest of digests) {
        await expect(blobs.get(W, digest)).rejects.toMatchObject({ code: 'blob-missing' });
      }
      expect(Buffer.from(await blobs.get(OTHER, digests[0]!)).toString()).toBe('x');
      await blobs.put(W, text('x'));
      expect(Buffer.from(await blobs.get(W, digests[0]!)).toString()).toBe('x');
    });

    test('damaged bytes are never returned; putting the right ones again heals', async () => {
      const digest = await blobs.put(W, text('precious'));
      await opened.damage(W, digest);
      await expect(blobs.get(W, digest)).rejects.toMatchObject({ name: 'CorruptError', code: 'blob-damaged' });
      await blobs.put(W, text('precious'));
      expect(Buffer.from(await blobs.get(W, digest)).toString()).toBe('precious');
    });

    test.each(['', '..', '../../etc/passwd', 'ABCDEF', `${'a'.repeat(63)}G`, 'a'.repeat(65)])(
      'the digest %j is refused',
      async (digest) => {
        await expect(blobs.get(W, digest)).rejects.toMatchObject({ name: 'InvalidError', code: 'digest-invalid' });
      },
    );
  });
}
