/** Owns the part of the contract about what folds and workers resume from (P2, P3). */

import { type EventId, type Generation, type Position, type Sequence, taskId } from '@tidemark/core';
import { describe, expect, test } from 'vitest';
import * as rows from './projection-store-rows.ts';
import type { StoreUnderTest } from './store-under-test.ts';

const rebuilding = { name: 'UnavailableError', code: 'store-rebuilding' };

export function testClaims(under: StoreUnderTest): void {
  describe('loadPartitions', () => {
    test('gives the next offset, the generation, and open streams with their tasks in order of creation', async () => {
      await under.partitions(3);
      await under.store.apply(
        rows.batch({
          ...rows.openingBatch('w', 2, 0, 1),
          tasksPut: [taskId(2, 0), taskId(0, 10), taskId(0, 2)].map((task) => rows.taskRow('w', task)),
        }),
      );
      const loaded = await under.other.loadPartitions([2, 0, 9].map(rows.partitionAt));
      expect(loaded).toEqual([
        { partition: 0, next: 0, generation: 0, streams: [] },
        {
          partition: 2,
          next: 1,
          generation: 1,
          streams: [{ state: '{"stateVersion":1}', tasks: ['{"id":"0.2"}', '{"id":"0.10"}', '{"id":"2.0"}'] }],
        },
      ]);
      expect(await under.store.loadPartitions([])).toEqual([]);
    });

    test('gives closed streams until another workflow opens there', async () => {
      await under.partitions(1);
      await under.store.apply(rows.openingBatch('one', 0));
      await under.store.apply(rows.closingBatch('one', 0, 1));
      expect((await under.store.loadPartitions([rows.partitionAt(0)]))[0]?.streams).toHaveLength(1);
      await under.store.apply(rows.openingBatch('two', 0, 2, 2));
      const [loaded] = await under.store.loadPartitions([rows.partitionAt(0)]);
      expect(loaded).toMatchObject({ generation: 2, next: 3 });
      expect(loaded?.streams).toHaveLength(1);
    });
  });

  describe('loadStreams', () => {
    test('is not answered before the store is ready (P3)', async () => {
      await expect(under.store.loadStreams([rows.workflowNamed('w')])).rejects.toMatchObject(rebuilding);
    });

    test('nor are reads of rows that steps build on', async () => {
      const workflow = rows.workflowNamed('w');
      const all = { from: 0 as Sequence, limit: 10 };
      await expect(under.store.checkpoints(workflow, all)).rejects.toMatchObject(rebuilding);
      await expect(under.store.effects(workflow)).rejects.toMatchObject(rebuilding);
      await under.partitions(1);
      expect(await under.store.checkpoints(workflow, all)).toEqual([]);
      expect(await under.store.effects(workflow)).toEqual([]);
    });

    test('nor while rows are older than the reader knows, as after a crash of the database', async () => {
      await under.partitions(1);
      await under.store.apply(rows.openingBatch('w', 0));
      const workflow = rows.workflowNamed('w');
      const read = (since: number) => ({ from: 0 as Sequence, limit: 10, since: since as Position });
      await expect(under.store.checkpoints(workflow, read(2))).rejects.toMatchObject(rebuilding);
      await expect(under.store.effects(workflow, { since: 2 as Position })).rejects.toMatchObject(rebuilding);
      await under.store.checkpoints(workflow, read(1));
      await under.store.effects(workflow, { since: 1 as Position });
    });

    test('gives the payloads that belief, pending tasks and the opening need, and no others', async () => {
      await under.partitions(2);
      const pending = [taskId(3, 0), taskId(6, 1)];
      const cause = 'w-20' as EventId;
      await under.store.apply(
        rows.batch({
          ...rows.openingBatch('w', 1),
          streams: [rows.streamRow('w', 1, { sequence: 8 as Sequence, beliefSequence: 5 as Sequence })],
          tasksPut: [rows.taskRow('w', pending[0]!), rows.taskRow('w', pending[1]!, { cause })],
          checkpoints: [
            rows.checkpointRow('w', 0),
            ...[1, 2, 3, 4].map((n) => rows.checkpointRow('w', n, { belief: 'delta' })),
            rows.checkpointRow('w', 5, { belief: 'snapshot' }),
            rows.checkpointRow('w', 6, { belief: 'none' }),
            rows.checkpointRow('w', 7, { belief: 'none' }),
            rows.checkpointRow('w', 8, { belief: 'delta' }),
          ],
          effects: [
            rows.effectRow('w', pending[0]!, '2', { position: 12 as Position }),
            rows.effectRow('w', pending[0]!, '1', {
              position: 10 as Position,
              status: 'done',
              payload: rows.said(10),
            }),
            rows.effectRow('w', taskId(2, 0), '1', { position: 5 as Position, status: 'done' }),
          ],
          events: [rows.eventRow('w', 20, { payload: rows.said(20) }), rows.eventRow('w', 21)],
        }),
      );
      const [snapshot] = await under.other.loadStreams([rows.workflowNamed('w')]);
      expect(snapshot).toEqual({
        workflow: 'w',
        partition: 1,
        next: 1,
        state: '{"stateVersion":1}',
        tasks: ['{"id":"3.0"}', '{"id":"6.1"}'],
        checkpoints: [0, 3, 5, 6, 8].map((sequence) => ({
          sequence,
          stepVersion: 1,
          payload: rows.said(sequence),
        })),
        effects: [
          { key: 'w:3.0:pay:1', status: 'done', payload: rows.said(10) },
          { key: 'w:3.0:pay:2', status: 'intended', payload: rows.said(1) },
        ],
        causes: [{ event: cause, payload: rows.said(20) }],
      });
    });

    test('gives the values of signals that nobody has waited for yet, whatever else the state says', async () => {
      await under.partitions(1);
      const [early, given] = ['w-20', 'w-21'] as [EventId, EventId];
      const state = `{"stateVersion":1,"lastAction":"\\u0000","signals":[{"name":"go","event":"${early}"}]}`;
      await under.store.apply(
        rows.batch({
          ...rows.openingBatch('w', 0),
          streams: [rows.streamRow('w', 0, { state })],
          tasksPut: [rows.taskRow('w', taskId(0, 0), { cause: given })],
          events: [early, given].map((_, n) => rows.eventRow('w', 20 + n, { payload: rows.said(n) })),
        }),
      );
      const [snapshot] = await under.other.loadStreams([rows.workflowNamed('w')]);
      const causes = new Map(snapshot!.causes.map(({ event, payload }) => [event, payload]));
      expect(causes).toEqual(new Map([early, given].map((event, n) => [event, rows.said(n)])));
    });

    test('gives many at once, in the order asked for, and none for unknown ones', async () => {
      const count = 300;
      await under.partitions(count);
      const names = Array.from({ length: count }, (_, n) => `w-${n}`);
      const parts = names.map((name, n) => rows.openingBatch(name, n));
      await under.store.apply(
        rows.batch({
          partitions: parts.flatMap((part) => part.partitions),
          opened: parts.flatMap((part) => part.opened),
          streams: parts.flatMap((part) => part.streams),
          tasksPut: parts.flatMap((part) => part.tasksPut),
          checkpoints: parts.flatMap((part) => part.checkpoints),
        }),
      );
      const asked = ['nobody', ...names.toReversed(), names[3]!].map(rows.workflowNamed);
      const loaded = await under.store.loadStreams(asked);
      expect(loaded.map((snapshot) => snapshot.workflow)).toEqual(names.toReversed());
      expect(loaded.every((one) => one.tasks.length === 1 && one.checkpoints.length === 1)).toBe(true);
      expect(await under.store.loadStreams([])).toEqual([]);
    });

    test('rows and next offset are of one moment (P2)', async () => {
      await under.partitions(1);
      await under.store.apply(rows.openingBatch('w', 0));
      const steps = 60;
      let writing = true;
      const write = async (): Promise<void> => {
        for (let n = 1; n <= steps; n += 1) {
          const stream = rows.streamRow('w', 0, { sequence: n as Sequence, state: `{"next":${n + 1}}` });
          await under.store.apply(
            rows.batch({
              partitions: [rows.advance(0, n, n + 1)],
              streams: [stream],
              tasksPut: [rows.taskRow('w', taskId(n, 0))],
              tasksGone: [{ workflow: rows.workflowNamed('w'), task: taskId(n - 1, 0) }],
              checkpoints: [rows.checkpointRow('w', n)],
            }),
          );
        }
        writing = false;
      };
      const read = async (): Promise<number> => {
        let count = 0;
        while (writing) {
          const [one] = await under.other.loadStreams([rows.workflowNamed('w')]);
          count += 1;
          const next = Number(one?.next);
          if (next > 1) expect(one?.state).toBe(`{"next":${next}}`);
          expect(one?.tasks).toEqual([`{"id":"${next - 1}.0"}`]);
          expect(one?.checkpoints.at(-1)?.sequence).toBe(next - 1);
        }
        return count;
      };
      const [, reads] = await Promise.all([write(), read(), read()]);
      expect(reads).toBeGreaterThan(0);
    });

    test('a workflow whose placement names another partition is not claimed', async () => {
      await under.partitions(2);
      await under.store.place([rows.request('w')]);
      // Its opening is found in another partition: the placement was lost once, and rebuilt.
      await under.store.apply(rows.openingBatch('w', 1, 0, 1 as Generation));
      expect(await under.store.loadStreams([rows.workflowNamed('w')])).toEqual([]);
    });
  });
}
