/**
 * A database that an earlier release created and filled: what a migration keeps, and that everything else comes back from the log as if the
 * database had been new (I6). The rows are written as that release wrote them.
 */

import type { Generation, Position } from '@tidemark/core';
import type { Placement, RowStore } from '@tidemark/ports';
import { dump } from '@tidemark/testkit/contracts/projection-store';
import * as rows from '@tidemark/testkit/contracts/projection-store-rows';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrate } from './migrate.ts';
import { MIGRATIONS } from './migrations.ts';
import { assemblePglite } from './pglite-store.ts';
import { once } from './sql-client.ts';

/** Starting two PGlites takes seconds, on a busy machine many. */
const digest = 'd'.repeat(64);

/**
 * Partition 0: `first` has closed, `second` runs with a finished effect and a timer. Partition 1: `waiting` is placed, and its
 * opening never came to the log. Partition 2: nothing yet.
 */
const BY_THE_FIRST = `
insert into partitions (partition, next, generation, placed_generation, live, tenant, rebuild_to) values
  (0, 3, 2, 2, 1, 'acme', 0), (1, 0, 0, 1, 1, 'acme', 0), (2, 0, 0, 0, 0, null, 0);
insert into placements (workflow, tenant, partition, generation, mode, opening, appended, live) values
  ('first', 'acme', 0, 1, 'exclusive', '', true, false),
  ('second', 'acme', 0, 2, 'exclusive', '', true, true),
  ('waiting', 'acme', 1, 1, 'exclusive', '{"workflow":"waiting"}', false, true);
insert into workflows (workflow, tenant, partition, generation, definition, version, status, reason, position, sequence,
  checkpoint, belief_sequence, epoch, holder, lamport, opened_at_ms, updated_at_ms, tokens, cost_micros, last_action,
  runnable, pending_count, closed_in_generation, state, result) values
  ('first', 'acme', 0, 1, 'audit', 1, 'completed', null, 2, 0, null, 0, 0, null, 1, 1, 1, 0, 0, '', false, 0, 1,
    '{"stateVersion":1}', '{"output":1}'),
  ('second', 'acme', 0, 2, 'audit', 1, 'open', null, 1, 0, null, 0, 0, null, 1, 1, 1, 0, 0, '', true, 1, null,
    '{"stateVersion":1}', null);
insert into tasks (workflow, rank, step, unblocked, cause, state) values ('second', 0, 'analyse', true, null, '{"id":"0.0"}');
insert into checkpoints (workflow, sequence, checkpoint, parent, task, step, step_version, input_digest, belief, tokens,
  cost_micros, last_action, epoch, holder, position, "offset", lamport, at_ms, payload) values
  ('second', 0, null, null, null, null, 1, '${digest}', 'snapshot', 0, 0, '', 0, '', 1, 2, 1, 1, '{"input":1}');
insert into effects (workflow, task_rank, key, operation, kind, status, request_digest, response_digest, position, at_ms,
  payload) values ('second', 0, 'second:0.0:pay:1', 'pay', 'idempotent', 'done', '${digest}', '${digest}', 1, 1, '{}');
insert into events (workflow, position, event, type, epoch, holder, lamport, "offset", at_ms, control, payload) values
  ('second', 1, 'second-1', 'SignalReceived', 0, '', 1, 2, 1, '{"name":"go"}', '{"value":1}');
insert into timers (workflow, timer, partition, due_at_ms) values ('second', 'late', 0, 5);
insert into rejected (partition, "offset", workflow, type, reason, evidence, at_ms) values (0, 9, null, null, 'malformed', '', 1);
update meta set ready = true`;

const older = assemblePglite({ memory: true }, { useTemplate: false });
const fresh = assemblePglite({ memory: true });

/** What the log holds: the same three events. */
async function refold(store: RowStore): Promise<void> {
  await store.apply(rows.openingBatch('first', 0, 0, 1));
  await store.apply(rows.closingBatch('first', 0, 1, 1));
  await store.apply(rows.openingBatch('second', 0, 2, 2));
}

beforeAll(async () => {
  await migrate(older.client, 'memory', { migrations: MIGRATIONS.slice(0, 1) });
  await older.client.script(BY_THE_FIRST);
  await older.store.ensure();
  await fresh.store.ensure();
});
afterAll(() => Promise.all([older.store.close(), fresh.store.close()]));

