/** Reads of the archive: each object once, however many callers there are, and never one that was checked against another manifest. */

import { type Offset, workflowId } from '@tidemark/core';
import { HOT_MS, SimulatedArchive } from '@tidemark/testkit/engine/simulated-archive';
import { P0 } from '@tidemark/testkit/engine/simulated-definition';
import { MemoryObjects } from '@tidemark/testkit/memory-objects';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Archive, type KnownManifest, tombstoneName } from './archive.ts';

const DAY_MS = 86_400_000;
const FIRST = workflowId('first');
let at: SimulatedArchive<MemoryObjects>;
let archive: Archive;
let manifest: KnownManifest;

beforeEach(async () => {
  at = new SimulatedArchive(
    () => new SimulatedLog(1),
    (place) => new MemoryObjects(place),
  );
  await at.run('first');
  at.ports.clock.jump(HOT_MS + 1);
  await at.pass();
  archive = at.archive();
  manifest = (await archive.manifestFrom(P0, 0 as Offset))!;
});
afterEach(() => at.close());

const readCount = async (work: () => Promise<unknown>): Promise<number> => {
  const before = at.objects.calls.read;
  await work();
  return at.objects.calls.read - before;
};

describe('the manifest that covers an offset', () => {
  const SEGMENTS = 5;
  let last: Offset;

  beforeEach(async () => {
    for (let n = 1; n < SEGMENTS; n++) {
      await at.run(`more-${n}`);
      at.ports.clock.jump(HOT_MS + 1);
      await at.pass();
    }
    last = ((await at.log.bounds()).get(P0)!.start - 1) as Offset;
    archive = at.archive();
  });

  const found = async (): Promise<number | undefined> => (await archive.manifestAt(P0, last))?.to;

  it('is found by a process that knows nothing yet without reading all before it', async () => {
    expect(await readCount(async () => expect(await found()).toBe(last + 1))).toBe(1);
    expect(at.objects.calls.list).toBeGreaterThan(0);
  });

  it('is found where the listing is old, and where it names what is gone', async () => {
    const names: string[] = [];
    for await (const name of at.objects.list('')) if (name.startsWith('manifests/')) names.push(name);
    expect(names).toHaveLength(SEGMENTS);
    at.objects.hide(...names.slice(1));
    expect(await found()).toBe(last + 1);
    at.objects.heal();
    archive = at.archive();
    at.objects.freezeList();
    await at.objects.remove(names.at(-1)!);
    expect(await found()).toBeUndefined();
    expect((await archive.manifestAt(P0, 0 as Offset))?.to).toBe(manifest.to);
  });
});

describe('records', () => {
  it('that several ask for at one moment are read once, and once more after they were forgotten', async () => {
    const twice = () => Promise.all([archive.records(manifest), archive.records(manifest)]);
    expect(await readCount(twice)).toBe(1);
    expect(await readCount(twice)).toBe(0);
    archive.forget();
    expect(await readCount(twice)).toBe(1);
  });

  it('that were asked for before everything was forgotten are not kept, nor given to who asks later', async () => {
    const first = archive.records(manifest);
    archive.forget();
    expect(await readCount(() => Promise.all([first, archive.records(manifest)]))).toBe(1);
    expect(await readCount(() => archive.records(manifest))).toBe(0);
  });

  it('that could not be read are asked for again', async () => {
    at.objects.fail(1, 'read');
    const both = await Promise.allSettled([archive.records(manifest), archive.records(manifest)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await archive.records(manifest)).toHaveLength(manifest.to);
  });

  it('are held against each manifest that names their object', async () => {
    await archive.records(manifest);
    for (const forged of [{ chainAfter: 'f'.repeat(64) }, { to: manifest.to - 1 }, { bytes: 1 }]) {
      const wrong = archive.records({ ...manifest, ...forged } as KnownManifest);
      await expect(wrong).rejects.toMatchObject({ code: 'segment-damaged' });
    }
  });

  it('that a policy deleted are told as such only where the tombstone is that of this object', async () => {
    at.ports.clock.jump(2 * DAY_MS);
    await at.pass({ retention: { warmMs: DAY_MS, keepMs: DAY_MS } });
    await expect(archive.records(manifest)).rejects.toMatchObject({ code: 'segment-deleted' });
    const name = tombstoneName(P0, 0 as Offset);
    for (const other of [`{"digest":"${'0'.repeat(64)}"}`, 'null', '{"dig']) {
      at.objects.lose(name);
      await at.objects.create(name, Buffer.from(other));
      await expect(archive.records(manifest)).rejects.toMatchObject({ code: 'segment-missing' });
    }
  });
});

describe('the index of segments, rebuilt after rows were lost,', () => {
  const retention = { warmMs: DAY_MS, keepMs: 10 * DAY_MS };
  const anew = async () => {
    await at.rebuild();
    const { recall } = at.cold.calls;
    await at.pass({ retention });
    expect(at.errors).toEqual([]);
    expect(at.cold.calls.recall).toBe(recall);
    return (await at.ports.store.segments({ limit: 10 })).map(({ tier }) => tier);
  };

  it('has what is warm, cold and deleted as it was, and asks no archive class for anything', async () => {
    expect(await anew()).toEqual(['warm']);
    at.ports.clock.jump(2 * DAY_MS);
    await at.pass({ retention });
    expect(await anew()).toEqual(['cold']);
    at.ports.clock.jump(10 * DAY_MS);
    await at.pass({ retention });
    expect(await anew()).toEqual(['deleted']);
    expect(await at.pass({ retention })).toMatchObject({ deletedCount: 0, failedCount: 0 });
    expect(await at.ports.store.workflow(FIRST)).toMatchObject({ status: 'completed' });
  });

  it('goes by what is there, where listings are old', async () => {
    at.objects.hide(manifest.object);
    expect(await anew()).toEqual(['warm']);
    at.ports.clock.jump(12 * DAY_MS);
    await at.pass({ retention });
    at.objects.freezeList();
    expect(await anew()).toEqual(['deleted']);
  });
});
