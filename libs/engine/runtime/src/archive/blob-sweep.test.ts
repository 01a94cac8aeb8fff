/**
 * Unreferenced large payloads are removed in three steps (B3). None is removed that a record in the log, a record in a segment or a row
 * references, nor any while references are unknown (B4). Each case of a blob that stays has a control that goes.
 */

import { recordBlob } from '@tidemark/codec';
import { type Offset, UnavailableError, workflowId } from '@tidemark/core';
import { manifestName } from '@tidemark/segments';
import { HOT_MS, SimulatedArchive } from '@tidemark/testkit/engine/simulated-archive';
import { P0 } from '@tidemark/testkit/engine/simulated-definition';
import { MemoryBlobs } from '@tidemark/testkit/memory-blobs';
import { MemoryObjects } from '@tidemark/testkit/memory-objects';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tombstoneName } from './archive.ts';
import type { SweepReport } from './blob-sweep.ts';
import type { Compactor } from './compactor.ts';

const PERIOD_MS = 10_000;
const DAY_MS = 86_400_000;
const REPORTED = 'told '.repeat(1_000);
const ID = workflowId('w');
const everything = { from: 0 as never, limit: 100 };

let at: SimulatedArchive<MemoryObjects>;
let live: MemoryBlobs;
let aside: MemoryBlobs;
let compactor: Compactor;

beforeEach(() => {
  [live, aside] = [new MemoryBlobs(), new MemoryBlobs()];
  at = new SimulatedArchive(
    () => new SimulatedLog(1),
    (place) => new MemoryObjects(place),
    { live, aside },
  );
  compactor = fresh();
});
afterEach(async () => {
  await at.close();
});

/** Another process. */
const fresh = (): Compactor => at.compactor({ blobSweepMs: PERIOD_MS });

/** The next sweep, when it is due. */
function sweep(by = compactor): Promise<SweepReport> {
  at.ports.clock.jump(PERIOD_MS);
  return by.sweepBlobs();
}

async function sweeps(count: number): Promise<void> {
  for (let made = 0; made < count; made++) expect(await sweep()).toMatchObject({ isDone: true });
}

/** Runs a workflow whose opening is large, and removes what stood for that opening before it was in the log. */
async function run(id: string, reported = REPORTED, ends = true): Promise<void> {
  const before = live.digests();
  await at.run(id, { ends, reported });
  const named = [...before, ...(await hotRecords()), ...(await at.ports.store.blobReferences(null, 100))];
  for (const digest of live.digests()) if (!named.some((each) => each.includes(digest))) live.lose(digest);
}

const hotRecords = async (): Promise<readonly Buffer[]> => {
  const from = (await at.startOf()) as Offset;
  const [held] = await at.log.read([{ partition: P0, from }]);
  return held!.records.map(({ value }) => Buffer.from(value));
};

/** Replaces the log by one without a record, whose time continues. */
function replaceLog(): void {
  const nowMs = at.ports.clock.nowMs();
  at.replaceLog([]);
  at.ports.clock.jump(nowMs - at.ports.clock.nowMs());
  compactor = fresh();
}

const orphan = (): Promise<string> => live.put(Buffer.from('nobody names it'));

