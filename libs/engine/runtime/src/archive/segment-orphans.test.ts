/**
 * Segment objects that no manifest names are removed, so that a reader of all of `segments/` has each event once and a policy reaches all
 * of a tenant's history. None is removed that may still be named, or that is the only copy. Each case of one that stays has one that goes.
 */

import { type Offset, UnavailableError } from '@tidemark/core';
import { decodeSegment, manifestName, segmentName } from '@tidemark/segments';
import { HOT_MS, SimulatedArchive } from '@tidemark/testkit/engine/simulated-archive';
import { P0 } from '@tidemark/testkit/engine/simulated-definition';
import { eventually } from '@tidemark/testkit/eventually';
import { MemoryObjects } from '@tidemark/testkit/memory-objects';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tombstoneName } from './archive.ts';
import type { Compactor } from './compactor.ts';
import { ORPHANS_POLL_MS } from './segment-orphans.ts';

const gone = new UnavailableError('gone', 'The process died.');
let at: SimulatedArchive<MemoryObjects>;
let stored: readonly Uint8Array[];

beforeEach(async () => {
  at = new SimulatedArchive(
    () => new SimulatedLog(1),
    (place) => new MemoryObjects(place),
  );
  await at.run('first');
  stored = await at.valuesFrom();
  at.ports.clock.jump(HOT_MS + 1);
});
afterEach(() => at.close());

const segments = (): string[] => at.objects.names().filter((name) => name.endsWith('.parquet'));

/** Offsets of all events that a reader of every object gets, as `segments/*` gives them. */
const offsetsOfAll = (): number[] =>
  segments().flatMap((name) => decodeSegment(at.objects.poll(name)!).records.map(({ offset }) => offset));
const each = (): number[] => stored.map((_, offset) => offset);

/** A pass that dies once its object is written and read back. */
async function dyingPass(): Promise<string> {
  const create = at.objects.create.bind(at.objects);
  at.objects.create = async (name, bytes) => {
    if (!name.startsWith('manifests/')) return create(name, bytes);
    at.objects.create = create;
    throw gone;
  };
  await expect(at.pass()).rejects.toThrow('died');
  at.errors = [];
  return segments().at(-1)!;
}

/** Lets more of the log be archived, so that the next segment is a different one. */
async function more(): Promise<void> {
  await at.run(`more-${stored.length}`);
  at.ports.clock.jump(HOT_MS + 1);
  stored = await at.valuesFrom();
}

/** Stores the segment's bytes under the name of another one that begins there. */
async function orphanAt(from: number, to: number): Promise<string> {
  const name = segmentName(P0, from as Offset, to as Offset, 'ab'.repeat(32));
  await at.objects.create(name, at.objects.poll(segments()[0]!)!);
  return name;
}

describe('an object that no manifest names', () => {
  it('of a pass that died goes once the next, which found more, has written its own', async () => {
    const orphan = await dyingPass();
    await more();
    await at.pass();
    expect(segments()).not.toContain(orphan);
    expect(offsetsOfAll()).toEqual(each());
    expect(at.errors).toEqual([]);
  });

  it('goes also where a listing lacked it meanwhile, with the next look', async () => {
    const orphan = await dyingPass();
    await more();
    at.objects.hide(orphan);
    const compactor = at.compactor();
    await compactor.pass();
    expect(segments()).toHaveLength(2);
    at.objects.heal();
    at.ports.clock.jump(ORPHANS_POLL_MS - 1);
    await compactor.pass();
    expect(segments()).toHaveLength(2);
    at.ports.clock.jump(1);
    await compactor.pass();
    expect(offsetsOfAll()).toEqual(each());
  });

  it('goes when the partition comes back from another compactor', async () => {
    const compactor = at.compactor();
    await compactor.pass();
    const orphan = await orphanAt(0, 3);
    await compactor.pass();
    expect(segments()).toContain(orphan);
    at.ports.store.ranges = [1];
    await compactor.pass();
    at.ports.store.ranges = [0];
    await compactor.pass();
    expect(offsetsOfAll()).toEqual(each());
  });

  it('goes also where what counts is in the cold store, or was deleted', async () => {
    const day = 86_400_000;
    const retention = { warmMs: day, keepMs: 3 * day };
    await at.pass();
    for (const report of [{ cooledCount: 1 }, { deletedCount: 1 }]) {
      const name = segmentName(P0, 0 as Offset, 3 as Offset, 'cd'.repeat(32));
      await at.objects.create(name, Buffer.from('no matter what'));
      at.ports.clock.jump(2 * day);
      expect(await at.pass({ retention })).toMatchObject(report);
      expect(segments()).toEqual([]);
    }
    expect(at.errors).toEqual([]);
  });

  it('goes where a slow writer brought back what a policy had deleted; control: without a tombstone it stays', async () => {
    const day = 86_400_000;
    await at.pass();
    const [name] = segments();
    const bytes = at.objects.poll(name!)!;
    at.ports.clock.jump(2 * day);
    await at.pass({ retention: { warmMs: day, keepMs: day } });
    expect(segments()).toEqual([]);
    await at.objects.create(name!, bytes);
    const tombstone = at.objects.poll(tombstoneName(P0, 0 as Offset))!;
    at.objects.lose(tombstoneName(P0, 0 as Offset));
    await at.pass();
    expect(segments()).toEqual([name]);
    await at.objects.create(tombstoneName(P0, 0 as Offset), tombstone);
    await at.pass();
    expect(segments()).toEqual([]);
  });
});

