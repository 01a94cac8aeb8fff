/** Owns the part of the contract about readiness (P3) and placement (architecture.md, sections 2 and 10, case 2). */

import type { Generation, TenantId, WorkflowId } from '@tidemark/core';
import type { Placement, RowStore } from '@tidemark/ports';
import { describe, expect, test } from 'vitest';
import * as rows from './projection-store-rows.ts';
import type { StoreUnderTest } from './store-under-test.ts';

const rebuilding = { name: 'UnavailableError', code: 'store-rebuilding' };
const places = (placed: Awaited<ReturnType<RowStore['place']>>): unknown[] =>
  placed.map((each) =>
    'takenBy' in each
      ? [each.workflow, 'taken by', each.takenBy]
      : 'refusedBy' in each
        ? [each.workflow, 'refused by', each.refusedBy]
        : [each.workflow, each.partition, each.generation, each.created],
  );
const other = 'umbrella' as TenantId;

function testRules(under: StoreUnderTest): void {
  const limited = (name: string, tenant?: TenantId) =>
    rows.request(name, { isLimited: true, ...(tenant !== undefined && { tenant }) });

  describe('rules', () => {
    test('no more limited requests are placed than may be live, of a tenant and of all; those that are there are answered', async () => {
      await under.partitions(8);
      const rules = { tenantOpenMax: 2, openMax: 3 };
      expect(
        places(
          await under.store.place(
            ['a', 'b', 'c'].map((name) => limited(name)),
            rules,
          ),
        ),
      ).toEqual([
        ['a', 0, 1, true],
        ['b', 1, 1, true],
        ['c', 'refused by', 'tenantOpenMax'],
      ]);
      const more = [limited('a'), limited('d'), limited('e', other), limited('f', other), rows.request('own')];
      expect(places(await under.other.place(more, rules))).toEqual([
        ['a', 0, 1, false],
        ['d', 'refused by', 'tenantOpenMax'],
        ['e', 2, 1, true],
        ['f', 'refused by', 'openMax'],
        ['own', 3, 1, true],
      ]);
      expect(places(await under.store.place([limited('c')]))).toEqual([['c', 4, 1, true]]);
    });

    test('of many who start at once exactly as many are placed as the rule allows', async () => {
      await under.partitions(32);
      const starts = Array.from({ length: 24 }, (_, n) =>
        (n % 2 ? under.store : under.other).place([limited(`w-${n}`)], { tenantOpenMax: 7 }),
      );
      const placed = (await Promise.all(starts)).flat();
      expect(placed.filter((each) => 'created' in each)).toHaveLength(7);
      expect(placed.filter((each) => 'refusedBy' in each)).toHaveLength(17);
    });

    test('of the last free partitions a tenant takes more than one while it has few', async () => {
      await under.partitions(20);
      const flood = Array.from({ length: 20 }, (_, n) => rows.request(`flood-${n}`));
      expect(await under.store.place(flood, { keepFreeCount: 12 })).toHaveLength(8);
      const small = Array.from({ length: 9 }, (_, n) => rows.request(`small-${n}`, { tenant: other }));
      // One after the other: rows say what it has.
      const counts: number[] = [];
      for (const each of small) counts.push((await under.other.place([each], { keepFreeCount: 12 })).length);
      expect(counts).toEqual([1, 1, 1, 0, 0, 0, 0, 0, 0]);
    });

    test("one tenant's backlog leaves partitions to those that have none", async () => {
      await under.partitions(6);
      const flood = Array.from({ length: 6 }, (_, n) => rows.request(`flood-${n}`));
      expect(await under.store.place(flood, { keepFreeCount: 2 })).toHaveLength(4);
      expect(
        await under.store.place(
          flood.map((each) => ({ ...each, mode: 'shared' as const })),
          { keepFreeCount: 2 },
        ),
      ).toHaveLength(6);
      const newTenant = rows.request('newTenant', { tenant: other });
      expect(places(await under.other.place([newTenant], { keepFreeCount: 2 }))).toEqual([['newTenant', 4, 1, true]]);
    });
  });
}

