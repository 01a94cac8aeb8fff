/** Owns the part of the contract about writing (P1, I5): what is refused, what is written, what closing does. */

import {
  type EventId,
  type Generation,
  type HolderId,
  type Position,
  type Sequence,
  type TenantId,
  taskId,
} from '@tidemark/core';
import type { ProjectionBatch } from '@tidemark/ports';
import { describe, expect, test } from 'vitest';
import { dump } from './projection-store-dump.ts';
import * as rows from './projection-store-rows.ts';
import type { StoreUnderTest } from './store-under-test.ts';

const first = taskId(0, 0);
const moved = { name: 'ConflictError', code: 'projection-moved' };
const all = { from: 0 as Sequence, limit: 1000 };

export function testApplying(under: StoreUnderTest): void {
  describe('apply', () => {
    test('ensure is harmless when repeated and concurrent', async () => {
      await under.partitions(1);
      await Promise.all([under.store.ensure(), under.other.ensure(), under.store.ensure()]);
      expect((await under.store.positions()).size).toBe(1);
    });

    test('moves rows and the next offset together (P1)', async () => {
      await under.partitions(2);
      await under.store.apply(rows.openingBatch('w', 1));
      expect([...(await under.other.positions())]).toEqual([
        [0, 0],
        [1, 1],
      ]);
      expect([...(await under.other.positions([1, 7].map(rows.partitionAt)))]).toEqual([[1, 1]]);
      expect((await under.other.positions([])).size).toBe(0);
      expect((await under.other.workflow(rows.workflowNamed('w')))?.partition).toBe(1);
    });

    test('refuses a batch that starts elsewhere, and writes nothing of it (P1)', async () => {
      await under.partitions(3);
      await under.store.apply(rows.openingBatch('w', 1));
      const before = await dump(under.store);
      const good = rows.openingBatch('good', 0);
      const refused: ProjectionBatch[] = [
        rows.openingBatch('w2', 1, 0, 2),
        rows.openingBatch('w2', 1, 2, 2),
        rows.batch({ ...good, partitions: [...good.partitions, rows.advance(1, 0, 1)] }),
        rows.batch({ ...good, partitions: [...good.partitions, rows.advance(7, 0, 1)] }),
        rows.batch({ partitions: [rows.advance(7, 0, 1)] }),
      ];
      for (const batch of refused) await expect(under.store.apply(batch)).rejects.toMatchObject(moved);
      expect(await dump(under.store)).toEqual(before);
    });

    test('refuses a batch that was folded on another making of the tables (P1)', async () => {
      await under.partitions(1);
      const batch = rows.openingBatch('w', 0);
      const other = { ...batch, storeId: '00000000-0000-0000-0000-000000000000' };
      await expect(under.store.apply(other)).rejects.toMatchObject(moved);
      await under.store.apply({ ...batch, storeId: await under.other.storeId() });
      expect((await under.store.positions()).get(rows.partitionAt(0))).toBe(1);
    });

    test('of concurrent batches from one offset exactly one is written (P1)', async () => {
      await under.partitions(1);
      const attempts = Array.from({ length: 8 }, (_, n) =>
        (n % 2 === 0 ? under.store : under.other).apply(
          rows.batch({ partitions: [rows.advance(0, 0, n + 1)], rejected: [rows.rejectedRow(0, n)] }),
        ),
      );
      const outcomes = await Promise.allSettled(attempts);
      expect(outcomes.filter((outcome) => outcome.status === 'fulfilled')).toHaveLength(1);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(moved);
      }
      expect(await under.store.rejected(10)).toHaveLength(1);
    });

    test('keeps every column of every row exactly', async () => {
      await under.partitions(1);
      const text = JSON.stringify({
        text: 'quotes " \\ \n tab\t, {braces}, NULL, ünï, 漢字, 🌊',
        big: 'x'.repeat(3000),
      });
      const farthest = { ...rows.said(Number.MAX_SAFE_INTEGER, 999_999_999), partition: rows.partitionAt(2 ** 31 - 1) };
      const task = taskId(3, 1);
      const stream = rows.streamRow('w', 0, {
        reason: 'because',
        status: 'parked',
        checkpoint: rows.checkpointRow('w', 1).checkpoint,
        holder: 'worker-9' as HolderId,
        position: (Number.MAX_SAFE_INTEGER - 1) as Position,
        tokens: 0.1 + 0.2,
        costMicros: 1.5e-7,
        ...{ estimatedTokens: 0.1, unpricedTokens: 0.2, unknownCalls: 3, unknownTokens: 1_000, unknownCostMicros: 7 },
        openedAtMs: 1_700_000_000_000.25,
        lastAction: 'naïve "action" {}',
        state: text,
      });
      const written = {
        tasksPut: [rows.taskRow('w', task, { unblocked: false, cause: 'signal-1' as EventId, state: text })],
        checkpoints: [
          rows.checkpointRow('w', 0),
          rows.checkpointRow('w', 1, { payload: farthest, belief: 'delta', tokens: 2.5, unknownTokens: 9 }),
        ],
        effects: [
          rows.effectRow('w', task, '1', { responseDigest: 'e'.repeat(64), status: 'done', payload: farthest }),
        ],
        events: [rows.eventRow('w', 2, { control: text, payload: farthest })],
        rejected: [rows.rejectedRow(0, 3, { workflow: 'other', type: 'Odd', evidence: text.slice(0, 1000) })],
      };
      const batch = {
        partitions: [rows.advance(0, 0, 9)],
        opened: [rows.opened('w', 0)],
        streams: [stream],
        ...written,
      };
      await under.store.apply(rows.batch(batch));
      const { state: _, ...summary } = stream;
      expect(await under.store.workflow(stream.workflow)).toEqual({ ...summary, result: null });
      expect(await under.store.tasks(stream.workflow, 10)).toEqual(written.tasksPut);
      expect(await under.store.checkpoints(stream.workflow, all)).toEqual(written.checkpoints);
      expect(await under.store.effects(stream.workflow)).toEqual(written.effects);
      expect(await under.store.events(stream.workflow, 10)).toEqual(written.events);
      expect(await under.store.rejected(10)).toEqual(written.rejected);
      expect((await under.store.loadPartitions([rows.partitionAt(0)]))[0]?.streams).toEqual([
        { state: text, tasks: [text] },
      ]);
    });

    test('no name is too long, and a NUL in one stops nothing', async () => {
      await under.partitions(1);
      // The longest name the wire allows, of characters that don't compress.
      const long = Array.from({ length: 512 }, (_, n) => String.fromCodePoint(0x4e00 + ((n * 7919) % 20000))).join('');
      const task = taskId(0, 0);
      const workflow = rows.workflowNamed(long);
      await under.store.apply(
        rows.batch({
          ...rows.openingBatch(long, 0),
          effects: [rows.effectRow(long, task, '1', { key: long as never })],
          events: [rows.eventRow(long, 2, { event: long as EventId })],
          timersPut: [rows.timerRow(long, 0, long, 5), rows.timerRow(long, 0, `${long.slice(1)}x`, 6)],
          rejected: [rows.rejectedRow(0, 1, { evidence: 'a\0b', workflow: '\0' })],
        }),
      );
      expect((await under.store.effects(workflow))[0]?.key).toBe(long);
      expect(await under.store.dueTimers(9, 9)).toHaveLength(2);
      expect((await under.store.rejected(1))[0]).toMatchObject({ evidence: 'a\ufffdb', workflow: '\ufffd' });
      await under.store.apply(
        rows.batch({ partitions: [rows.advance(0, 1, 2)], timersGone: [{ workflow, timer: long }] }),
      );
      expect(await under.store.dueTimers(9, 9)).toMatchObject([{ dueAtMs: 6 }]);
    });

    test('puts over what is there, and takes away what went', async () => {
      await under.partitions(1);
      const workflow = rows.workflowNamed('w');
      await under.store.apply(
        rows.batch({
          ...rows.openingBatch('w', 0),
          tasksPut: [rows.taskRow('w', first), rows.taskRow('w', taskId(0, 1), { unblocked: false })],
          effects: [rows.effectRow('w', first, '1')],
          timersPut: [rows.timerRow('w', 0, 'a', 5), rows.timerRow('w', 0, 'b', 6)],
        }),
      );
      const done = rows.effectRow('w', first, '1', {
        status: 'done',
        position: 4 as Position,
        payload: rows.said(2),
      });
      await under.store.apply(
        rows.batch({
          partitions: [rows.advance(0, 1, 2)],
          streams: [rows.streamRow('w', 0, { sequence: 1 as Sequence, lastAction: 'newer' })],
          tasksPut: [rows.taskRow('w', taskId(0, 1), { state: '{"newer":1}' }), rows.taskRow('w', taskId(1, 0))],
          tasksGone: [{ workflow, task: first }],
          effects: [done],
          timersPut: [rows.timerRow('w', 0, 'b', 7)],
          timersGone: [{ workflow, timer: 'a' }],
        }),
      );
      expect((await under.store.workflow(workflow))?.lastAction).toBe('newer');
      expect(await under.store.tasks(workflow, 10)).toEqual([
        rows.taskRow('w', taskId(0, 1), { state: '{"newer":1}' }),
        rows.taskRow('w', taskId(1, 0)),
      ]);
      expect(await under.store.effects(workflow)).toEqual([done]);
      expect((await under.store.dueTimers(99, 9)).map(({ timer, dueAtMs }) => [timer, dueAtMs])).toEqual([['b', 7]]);
    });

    test('closing keeps the result and takes tasks and timers away, also those of the same batch', async () => {
      await under.partitions(1);
      await under.store.apply(
        rows.batch({ ...rows.openingBatch('w', 0), timersPut: [rows.timerRow('w', 0, 'early', 1)] }),
      );
      const closing = rows.closingBatch('w', 0, 1);
      await under.store.apply(
        rows.batch({
          ...closing,
          tasksPut: [rows.taskRow('w', taskId(1, 0))],
          timersPut: [rows.timerRow('w', 0, 'late', 1)],
        }),
      );
      expect(await under.store.workflow(rows.workflowNamed('w'))).toMatchObject({
        status: 'completed',
        result: '{"output":1}',
      });
      expect(await under.store.tasks(rows.workflowNamed('w'), 10)).toEqual([]);
      expect(await under.store.dueTimers(9, 9)).toEqual([]);
      expect(await under.store.counts()).toMatchObject({ openCount: 0, runnableCount: 0 });
    });

    test('a rejected record is kept once; evidence is bounded', async () => {
      await under.partitions(1);
      const long = rows.rejectedRow(0, 0, { evidence: 'e'.repeat(5000) });
      await under.store.apply(rows.batch({ partitions: [rows.advance(0, 0, 1)], rejected: [long] }));
      await under.store.apply(
        rows.batch({
          partitions: [rows.advance(0, 1, 2)],
          rejected: [rows.rejectedRow(0, 0, { evidence: 'second' }), rows.rejectedRow(0, 1)],
        }),
      );
      const kept = await under.store.rejected(10);
      expect(kept.map((row) => row.offset)).toEqual([1, 0]);
      expect(kept[1]?.evidence).toBe('e'.repeat(2000));
      expect((await under.store.counts()).rejectedCount).toBe(2);
      expect(await under.store.rejected(1)).toHaveLength(1);
    });

    test('a tenant is told its own rejected records, however many newer ones others have', async () => {
      await under.partitions(1);
      await under.store.apply(rows.openingBatch('mine', 0));
      await under.store.apply(
        rows.batch({
          partitions: [rows.advance(0, 1, 4)],
          rejected: [
            rows.rejectedRow(0, 1, { workflow: 'mine', atMs: 1 }),
            rows.rejectedRow(0, 2, { workflow: 'of-nobody', atMs: 2 }),
            rows.rejectedRow(0, 3, { workflow: null, atMs: 3 }),
          ],
        }),
      );
      const reported = await under.store.rejected(1, 'acme' as TenantId);
      expect(reported.map(({ workflow }) => workflow)).toEqual(['mine']);
      expect(await under.store.rejected(10, 'globex' as TenantId)).toEqual([]);
    });

    test('large rows and many rows', async () => {
      await under.partitions(1);
      const control = JSON.stringify('p'.repeat(1_000_000));
      const events = Array.from({ length: 20 }, (_, n) => rows.eventRow('w', n + 1, { control }));
      const small = Array.from({ length: 5000 }, (_, n) => rows.eventRow('w', n + 100));
      await under.store.apply(rows.batch({ ...rows.openingBatch('w', 0), events: [...events, ...small] }));
      const read = await under.store.events(rows.workflowNamed('w'), 10_000);
      expect(read).toHaveLength(5020);
      expect(read[19]?.control).toBe(control);
    });

    test('one prefix of the log gives the same rows in any batching (I5)', async () => {
      await under.partitions(3);
      for (const batch of story(0)) await under.store.apply(batch);
      const oneByOne = await dump(under.store);
      // The same story under other partitions and names, in one batch.
      await under.store.apply(merge(story(1)));
      const both = await dump(under.store);
      const rename = (text: string): string =>
        text.replaceAll('story-1', 'story-0').replaceAll('"partition":1', '"partition":0');
      const of = (name: string): unknown =>
        JSON.parse(rename(JSON.stringify(both.workflows.filter(({ workflow }) => workflow.workflow.startsWith(name)))));
      expect(of('story-1')).toEqual(of('story-0'));
      expect(of('story-0')).toEqual(oneByOne.workflows);
      expect(both.partitions[1]?.streams).toEqual(both.partitions[0]?.streams);
    });

    test('a workflow that is placed elsewhere is not written over by a stray opening', async () => {
      await under.partitions(2);
      await under.store.apply(rows.openingBatch('w', 0));
      const before = (await dump(under.store)).workflows;
      await under.store.apply(rows.openingBatch('w', 1));
      expect((await dump(under.store)).workflows).toEqual(before);
      expect((await under.store.positions()).get(rows.partitionAt(1))).toBe(1);
      const [freed] = await under.store.place([rows.request('next')]);
      expect(freed).toMatchObject({ partition: 1 });
      const twice = rows.batch({
        partitions: [rows.advance(0, 1, 2), rows.advance(1, 1, 2, 2)],
        opened: [rows.opened('t', 0), rows.opened('t', 1)],
      });
      await expect(under.store.apply(twice)).rejects.toMatchObject({ code: 'batch-two-homes' });
    });
  });
}