describe('an object stays', () => {
  it('that its own manifest names, beside a tombstone that somebody forged', async () => {
    await at.pass();
    const [name] = segments();
    const { digest } = (await at.ports.store.segments({ limit: 1 }))[0]!;
    await at.objects.create(tombstoneName(P0, 0 as Offset), Buffer.from(JSON.stringify({ digest })));
    await at.ports.store.setTier((await at.ports.store.segments({ limit: 1 }))[0]!, 'deleted');
    await at.pass();
    expect(segments()).toEqual([name]);
  });

  it('while nobody has a manifest there: a slow compactor names it later, and nothing is lost', async () => {
    let passes: (() => void) | undefined;
    const create = at.objects.create.bind(at.objects);
    at.objects.create = async (name, bytes) => {
      if (name.startsWith('manifests/') && passes === undefined) {
        const { promise, resolve } = Promise.withResolvers<void>();
        passes = resolve;
        await promise;
      }
      return create(name, bytes);
    };
    const slow = at.compactor({}, 'slow').pass();
    await eventually(() => passes !== undefined);
    // Another compactor runs meanwhile, and has nothing to archive.
    await at.compactor({ hotMs: HOT_MS * 100 }, 'other').pass();
    expect(segments()).toHaveLength(1);
    passes!();
    expect(await slow).toMatchObject({ segmentCount: 1, failedCount: 0 });
    expect(await at.startOf()).toBe(stored.length);
    expect(await at.valuesFrom()).toEqual(stored);
  });

  it('no longer than until another’s manifest counts; the slow one goes on with that, told nothing wrong', async () => {
    let reads: (() => void) | undefined;
    const read = at.objects.read.bind(at.objects);
    at.objects.read = async (name) => {
      if (name.startsWith('segments/') && reads === undefined) {
        const { promise, resolve } = Promise.withResolvers<void>();
        reads = resolve;
        await promise;
      }
      return read(name);
    };
    const compactor = at.compactor({}, 'slow');
    const slow = compactor.pass();
    await eventually(() => reads !== undefined);
    const [orphan] = segments();
    await more();
    // It dies before it trims, so that the slow one still has the log to check the segment against.
    const trim = at.log.trim.bind(at.log);
    at.log.trim = async () => {
      at.log.trim = trim;
    };
    await at.compactor({}, 'fast').pass();
    expect(segments()).not.toContain(orphan);
    reads!();
    await slow;
    expect(at.errors).toEqual([]);
    expect(offsetsOfAll()).toEqual(each());
    await at.pass();
    expect(await at.valuesFrom()).toEqual(stored);
  });

  it('where the segment that counts is missing or damaged: it may be all there is', async () => {
    await at.pass();
    const [name] = segments();
    const orphan = await orphanAt(0, 3);
    at.objects.lie(name!);
    await at.pass();
    expect(segments()).toContain(orphan);
    expect(at.errors).toMatchObject([{ code: 'segment-damaged' }]);
    at.objects.heal();
    await at.pass();
    expect(segments()).toEqual([name]);
  });

  it('where its manifest is missing or damaged, and archiving goes on', async () => {
    await at.pass();
    const orphan = await orphanAt(0, 3);
    at.objects.truncate(manifestName(P0, 0 as Offset));
    await at.pass();
    expect(segments()).toContain(orphan);
    expect(at.errors).toMatchObject([{ code: 'manifest-damaged' }]);
    at.objects.heal();
    const beyond = await orphanAt(stored.length, stored.length + 3);
    await at.pass();
    expect(segments()).not.toContain(orphan);
    expect(segments()).toContain(beyond);
  });
});

it('a look costs one listing, and reads nothing of what the index knows', async () => {
  const compactor: Compactor = at.compactor();
  await compactor.pass();
  await at.pass();
  const { read, list } = at.objects.calls;
  await at.compactor({}, 'another').pass();
  expect([at.objects.calls.read - read, at.objects.calls.list - list]).toEqual([0, 1]);
  await compactor.pass();
  expect([at.objects.calls.read - read, at.objects.calls.list - list]).toEqual([0, 1]);
});