export function testPlacement(under: StoreUnderTest): void {
  testRules(under);
  describe('readiness', () => {
    test('a store without partitions is not ready, and places nothing (P3)', async () => {
      expect(await under.store.ready()).toBe(false);
      expect(await under.store.markReady()).toBe(false);
      await expect(under.store.place([rows.request('w')])).rejects.toMatchObject(rebuilding);
      await under.store.addPartitions([]);
      expect(await under.store.ready()).toBe(false);
    });

    test('is ready at once where the log is empty, and once everything is folded where it is not', async () => {
      await under.partitions(2);
      expect(await under.other.ready()).toBe(true);
      await under.store.addPartitions([{ partition: rows.partitionAt(2), start: rows.at(3), rebuildTo: rows.at(5) }]);
      expect((await under.store.positions()).get(rows.partitionAt(2))).toBe(3);
      expect(await under.other.ready()).toBe(false);
      expect(await under.store.markReady()).toBe(false);
      await expect(under.store.place([rows.request('w')])).rejects.toMatchObject(rebuilding);
      await under.store.apply(rows.openingBatch('w', 2, 3));
      expect(await under.store.markReady()).toBe(false);
      await under.store.apply(rows.batch({ partitions: [rows.advance(2, 4, 5)] }));
      expect(await under.store.ready()).toBe(false);
      expect(await under.store.markReady()).toBe(true);
      expect(await under.other.ready()).toBe(true);
    });

    test('partitions that are there already stay as they are', async () => {
      await under.partitions(2);
      await under.store.apply(rows.openingBatch('w', 1));
      await Promise.all([under.partitions(3), under.partitions(3)]);
      await under.other.addPartitions([{ partition: rows.partitionAt(1), start: rows.at(9), rebuildTo: rows.at(9) }]);
      expect([...(await under.store.positions()).values()]).toEqual([0, 1, 0]);
      expect(await under.store.ready()).toBe(true);
    });
  });

  describe('new partitions', () => {
    test('begin after what was folded of them: their first placement names the next generation', async () => {
      const folded = { start: rows.at(1), rebuildTo: rows.at(1), generation: 1 as Generation };
      await under.store.addPartitions([{ partition: rows.partitionAt(0), ...folded }]);
      expect(await under.store.ready()).toBe(true);
      expect(places(await under.store.place([rows.request('w')]))).toEqual([['w', 0, 2, true]]);
      expect(await under.store.loadPartitions([rows.partitionAt(0)])).toMatchObject([{ next: 1, generation: 1 }]);
    });

    test('are not added to another making of the store than was looked at', async () => {
      const storeId = await under.store.storeId();
      expect(await under.other.storeId()).toBe(storeId);
      const first = { partition: rows.partitionAt(0), start: rows.at(0), rebuildTo: rows.at(0) };
      await under.store.addPartitions([first], '00000000-0000-0000-0000-000000000000');
      expect((await under.store.positions()).size).toBe(0);
      await under.store.addPartitions([first], storeId);
      expect((await under.store.positions()).size).toBe(1);
    });
  });

  describe('place', () => {
    test('exclusive: free partitions in order, the first generation of each, and nothing when none is free', async () => {
      await under.partitions(2);
      const placed = await under.store.place(['a', 'b', 'c'].map((name) => rows.request(name)));
      expect(places(placed)).toEqual([
        ['a', 0, 1, true],
        ['b', 1, 1, true],
      ]);
      expect(placed[0]).toMatchObject({
        tenant: rows.tenant,
        mode: 'exclusive',
        opening: '{"workflow":"a"}',
        appended: false,
      });
      expect(await under.other.place([rows.request('d')])).toEqual([]);
      expect(await under.store.counts()).toMatchObject({ partitionCount: 2, openCount: 2, unappendedCount: 2 });
    });

    test('beside another: a free partition, or else that of the other, while it lives there with room, among its own tenant', async () => {
      await under.partitions(3);
      const beside = (name: string, of: string, tenant = rows.tenant) =>
        rows.request(name, { beside: of as WorkflowId, tenant });
      await under.store.place([rows.request('p'), rows.request('q')]);
      expect(places(await under.store.place([beside('p1', 'p'), beside('p2', 'p'), beside('q1', 'q')]))).toEqual([
        ['p1', 2, 1, true],
        ['p2', 0, 2, true],
        ['q1', 1, 2, true],
      ]);
      // Where it lies is decided for good.
      expect(places(await under.other.place([beside('p2', 'q')]))).toEqual([['p2', 0, 2, false]]);
      const more = ['p3', 'p4', 'p5', 'p6', 'p7', 'p8', 'p9'].map((name) => beside(name, 'p'));
      const refused = [beside('other', 'p', other), beside('lost', 'nobody'), rows.request('alone')];
      expect(places(await under.other.place([...refused, ...more]))).toEqual(
        ['p3', 'p4', 'p5', 'p6', 'p7', 'p8'].map((name, n) => [name, 0, n + 3, true]),
      );
      await under.store.apply(rows.openingBatch('q', 1));
      await under.store.apply(rows.closingBatch('q', 1, 1));
      expect(await under.store.place([beside('q2', 'q')])).toEqual([]);
    });

    test('beside one workflow each is placed once, and there, by however many', async () => {
      await under.partitions(1);
      await under.store.place([rows.request('p')]);
      const names = ['p1', 'p2', 'p3', 'p4', 'p5', 'p6'];
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, n) =>
          (n % 2 === 0 ? under.store : under.other).place(
            (n % 3 === 0 ? names.toReversed() : names).map((name) => rows.request(name, { beside: 'p' as WorkflowId })),
          ),
        ),
      );
      const placed = answers.flat() as Placement[];
      expect(new Set(placed.map(({ partition }) => partition))).toEqual(new Set([0]));
      expect(new Set(placed.map(({ generation }) => generation))).toEqual(new Set([2, 3, 4, 5, 6, 7]));
      expect(placed.filter(({ created }) => created)).toHaveLength(6);
    });

    test('an id that is placed keeps its placement, whoever asks and how', async () => {
      await under.partitions(3);
      const [first] = await under.store.place([rows.request('a')]);
      const again = await under.other.place([
        rows.request('b'),
        rows.request('a', { tenant: other, mode: 'shared', opening: '{}' }),
        rows.request('b'),
      ]);
      expect(again).toHaveLength(2);
      expect(again).toContainEqual({ ...first, created: false });
      expect(places(again)).toContainEqual(['b', 1, 1, true]);
      expect(places(await under.store.place([rows.request('c')]))).toEqual([['c', 2, 1, true]]);
    });

    test('an id that is placed is told at once, and whether rows know it', async () => {
      await under.partitions(2);
      expect(await under.store.placed('a' as WorkflowId)).toBeUndefined();
      await under.store.place([rows.request('a', { tenant: other })]);
      expect(await under.other.placed('a' as WorkflowId)).toMatchObject({ tenant: other, appended: false });
      expect(await under.other.workflow('a' as WorkflowId)).toBeUndefined();
      await under.store.apply(rows.openingBatch('a', 0));
      expect(await under.other.placed('a' as WorkflowId)).toMatchObject({ tenant: other, appended: true });
    });

    test('of workflows of one session one is live at a time, and the others are told which', async () => {
      await under.partitions(8);
      const inSession = (name: string, session = 's', tenant = rows.tenant) =>
        rows.request(name, { session, tenant, mode: 'shared' });
      expect(places(await under.store.place([inSession('a'), inSession('b'), inSession('c', 't')]))).toEqual([
        ['a', 0, 1, true],
        ['b', 'taken by', 'a'],
        ['c', 1, 1, true],
      ]);
      // Its opening is not in the log yet; another tenant's session is another one.
      expect(places(await under.other.place([inSession('b'), inSession('a'), inSession('d', 's', other)]))).toEqual([
        ['b', 'taken by', 'a'],
        ['a', 0, 1, false],
        ['d', 2, 1, true],
      ]);
      const { opened, ...opening } = rows.openingBatch('a', 0);
      await under.store.apply({ ...opening, opened: [{ ...opened[0]!, session: 's' }] });
      expect(places(await under.store.place([inSession('b')]))).toEqual([['b', 'taken by', 'a']]);
      await under.store.apply(rows.closingBatch('a', 0, 1));
      expect(places(await under.store.place([inSession('b')]))).toEqual([['b', 0, 2, true]]);
    });

    test('placements that come back from the log have their sessions', async () => {
      await under.partitions(2);
      const { opened, ...opening } = rows.openingBatch('a', 0);
      await under.store.apply({ ...opening, opened: [{ ...opened[0]!, session: 's' }] });
      expect(places(await under.store.place([rows.request('b', { session: 's' })]))).toEqual([['b', 'taken by', 'a']]);
    });

    test('a placement that was made without its session has it once its opening is projected', async () => {
      await under.partitions(2);
      await under.store.place([rows.request('a')]);
      const { opened, ...opening } = rows.openingBatch('a', 0);
      await under.store.apply({ ...opening, opened: [{ ...opened[0]!, session: 's' }] });
      expect(places(await under.store.place([rows.request('b', { session: 's' })]))).toEqual([['b', 'taken by', 'a']]);
    });

    test('nobody is refused for a workflow that got no partition itself', async () => {
      await under.partitions(1);
      await under.store.place([rows.request('x')]);
      const both = ['a', 'b'].map((name) => rows.request(name, { session: 's' }));
      expect(await under.store.place(both)).toEqual([]);
    });

    test('of concurrent starts of one session one is placed', async () => {
      await under.partitions(8);
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, n) =>
          (n % 2 === 0 ? under.store : under.other).place([rows.request(`w${n}`, { session: 's' })]),
        ),
      );
      const placed = answers.flat().filter((each) => 'created' in each);
      expect(placed).toHaveLength(1);
      for (const each of answers.flat()) if ('takenBy' in each) expect(each.takenBy).toBe(placed[0]!.workflow);
    });

    test('of workflows that exclude each other the first is placed, in one call, in concurrent ones, and for good', async () => {
      await under.partitions(8);
      const pair = (name: string) => [
        rows.request(name, { unless: [`${name}-not` as WorkflowId] }),
        rows.request(`${name}-not`, { unless: [name as WorkflowId] }),
      ];
      const [first, second] = pair('a');
      expect(places(await under.store.place([first!, second!]))).toEqual([
        ['a', 0, 1, true],
        ['a-not', 'taken by', 'a'],
      ]);
      await under.store.apply(rows.openingBatch('a', 0));
      await under.store.apply(rows.closingBatch('a', 0, 1));
      expect(places(await under.other.place([second!, first!]))).toEqual([
        ['a-not', 'taken by', 'a'],
        ['a', 0, 1, false],
      ]);
      const answers = await Promise.all(
        pair('b').map((request, n) => (n === 0 ? under.store : under.other).place([request])),
      );
      expect(answers.flat().filter((each) => 'created' in each)).toHaveLength(1);
    });

    test('concurrent requests for one id give one placement and take one partition', async () => {
      await under.partitions(8);
      const names = ['a', 'b', 'c', 'd'];
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, n) =>
          (n % 2 === 0 ? under.store : under.other).place(
            (n % 3 === 0 ? names.toReversed() : names).map((name) => rows.request(name)),
          ),
        ),
      );
      const all = answers.flat() as Placement[];
      expect(all).toHaveLength(32);
      for (const name of names) {
        const mine = all.filter((placement) => placement.workflow === name);
        expect(new Set(mine.map((placement) => placement.partition)).size).toBe(1);
        expect(mine.filter((placement) => placement.created)).toHaveLength(1);
      }
      expect(await under.store.place(['e', 'f', 'g', 'h', 'i'].map((name) => rows.request(name)))).toHaveLength(4);
    });

    test('a partition is free again as soon as its workflow is closed, with the next generation', async () => {
      await under.partitions(1);
      await under.store.place([rows.request('a')]);
      await under.store.apply(rows.openingBatch('a', 0));
      expect(await under.store.place([rows.request('b')])).toEqual([]);
      await under.store.apply(rows.closingBatch('a', 0, 1));
      expect(places(await under.store.place([rows.request('b')]))).toEqual([['b', 0, 2, true]]);
      expect(places(await under.store.place([rows.request('a')]))).toEqual([['a', 0, 1, false]]);
      await under.store.apply(rows.openingBatch('b', 0, 2, 2));
      await under.store.apply(rows.closingBatch('b', 0, 3, 2));
      expect(places(await under.store.place([rows.request('c')]))).toEqual([['c', 0, 3, true]]);
    });

    test('shared: the fewest live workflows, never beside another tenant', async () => {
      await under.partitions(3);
      const shared = (name: string, tenant = rows.tenant) => rows.request(name, { mode: 'shared', tenant });
      expect(places(await under.store.place([rows.request('x', { tenant: other })]))).toEqual([['x', 0, 1, true]]);
      expect(places(await under.store.place(['a', 'b', 'c', 'd', 'e'].map((name) => shared(name))))).toEqual([
        ['a', 1, 1, true],
        ['b', 2, 1, true],
        ['c', 1, 2, true],
        ['d', 2, 2, true],
        ['e', 1, 3, true],
      ]);
      expect(
        places(await under.store.place([shared('f'), shared('y', other), shared('z', 'third' as TenantId)])),
      ).toEqual([
        ['f', 2, 3, true],
        ['y', 0, 2, true],
      ]);
      expect(await under.store.place([rows.request('g')])).toEqual([]);
    });

    test('a shared partition is free for another tenant once the last of its workflows closed', async () => {
      await under.partitions(1);
      await under.store.place(['a', 'b'].map((name) => rows.request(name, { mode: 'shared' })));
      await under.store.apply(rows.openingBatch('a', 0, 0, 1));
      await under.store.apply(rows.openingBatch('b', 0, 1, 2));
      await under.store.apply(rows.closingBatch('a', 0, 2, 2));
      const theirs = rows.request('c', { mode: 'shared', tenant: other });
      expect(await under.store.place([theirs])).toEqual([]);
      await under.store.apply(rows.closingBatch('b', 0, 3, 2));
      expect(places(await under.store.place([theirs]))).toEqual([['c', 0, 3, true]]);
    });

    test('an opening in the log completes its placement; one without a placement makes it (I6)', async () => {
      await under.partitions(2);
      await under.store.place([rows.request('a')]);
      expect(await under.store.unappended(0, 10)).toHaveLength(1);
      await under.store.apply(rows.openingBatch('a', 0));
      await under.store.apply(rows.openingBatch('lost', 1, 0, 7));
      expect(await under.store.unappended(0, 10)).toEqual([]);
      const known = await under.store.place([rows.request('lost'), rows.request('a')]);
      expect(known).toMatchObject([
        { workflow: 'lost', partition: 1, generation: 7, created: false, appended: true, opening: '' },
        { workflow: 'a', partition: 0, generation: 1, created: false, appended: true, opening: '' },
      ]);
      expect(await under.store.place([rows.request('b')])).toEqual([]);
      await under.store.apply(rows.closingBatch('lost', 1, 1, 7));
      expect(places(await under.store.place([rows.request('b')]))).toEqual([['b', 1, 8 as Generation, true]]);
    });

    test('openings that the fold has not accepted are found by age', async () => {
      await under.partitions(3);
      await under.store.place(['a', 'b', 'c'].map((name) => rows.request(name)));
      expect(await under.store.unappended(60_000, 10)).toEqual([]);
      expect(await under.other.unappended(0, 2)).toHaveLength(2);
      await under.store.apply(rows.openingBatch('b', 1));
      const left = await under.store.unappended(0, 10);
      expect(left.map(({ workflow, created, appended }) => [workflow, created, appended])).toEqual([
        ['a', false, false],
        ['c', false, false],
      ]);
      expect(left[0]?.opening).toBe('{"workflow":"a"}');
      expect((await under.store.counts()).unappendedCount).toBe(2);
      expect(await under.store.place([rows.request('b')])).toMatchObject([{ appended: true, created: false }]);
    });

    test('an opening whose generation the fold has passed gets the next one, so that it can be appended again', async () => {
      await under.partitions(1);
      await under.store.place([rows.request('a', { mode: 'shared' }), rows.request('b', { mode: 'shared' })]);
      const before = await under.store.unappended(0, 10);
      expect(before.map(({ workflow, generation }) => [workflow, generation])).toEqual([
        ['a', 1],
        ['b', 2],
      ]);
      // Someone else's opening took generation 1, as after a lost database.
      await under.store.apply(rows.openingBatch('other', 0, 0, 1));
      // However many start at once.
      const both = await Promise.all([under.store, under.other, under.store].map((store) => store.unappended(0, 10)));
      const after = await under.store.unappended(0, 10);
      for (const one of both) expect(one).toEqual(after);
      expect(after.map(({ workflow, generation }) => [workflow, generation])).toEqual([
        ['b', 2],
        ['a', 3],
      ]);
    });
  });
}