/** Three workflows one after another in a partition, each with a step, an effect, a signal and an end. */
function story(partition: number): ProjectionBatch[] {
  return [1, 2, 3].flatMap((generation) => {
    const name = `story-${partition}-${generation}`;
    const workflow = rows.workflowNamed(name);
    const from = (generation - 1) * 4;
    const own = { generation: generation as Generation };
    return [
      rows.openingBatch(name, partition, from, generation),
      rows.batch({
        partitions: [rows.advance(partition, from + 1, from + 2, generation)],
        streams: [rows.streamRow(name, partition, { ...own, position: 2 as Position })],
        effects: [rows.effectRow(name, first, '1')],
        timersPut: [rows.timerRow(name, partition, 'wake', 5)],
      }),
      rows.batch({
        partitions: [rows.advance(partition, from + 2, from + 3, generation)],
        streams: [rows.streamRow(name, partition, { ...own, position: 4 as Position, sequence: 1 as Sequence })],
        tasksGone: [{ workflow, task: first }],
        tasksPut: [rows.taskRow(name, taskId(1, 0))],
        checkpoints: [rows.checkpointRow(name, 1)],
        effects: [rows.effectRow(name, first, '1', { status: 'done', payload: rows.said(from + 2) })],
        events: [rows.eventRow(name, 3)],
      }),
      ...(generation === 3 ? [] : [rows.closingBatch(name, partition, from + 3, generation)]),
    ];
  });
}

