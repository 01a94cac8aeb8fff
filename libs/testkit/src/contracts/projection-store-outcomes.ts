/** Owns the part of the contract about outcomes of calls, questions to people, and pinned versions. */

import { type EventId, type Position, type Question, type Sequence, type StreamStatus, taskId } from '@tidemark/core';
import type { EffectRow, RecordPlace } from '@tidemark/ports';
import { describe, expect, test } from 'vitest';
import * as rows from './projection-store-rows.ts';
import type { StoreUnderTest } from './store-under-test.ts';

const workflow = rows.workflowNamed('w');
const first = taskId(0, 0);
const second = taskId(0, 1);
const parked: StreamStatus = 'parked';

export function testOutcomes(under: StoreUnderTest): void {
  /** Opens `w`, then writes each part in a batch of its own. */
  const written = async (...parts: readonly Parameters<typeof rows.batch>[0][]): Promise<void> => {
    await under.partitions(1);
    await under.store.apply(rows.openingBatch('w', 0));
    for (const [n, part] of parts.entries()) {
      await under.store.apply(rows.batch({ partitions: [rows.advance(0, n + 1, n + 2)], ...part }));
    }
  };

  describe('effects', () => {
    const effect = (position: number, part: Partial<EffectRow<RecordPlace>>) =>
      rows.effectRow('w', first, '1', { position: position as Position, ...part });
    const called = effect(2, { payload: rows.said(7), request: rows.said(7) });
    const accepted = effect(3, { status: 'pending', payload: rows.said(3), request: null });
    const confirmed = effect(4, {
      status: 'done',
      responseDigest: 'e'.repeat(64),
      payload: rows.said(4),
      request: null,
    });

    test('keep the request of their intention beside whatever came of it, in later batches too', async () => {
      await written({ effects: [called] }, { effects: [accepted] }, { effects: [confirmed] });
      expect(await under.other.effects(workflow)).toEqual([{ ...confirmed, request: rows.said(7) }]);
    });

    test('that are intended afresh have the newer request; those that never were have none', async () => {
      const again = effect(5, { payload: rows.said(8), request: rows.said(8) });
      const pure = rows.effectRow('w', first, '2', { kind: 'pure', status: 'done', request: null });
      await written({ effects: [called, pure] }, { effects: [again] });
      expect(await under.store.effects(workflow)).toEqual([pure, again]);
    });

    test('of one task alone, where it is asked for', async () => {
      const others = [rows.effectRow('w', second, '1'), rows.effectRow('w', second, '2', { position: 2 as Position })];
      await written({ effects: [called, ...others] });
      expect(await under.store.effects(workflow, { task: second })).toEqual(others);
      expect(await under.other.effects(workflow, { task: first })).toEqual([called]);
      expect(await under.store.effects(workflow, { task: taskId(9, 0) })).toEqual([]);
      expect(await under.store.effects(rows.workflowNamed('nobody'), { task: first })).toEqual([]);
    });

    test('come with a claim, each with how it stands, by position', async () => {
      const others = (['failed', 'done', 'intended'] as const).map((status, n) =>
        rows.effectRow('w', first, `${n + 2}`, { status, position: (n + 4) as Position }),
      );
      await written({ effects: [called, ...others.toReversed()] }, { effects: [accepted] });
      const [snapshot] = await under.store.loadStreams([workflow]);
      expect(snapshot?.effects.map(({ status, payload }) => [status, payload])).toEqual([
        ['pending', rows.said(3)],
        ['failed', rows.said(1)],
        ['done', rows.said(1)],
        ['intended', rows.said(1)],
      ]);
    });
  });

  describe('questions', () => {
    const question: Question = { id: 'w-3' as EventId, code: 'effect-unknown', task: first, key: null };
    const asking = rows.streamRow('w', 0, {
      status: parked,
      reason: question.code,
      runnable: false,
      state: JSON.stringify({ stateVersion: 1, question }),
    });

    test('are told of a workflow that is parked, alone and in lists', async () => {
      await written({ streams: [asking] });
      const { state: _, ...summary } = asking;
      expect(await under.store.workflow(workflow)).toEqual({ ...summary, result: null, question });
      expect(await under.other.workflows({ status: parked, limit: 9 })).toEqual([
        { ...summary, result: null, question },
      ]);
    });

    test('tell on which builds their task failed', async () => {
      const failedOn = { task: first, builds: ['one', 'two'] };
      const state = JSON.stringify({ stateVersion: 1, question, failedOn });
      await written({ streams: [{ ...asking, state }] });
      expect(await under.store.workflow(workflow)).toMatchObject({ question, failedOn });
      expect(await under.other.workflows({ status: parked, limit: 9 })).toMatchObject([{ question, failedOn }]);
    });

    test('are gone once it goes on, is being compensated, or has ended', async () => {
      const state = JSON.stringify({ stateVersion: 1, question: null });
      const later = (['open', 'compensating', 'compensated'] as const).map((status) =>
        rows.streamRow('w', 0, { status, state }),
      );
      await written({ streams: [asking] });
      for (const [n, stream] of later.entries()) {
        await under.store.apply(rows.batch({ partitions: [rows.advance(0, n + 2, n + 3)], streams: [stream] }));
        expect(await under.store.workflow(workflow)).toMatchObject({ status: stream.status, question: null });
      }
    });
  });

  describe('versions', () => {
    test('a pin and a newer version come back, with jobs too, and may be taken away again', async () => {
      const as = (version: number, pinned: boolean) => ({ streams: [rows.streamRow('w', 0, { version, pinned })] });
      await written(as(3, true));
      expect(await under.other.workflow(workflow)).toMatchObject({ version: 3, pinned: true });
      expect(await under.store.runnable(null, 9)).toMatchObject([{ workflow, version: 3, pinned: true }]);
      await under.store.apply(rows.batch({ partitions: [rows.advance(0, 2, 3)], ...as(4, false) }));
      expect(await under.store.workflow(workflow)).toMatchObject({ version: 4, pinned: false });
      expect(await under.other.runnable(null, 9)).toMatchObject([{ workflow, version: 4, pinned: false }]);
    });

    test('a checkpoint says which one it corrects, and a claim by which version each was made', async () => {
      const checkpoints = [
        rows.checkpointRow('w', 1, { belief: 'delta', stepVersion: 2 }),
        rows.checkpointRow('w', 2, { belief: 'delta', stepVersion: 5, supersedes: 1 as Sequence }),
      ];
      await written({ checkpoints });
      expect(await under.store.checkpoints(workflow, { from: 1 as Sequence, limit: 9 })).toEqual(checkpoints);
      const [snapshot] = await under.other.loadStreams([workflow]);
      expect(snapshot?.checkpoints.map(({ sequence, stepVersion }) => [sequence, stepVersion])).toEqual([
        [0, 1],
        [1, 2],
        [2, 5],
      ]);
    });
  });
}
