/** Owns the part of the contract about tiers: floors, segments, and rows of history that are deleted and restored. */

import { type Generation, type Offset, type Sequence, type TenantId, taskId } from '@tidemark/core';
import type { ProjectionBatch, SegmentRow } from '@tidemark/ports';
import { describe, expect, test } from 'vitest';
import { dump } from './projection-store-dump.ts';
import * as rows from './projection-store-rows.ts';
import type { StoreUnderTest } from './store-under-test.ts';

const CLOSED_AT_MS = 1_700_000_000_000;
const LATER_MS = CLOSED_AT_MS + 1;
const everything = { from: 0 as Sequence, limit: 1_000 };

const segment = (partition: number, from: number, to: number, part: Partial<SegmentRow> = {}): SegmentRow => ({
  partition: rows.partitionAt(partition),
  from: rows.at(from),
  to: rows.at(to),
  object: `segments/${partition}/${from}`,
  digest: 'a'.repeat(64),
  bytes: 100,
  rawBytes: 1_000,
  eventCount: to - from,
  firstAtMs: 1.5,
  lastAtMs: 2,
  writtenAtMs: 3,
  tier: 'warm',
  rowsDropped: false,
  workflows: [],
  ...part,
});

const part = (workflow: string, closes = true) => ({
  workflow: rows.workflowNamed(workflow),
  tenant: rows.tenant,
  eventCount: 2,
  rawBytes: 900,
  opens: true,
  closes,
});

const PARTS_TEXT = { digest: 'c'.repeat(64), text: '[{"type":"reasoning"}]' };

/** A history of all kinds of rows, closed; what the projector would write of it in one batch. */
function wholeHistory(workflow: string, partition: number): ProjectionBatch {
  const opening = rows.openingBatch(workflow, partition);
  const closing = rows.closingBatch(workflow, partition, 1);
  const task = taskId(0, 0);
  const place = { workflow: rows.workflowNamed(workflow), sequence: 1 as Sequence };
  const text = { workflow: place.workflow, digest: 'b'.repeat(64), text: 'said' };
  const fragment = { ...place, index: 0, type: 'user_message' as const, digest: text.digest };
  return rows.batch({
    ...closing,
    partitions: [rows.advance(partition, 0, 4)],
    opened: opening.opened,
    streams: closing.streams.map((stream) => ({ ...stream, state: `{"of":"${workflow}"}` })),
    checkpoints: [...opening.checkpoints, rows.checkpointRow(workflow, 1)],
    effects: [rows.effectRow(workflow, task, 'one', { status: 'done' })],
    events: [rows.eventRow(workflow, 3)],
    context: {
      fragments: [
        { ...fragment, call: null, tool: null, covers: null, parts: null },
        {
          ...{ ...fragment, index: 1, call: null, tool: null, covers: null },
          parts: { provider: 'one', spans: 1, digest: PARTS_TEXT.digest },
        },
      ],
      texts: [text, { ...PARTS_TEXT, workflow: place.workflow }],
      scopes: [{ ...place, isWhole: true, change: '{"put":{}}' }],
      spends: [],
      sessions: [],
    },
  });
}