describe('a database of the first version', () => {
  test('has no row that a fold made, and is not ready: nothing is claimed or placed (P3)', async () => {
    const { store, client } = older;
    const applied = 'select name from tidemark_migrations union all select name from tidemark_expansions order by name';
    expect(await client.run([once(applied)])).toEqual([MIGRATIONS.map(({ name }) => [name])]);
    for (const table of ['workflows', 'tasks', 'checkpoints', 'effects', 'events', 'timers', 'rejected'])
      expect(await client.run([once(`select count(*) from ${table}`)])).toEqual([[['0']]]);
    expect([...(await store.positions()).values()]).toEqual([0, 0, 0]);
    expect(await store.loadPartitions([rows.partitionAt(0)])).toMatchObject([{ next: 0, generation: 0, streams: [] }]);
    expect(await store.markReady()).toBe(false);
    const rebuilding = { name: 'UnavailableError', code: 'store-rebuilding' };
    await expect(store.loadStreams([rows.workflowNamed('second')])).rejects.toMatchObject(rebuilding);
    await expect(store.place([rows.request('fourth')])).rejects.toMatchObject(rebuilding);
  });

  test('keeps the placement whose opening is in no log', async () => {
    expect(await older.store.unappended(0, 10)).toMatchObject([
      { workflow: 'waiting', partition: 1, generation: 1, opening: '{"workflow":"waiting"}', appended: false },
    ]);
  });

  test('is ready once as much is folded as was before, and not earlier', async () => {
    const { store } = older;
    await store.apply(rows.openingBatch('first', 0, 0, 1));
    await store.apply(rows.closingBatch('first', 0, 1, 1));
    expect(await store.markReady()).toBe(false);
    await store.apply(rows.openingBatch('second', 0, 2, 2));
    expect(await store.markReady()).toBe(true);
  });

  test('then says what a new one says of the same log', async () => {
    const { store } = fresh;
    await store.addPartitions(
      [0, 1, 2].map((at) => ({ partition: rows.partitionAt(at), start: rows.at(0), rebuildTo: rows.at(0) })),
    );
    await refold(store);
    const [expected, actual] = [await dump(store), await dump(older.store)];
    const { counts, ...same } = expected;
    expect(actual).toEqual({ ...same, counts: { ...counts, openCount: 2, unappendedCount: 1 } });
  });

  test('knows every placement: none is made twice, and no partition is given away that is taken', async () => {
    const placed = (await older.store.place(
      ['first', 'second', 'waiting', 'third', 'fourth'].map((w) => rows.request(w)),
    )) as Placement[];
    expect(
      placed.map(({ workflow, partition, generation, created }) => [workflow, partition, generation, created]),
    ).toEqual([
      ['first', 0, 1, false],
      ['second', 0, 2, false],
      ['waiting', 1, 1, false],
      ['third', 2, 1, true],
    ]);
    // The opening that was kept reaches the log, and its workflow runs.
    await older.store.apply(rows.openingBatch('waiting', 1));
    expect(await older.store.unappended(0, 10)).toMatchObject([{ workflow: 'third' }]);
    expect(await older.store.loadStreams([rows.workflowNamed('waiting')])).toMatchObject([{ partition: 1, next: 1 }]);
    await older.store.apply(
      rows.batch({
        ...rows.closingBatch('second', 0, 3, 2),
        streams: [
          rows.streamRow('second', 0, {
            generation: 2 as Generation,
            status: 'completed',
            runnable: false,
            position: 2 as Position,
            closedInGeneration: 2 as Generation,
          }),
        ],
      }),
    );
    expect(await older.store.place([rows.request('fourth')])).toMatchObject([{ partition: 0, generation: 3 }]);
  });

  test('is migrated once: ensuring it again changes nothing', async () => {
    const before = await dump(older.store);
    await older.store.ensure();
    expect(await dump(older.store)).toEqual(before);
  });
});

/** One partition, taken by a workflow of a session, and another that has closed; three settled calls and an open one. */
const BY_THE_FIFTH = `
insert into partitions (partition, next, generation, live, placed_generation, tenant, rebuild_to)
  values (0, 3, 2, 1, 2, 'acme', 0), (1, 0, 0, 0, 0, null, 0);
insert into placements (workflow, tenant, partition, generation, mode, opening, appended, live)
  values ('ended', 'acme', 0, 1, 'exclusive', '', true, false), ('goes-on', 'acme', 0, 2, 'exclusive', '', true, true);
insert into sessions (tenant, session, workflow, user_id, lamport)
  values ('acme', 's', 'ended', 'ana', 1), ('acme', 's', 'goes-on', 'ana', 2);
insert into spends (workflow, key, tenant, user_id, at_ms, tokens, cost_micros, is_settled) values
  ('ended', 'a', 'acme', 'ana', 3599999, 1, 10, true), ('ended', 'b', 'acme', 'ana', 7200000, 2, 20, true),
  ('goes-on', 'a', 'acme', null, 7200001, 4, 40, true), ('goes-on', 'b', 'acme', 'ana', 7200002, 8, 80, false);
update meta set ready = true`;

test('of a database of the fifth version sessions have their places, and what was spent its sums', async () => {
  const { store, client } = assemblePglite({ memory: true }, { useTemplate: false });
  await migrate(client, 'memory', { migrations: MIGRATIONS.slice(0, 5) });
  await client.script(BY_THE_FIFTH);
  // The twentieth deletes what was folded, and a rebuild restores it.
  await migrate(client, 'memory', { migrations: MIGRATIONS.filter(({ name }) => name < '0020'), mayContract: true });
  expect(await store.place([rows.request('next', { session: 's' })])).toEqual([
    { workflow: 'next', takenBy: 'goes-on' },
  ]);
  const spent = async (user: string | null, sinceMs: number): Promise<readonly number[]> => {
    const { settled, reserved } = await store.spent(rows.tenant, user, sinceMs);
    return [settled.tokens, settled.costMicros, reserved.tokens, reserved.costMicros];
  };
  expect(await spent(null, 0)).toEqual([7, 70, 8, 80]);
  expect(await spent('ana', 0)).toEqual([3, 30, 8, 80]);
  expect(await spent('ana', 3_600_000)).toEqual([2, 20, 8, 80]);
  expect(await spent(null, 7_200_001)).toEqual([4, 40, 8, 80]);
  await store.close();
});
