/**
 * The compactor: history goes into segments and comes back byte for byte, whatever dies between two steps. If anything is wrong, nothing is
 * trimmed and the error says why (I5, I7). Each fault has a control: the same pass without it trims.
 */

import { decodeRecord } from '@tidemark/codec';
import { CorruptError, emptyPartition, foldEntries, type Offset, UnavailableError, workflowId } from '@tidemark/core';
import { decodeManifest, decodeSegment, manifestName } from '@tidemark/segments';
import { HOT_MS, SimulatedArchive } from '@tidemark/testkit/engine/simulated-archive';
import { P0, TENANT } from '@tidemark/testkit/engine/simulated-definition';
import { quiet } from '@tidemark/testkit/engine/simulated-ports';
import { MemoryObjects } from '@tidemark/testkit/memory-objects';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RESTORED_ROWS_KEPT_MS } from './compactor.ts';

const [FIRST, SECOND] = [workflowId('first'), workflowId('second')];
let at: SimulatedArchive<MemoryObjects>;
/** Every record of the partition before anything was trimmed. */
let stored: readonly Uint8Array[];

beforeEach(async () => {
  at = new SimulatedArchive(
    () => new SimulatedLog(1),
    (place) => new MemoryObjects(place),
  );
  await at.run('first');
  await at.run('second');
  stored = await at.valuesFrom();
  at.ports.clock.jump(HOT_MS + 1);
});
afterEach(() => at.close());

describe('a pass', () => {
  it('archives what is no longer hot, trims the log to there, and drops rows; all of it reads as before', async () => {
    const before = await at.ports.store.checkpoints(FIRST, { from: 0 as never, limit: 100 });
    const report = await at.pass();
    expect(report).toMatchObject({ segmentCount: 1, eventCount: stored.length, failedCount: 0 });
    expect(await at.startOf()).toBe(stored.length);
    expect(await at.valuesFrom()).toEqual(stored);
    expect(await at.valuesFrom(3)).toEqual(stored.slice(3));
    expect(await at.ports.store.withoutRows([FIRST, SECOND])).toEqual([FIRST, SECOND]);

    const store = at.store();
    expect(await store.checkpoints(FIRST, { from: 0 as never, limit: 100 })).toEqual(before);
    expect(await at.ports.store.withoutRows([FIRST, SECOND])).toEqual([SECOND]);
    expect(at.errors).toEqual([]);
  });

  it('leaves what closed within the hot window, and what waits for more', async () => {
    expect((await at.pass({ hotMs: HOT_MS * 10 })).segmentCount).toBe(0);
    const waiting = { segmentMinBytes: 1_000_000, segmentWaitMs: 5_000 };
    expect((await at.pass(waiting)).segmentCount).toBe(0);
    at.ports.clock.jump(5_000);
    expect((await at.pass(waiting)).segmentCount).toBe(1);
  });

  it('leaves an open workflow what it needs to go on, and goes on behind it', async () => {
    await at.run('open', { ends: false });
    at.ports.clock.jump(HOT_MS + 1);
    expect((await at.pass()).eventCount).toBe(stored.length);
    expect(await at.startOf()).toBe(stored.length);
    const claimed = await at.ports.store.loadStreams([workflowId('open')]);
    expect(claimed[0]?.checkpoints).toHaveLength(1);
  });

  it('keeps tenants apart: a segment holds one tenant’s workflows', async () => {
    await at.run('third', { tenant: 'other' });
    at.ports.clock.jump(HOT_MS + 1);
    expect((await at.pass()).segmentCount).toBe(2);
    const segments = await at.ports.store.segments({ limit: 10 });
    const tenants = segments.map(({ workflows }) => [...new Set(workflows.map(({ tenant }) => tenant))]);
    expect(tenants).toEqual([[TENANT], ['other']]);
  });

  it('goes on from where the last ended, and links its segments', async () => {
    await at.pass();
    await at.run('third');
    at.ports.clock.jump(HOT_MS + 1);
    await at.pass();
    const verdict = await at.verify();
    expect(verdict).toMatchObject({ segmentCount: 2, problems: [], coldCount: 0 });
    expect(await at.ports.store.segments({ workflow: workflowId('third'), limit: 10 })).toHaveLength(1);
  });

  it('leaves partitions of ranges that are another compactor’s', async () => {
    at.ports.store.shareRanges = async () => [1];
    expect(await at.pass()).toMatchObject({ segmentCount: 0, failedCount: 0 });
    expect(await at.startOf()).toBe(0);
  });

  it('drops rows that were restored, once they were kept for long', async () => {
    await at.pass();
    await at.store().checkpoints(FIRST, { from: 0 as never, limit: 100 });
    await at.pass();
    expect(await at.ports.store.withoutRows([FIRST])).toEqual([]);
    at.ports.clock.jump(RESTORED_ROWS_KEPT_MS + 1);
    await at.pass();
    expect(await at.ports.store.withoutRows([FIRST])).toEqual([FIRST]);
  });

  it('makes rows anew from segments and log, the same as before (I5, I6)', async () => {
    await at.run('open', { ends: false });
    const before = JSON.stringify([...at.ports.store.rows.entries()].map(([id, { stream }]) => [id, stream]));
    await at.pass();
    await at.rebuild();
    expect(JSON.stringify([...at.ports.store.rows.entries()].map(([id, { stream }]) => [id, stream]))).toBe(before);
    // The segments are in the index again, and their rows are dropped again.
    await at.pass();
    expect(await at.ports.store.withoutRows([FIRST, SECOND])).toEqual([FIRST, SECOND]);
    expect(await at.ports.store.segments({ limit: 10 })).toHaveLength(1);
  });

  it('holds the fold state of its end: folding goes on from there as from the beginning', async () => {
    await at.run('open', { ends: false });
    await at.pass();
    const manifest = decodeManifest('m', at.objects.poll(manifestName(P0, 0 as Offset))!);
    const whole = foldEntries(emptyPartition(P0, 0 as Offset), stored.map(decodeRecord)).state;
    expect(manifest).toMatchObject({ generation: whole.generation, to: stored.length });
    expect(manifest.streams).toHaveLength(whole.streams.size);
  });
});