describe('a blob that nothing names', () => {
  it('is put aside by the second sweep and deleted by the third, and none comes before its time', async () => {
    const digest = await orphan();
    const first = { isDone: true, blobCount: 1, unnamedCount: 1, asideCount: 0, deletedCount: 0 };
    expect(await sweep()).toMatchObject(first);
    expect(await compactor.sweepBlobs()).toMatchObject({ isDone: false });
    at.ports.clock.jump(PERIOD_MS - 1);
    expect(await compactor.sweepBlobs()).toMatchObject({ isDone: false });
    expect(live.digests()).toEqual([digest]);

    expect(await sweep()).toMatchObject({ unnamedCount: 0, asideCount: 1, deletedCount: 0 });
    expect([live.digests(), aside.digests()]).toEqual([[], [digest]]);
    expect((await at.blobs()!.get({ digest, bytes: 15 })).length).toBe(15);

    expect(await sweep()).toMatchObject({ blobCount: 0, asideCount: 0, deletedCount: 1 });
    expect(aside.digests()).toEqual([]);
    expect(at.ports.telemetry.counts.get('blobs_collected_total')).toBe(1);
    expect(await sweep()).toMatchObject({ isDone: true, deletedCount: 0 });
  });

  it('goes as well when each sweep is another process’s, and when listings are old', async () => {
    await orphan();
    await sweep(fresh());
    at.objects.freezeList();
    await sweep(fresh());
    expect(await fresh().sweepBlobs()).toMatchObject({ isDone: false });
    expect(await sweep(fresh())).toMatchObject({ deletedCount: 1 });
  });

  it('goes as well when a sweep dies between any two of its moves', async () => {
    const digest = await orphan();
    await sweep();
    at.objects.fail(1, 'create');
    await expect(sweep()).rejects.toMatchObject({ code: 'objects-unavailable' });
    expect([live.digests(), aside.digests()]).toEqual([[digest], []]);
    live.fail(1, 'delete');
    await expect(sweep()).rejects.toMatchObject({ code: 'blobs-unavailable' });
    expect([live.digests(), aside.digests()]).toEqual([[digest], [digest]]);
    // As if it had been stored again: it is found once more, and then goes through all steps.
    expect(await sweep()).toMatchObject({ unnamedCount: 1, asideCount: 0 });
    expect([live.digests(), aside.digests()]).toEqual([[digest], []]);
    expect(await sweep()).toMatchObject({ asideCount: 1 });
    aside.fail(1, 'delete');
    await expect(sweep()).rejects.toMatchObject({ code: 'blobs-unavailable' });
    expect(await sweep()).toMatchObject({ deletedCount: 1 });
    expect([live.digests(), aside.digests()]).toEqual([[], []]);
  });

  it('is left to whoever has the first range', async () => {
    await orphan();
    at.ports.store.ranges = [1, 2, 3];
    expect(await sweep()).toMatchObject({ isDone: false });
    at.ports.store.ranges = [0];
    expect(await sweep()).toMatchObject({ isDone: true });
  });

  it('and is damaged stays where it is, and is told', async () => {
    live.damage(await orphan());
    await sweeps(3);
    expect(at.errors).toMatchObject([{ code: 'blob-damaged' }]);
    expect(live.digests()).toHaveLength(1);
  });
});

