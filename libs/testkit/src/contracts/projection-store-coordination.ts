/** Owns the part of the contract about what coordinators and people read, and how projectors share the partitions. */

import type {
  Epoch,
  Generation,
  HolderId,
  Lamport,
  Offset,
  Partition,
  Sequence,
  TenantId,
  WorkflowId,
} from '@tidemark/core';
import { type DueTimer, type ProjectionBatch, RANGE_COUNT, type StreamRow } from '@tidemark/ports';
import { describe, expect, test } from 'vitest';
import * as rows from './projection-store-rows.ts';
import type { StoreUnderTest } from './store-under-test.ts';

const LONG_MS = 60_000;
const everyRange = Array.from({ length: RANGE_COUNT }, (_, range) => range);

export function testCoordination(under: StoreUnderTest): void {
  describe('shareRanges', () => {
    test('one owner gets all, and gives up half when a second comes', async () => {
      expect(await under.store.shareRanges('one', LONG_MS)).toEqual(everyRange);
      expect(await under.other.shareRanges('two', LONG_MS)).toEqual([]);
      const kept = await under.store.shareRanges('one', LONG_MS);
      expect(kept).toHaveLength(RANGE_COUNT / 2);
      const taken = await under.other.shareRanges('two', LONG_MS);
      expect([...kept, ...taken].sort((a, b) => a - b)).toEqual(everyRange);
      expect(await under.store.shareRanges('one', LONG_MS)).toEqual(kept);
    });

    test('each role shares all of them by itself', async () => {
      expect(await under.store.shareRanges('one', LONG_MS)).toEqual(everyRange);
      expect(await under.store.shareRanges('archiving', LONG_MS, 'compact')).toEqual(everyRange);
      expect(await under.store.shareRanges('one', LONG_MS)).toEqual(everyRange);
      await under.store.releaseRanges('archiving');
      expect(await under.store.shareRanges('other', LONG_MS, 'compact')).toEqual(everyRange);
    });

    test('what a living owner releases or a dead one leaves is taken', async () => {
      await under.store.shareRanges('brief', 1);
      await expect.poll(() => under.store.shareRanges('one', LONG_MS)).toEqual(everyRange);
      await under.store.releaseRanges('one');
      expect(await under.other.shareRanges('two', LONG_MS)).toEqual(everyRange);
      await under.store.releaseRanges('unknown');
    });

    test('many owners share fairly, and no range has two, at any moment', async () => {
      const owners = ['a', 'b', 'c', 'd', 'e'];
      const round = (): Promise<(readonly number[])[]> =>
        Promise.all(owners.map((owner, n) => (n % 2 === 0 ? under.store : under.other).shareRanges(owner, LONG_MS)));
      for (let n = 0; n < 3; n += 1) await round();
      const shares = await round();
      expect(shares.flat().sort((a, b) => a - b)).toEqual(everyRange);
      expect(shares.map((share) => share.length).sort()).toEqual([12, 13, 13, 13, 13]);
    });
  });

  describe('marks of exported traces', () => {
    test('begin where the rows stand, and never go back', async () => {
      const at = (store: typeof under.store) => store.tracedTo().then((marks) => [...marks]);
      await under.partitions(2);
      await under.store.apply(rows.openingBatch('w', 1));
      expect(await at(under.store)).toEqual([
        [0, 0],
        [1, 1],
      ]);
      await under.store.advanceTraced(new Map([[rows.partitionAt(1), 5 as Offset]]));
      await under.other.advanceTraced(
        new Map([
          [rows.partitionAt(1), 4 as Offset],
          [rows.partitionAt(7), 2 as Offset],
        ]),
      );
      await under.other.advanceTraced(new Map());
      expect(await at(under.other)).toEqual([
        [0, 0],
        [1, 5],
        [7, 2],
      ]);
    });
  });

  describe('sweeps', () => {
    test('runnable streams by id, page by page, with what a job carries', async () => {
      await under.partitions(4);
      for (const [n, name] of ['b', 'ä', 'a', 'Z'].entries()) {
        await under.store.apply(rows.openingBatch(name, n));
      }
      await under.store.apply(
        rows.batch({
          partitions: [rows.advance(0, 1, 2)],
          streams: [rows.streamRow('b', 0, { runnable: false, holder: 'h' as HolderId, epoch: 1 as Epoch })],
        }),
      );
      const page = await under.store.runnable(null, 2);
      expect(page.map((one) => one.workflow)).toEqual(['Z', 'a']);
      expect(page[1]).toEqual({
        workflow: 'a',
        tenant: rows.tenant,
        definition: 'audit',
        version: 1,
        pinned: false,
        partition: 2,
        next: 1,
        lamport: 1 as Lamport,
        epoch: 0 as Epoch,
      });
      expect((await under.other.runnable(page[1]!.workflow, 2)).map((one) => one.workflow)).toEqual(['ä']);
    });

    test('how a runnable stream is dispatched comes with it; what only looks like that in a text is none', async () => {
      await under.partitions(2);
      const dispatch = { priority: 1, limits: [{ key: 'k "dispatch":{', concurrency: 2 }] } as const;
      const opened = rows.openingBatch('has', 0);
      const [stream] = opened.streams;
      const state = JSON.stringify({ ...JSON.parse(stream!.state), dispatch });
      await under.store.apply({ ...opened, streams: [{ ...stream!, state }] });
      const other = rows.openingBatch('has-not', 1);
      const [plain] = other.streams;
      const misleading = JSON.stringify({ ...JSON.parse(plain!.state), lastAction: '"dispatch":{}' });
      await under.store.apply({ ...other, streams: [{ ...plain!, state: misleading }] });
      const [first, second] = await under.store.runnable(null, 2);
      expect(first).toMatchObject({ workflow: 'has', dispatch });
      expect(second).not.toHaveProperty('dispatch');
      const before = { dispatch: { priority: 5 } } as const;
      const known = new Map([['has' as WorkflowId, before]]);
      expect(await under.store.runnable(null, 2, known)).toEqual([{ ...first, ...before }, second]);
    });

    test('ids of what is not closed, page by page', async () => {
      await under.partitions(4);
      for (const [n, name] of ['b', 'ä', 'a', 'Z'].entries()) await under.store.apply(rows.openingBatch(name, n));
      await under.store.apply(
        rows.batch({
          partitions: [rows.advance(2, 1, 2)],
          streams: [rows.streamRow('a', 2, { status: 'completed', closedInGeneration: 1 as Generation })],
          closed: [{ workflow: 'a' as WorkflowId, partition: 2 as Partition, result: '{}' }],
        }),
      );
      expect(await under.store.openWorkflows(null, 2)).toEqual(['Z', 'b']);
      expect(await under.other.openWorkflows('b' as WorkflowId, 2)).toEqual(['ä']);
      expect(await under.store.openWorkflows('ä' as WorkflowId, 2)).toEqual([]);
    });

    test('workflows of a user, page by page: by their states, and by their sessions where the state is away', async () => {
      await under.partitions(6);
      const state = (about: object): string => JSON.stringify({ stateVersion: 1, ...about });
      const open = async (name: string, partition: number, about: object, part: Partial<StreamRow> = {}) => {
        const opening = rows.openingBatch(name, partition);
        await under.store.apply({
          ...opening,
          streams: [rows.streamRow(name, partition, { state: state(about), ...part })],
        });
      };
      await open('b', 0, { user: 'ana', session: 's' });
      await open('a', 1, { user: 'ana' });
      await open('c', 2, { user: 'bob' });
      await open('d', 3, {});
      await open('e', 4, { user: 'ana' }, { tenant: 'other' as TenantId });
      const session = { tenant: rows.tenant, session: 'old', workflow: 'f' as WorkflowId, user: 'ana' };
      const context = { fragments: [], texts: [], scopes: [], spends: [] };
      await under.store.apply({
        ...rows.openingBatch('f', 5),
        streams: [rows.streamRow('f', 5, { state: '', status: 'completed', closedInGeneration: 1 as Generation })],
        closed: [rows.closed('f', 5)],
        context: { ...context, sessions: [{ ...session, lamport: 1 as Lamport }] },
      });
      const found = await under.store.userWorkflows(rows.tenant, 'ana', null, 2);
      expect(found).toEqual([
        { workflow: 'a', session: null, isOpen: true },
        { workflow: 'b', session: 's', isOpen: true },
      ]);
      expect(await under.other.userWorkflows(rows.tenant, 'ana', found[1]!.workflow, 2)).toEqual([
        { workflow: 'f', session: 'old', isOpen: false },
      ]);
      expect(await under.store.userWorkflows(rows.tenant, 'nobody', null, 2)).toEqual([]);
    });

    test('leases with their holders', async () => {
      await under.partitions(2);
      await under.store.apply(rows.openingBatch('a', 0));
      await under.store.apply(rows.openingBatch('b', 1));
      const lease = { holder: 'worker-1' as HolderId, epoch: 4 as Epoch, runnable: false };
      await under.store.apply(
        rows.batch({ partitions: [rows.advance(1, 1, 2)], streams: [rows.streamRow('b', 1, lease)] }),
      );
      expect(await under.store.leases()).toEqual([
        {
          ...{ workflow: 'b', tenant: rows.tenant, definition: 'audit', partition: 1, generation: 1, epoch: 4 },
          holder: 'worker-1',
        },
      ]);
      expect(await under.store.counts()).toEqual({
        partitionCount: 2,
        openCount: 2,
        leasedCount: 1,
        runnableCount: 1,
        rejectedCount: 0,
        unappendedCount: 0,
      });
    });

    test('timers that are due, earliest first', async () => {
      await under.partitions(1);
      const timers = [30, 10, 20].map((due) => rows.timerRow('w', 0, `t-${due}`, due));
      await under.store.apply(rows.batch({ ...rows.openingBatch('w', 0), timersPut: timers }));
      const due = await under.store.dueTimers(20, 10);
      expect(due).toEqual([
        { workflow: 'w', timer: 't-10', partition: 0, dueAtMs: 10, tenant: rows.tenant, generation: 1 },
        { workflow: 'w', timer: 't-20', partition: 0, dueAtMs: 20, tenant: rows.tenant, generation: 1 },
      ]);
      expect(await under.store.dueTimers(99, 1)).toHaveLength(1);
    });

    test('timers that are due after a given one, also of those that are due at once', async () => {
      await under.partitions(1);
      const timers = [
        ['b', 10],
        ['a', 10],
        ['c', 10],
        ['late', 20],
      ] as const;
      const put = timers.map(([name, due]) => rows.timerRow('w', 0, name, due));
      await under.store.apply(rows.batch({ ...rows.openingBatch('w', 0), timersPut: put }));
      const names: string[] = [];
      for (let after: DueTimer | undefined; ; ) {
        const [next] = await under.store.dueTimers(99, 1, after);
        if (next === undefined) break;
        names.push(next.timer);
        after = next;
      }
      expect(names).toEqual(['a', 'b', 'c', 'late']);
    });
  });

  describe('reads', () => {
    test('workflows newest first, by tenant, definition and status', async () => {
      await under.partitions(3);
      const tenant = 'umbrella' as TenantId;
      const open = (name: string, partition: number, part: Parameters<typeof rows.streamRow>[2]): ProjectionBatch =>
        rows.batch({ ...rows.openingBatch(name, partition), streams: [rows.streamRow(name, partition, part)] });
      await under.store.apply(open('old', 0, { openedAtMs: 1 }));
      await under.store.apply(open('new', 1, { openedAtMs: 3, definition: 'other' }));
      await under.store.apply(open('middle', 2, { openedAtMs: 2, tenant, status: 'parked', reason: 'why' }));
      const ids = async (query: Parameters<typeof under.store.workflows>[0]): Promise<string[]> =>
        (await under.store.workflows(query)).map((one) => one.workflow);
      expect(await ids({ limit: 10 })).toEqual(['new', 'middle', 'old']);
      expect(await ids({ limit: 1 })).toEqual(['new']);
      expect(await ids({ limit: 10, tenant })).toEqual(['middle']);
      expect(await ids({ limit: 10, definition: 'audit' })).toEqual(['middle', 'old']);
      expect(await ids({ limit: 10, status: 'parked', tenant: rows.tenant })).toEqual([]);
      expect(await ids({ limit: 10, status: 'parked', reason: 'why' })).toEqual(['middle']);
      expect(await ids({ limit: 10, status: 'parked', reason: 'another' })).toEqual([]);
      expect(await under.store.workflow(rows.workflowNamed('nobody'))).toBeUndefined();
    });

    test('checkpoints by sequence, from one on, of one step', async () => {
      await under.partitions(1);
      const checkpoints = [3, 1, 2].map((n) => rows.checkpointRow('w', n, { step: n === 2 ? 'merge' : 'analyse' }));
      const opening = rows.openingBatch('w', 0);
      await under.store.apply(rows.batch({ ...opening, checkpoints: [...opening.checkpoints, ...checkpoints] }));
      const read = async (from: number, limit: number, step?: string): Promise<number[]> => {
        const options = { from: from as Sequence, limit, ...(step === undefined ? {} : { step }) };
        return (await under.store.checkpoints(rows.workflowNamed('w'), options)).map((row) => row.sequence);
      };
      expect(await read(0, 10)).toEqual([0, 1, 2, 3]);
      expect(await read(1, 2)).toEqual([1, 2]);
      expect(await read(0, 10, 'analyse')).toEqual([1, 3]);
      expect(await read(4, 10)).toEqual([]);
    });

    test('the newest events by position, effects by position, tasks by creation', async () => {
      await under.partitions(1);
      await under.store.apply(
        rows.batch({ ...rows.openingBatch('w', 0), events: [5, 2, 9].map((n) => rows.eventRow('w', n)) }),
      );
      const events = await under.store.events(rows.workflowNamed('w'), 2);
      expect(events.map((row) => row.position)).toEqual([5, 9]);
      expect(await under.store.effects(rows.workflowNamed('w'))).toEqual([]);
      expect(await under.store.tasks(rows.workflowNamed('w'), 0)).toEqual([]);
    });
  });
}