describe('a compactor that dies', () => {
  const STEPS = ['after-object', 'after-read-back', 'after-manifest', 'recordSegments', 'trim', 'dropRows'] as const;

  /** The process dies before this step. */
  function dieAt(step: (typeof STEPS)[number]): void {
    const gone = new UnavailableError('gone', 'The process died.');
    if (step === 'recordSegments' || step === 'dropRows') at.ports.store.failOnce(step, gone);
    else if (step === 'trim') {
      const trim = at.log.trim.bind(at.log);
      at.log.trim = async () => {
        at.log.trim = trim;
        throw gone;
      };
    } else if (step === 'after-object') at.objects.fail(1, 'read');
    else if (step === 'after-read-back') {
      const create = at.objects.create.bind(at.objects);
      at.objects.create = async (name, bytes) => {
        if (!name.startsWith('manifests/')) return create(name, bytes);
        at.objects.create = create;
        throw gone;
      };
    } else at.objects.loseAnswers(2);
  }

  it.each(STEPS)('%s: the next one goes on, and nothing is lost, doubled or left', async (step) => {
    dieAt(step);
    await expect(at.pass()).rejects.toThrow();
    expect(await at.valuesFrom()).toEqual(stored);
    at.objects.heal();
    await at.pass();
    expect(await at.startOf()).toBe(stored.length);
    expect(await at.valuesFrom()).toEqual(stored);
    expect(await at.ports.store.withoutRows([FIRST, SECOND])).toEqual([FIRST, SECOND]);
    expect((await at.verify()).problems).toEqual([]);
    expect(at.objects.names().filter((name) => name.endsWith('.parquet'))).toHaveLength(1);
  });

  it('between trimming and deleting rows: one that had nothing to do there before finishes for it', async () => {
    const unfinished = () => at.ports.store.segments({ rowsDropped: false, limit: 10 });
    const settled = at.compactor({ hotMs: HOT_MS * 100 }, 'settled');
    await settled.pass();
    dieAt('dropRows');
    await expect(at.pass()).rejects.toThrow();
    expect([await at.startOf(), (await unfinished()).length]).toEqual([stored.length, 1]);
    await settled.pass();
    expect(await unfinished()).toEqual([]);
    expect(await at.ports.store.withoutRows([FIRST, SECOND])).toEqual([FIRST, SECOND]);
  });

  it('two at once archive each event once', async () => {
    await Promise.all([
      at.compactor({}, 'one').pass(),
      at.compactor({}, 'two').pass(),
      at.compactor({ segmentMinBytes: 2 }, 'three').pass(),
    ]);
    expect(at.errors).toEqual([]);
    expect(await at.startOf()).toBe(stored.length);
    expect(await at.valuesFrom()).toEqual(stored);
    expect(at.objects.names()).toHaveLength(2);
  });
});