describe('a blob stays while it is named', () => {
  it('by a record in the log alone', async () => {
    await run('w', REPORTED, false);
    at.ports.store.drop();
    await orphan();
    await sweeps(4);
    expect(live.digests()).toEqual((await hotRecords()).flatMap((value) => recordBlob(value)?.digest ?? []));
    expect(live.digests()).toHaveLength(1);
  });

  it('by a record in a segment alone, until that is deleted', async () => {
    await run('w');
    const before = await at.rows().checkpoints(ID, everything);
    at.ports.clock.jump(HOT_MS + 1);
    await at.pass();
    const [digest] = live.digests();
    expect(await at.ports.store.blobReferences(null, 10)).toEqual([]);
    await orphan();
    await sweeps(4);
    expect(live.digests()).toEqual([digest]);
    expect(await at.store().checkpoints(ID, everything)).toEqual(before);

    // Restored rows reference it as well.
    const deleting = { retention: { warmMs: DAY_MS, keepMs: 2 * DAY_MS } };
    at.ports.clock.jump(3 * DAY_MS);
    expect(await at.pass(deleting)).toMatchObject({ deletedCount: 1 });
    expect(await at.ports.store.blobReferences(null, 10)).toEqual([]);
    await sweeps(3);
    expect([live.digests(), aside.digests()]).toEqual([[], []]);
  });

  it('by a segment beside whose manifest somebody put a tombstone, whether its object is there or not', async () => {
    await run('w');
    at.ports.clock.jump(HOT_MS + 1);
    await at.pass();
    const manifest = (await at.archive().manifestFrom(P0, 0 as Offset))!;
    const digests = live.digests();
    await sweeps(1);
    await at.objects.create(tombstoneName(P0, 0 as Offset), Buffer.from(JSON.stringify({ digest: manifest.digest })));
    await sweeps(4);
    expect(live.digests()).toEqual(digests);
    at.objects.lose(manifest.object);
    // Another process has to read what the segment references.
    await expect(sweep(fresh())).rejects.toMatchObject({ code: 'deletion-unproved' });
    expect(live.digests()).toEqual(digests);
  });

  it('by a row alone, and no longer', async () => {
    await run('w');
    const batch = at.ports.store.batches.at(-1)!;
    const text = { workflow: ID, digest: 'd'.repeat(64), text: REPORTED };
    const context = { fragments: [], texts: [text], scopes: [], spends: [], sessions: [] };
    await at.rows().apply({ ...batch, partitions: [], opened: [], streams: [], closed: [], checkpoints: [], context });
    expect(live.digests()).toHaveLength(2);
    await sweeps(4);
    expect(live.digests()).toHaveLength(2);
    expect((await at.rows().texts(ID, [text.digest]))[0]?.text).toBe(REPORTED);
    await at.ports.store.dropRows({ partition: P0, from: 0 as Offset, to: 1 as Offset }, [ID]);
    await sweeps(3);
    expect(live.digests()).toHaveLength(1);
  });

  it('by what was appended while the sweeps looked: it was found to be there already, and nothing was written', async () => {
    await run('w', REPORTED, false);
    const [name] = live.digests();
    // As if its event had never come, and had been about to come since before the second sweep.
    const records = await hotRecords();
    const bytes = await live.get(name!);
    replaceLog();
    await sweeps(2);
    expect([live.digests(), aside.digests()]).toEqual([[], [name]]);
    at.log.store(
      P0,
      records.map((value) => ({ value, type: 't' })),
    );
    expect(await at.valuesFrom()).toHaveLength(records.length);
    expect(await sweep()).toMatchObject({ returnedCount: 1, deletedCount: 0 });
    expect([live.digests(), aside.digests()]).toEqual([[name], []]);
    // A writer that stores it while it is aside writes it again.
    replaceLog();
    await sweeps(2);
    expect(await live.put(bytes)).toBe(name);
    await sweeps(1);
    expect([live.digests(), aside.digests()]).toEqual([[name], []]);
  });

  /** Two segments, the newer of which references a blob; its manifest, and the older one's, which is trusted. */
  async function twoSegments() {
    await run('w', `${REPORTED}first`);
    at.ports.clock.jump(HOT_MS + 1);
    await at.pass();
    const middle = (await at.startOf()) as Offset;
    await run('v', `${REPORTED}second`);
    at.ports.clock.jump(HOT_MS + 1);
    await at.pass();
    return { older: manifestName(P0, 0 as Offset), newer: manifestName(P0, middle) };
  }
  async function forge(name: string): Promise<() => Promise<void>> {
    const bytes = at.objects.poll(name)!;
    const manifest = JSON.parse(Buffer.from(bytes).toString()) as object;
    at.objects.lose(name);
    await at.objects.create(name, Buffer.from(JSON.stringify({ ...manifest, blobs: [] })));
    return async () => {
      at.objects.lose(name);
      await at.objects.create(name, bytes);
    };
  }

  it('by the newest segment whose manifest was made to say otherwise: it is read; by an older one: nothing moves', async () => {
    const { older, newer } = await twoSegments();
    const both = live.digests();
    expect(both).toHaveLength(2);
    await forge(newer);
    await orphan();
    await sweeps(4);
    expect([live.digests(), aside.digests()]).toEqual([both, []]);

    const undo = await forge(older);
    compactor = fresh();
    await expect(sweep()).rejects.toMatchObject({ code: 'chain-broken', message: expect.stringContaining('verify') });
    await undo();
    await orphan();
    await sweeps(3);
    expect([live.digests(), aside.digests()]).toEqual([both, []]);
    // The newest segment can't be read, so what it references is unknown.
    at.objects.lie(JSON.parse(Buffer.from(at.objects.poll(newer)!).toString()).object);
    await expect(sweep(fresh())).rejects.toMatchObject({ code: 'segment-damaged' });
  });

  it('by the newest segment, as its manifest says, while that is in an archive class', async () => {
    await twoSegments();
    const both = live.digests();
    await orphan();
    const objects = at.objects.names().filter((name) => name.endsWith('.parquet'));
    for (const name of objects) at.objects.archive(name, 2);
    await sweeps(3);
    expect([live.digests(), aside.digests()]).toEqual([both, []]);
    expect(at.objects.calls.recall).toBe(0);
  });

  it('by what moves from the log into a segment meanwhile', async () => {
    await run('w');
    await orphan();
    at.ports.clock.jump(HOT_MS + 1);
    const read = at.log.read.bind(at.log);
    at.log.read = async (...of) => {
      at.log.read = read;
      await at.pass();
      return read(...of);
    };
    await sweeps(3);
    expect(await at.startOf()).toBeGreaterThan(0);
    expect(live.digests()).toHaveLength(1);
    expect(await at.ports.store.blobReferences(null, 10)).toEqual([]);
  });
});