/** The batch that a projector makes of consecutive batches of one partition. */
function merge(batches: readonly ProjectionBatch[]): ProjectionBatch {
  const key = (row: { readonly workflow: string }, own: string): string => `${row.workflow} ${own}`;
  const newest = <R>(all: readonly R[], keyOf: (row: R) => string): R[] => [
    ...new Map(all.map((row) => [keyOf(row), row])).values(),
  ];
  const gone = new Set(batches.flatMap((part) => part.tasksGone).map((row) => key(row, row.task)));
  const last = batches.at(-1)!.partitions[0]!;
  return {
    partitions: [{ ...last, from: batches[0]!.partitions[0]!.from }],
    opened: batches.flatMap((part) => part.opened),
    streams: newest(
      batches.flatMap((part) => part.streams),
      (row) => row.workflow,
    ),
    closed: batches.flatMap((part) => part.closed),
    tasksPut: newest(
      batches.flatMap((part) => part.tasksPut),
      (row) => key(row, row.task),
    ).filter((row) => !gone.has(key(row, row.task))),
    tasksGone: batches.flatMap((part) => part.tasksGone),
    checkpoints: batches.flatMap((part) => part.checkpoints),
    effects: newest(
      batches.flatMap((part) => part.effects),
      (row) => row.key,
    ),
    events: batches.flatMap((part) => part.events),
    timersPut: newest(
      batches.flatMap((part) => part.timersPut),
      (row) => key(row, row.timer),
    ),
    timersGone: batches.flatMap((part) => part.timersGone),
    rejected: batches.flatMap((part) => part.rejected),
  };
}
