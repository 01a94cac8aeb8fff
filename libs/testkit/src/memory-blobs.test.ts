/** Owns the tests of the blobs in memory: they keep the contract of durable ones, and fail only as requested. */

import { workflowId } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { blobStoreContract } from './contracts/blob-store.ts';
import { MemoryBlobs } from './memory-blobs.ts';

const W = workflowId('w');

blobStoreContract('memory', async () => {
  const blobs = new MemoryBlobs();
  return { blobs, damage: async (...of) => blobs.damage(...of), again: async () => blobs, close: async () => {} };
});

describe('blobs in memory', () => {
  it('fail as often as they were told to, and lose what they were told to lose', async () => {
    const blobs = new MemoryBlobs();
    blobs.fail(1, 'put');
    await expect(blobs.put(W, Buffer.from('a'))).rejects.toMatchObject({ code: 'blobs-unavailable' });
    const digest = await blobs.put(W, Buffer.from('a'));
    blobs.lose(W, digest);
    await expect(blobs.get(W, digest)).rejects.toMatchObject({ code: 'blob-missing' });
    expect(blobs.calls).toMatchObject({ put: 2, get: 1 });
  });
});
