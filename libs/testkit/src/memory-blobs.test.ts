/** Owns the tests of the blobs in memory: they keep the contract of durable ones, and fail only as requested. */

import { describe, expect, it } from 'vitest';
import { blobStoreContract } from './contracts/blob-store.ts';
import { MemoryBlobs } from './memory-blobs.ts';

blobStoreContract('memory', async () => {
  const blobs = new MemoryBlobs();
  return { blobs, damage: async (digest) => blobs.damage(digest), again: async () => blobs, close: async () => {} };
});

describe('blobs in memory', () => {
  it('fail as often as they were told to, and lose what they were told to lose', async () => {
    const blobs = new MemoryBlobs();
    blobs.fail(1, 'put');
    await expect(blobs.put(Buffer.from('a'))).rejects.toMatchObject({ code: 'blobs-unavailable' });
    const digest = await blobs.put(Buffer.from('a'));
    blobs.lose(digest);
    await expect(blobs.get(digest)).rejects.toMatchObject({ code: 'blob-missing' });
    expect(blobs.calls).toMatchObject({ put: 2, get: 1 });
  });
});