describe('nothing moves', () => {
  /** A referenced blob and an unreferenced one that is moved aside next; in a segment and in the log. */
  beforeEach(async () => {
    await run('old', `${REPORTED}old`);
    at.ports.clock.jump(HOT_MS + 1);
    await at.pass();
    await run('new', `${REPORTED}new`, false);
    await orphan();
    await sweeps(1);
    compactor = fresh();
  });

  const nothingMoves = async (code: string): Promise<void> => {
    await expect(sweep()).rejects.toMatchObject({ code });
    expect([live.digests().length, aside.digests().length]).toEqual([3, 0]);
  };
  const thenIt = async (): Promise<void> => {
    await sweeps(2);
    expect([live.digests().length, aside.digests().length]).toEqual([2, 0]);
  };

  it('while the log can’t be read', async () => {
    const read = at.log.read.bind(at.log);
    at.log.read = async () => {
      at.log.read = read;
      throw new UnavailableError('log-unavailable', 'The log is away.');
    };
    await nothingMoves('log-unavailable');
    await thenIt();
  });

  it('while rows can’t be read', async () => {
    at.ports.store.failOnce('blobReferences', new UnavailableError('store-unavailable', 'The store is away.'));
    await nothingMoves('store-unavailable');
    await thenIt();
  });

  it('while the archive can’t be read', async () => {
    at.objects.fail(1, 'read');
    await nothingMoves('objects-unavailable');
    await thenIt();
  });

  it('where a manifest is missing', async () => {
    const name = manifestName(P0, 0 as Offset);
    const bytes = at.objects.poll(name)!;
    at.objects.lose(name);
    await nothingMoves('archive-gap');
    await at.objects.create(name, bytes);
    await thenIt();
  });

  it('where a manifest is damaged', async () => {
    at.objects.truncate(manifestName(P0, 0 as Offset));
    await nothingMoves('manifest-damaged');
    at.objects.heal();
    await thenIt();
  });

  it('where the note of the last sweep is damaged', async () => {
    const [note] = at.objects.names().filter((name) => name.startsWith('blob-sweeps/'));
    at.objects.truncate(note!);
    await nothingMoves('sweep-note-damaged');
    at.objects.heal();
    await thenIt();
  });

  it('while clocks disagree about how long ago the last sweep was', async () => {
    at.ports.store.clock = () => at.ports.clock.nowMs() + 61_000;
    await nothingMoves('clocks-apart');
    at.ports.store.clock = () => at.ports.clock.nowMs();
    await thenIt();
  });

  it('where the log was replaced by a shorter one', async () => {
    await sweeps(1);
    at.log.bounds = async () => new Map([[P0, { start: 0 as Offset, end: 0 as Offset }]]);
    await expect(sweep()).rejects.toMatchObject({ code: 'log-past-end' });
    expect(aside.digests()).toHaveLength(1);
  });
});

it('an audit reads large payloads that archived events name', async () => {
  await run('w');
  at.ports.clock.jump(HOT_MS + 1);
  await at.pass();
  const problems = async () => (await at.verify({ blobs: at.blobs() })).problems;
  expect(await problems()).toEqual([]);
  live.damage(live.digests()[0]!);
  expect(await problems()).toMatchObject([{ partition: 0, code: 'blob-damaged' }]);
  live.lose(live.digests()[0]!);
  expect(await problems()).toMatchObject([{ code: 'blob-missing' }]);
});
