/** Owns the part of the contract about approvals: which tasks, in which order, of whom, page by page. */

import { type TaskId, type TaskState, type TenantId, taskId } from '@tidemark/core';
import { describe, expect, test } from 'vitest';
import * as rows from './projection-store-rows.ts';
import type { StoreUnderTest } from './store-under-test.ts';

interface Asking {
  readonly atMs: number;
  readonly assignee?: string;
  readonly after?: readonly TaskId[];
}

/** As core makes it: members in its order. */
function asking(task: TaskId, { atMs, assignee, after = [] }: Asking) {
  const approval = { kind: 'approval', name: 'pay', askedAtMs: atMs, ...(assignee !== undefined && { assignee }) };
  const when = [{ kind: 'timer', timer: 't', anchorMs: 1, delayMs: 1 }, approval];
  const state: Partial<TaskState> = { id: task, step: 'analyse', after, barrierCount: 0, when: when as never };
  return { unblocked: false, state: JSON.stringify(state) };
}

export function testApprovals(under: StoreUnderTest): void {
  describe('approvals', () => {
    const ids = async (query: object = {}) =>
      (await under.store.approvals({ limit: 10, ...query })).map(({ workflow, task }) => `${workflow} ${task}`);

    test('are tasks that wait for a person, and for no other task, the oldest first', async () => {
      await under.partitions(3);
      const [first, second] = [taskId(0, 0), taskId(0, 1)];
      await under.store.apply(
        rows.batch({
          ...rows.openingBatch('w', 0),
          tasksPut: [
            rows.taskRow('w', first, asking(first, { atMs: 20, assignee: 'role:"lead"' })),
            rows.taskRow('w', second, asking(second, { atMs: 10 })),
            rows.taskRow('w', taskId(0, 2), asking(taskId(0, 2), { atMs: 1, after: [first] })),
            rows.taskRow('w', taskId(0, 3), { state: JSON.stringify({ note: '"kind":"approval" "after":[]' }) }),
          ],
        }),
      );
      const other = rows.openingBatch('x', 1);
      await under.store.apply(
        rows.batch({
          ...other,
          opened: [rows.opened('x', 1, 1, 'other' as TenantId)],
          streams: [rows.streamRow('x', 1, { tenant: 'other' as TenantId })],
          tasksPut: [rows.taskRow('x', first, asking(first, { atMs: 10 }))],
        }),
      );
      expect(await ids()).toEqual(['w 0.1', 'x 0.0', 'w 0.0']);
      expect(await ids({ tenant: 'other' })).toEqual(['x 0.0']);
      expect(await ids({ assignees: ['role:"lead"', 'nobody'] })).toEqual(['w 0.0']);
      expect(await ids({ assignees: [] })).toEqual([]);
      const [page] = await under.store.approvals({ limit: 1 });
      expect(page).toMatchObject({ workflow: 'w', task: second, askedAtMs: 10, tenant: 'acme', step: 'analyse' });
      expect(await ids({ after: page })).toEqual(['x 0.0', 'w 0.0']);
    });

    test('are none of a workflow that is paused or has ended', async () => {
      await under.partitions(2);
      const first = taskId(0, 0);
      const tasksPut = [rows.taskRow('w', first, asking(first, { atMs: 20 }))];
      const paused = rows.streamRow('w', 0, { reason: 'paused' });
      await under.store.apply(rows.batch({ ...rows.openingBatch('w', 0), tasksPut, streams: [paused] }));
      expect(await ids()).toEqual([]);
      await under.store.apply(rows.batch({ partitions: [rows.advance(0, 1, 2)], streams: [rows.streamRow('w', 0)] }));
      expect(await ids()).toEqual(['w 0.0']);
      await under.store.apply(rows.closingBatch('w', 0, 2));
      expect(await ids()).toEqual([]);
    });
  });
}
