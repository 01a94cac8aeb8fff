import { workflowId } from '@tidemark/core';
import { MemoryObjects } from '@tidemark/testkit/memory-objects';
import { expect, test } from 'vitest';
import { ObjectBlobs } from './object-blobs.ts';

const W = workflowId('w');
const bytes = new TextEncoder().encode('precious');

test('a heal that fails leaves what another process has healed meanwhile', async () => {
  const objects = new MemoryObjects();
  const [one, other] = [new ObjectBlobs(objects), new ObjectBlobs(objects)];
  const digest = await one.put(W, bytes);
  objects.lie(objects.names()[0]!);
  await expect(other.get(W, digest)).rejects.toMatchObject({ code: 'blob-damaged' });
  objects.heal();
  await one.put(W, bytes);
  objects.full = true;
  await expect(other.put(W, bytes)).rejects.toMatchObject({ name: 'UnavailableError' });
  expect(await one.get(W, digest)).toEqual(bytes);
});

test('a write whose answer was lost is repeated without harm', async () => {
  const objects = new MemoryObjects();
  const blobs = new ObjectBlobs(objects);
  objects.loseAnswers(1);
  await expect(blobs.put(W, bytes)).rejects.toMatchObject({ name: 'UnavailableError' });
  const digest = await blobs.put(W, bytes);
  expect(await blobs.get(W, digest)).toEqual(bytes);
  expect(objects.names()).toEqual([expect.stringMatching(new RegExp(`^[0-9a-f]{2}/[0-9a-f]{64}/${digest}$`))]);
});
