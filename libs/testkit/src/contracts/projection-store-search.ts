/** Owns the part of the contract about finding workflows among many. */

import type { Generation } from '@tidemark/core';
import type { StreamRow, WorkflowSearch } from '@tidemark/ports';
import { beforeEach, describe, expect, test } from 'vitest';
import {
  advance,
  batch,
  closingBatch,
  opened,
  openingBatch,
  partitionAt,
  streamRow,
  tenant,
  workflowNamed,
} from './projection-store-rows.ts';
import type { StoreUnderTest } from './store-under-test.ts';

const OTHER = 'other' as typeof tenant;
const generationAt = (count: number): Generation => count as Generation;

/** One a partition, each opened a second after the one before. */
const FOUND: readonly Partial<StreamRow>[] = [
  { workflow: workflowNamed('order-1'), definition: 'order', user: 'ana', tags: ['env:prod', 'gold'] },
  { workflow: workflowNamed('order-2'), definition: 'order', session: 's1', user: 'ben', tags: ['env:test'] },
  { workflow: workflowNamed('refund_Ä3'), definition: 'refund', session: 's1', user: 'ben' },
  { workflow: workflowNamed('order-4'), definition: 'order', tenant: OTHER, tags: ['env:prod'] },
  { workflow: workflowNamed('hidden'), definition: 'tidemark.memory' },
  { workflow: workflowNamed('order-6'), definition: 'order', status: 'completed', closedInGeneration: 1 as Generation },
];