describe('an object store', () => {
  const later = async (id: string): Promise<void> => {
    await at.run(id);
    at.ports.clock.jump(HOT_MS + 1);
    stored = await at.valuesFrom();
  };
  /** Each event is in one object and comes back unchanged, and all of them are trimmed. */
  async function eachOnce(): Promise<void> {
    const objects = at.objects.names().filter((name) => name.endsWith('.parquet'));
    const held = objects.flatMap((name) => decodeSegment(at.objects.poll(name)!).records);
    expect(held.map(({ value }) => Buffer.from(value))).toEqual(stored);
    expect(await at.startOf()).toBe(stored.length);
    expect(await at.valuesFrom()).toEqual(stored);
    expect((await at.verify()).problems).toEqual([]);
  }
  async function lists(name: string): Promise<boolean> {
    for await (const each of at.objects.list('')) if (each === name) return true;
    return false;
  }

  it('that lists stale: what a listing lacks is found; control: what is really missing stops everything', async () => {
    const first = manifestName(P0, 0 as Offset);
    await at.pass();
    at.objects.hide(...at.objects.names());
    expect(await lists(first)).toBe(false);
    await later('third');
    expect(await at.pass()).toMatchObject({ segmentCount: 1, failedCount: 0 });
    at.objects.hide(...at.objects.names());
    await later('fourth');
    await Promise.all([at.compactor({}, 'one').pass(), at.compactor({ segmentMaxBytes: 2_000 }, 'two').pass()]);
    expect(at.errors).toEqual([]);
    await eachOnce();

    await later('fifth');
    const start = await at.startOf();
    at.objects.hide(...at.objects.names());
    at.objects.lose(first);
    await at.pass();
    expect(at.errors).toMatchObject([{ code: 'archive-gap' }]);
    expect(await at.startOf()).toBe(start);
  });

  it('that lists as it was once: what is gone is not missed, and what came since is not doubled', async () => {
    at.ports.store.failOnce('recordSegments', new UnavailableError('gone', 'The process died.'));
    await expect(at.compactor({ segmentMaxBytes: 2_000 }).pass()).rejects.toThrow();
    const manifest = manifestName(P0, 0 as Offset);
    at.objects.freezeList();
    at.objects.lose(manifest);
    expect(await lists(manifest)).toBe(true);
    at.errors = [];
    await later('third');
    await at.pass();
    await later('fourth');
    await Promise.all([at.compactor({}, 'one').pass(), at.compactor({ segmentMaxBytes: 2_000 }, 'two').pass()]);
    expect(at.errors).toEqual([]);
    await eachOnce();
  });

  it.each([0, 7 * 60_000])('of which each answer takes %s ms: several archive each event once', async (answerMs) => {
    const startedMs = at.ports.clock.nowMs();
    for (const operation of ['create', 'read', 'remove'] as const) {
      const call = at.objects[operation].bind(at.objects) as (...of: unknown[]) => Promise<unknown>;
      Object.assign(at.objects, {
        [operation]: async (...of: unknown[]) => {
          const answer = await call(...of);
          // Other work continues between two answers.
          at.ports.clock.jump(answerMs);
          await quiet(answerMs === 0 ? 1 : 30);
          return answer;
        },
      });
    }
    const compactors = [{}, { segmentMaxBytes: 2_000 }, { segmentMaxBytes: 3_000 }].map((policy, number) =>
      at.compactor(policy, `c${number}`),
    );
    await Promise.all(compactors.map((compactor) => compactor.pass()));
    await at.pass();
    expect(at.errors).toEqual([]);
    expect(at.ports.clock.nowMs() - startedMs).toBeGreaterThanOrEqual(answerMs * 3);
    await eachOnce();
  });
});