export function testTiers(under: StoreUnderTest): void {
  const floorsBy = async (hotBeforeMs: number, stateless: readonly string[] = []): Promise<readonly number[]> =>
    (await under.store.floors(hotBeforeMs, stateless)).map(({ floor }) => floor);

  const seen = async (workflow: string) => {
    const id = rows.workflowNamed(workflow);
    const { store } = under;
    return {
      checkpoints: await store.checkpoints(id, everything),
      effects: await store.effects(id),
      events: await store.events(id, 100),
      fragments: await store.fragments(id, 9 as Sequence),
      texts: await store.texts(id, ['b'.repeat(64)]),
      scopes: await store.scopes(id, 9 as Sequence),
    };
  };
  const nothing = { checkpoints: [], effects: [], events: [], fragments: [], texts: [], scopes: [] };

  describe('floors', () => {
    test('of a partition without workflows, the next offset; of an open one, its newest whole belief', async () => {
      await under.partitions(3);
      await under.store.apply(rows.openingBatch('opened', 1));
      await under.store.apply(rows.openingBatch('going', 2));
      const checkpoints = [
        rows.checkpointRow('going', 1, { belief: 'snapshot', offset: rows.at(4) }),
        rows.checkpointRow('going', 2, { offset: rows.at(7) }),
      ];
      const streams = [rows.streamRow('going', 2, { sequence: 2 as Sequence, beliefSequence: 1 as Sequence })];
      await under.store.apply(rows.batch({ partitions: [rows.advance(2, 1, 9)], streams, checkpoints }));
      expect(await under.store.floors(LATER_MS, [])).toEqual([
        { partition: 0, next: 0, floor: 0 },
        { partition: 1, next: 1, floor: 0 },
        { partition: 2, next: 9, floor: 4 },
      ]);
      expect(await floorsBy(LATER_MS, ['audit'])).toEqual([0, 1, 9]);
    });

    test('what closed within the hot window holds its whole history; what closed before, nothing', async () => {
      await under.partitions(1);
      await under.store.apply(rows.openingBatch('first', 0));
      await under.store.apply(rows.closingBatch('first', 0, 1));
      await under.store.apply(rows.openingBatch('second', 0, 2, 2));
      expect(await floorsBy(CLOSED_AT_MS - 1)).toEqual([0]);
      expect(await floorsBy(LATER_MS)).toEqual([2]);
    });
  });

  describe('segments', () => {
    test('are recorded once, found by partition, workflow and tenant, and change their tier alone', async () => {
      const [one, two] = [segment(1, 0, 5, { workflows: [part('a'), part('b', false)] }), segment(1, 5, 9)];
      await under.store.recordSegments([two, one]);
      await under.store.recordSegments([one]);
      expect(await under.other.segments({ limit: 10 })).toEqual([one, two]);
      expect(await under.other.segments({ limit: 1 })).toEqual([one]);
      expect(await under.store.segments({ partition: rows.partitionAt(0), limit: 10 })).toEqual([]);
      expect(await under.store.segments({ workflow: rows.workflowNamed('b'), limit: 10 })).toEqual([one]);
      expect(await under.store.segments({ tenant: rows.tenant, limit: 10 })).toEqual([one]);
      const recorded = [4, 5, 9].map((to) => under.store.recordedEvents(rows.partitionAt(1), rows.at(to)));
      expect(await Promise.all(recorded)).toEqual([0, 5, 9]);
      await under.store.recordSegments([{ ...one, bytes: 7 }]);
      expect(await under.store.segments({ limit: 1 })).toEqual([one]);
      await under.store.setTier(one, 'cold');
      expect(await under.store.segments({ limit: 1 })).toEqual([{ ...one, tier: 'cold' }]);
      await under.store.dropRows(one, []);
      await under.store.recordSegments([one]);
      expect(await under.store.segments({ rowsDropped: true, limit: 10 })).toEqual([
        { ...one, tier: 'cold', rowsDropped: true },
      ]);
      expect(await under.store.segments({ rowsDropped: false, limit: 10 })).toEqual([two]);
    });
  });

  describe('what grows old', () => {
    test('is found by tenant, tier and age, page by page', async () => {
      const other = { ...part('b'), tenant: 'other' as TenantId };
      const [one, two] = [segment(1, 0, 5, { workflows: [part('a')] }), segment(1, 5, 9, { workflows: [other] })];
      await under.store.recordSegments([one, two, segment(2, 0, 4, { lastAtMs: 50, workflows: [part('c')] })]);
      expect(await under.store.segmentTenants()).toEqual([rows.tenant, 'other']);
      const old = { tier: 'warm', beforeMs: 10, limit: 10 } as const;
      expect(await under.store.segments(old)).toEqual([one, two]);
      expect(await under.store.segments({ ...old, after: one })).toEqual([two]);
      expect(await under.store.segments({ ...old, tenant: rows.tenant })).toEqual([one]);
      // Written at 3: both its events and its writing must be that old.
      expect(await under.store.segments({ ...old, beforeMs: 3 })).toEqual([]);
      await under.store.setTier(two, 'deleted');
      expect(await under.store.segmentTenants()).toEqual([rows.tenant]);
      expect(await under.store.segments(old)).toEqual([one]);
    });

    test('is past once all of its workflows have ended before then', async () => {
      await under.partitions(2);
      await under.store.apply(wholeHistory('ended', 0));
      await under.store.apply(rows.openingBatch('open', 1));
      const [ended, both] = [
        segment(0, 0, 4, { workflows: [part('ended')] }),
        segment(1, 0, 4, { workflows: [part('ended'), part('open', false)] }),
      ];
      await under.store.recordSegments([ended, both]);
      expect(await under.store.isPast(ended, LATER_MS)).toBe(true);
      expect(await under.store.isPast(ended, CLOSED_AT_MS)).toBe(false);
      expect(await under.store.isPast(both, LATER_MS)).toBe(false);
    });
  });

  describe('forks', () => {
    const forkOf = (workflow: string) => ({
      fork: { workflow: rows.workflowNamed(workflow), sequence: 1 as Sequence, effects: 'replay' as const },
    });

    test('are told with their bases, and keep those from being past until they are deleted themselves', async () => {
      await under.partitions(3);
      await under.store.apply(wholeHistory('base', 0));
      const [opening, closing] = [rows.openingBatch('fork', 1), rows.closingBatch('fork', 1, 1)];
      const streams = opening.streams.map((stream) => ({ ...stream, ...forkOf('base') }));
      await under.store.apply({ ...opening, streams });
      const base = segment(0, 0, 4, { workflows: [part('base')] });
      await under.store.recordSegments([base]);

      const [fork, name] = [rows.workflowNamed('fork'), rows.workflowNamed('base')];
      expect(await under.other.workflow(fork)).toMatchObject(forkOf('base'));
      expect(await under.store.workflow(name)).not.toHaveProperty('fork');
      expect(await under.store.forksOf(name, 10)).toEqual([fork]);
      expect(await under.store.forksOf(fork, 10)).toEqual([]);
      expect(await under.store.isPast(base, LATER_MS)).toBe(false);
      const uses = await under.store.storage('workflow', 10);
      expect(uses.map((use) => [use.name, use.forkOf])).toEqual([
        ['base', undefined],
        ['fork', 'base'],
      ]);

      // A later batch repeats it.
      await under.store.apply({
        ...closing,
        streams: closing.streams.map((stream) => ({ ...stream, ...forkOf('base') })),
      });
      expect(await under.store.workflow(fork)).toMatchObject({ status: 'completed', ...forkOf('base') });
      const own = segment(1, 0, 2, { workflows: [part('fork')] });
      await under.store.recordSegments([own]);
      await under.store.setTier(own, 'cold');
      expect(await under.store.isPast(base, LATER_MS)).toBe(false);
      expect(await under.store.isPast(own, LATER_MS)).toBe(true);
      await under.store.setTier(own, 'deleted');
      expect(await under.store.forksOf(name, 10)).toEqual([]);
      expect(await under.store.isPast(base, LATER_MS)).toBe(true);
    });

    test('are listed by id, as many as are asked for', async () => {
      await under.partitions(4);
      await under.store.apply(rows.openingBatch('base', 0));
      for (const [at, name] of ['c', 'a', 'b'].entries()) {
        const opening = rows.openingBatch(name, at + 1);
        const streams = opening.streams.map((stream) => ({ ...stream, ...forkOf('base') }));
        await under.store.apply({ ...opening, streams });
      }
      const base = rows.workflowNamed('base');
      expect(await under.store.forksOf(base, 10)).toEqual(['a', 'b', 'c']);
      expect(await under.store.forksOf(base, 2)).toEqual(['a', 'b']);
    });
  });

  describe('rows of history', () => {
    test('go, and come back as they were; who, when and how much stays', async () => {
      await under.partitions(1);
      const whole = wholeHistory('first', 0);
      await under.store.apply(whole);
      await under.store.apply(rows.openingBatch('second', 0, 4, 2));
      const [before, kept] = [await dump(under.store), await seen('first')];
      const [second] = [await seen('second')];
      expect(kept.fragments[1]?.parts).toEqual({ provider: 'one', spans: 1, ...PARTS_TEXT });
      const first = rows.workflowNamed('first');

      await under.store.dropRows(segment(0, 0, 4), [first]);
      expect(await seen('first')).toEqual(nothing);
      expect(await seen('second')).toEqual(second);
      expect(await under.other.workflow(first)).toEqual(before.workflows[0]?.workflow);
      expect(await under.store.withoutRows([first, rows.workflowNamed('second')])).toEqual([first]);
      expect(await floorsBy(CLOSED_AT_MS - 1)).toEqual([4]);
      expect((await dump(under.store)).partitions).toEqual(before.partitions);

      await under.store.restoreRows(whole, [first], 5_000);
      await under.store.restoreRows(whole, [first], 6_000);
      expect(await seen('first')).toEqual(kept);
      expect(await dump(under.store)).toEqual(before);
      // Everything before it is archived.
      expect(await floorsBy(CLOSED_AT_MS - 1)).toEqual([4]);

      expect(await under.store.dropRestored(5_000, 10)).toBe(0);
      expect(await under.store.dropRestored(5_001, 10)).toBe(1);
      expect(await seen('first')).toEqual(nothing);
      expect(await under.store.dropRestored(9_000, 10)).toBe(0);
    });

    test('of an open workflow stay, and so does the state from which its partition is folded', async () => {
      await under.partitions(2);
      await under.store.apply(rows.openingBatch('open', 0));
      await under.store.apply(wholeHistory('newest', 1));
      const [open, folded] = [await seen('open'), await under.store.loadPartitions([rows.partitionAt(1)])];
      await under.store.dropRows(segment(0, 0, 4), [rows.workflowNamed('open')]);
      await under.store.dropRows(segment(1, 0, 4), [rows.workflowNamed('newest')]);
      expect(await seen('open')).toEqual(open);
      expect(await under.store.withoutRows([rows.workflowNamed('open')])).toEqual([]);
      expect(await under.store.loadPartitions([rows.partitionAt(1)])).toEqual(folded);
      expect(folded[0]).toMatchObject({ generation: 1 as Generation, streams: [{ state: '{"of":"newest"}' }] });
    });

    test('that are left out of a batch are as if they had gone, once a newer one has opened', async () => {
      await under.partitions(3);
      const all = ['left', 'newest', 'taken'].map((name) => rows.workflowNamed(name));
      const [left, newest, taken] = all as [(typeof all)[number], (typeof all)[number], (typeof all)[number]];
      const without = (workflow: string, partition: number, generation: number): ProjectionBatch => ({
        ...wholeHistory(workflow, partition),
        ...{ checkpoints: [], effects: [], events: [], context: undefined },
        partitions: [rows.advance(partition, 0, 4, generation)],
        archived: new Set([rows.workflowNamed(workflow)]),
      });
      await under.store.apply(without('left', 0, 2));
      await under.store.apply(without('newest', 1, 1));
      await under.store.apply({ ...wholeHistory('taken', 2), partitions: [rows.advance(2, 0, 4, 2)] });
      expect(await under.store.withoutRows(all)).toEqual([left, newest]);
      const [folded] = await under.store.loadPartitions([rows.partitionAt(1)]);
      expect(folded?.streams).toMatchObject([{ state: '{"of":"newest"}' }]);

      await under.store.apply(rows.openingBatch('next', 1, 4, 2));
      for (const [partition, workflow] of [left, newest, taken].entries()) {
        await under.store.dropRows(segment(partition, 0, 4), [workflow]);
        expect(await seen(workflow)).toEqual(nothing);
      }
      expect(await under.store.withoutRows(all)).toEqual(all);
      const [gone, dropped] = [await under.store.workflow(left), await under.store.workflow(taken)];
      expect({ ...gone, workflow: '', partition: 0 }).toEqual({ ...dropped, workflow: '', partition: 0 });
      await under.store.restoreRows(wholeHistory('left', 0), [left], 5_000);
      expect(await seen('left')).toMatchObject({ checkpoints: [{ sequence: 0 }, { sequence: 1 }] });
    });

    test('of those whose end is in a segment of their partition are told', async () => {
      await under.store.recordSegments([
        segment(0, 0, 5, { workflows: [part('a'), part('b', false)] }),
        segment(1, 0, 5, { workflows: [part('c')] }),
        segment(0, 5, 9, { workflows: [part('b')] }),
      ]);
      const of = (workflow: string, partition: number) => ({
        workflow: rows.workflowNamed(workflow),
        partition: rows.partitionAt(partition),
      });
      const asked = [of('a', 0), of('b', 0), of('c', 0), of('c', 1), of('d', 0)];
      expect(await under.store.endedInSegments(asked)).toEqual([of('a', 0), of('b', 0), of('c', 1)]);
      expect(await under.store.endedInSegments([])).toEqual([]);
    });

    test('rejected records go with the stretch that they are in', async () => {
      await under.partitions(2);
      const rejected = [rows.rejectedRow(0, 1), rows.rejectedRow(0, 4), rows.rejectedRow(1, 1)];
      await under.store.apply(rows.batch({ partitions: [rows.advance(0, 0, 5), rows.advance(1, 0, 2)], rejected }));
      await under.store.dropRows({ partition: rows.partitionAt(0), from: 0 as Offset, to: 4 as Offset }, []);
      const left = (await under.store.rejected(10)).map(({ partition, offset }) => [partition, offset]);
      expect(left.sort()).toEqual([
        [0, 4],
        [1, 1],
      ]);
    });
  });

  test('what is stored is told by tenant and by workflow, in rows and in segments', async () => {
    await under.partitions(2);
    await under.store.apply(wholeHistory('first', 0));
    await under.store.apply(rows.openingBatch('second', 1));
    const [hot] = await under.store.storage('tenant', 10);
    expect(hot).toMatchObject({ name: 'acme', workflowCount: 2, archivedEventCount: 0, archivedBytes: 0 });
    expect(hot?.hotBytes).toBeGreaterThan(0);
    expect(await under.store.storage('workflow', 1, 'acme' as TenantId)).toMatchObject([{ name: 'first' }]);
    expect(await under.store.storage('workflow', 10, 'globex' as TenantId)).toEqual([]);
    await under.store.recordSegments([segment(0, 0, 4, { workflows: [part('first')] })]);
    await under.store.dropRows(segment(0, 0, 4), [rows.workflowNamed('first')]);
    // 900 of the segment's 1,000 raw bytes are its own.
    expect(await under.store.storage('workflow', 1)).toEqual([
      {
        name: 'first',
        workflowCount: 1,
        hotBytes: 0,
        archivedEventCount: 2,
        archivedRawBytes: 900,
        archivedBytes: 90,
      },
    ]);
    await under.store.setTier(segment(0, 0, 4), 'deleted');
    expect(await under.store.storage('workflow', 1, 'acme' as TenantId)).toMatchObject([{ archivedBytes: 0 }]);
  });

  test('the store tells its own time', async () => {
    const beforeMs = Date.now();
    const reportedMs = await under.store.nowMs();
    expect(Math.abs(reportedMs - beforeMs)).toBeLessThan(60_000);
  });
}
