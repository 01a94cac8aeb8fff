/**
 * Sweeps of large payloads that overlap, or stop between two moves: one moves at a time (B5), and a blob on which two disagree stays. Each
 * case has a control in which the moves happen.
 */

import { recordBlob } from '@tidemark/codec';
import type { Offset } from '@tidemark/core';
import { SimulatedArchive } from '@tidemark/testkit/engine/simulated-archive';
import { P0 } from '@tidemark/testkit/engine/simulated-definition';
import { MemoryBlobs } from '@tidemark/testkit/memory-blobs';
import { MemoryObjects } from '@tidemark/testkit/memory-objects';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SweepReport } from './blob-sweep.ts';
import type { Compactor } from './compactor.ts';

const PERIOD_MS = 10_000;

let at: SimulatedArchive<MemoryObjects>;
let live: MemoryBlobs;
let aside: MemoryBlobs;

beforeEach(() => {
  [live, aside] = [new MemoryBlobs(), new MemoryBlobs()];
  at = new SimulatedArchive(
    () => new SimulatedLog(1),
    (place) => new MemoryObjects(place),
    { live, aside },
  );
});
afterEach(() => at.close());

/** Another process. */
const fresh = (): Compactor => at.compactor({ blobSweepMs: PERIOD_MS });

/** The next sweep, when it is due. */
function sweep(): Promise<SweepReport> {
  at.ports.clock.jump(PERIOD_MS);
  return fresh().sweepBlobs();
}

async function sweeps(count: number): Promise<void> {
  for (let made = 0; made < count; made++) expect(await sweep()).toMatchObject({ isDone: true });
}

describe('two sweeps at once', () => {
  /** Unreferenced in the first sweep, until `name` is called. */
  async function unnamed(): Promise<{ readonly digest: string; readonly name: () => void }> {
    await at.run('w', { ends: false, reported: 'told '.repeat(1_000) });
    const [held] = await at.log.read([{ partition: P0, from: 0 as Offset }]);
    const records = held!.records.map(({ value }) => ({ value, type: 't' }));
    const named = records.flatMap(({ value }) => recordBlob(value)?.digest ?? []);
    for (const digest of live.digests()) if (!named.includes(digest)) live.lose(digest);
    const nowMs = at.ports.clock.nowMs();
    at.replaceLog([]);
    at.ports.clock.jump(nowMs - at.ports.clock.nowMs());
    await sweeps(1);
    return { digest: live.digests()[0]!, name: () => void at.log.store(P0, records) };
  }
  /** The next call of that name waits until the test releases it. */
  function stopAt<K extends string>(of: Record<K, (...args: never[]) => Promise<unknown>>, call: K) {
    const [reached, goes] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const real = of[call].bind(of);
    of[call] = async (...args) => {
      of[call] = real;
      reached.resolve();
      await goes.promise;
      return real(...args);
    };
    return { reached: reached.promise, go: () => goes.resolve() };
  }

  it('that disagree about one which lies in both places: it is not lost', async () => {
    const { digest, name } = await unnamed();
    await aside.put(await live.get(digest));
    const amid = stopAt(live, 'delete');
    const first = sweep();
    await amid.reached;
    name();
    expect(await fresh().sweepBlobs()).toMatchObject({ isDone: false });
    amid.go();
    await first;
    expect(await sweep()).toMatchObject({ returnedCount: 1 });
    expect([live.digests(), aside.digests()]).toEqual([[digest], []]);
  });

  it('that looked at one moment: one moves, and the other leaves everything as it is', async () => {
    const { digest, name } = await unnamed();
    const amid = stopAt(at.objects, 'create');
    const first = sweep();
    await amid.reached;
    name();
    expect(await fresh().sweepBlobs()).toMatchObject({ isDone: true, asideCount: 0 });
    amid.go();
    expect(await first).toMatchObject({ isDone: false, asideCount: 0 });
    expect([live.digests(), aside.digests()]).toEqual([[digest], []]);
  });

  it.each([
    [PERIOD_MS / 2 - 1, 3],
    [PERIOD_MS / 2, 1],
  ])('are not there: one that stands still for %i ms has moved %i of 3, and leaves the rest', async (ms, count) => {
    for (const word of ['one', 'two', 'three']) await live.put(Buffer.from(word));
    await sweeps(1);
    const amid = stopAt(live, 'delete');
    const standing = sweep();
    await amid.reached;
    at.ports.clock.jump(ms);
    amid.go();
    expect(await standing).toMatchObject({ isDone: true, asideCount: count });
    expect([live.digests().length, aside.digests().length]).toEqual([3 - count, count]);
    await sweeps(4);
    expect([live.digests(), aside.digests()]).toEqual([[], []]);
  });

  it('one whose copy is gone the moment that it was made leaves what it copied', async () => {
    const { digest } = await unnamed();
    const put = aside.put.bind(aside);
    aside.put = async (bytes) => {
      const made = await put(bytes);
      aside.lose(made);
      return made;
    };
    expect(await sweep()).toMatchObject({ asideCount: 0 });
    expect(live.digests()).toEqual([digest]);
    aside.put = put;
    await sweeps(2);
    expect([live.digests(), aside.digests()]).toEqual([[], [digest]]);
  });
});