describe('nothing is trimmed', () => {
  const nothingTrimmed = async (code: string, said: RegExp): Promise<void> => {
    await at.pass().catch((error: unknown) => at.errors.push(error));
    expect(at.errors[0]).toMatchObject({ code });
    expect(String(at.errors[0])).toMatch(said);
    expect(await at.startOf()).toBe(0);
    expect(await at.ports.store.withoutRows([FIRST, SECOND])).toEqual([]);
  };
  const thenAll = async (): Promise<void> => {
    at.errors = [];
    await at.pass();
    expect(at.errors).toEqual([]);
    expect(await at.startOf()).toBe(stored.length);
  };

  it('while the object store is down', async () => {
    at.objects.fail(1);
    await nothingTrimmed('objects-unavailable', /objects/);
    await thenAll();
  });

  it('while it is full', async () => {
    at.objects.full = true;
    await nothingTrimmed('objects-unavailable', /full/);
    at.objects.heal();
    await thenAll();
  });

  it('where it gives other bytes than it was given', async () => {
    const create = at.objects.create.bind(at.objects);
    at.objects.create = async (name, bytes) => {
      at.objects.lie(name);
      return create(name, bytes);
    };
    await nothingTrimmed('segment-damaged', /other bytes|changed/);
    at.objects.heal();
    at.objects.create = create;
    await thenAll();
  });

  it('where it cuts them short', async () => {
    const create = at.objects.create.bind(at.objects);
    at.objects.create = async (name, bytes) => {
      at.objects.truncate(name);
      return create(name, bytes);
    };
    await nothingTrimmed('segment-damaged', /cut short/);
    at.objects.heal();
    at.objects.create = create;
    await thenAll();
  });

  it('where it acknowledges what it does not have', async () => {
    const create = at.objects.create.bind(at.objects);
    at.objects.create = async (name, bytes) => name.startsWith('manifests/') || create(name, bytes);
    await nothingTrimmed('archive-lost-write', /does not have it/);
    at.objects.create = create;
    await thenAll();
  });

  it('where the place holds another log’s segments', async () => {
    await at.pass();
    const value = Buffer.from(stored[0]!);
    value[value.length - 2]! ^= 1;
    at.replaceLog([value, ...stored.slice(1)]);
    await nothingTrimmed('archive-differs', /another log/);
  });

  it('where the manifest was tampered with', async () => {
    const trim = at.log.trim.bind(at.log);
    at.log.trim = async () => {
      at.log.trim = trim;
      throw new UnavailableError('gone', 'The process died.');
    };
    await expect(at.pass()).rejects.toThrow();
    const name = manifestName(P0, 0 as Offset);
    const manifest = JSON.parse(Buffer.from(at.objects.poll(name)!).toString()) as Record<string, unknown>;
    at.errors = [];
    at.objects.lose(name);
    await at.objects.create(name, Buffer.from(JSON.stringify({ ...manifest, chainAfter: 'f'.repeat(64) })));
    await nothingTrimmed('archive-differs', /chainAfter/);
    at.objects.lose(name);
    await at.objects.create(name, Buffer.from('{"v":1'));
    at.errors = [];
    await nothingTrimmed('manifest-damaged', /is not a manifest/);
    at.objects.lose(name);
    await thenAll();
  });

  it('while clocks disagree about the hot window', async () => {
    at.ports.store.clock = () => at.ports.clock.nowMs() + 61_000;
    await nothingTrimmed('clocks-apart', /61 s apart/);
    at.ports.store.clock = () => at.ports.clock.nowMs() - 61_000;
    at.errors = [];
    await nothingTrimmed('clocks-apart', /61 s apart/);
    at.ports.store.clock = () => at.ports.clock.nowMs() + 59_000;
    await thenAll();
  });

  it.each([0, -1, Number.NaN])('with a hot window of %s', (hotMs) => {
    expect(() => at.compactor({ hotMs })).toThrow(expect.objectContaining({ code: 'retention-invalid' }));
  });

  it('beyond the floor that the rows had (I7)', async () => {
    at.ports.store.partitions.get(P0)!.next = 4 as Offset;
    await at.pass();
    expect(await at.startOf()).toBe(4);
  });

  it('where the archive lacks what was trimmed before', async () => {
    await at.pass();
    await at.run('third');
    at.ports.clock.jump(HOT_MS + 1);
    at.objects.lose(manifestName(P0, 0 as Offset));
    const start = await at.startOf();
    await at.pass();
    expect(at.errors).toMatchObject([{ code: 'archive-gap' }]);
    expect(await at.startOf()).toBe(start);
    await expect(at.valuesFrom()).rejects.toThrow(CorruptError);
  });
});
