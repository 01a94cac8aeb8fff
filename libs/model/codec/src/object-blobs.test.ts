import { blobPath } from '@tidemark/ports';
import { MemoryObjects } from '@tidemark/testkit/memory-objects';
import { expect, test } from 'vitest';
import { ObjectBlobs } from './object-blobs.ts';

const bytes = new TextEncoder().encode('precious');

test('a heal that fails leaves what another process has healed meanwhile', async () => {
  const objects = new MemoryObjects();
  const [one, other] = [new ObjectBlobs(objects), new ObjectBlobs(objects)];
  const digest = await one.put(bytes);
  objects.lie(blobPath(digest));
  await expect(other.get(digest)).rejects.toMatchObject({ code: 'blob-damaged' });
  objects.heal();
  await one.put(bytes);
  objects.full = true;
  await expect(other.put(bytes)).rejects.toMatchObject({ name: 'UnavailableError' });
  expect(await one.get(digest)).toEqual(bytes);
});

test('a write whose answer was lost is repeated without harm', async () => {
  const objects = new MemoryObjects();
  const blobs = new ObjectBlobs(objects);
  objects.loseAnswers(1);
  await expect(blobs.put(bytes)).rejects.toMatchObject({ name: 'UnavailableError' });
  const digest = await blobs.put(bytes);
  expect(await blobs.get(digest)).toEqual(bytes);
  expect(objects.names()).toEqual([blobPath(digest)]);
});
