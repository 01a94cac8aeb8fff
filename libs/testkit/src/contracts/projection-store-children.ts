/** Owns the part of the contract about parents and children: the pending work between them, and which children a workflow has. */

import { type TaskState, taskId, type WorkflowId } from '@tidemark/core';
import type { StreamRow } from '@tidemark/ports';
import { describe, expect, test } from 'vitest';
import * as rows from './projection-store-rows.ts';
import type { StoreUnderTest } from './store-under-test.ts';

const first = taskId(1, 0);

/** A task that waits for a child, as core makes it. */
function waiting(workflow: string, task = first) {
  const when = [{ kind: 'child', child: `${workflow}~${task}` }];
  const state: Partial<TaskState> = { id: task, step: 'analyse', after: [], barrierCount: 0, when: when as never };
  return rows.taskRow(workflow, task, { unblocked: false, state: JSON.stringify(state) });
}

const childState = (parent: string, onClose: string): string =>
  JSON.stringify({ stateVersion: 1, parent: { workflow: parent, task: first, onClose } });

export function testChildren(under: StoreUnderTest): void {
  describe('children', () => {
    const pendingWork = async () =>
      (await under.store.childWork(100)).map(({ kind, parent, task, child }) => [kind, parent, task, child].join(' '));
    let offset = 1;
    /** Each workflow in a partition of its own. */
    const add = async (workflow: string, partition: number, row: Partial<StreamRow> = {}) =>
      under.store.apply(
        rows.batch({
          partitions: [rows.advance(partition, 0, 1)],
          opened: [rows.opened(workflow, partition)],
          streams: [rows.streamRow(workflow, partition, row)],
        }),
      );
    const change = (workflow: string, partition: number, row: Partial<StreamRow>) =>
      under.store.apply(
        rows.batch({
          partitions: [rows.advance(partition, offset, ++offset)],
          streams: [rows.streamRow(workflow, partition, row)],
        }),
      );

    test('are to be started for tasks that wait, unless these are paused or cancelled', async () => {
      offset = 1;
      await under.partitions(2);
      await add('p', 0);
      expect(await pendingWork()).toEqual([]);
      await under.store.apply(
        rows.batch({
          partitions: [rows.advance(0, offset, ++offset)],
          tasksPut: [
            waiting('p'),
            rows.taskRow('p', taskId(1, 1), { state: JSON.stringify({ note: '"kind":"child"', when: [] }) }),
          ],
        }),
      );
      expect(await pendingWork()).toEqual(['start p 1.0 p~1.0']);
      for (const reason of ['paused', 'undoing', 'cancelling']) {
        await change('p', 0, { reason });
        expect(await pendingWork()).toEqual([]);
      }
      await change('p', 0, { status: 'parked', reason: 'question' });
      expect(await pendingWork()).toEqual(['start p 1.0 p~1.0']);
      await change('p', 0, { status: 'compensating' });
      expect(await pendingWork()).toEqual([]);
    });

    test('are told of once they have ended', async () => {
      offset = 1;
      await under.partitions(2);
      await add('p', 0);
      await under.store.apply(
        rows.batch({ partitions: [rows.advance(0, offset, ++offset)], tasksPut: [waiting('p')] }),
      );
      await add('p~1.0', 1, { state: childState('p', 'cancel') });
      offset = 1;
      expect(await pendingWork()).toEqual([]);
      await change('p~1.0', 1, { status: 'compensating', state: childState('p', 'cancel') });
      expect(await pendingWork()).toEqual([]);
      for (const status of ['completed', 'failed', 'compensated'] as const) {
        await change('p~1.0', 1, { status, state: childState('p', 'cancel') });
        expect(await pendingWork()).toEqual(['report p 1.0 p~1.0']);
      }
    });

    test('are told of once the last has ended that goes on for them', async () => {
      offset = 1;
      await under.partitions(3);
      await add('p', 0);
      await under.store.apply(
        rows.batch({ partitions: [rows.advance(0, offset, ++offset)], tasksPut: [waiting('p')] }),
      );
      const state = childState('p', 'cancel');
      await add('p~1.0', 1, { status: 'completed', reason: 'superseded', state });
      expect(await pendingWork()).toEqual([]);
      await add('p~1.0~2', 2, { state });
      expect(await pendingWork()).toEqual([]);
      offset = 1;
      await change('p~1.0~2', 2, { status: 'failed', reason: 'continued', state });
      expect(await pendingWork()).toEqual(['report p 1.0 p~1.0']);
      await change('p~1.0~2', 2, { state });
      offset = 2;
      await change('p', 0, { status: 'failed' });
      expect(await pendingWork()).toEqual(['end p 1.0 p~1.0~2']);
    });

    test('are to be ended once their parents have ended, but for those that are left alone', async () => {
      offset = 1;
      await under.partitions(3);
      await add('p', 0);
      await add('p~1.0', 1, { state: childState('p', 'terminate') });
      await add('p~1.1', 2, { state: childState('p', 'abandon') });
      expect(await pendingWork()).toEqual([]);
      await change('p', 0, { status: 'compensating' });
      expect(await pendingWork()).toEqual(['end p 1.0 p~1.0']);
      await change('p', 0, { status: 'failed' });
      expect(await pendingWork()).toEqual(['end p 1.0 p~1.0']);
      offset = 1;
      await change('p~1.0', 1, { reason: 'cancelling', state: childState('p', 'terminate') });
      expect(await pendingWork()).toEqual([]);
    });

    test('are owed by turns of their parents, and page by page', async () => {
      const parents = ['p', 'q', 'r'];
      await under.partitions(parents.length);
      for (const [index, parent] of parents.entries()) await add(parent, index);
      const tasks = [taskId(2, 0), taskId(1, 10), taskId(1, 9)];
      const put = [...tasks.map((task) => waiting('p', task)), waiting('q'), waiting('r', tasks[0])];
      await under.store.apply(rows.batch({ partitions: [rows.advance(0, 1, 2)], tasksPut: put }));
      const all = ['p~1.9', 'q~1.0', 'r~2.0', 'p~1.10', 'p~2.0'];
      expect((await under.store.childWork(100)).map(({ child }) => child)).toEqual(all);
      expect((await under.store.childWork(2, 2)).map(({ child }) => child)).toEqual(all.slice(2, 4));
      expect(await under.store.childWork(2, 5)).toEqual([]);
    });

    test('that are to go on are owed until it is known that they do', async () => {
      await under.partitions(4);
      const pending = (after: string | null = null, limit = 10) =>
        under.store.pendingContinuations(after as WorkflowId | null, limit);
      const isUnfinished = { status: 'completed', reason: 'continued' } as const;
      await add('b', 0, { status: 'completed', reason: 'superseded' });
      await add('a', 1, isUnfinished);
      await add('c', 2, { status: 'failed', reason: 'continued' });
      await add('d', 3, { status: 'completed', reason: null });
      expect(await pending()).toEqual(['a', 'b']);
      expect(await pending(null, 1)).toEqual(['a']);
      expect(await pending('a')).toEqual(['b']);
      await under.store.continuationsBegun(['a', 'd'] as WorkflowId[]);
      expect(await pending()).toEqual(['b']);
    });

    test('are listed by their parent, page by page, without theirs and what is alike', async () => {
      const ids = ['p', 'p~1.0', 'p~1.0~2.0', 'p~1.1', 'p~fork-12', 'p~2.0:undo', 'p2~1.0', 'q~1.0'];
      await under.partitions(ids.length);
      for (const [index, id] of ids.entries()) await add(id, index);
      const parent = 'p' as WorkflowId;
      const page = await under.store.children({ parent, limit: 10 });
      expect(page.map(({ workflow }) => workflow)).toEqual(['p~1.0', 'p~1.1']);
      const [one] = await under.store.children({ parent, limit: 1 });
      expect(one).toMatchObject({ workflow: 'p~1.0', status: 'open', definition: 'audit' });
      const rest = await under.store.children({ parent, after: one!.workflow, limit: 10 });
      expect(rest.map(({ workflow }) => workflow)).toEqual(['p~1.1']);
      const nested = await under.store.children({ parent: 'p~1.0' as WorkflowId, limit: 10 });
      expect(nested.map(({ workflow }) => workflow)).toEqual(['p~1.0~2.0']);
    });
  });
}
