/** Owns the part of the contract about histories and lists that are read page by page. */

import type { EffectKey, EventId, Position, Sequence, TaskId, TenantId } from '@tidemark/core';
import { taskId } from '@tidemark/core';
import type { EffectRow, RecordPlace } from '@tidemark/ports';
import { describe, expect, test } from 'vitest';
import * as rows from './projection-store-rows.ts';
import type { StoreUnderTest } from './store-under-test.ts';

const workflow = rows.workflowNamed('w');
const nobody = rows.workflowNamed('nobody');

export function testPages(under: StoreUnderTest): void {
  const opened = async (part: Parameters<typeof rows.batch>[0]): Promise<void> => {
    await under.partitions(1);
    await under.store.apply(rows.openingBatch('w', 0));
    await under.store.apply(rows.batch({ partitions: [rows.advance(0, 1, 2)], ...part }));
  };

  describe('pages of effects', () => {
    const of = (sequence: number, name: string, part: Partial<EffectRow<RecordPlace>> = {}) =>
      rows.effectRow('w', taskId(sequence, 0), name, part);
    /** In the order of pages; written in another, and with positions in another. */
    const ordered = [
      of(0, '1', { position: 9 as Position }),
      of(0, '10', { position: 2 as Position, operation: 'model' }),
      of(0, '2', { position: 3 as Position }),
      of(2, '1', { position: 4 as Position, operation: 'model' }),
      of(10, '1', { position: 5 as Position }),
    ];
    const listingOf = ({ payload: _, request: __, ...listing }: EffectRow<RecordPlace>) => listing;
    const written = () => opened({ effects: ordered.toReversed() });

    test('hold as many as they may, by task and key, and the next goes on after the last', async () => {
      await written();
      const { store, other } = under;
      const first = await store.effectPage(workflow, { limit: 2 });
      expect(first).toEqual(ordered.slice(0, 2));
      expect(await other.effectPage(workflow, { after: first[1]!, limit: 2 })).toEqual(ordered.slice(2, 4));
      expect(await store.effectPage(workflow, { after: ordered[3]!, limit: 2 })).toEqual(ordered.slice(4));
      expect(await store.effectPage(workflow, { after: ordered[4]!, limit: 2 })).toEqual([]);
      expect(await store.effectPage(nobody, { limit: 2 })).toEqual([]);
    });

    test('neither skip nor repeat one that is resolved between two of them', async () => {
      await written();
      const first = await under.store.effectPage(workflow, { limit: 2 });
      const resolved = [ordered[0]!, ordered[3]!].map((row, n) => ({
        ...row,
        status: 'done' as const,
        position: (20 + n) as Position,
        payload: rows.said(20 + n),
      }));
      await under.store.apply(rows.batch({ partitions: [rows.advance(0, 2, 3)], effects: resolved }));
      const second = await under.other.effectPage(workflow, { after: first[1]!, limit: 9 });
      expect(second).toEqual([ordered[2], resolved[1], ordered[4]]);
    });

    test('are of some tasks, of one operation, or of one key, where that is asked for', async () => {
      await written();
      const keysOf = async (query: Parameters<typeof under.store.effectPage>[1]) =>
        (await under.other.effectPage(workflow, query)).map(({ key }) => key);
      const keys = (...at: readonly number[]) => at.map((index) => ordered[index]!.key);
      expect(await keysOf({ tasks: [taskId(10, 0), taskId(2, 0)], limit: 9 })).toEqual(keys(3, 4));
      expect(await keysOf({ tasks: [], limit: 9 })).toEqual([]);
      expect(await keysOf({ operation: 'model', limit: 9 })).toEqual(keys(1, 3));
      expect(await keysOf({ operation: 'model', after: ordered[1]!, limit: 9 })).toEqual(keys(3));
      expect(await keysOf({ key: ordered[2]!.key, limit: 9 })).toEqual(keys(2));
      expect(await keysOf({ key: 'w:0.0:\u0000' as EffectKey, limit: 9 })).toEqual([]);
      const tasks = [taskId(0, 0)];
      expect(await keysOf({ tasks, after: ordered[0]!, limit: 1 })).toEqual(keys(1));
    });

    test('are told without their texts, all at once or some', async () => {
      await written();
      const { store } = under;
      expect(await store.effectListings(workflow, {})).toEqual(ordered.map(listingOf));
      const some = await store.effectListings(workflow, { tasks: [taskId(0, 0)], after: ordered[0]!, limit: 1 });
      expect(some).toEqual([listingOf(ordered[1]!)]);
    });

    test('are not told while rows are being rebuilt', async () => {
      const rebuilding = { code: 'store-rebuilding' };
      await expect(under.store.effectPage(workflow, { limit: 1 })).rejects.toMatchObject(rebuilding);
      await expect(under.store.effectListings(workflow, {})).rejects.toMatchObject(rebuilding);
      await expect(under.store.commits(workflow, [taskId(0, 0)])).rejects.toMatchObject(rebuilding);
      await expect(under.store.corrections(workflow, [1 as Sequence])).rejects.toMatchObject(rebuilding);
    });
  });

  test('commits tell which checkpoint each of the tasks led to', async () => {
    const led = (sequence: number, task: TaskId) => rows.checkpointRow('w', sequence, { task });
    await opened({ checkpoints: [led(1, taskId(0, 1)), led(2, taskId(0, 0)), led(3, taskId(2, 0))] });
    const asked = [taskId(2, 0), taskId(0, 1), taskId(7, 0)];
    expect(await under.store.commits(workflow, asked)).toEqual([
      { task: taskId(0, 1), sequence: 1 as Sequence },
      { task: taskId(2, 0), sequence: 3 as Sequence },
    ]);
    expect(await under.other.commits(workflow, [])).toEqual([]);
  });

  test('corrections tell the newest checkpoint that corrects each of those that are asked for', async () => {
    const row = (sequence: number, supersedes: number | null = null) =>
      rows.checkpointRow('w', sequence, { supersedes: supersedes as Sequence | null });
    await opened({ checkpoints: [row(1), row(2), row(3, 1), row(4, 2), row(5, 1), row(6, 5)] });
    const asked = [5, 4, 1, 9].map((sequence) => sequence as Sequence);
    expect(await under.store.corrections(workflow, asked)).toEqual([
      { supersedes: 1, sequence: 5 },
      { supersedes: 5, sequence: 6 },
    ]);
    expect(await under.other.corrections(workflow, [])).toEqual([]);
    expect(await under.other.corrections(nobody, asked)).toEqual([]);
  });

  test('tasks go on after the one that a page ended with, by creation', async () => {
    const tasks = [taskId(0, 2), taskId(0, 10), taskId(3, 0)].map((task) => rows.taskRow('w', task));
    await opened({ tasksPut: tasks.toReversed() });
    const all = await under.store.tasks(workflow, 99);
    expect(all.slice(-3)).toEqual(tasks);
    expect(await under.other.tasks(workflow, 1, tasks[0]!.task)).toEqual([tasks[1]]);
    expect(await under.store.tasks(workflow, 9, tasks[2]!.task)).toEqual([]);
    const found = await under.store.frontiers([workflow, nobody], 2);
    expect([...found.keys()]).toEqual([workflow]);
    expect(found.get(workflow)!.tasks).toEqual(all.slice(0, 2).map(({ state }) => state));
    expect(JSON.parse(found.get(workflow)!.state)).toBeDefined();
  });

  test('events are the newest before the one that a page began with, or one by its id', async () => {
    const events = [3, 4, 5, 6].map((position) => rows.eventRow('w', position));
    const parked = rows.eventRow('w', 7, { event: 'asks' as EventId, type: 'WorkflowParked' });
    const later = [8, 9].map((position) => rows.eventRow('w', position));
    await opened({ events: [...events, parked, ...later] });
    const { store, other } = under;
    expect(await store.events(workflow, 2)).toEqual(later);
    expect(await other.events(workflow, 3, { before: 8 as Position })).toEqual([...events.slice(2), parked]);
    expect(await store.events(workflow, 1, { event: parked.event })).toEqual([parked]);
    expect(await store.events(workflow, 9, { position: 5 as Position })).toEqual([events[2]]);
    expect(await store.events(workflow, 9, { position: 5 as Position, before: 5 as Position })).toEqual([]);
    expect(await store.events(workflow, 1, { event: parked.event, before: 7 as Position })).toEqual([]);
    expect(await store.events(workflow, 1, { event: 'no\u0000thing' as EventId })).toEqual([]);
    expect(await store.events(nobody, 1, { event: parked.event })).toEqual([]);
  });

  test('rejected records go on after the one that a page ended with, the newest first', async () => {
    const at = (partition: number, offset: number, atMs: number) => rows.rejectedRow(partition, offset, { atMs });
    const ordered = [at(0, 9, 30), at(0, 3, 20), at(0, 2, 20), at(1, 4, 20), at(1, 1, 0)];
    await opened({ rejected: ordered.toReversed() });
    const found: unknown[] = [];
    for (let after = null as (typeof ordered)[number] | null; ; ) {
      const page = await under.store.rejected(2, null, after);
      found.push(...page);
      if (page.length < 2) break;
      after = page.at(-1)!;
    }
    expect(found).toEqual(ordered);
    expect(await under.other.rejected(9, 'globex' as TenantId, ordered[0]!)).toEqual([]);
  });

  test('workflows go on after the one that a page ended with, the newest first', async () => {
    await under.partitions(4);
    const times = [10, 30, 20, 20];
    for (const [n, openedAtMs] of times.entries()) {
      const name = `w${n}`;
      const batch = rows.openingBatch(name, n);
      await under.store.apply({ ...batch, streams: batch.streams.map((stream) => ({ ...stream, openedAtMs })) });
    }
    const [newest, ...rest] = await under.store.workflows({ limit: 9 });
    expect([newest, ...rest].map((row) => row?.workflow)).toEqual(['w1', 'w2', 'w3', 'w0']);
    expect(await under.other.workflows({ limit: 2, after: rest[0]! })).toEqual(rest.slice(1));
    const compensating = { status: 'compensating', limit: 2, after: newest! } as const;
    expect(await under.store.workflows(compensating)).toEqual([]);
    expect(await under.store.workflows({ schedules: true, limit: 2, after: newest! })).toEqual([]);
  });
}