export function testSearch(under: StoreUnderTest): void {
  describe('workflows among many', () => {
    beforeEach(async () => {
      await under.partitions(FOUND.length);
      const rows = FOUND.map((row, at) => ({ ...streamRow(row.workflow!, at), openedAtMs: 1_000 * (at + 1), ...row }));
      await under.store.apply(
        batch({
          partitions: rows.map((_, at) => advance(at, 0, 1)),
          opened: rows.map((row, at) => opened(row.workflow, at, 1, row.tenant)),
          streams: rows,
        }),
      );
    });

    const found = async (query: Partial<WorkflowSearch>): Promise<readonly string[]> =>
      (await under.store.search({ limit: 100, ...query })).map(({ workflow }) => workflow);

    test('are listed newest first, without the system its own', async () => {
      expect(await found({})).toEqual(['order-6', 'order-4', 'refund_Ä3', 'order-2', 'order-1']);
      expect(await found({ definition: 'tidemark.memory' })).toEqual(['hidden']);
    });

    test('are found and counted by failures that are alike, and without children and undos', async () => {
      const failing = (name: string, at: number, fingerprint: string, more: Partial<StreamRow> = {}) => ({
        ...streamRow(workflowNamed(name), at),
        ...{ openedAtMs: 100 + at, state: `{"failure":{"fingerprint":"${fingerprint}","code":"boom"}}`, ...more },
      });
      const [one, two] = ['0123456789ab', 'fedcba987654'] as const;
      const rows = [
        failing('f-1', 0, one, { status: 'parked' }),
        failing('f-1~1.0', 1, one),
        failing('f-1~undo', 2, two, { status: 'failed', tenant: OTHER }),
        failing('f-1~1.0~2', 3, one, { status: 'failed' }),
      ];
      const from = rows.map((_, at) => advance(at, 1, 2));
      const openings = rows.map((row, at) => opened(row.workflow, at, 1, row.tenant));
      await under.store.apply(batch({ partitions: from, opened: openings, streams: rows }));
      expect(await found({ failure: one })).toEqual(['f-1~1.0~2', 'f-1~1.0', 'f-1']);
      expect(await found({ failure: one, roots: true })).toEqual(['f-1']);
      expect(await found({ tenant, roots: true })).toEqual(['order-6', 'refund_Ä3', 'order-2', 'order-1', 'f-1']);
      const counts = { count: 3, parkedCount: 1, failedCount: 1, newest: 'f-1~1.0~2' };
      expect(await under.other.failureCounts({}, 9)).toMatchObject([
        { fingerprint: one, ...counts },
        { fingerprint: two, count: 1, newest: 'f-1~undo' },
      ]);
      expect(await under.store.failureCounts({ tenant: OTHER }, 9)).toMatchObject([{ fingerprint: two, count: 1 }]);
      expect(await under.store.failureCounts({ tenant, definition: 'none' }, 9)).toEqual([]);
      const [first] = await under.store.failureCounts({}, 1);
      expect(JSON.parse(first!.state)).toMatchObject({ failure: { code: 'boom' } });
    });

    test('are found by what they are, each and together', async () => {
      expect(await found({ tenant: OTHER })).toEqual(['order-4']);
      expect(await found({ definition: 'order', tenant })).toEqual(['order-6', 'order-2', 'order-1']);
      expect(await found({ status: 'completed' })).toEqual(['order-6']);
      expect(await found({ session: 's1' })).toEqual(['refund_Ä3', 'order-2']);
      expect(await found({ user: 'ben', definition: 'order' })).toEqual(['order-2']);
      expect(await found({ tags: ['env:prod'] })).toEqual(['order-4', 'order-1']);
      expect(await found({ tags: ['env:prod', 'gold'] })).toEqual(['order-1']);
      expect(await found({ openedFromMs: 2_000, openedToMs: 4_000 })).toEqual(['refund_Ä3', 'order-2']);
      expect(await found({ reason: 'none' })).toEqual([]);
    });

    test('are found by words that begin words of their names', async () => {
      expect(await found({ text: 'ORD' })).toEqual(['order-6', 'order-4', 'order-2', 'order-1']);
      expect(await found({ text: 'order prod' })).toEqual(['order-4', 'order-1']);
      expect(await found({ text: 'ä3' })).toEqual(['refund_Ä3']);
      expect(await found({ text: 'rder' })).toEqual([]);
      expect(await found({ text: "'; drop table workflows; --" })).toEqual([]);
      expect(await found({ text: '& | ! :* <->' })).toEqual([]);
    });

    test('are told page by page, each once', async () => {
      const pages: string[] = [];
      let after: WorkflowSearch['after'];
      for (;;) {
        const page = await under.store.search({ limit: 2, after });
        if (page.length === 0) break;
        pages.push(...page.map(({ workflow }) => workflow));
        after = page.at(-1);
      }
      expect(pages).toEqual(await found({}));
    });

    test('come with their names, which later writes leave', async () => {
      const again = { ...streamRow('order-1', 0), ...FOUND[0], openedAtMs: 1_000, lastAction: 'went on' };
      await under.store.apply(batch({ partitions: [advance(0, 1, 2)], streams: [again] }));
      const [row] = await under.store.search({ limit: 1, user: 'ana' });
      expect(row).toMatchObject({ user: 'ana', tags: ['env:prod', 'gold'], lastAction: 'went on' });
      expect(row).not.toHaveProperty('session');
      expect(await under.store.workflow(workflowNamed('order-2'))).toMatchObject({ session: 's1', user: 'ben' });
      expect(await found({ text: 'gold' })).toEqual(['order-1']);
    });

    test('are counted by status, of one tenant or of all', async () => {
      const counts = async (of: typeof tenant | null) =>
        Object.fromEntries((await under.store.statusCounts(of)).map(({ status, count }) => [status, count]));
      expect(await counts(null)).toEqual({ open: 4, completed: 1 });
      expect(await counts(OTHER)).toEqual({ open: 1 });
    });

    test('that wait for a person are counted by reason: all of them, so that many of one hide none of another', async () => {
      const [base, count] = [FOUND.length, 1_001];
      await under.partitions(base + 1);
      const parked = (name: string, reason: string | null, openedAtMs: number, part: Partial<StreamRow> = {}) => ({
        ...streamRow(name, base),
        ...{ status: 'parked' as const, reason, openedAtMs, runnable: false, ...part },
      });
      const rows = [
        parked('oldest', 'crash-limit', 1),
        parked('older', null, 2, { tenant: OTHER }),
        parked('system', 'crash-limit', 3, { definition: 'tidemark.memory' }),
        ...Array.from({ length: count }, (_, at) => parked(`budget-${at}`, 'budget_exceeded', 10_000 + at)),
      ];
      const openings = rows.map((row) => opened(row.workflow, base, 1, row.tenant));
      await under.store.apply(batch({ partitions: [advance(base, 0, 1)], opened: openings, streams: rows }));
      const all = [
        { reason: 'budget_exceeded', count },
        { reason: 'crash-limit', count: 1 },
        { reason: null, count: 1 },
      ];
      expect(await under.store.parkedCounts(10)).toEqual(all);
      expect(await under.store.parkedCounts(1)).toEqual(all.slice(0, 1));
    });

    test('are counted by queue, of one tenant or of all', async () => {
      const queues = async (of: typeof tenant | null, limit = 10) =>
        (await under.store.queueCounts(of, limit)).map(
          (queue) => `${queue.definition} ${queue.tenant}: ${queue.readyCount} ${queue.runningCount}`,
        );
      const all = await queues(null);
      expect(await queues(OTHER)).toEqual(all.filter((queue) => queue.includes(` ${OTHER}: `)));
      expect(await queues(null, 1)).toEqual(all.slice(0, 1));
      expect(all).toEqual(['order acme: 3 0', 'order other: 1 0', 'refund acme: 1 0']);
    });

    test('of some partitions are told while they are open, and what closed there since', async () => {
      const moving = async (since: readonly (readonly [number, number])[], limit = 100) =>
        (await under.store.moving(new Map(since.map(([at, from]) => [partitionAt(at), generationAt(from)])), limit))
          .map(({ workflow }) => workflow)
          .sort();
      const all = FOUND.map((_, at) => [at, 1] as const);
      expect(await under.store.generations()).toEqual(new Map(all));
      expect(await moving([0, 3, 5].map((at) => [at, 1]))).toEqual(['order-1', 'order-4', 'order-6']);
      // One closes where it opened, and two more follow, of which the last stays open.
      await under.store.apply(closingBatch('order-1', 0, 1));
      await under.store.apply(openingBatch('second', 0, 2, 2));
      await under.store.apply(closingBatch('second', 0, 3, 2));
      await under.store.apply(openingBatch('third', 0, 4, 3));
      const changed = [0, 5].map(partitionAt);
      expect([...(await under.store.generations(changed))].sort()).toEqual([
        [0, 3],
        [5, 1],
      ]);
      expect(await moving([[0, 1]])).toEqual(['order-1', 'second', 'third']);
      expect(await moving([[0, 2]])).toEqual(['second', 'third']);
      const both = [
        [0, 3],
        [5, 2],
      ] as const;
      expect(await moving(both)).toEqual(['third']);
      expect(await moving([[0, 1]], 2)).toHaveLength(2);
      expect(await moving([])).toEqual([]);
    });
  });
}
