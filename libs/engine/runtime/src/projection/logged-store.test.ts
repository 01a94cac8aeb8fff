/**
 * The view that adds payloads: rows name records, the log has their payloads, and a changed row returns neither another workflow's payload
 * nor another record of its own workflow.
 */

import { type EffectKey, type Offset, type Partition, type Sequence, workflowId } from '@tidemark/core';
import type { CheckpointRow, EffectRow, EventLog, ProjectionStore, RecordPlace, RowStore } from '@tidemark/ports';
import { definitionOf, effectOf } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedStore } from '@tidemark/testkit/engine/simulated-store';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loggedStore } from './logged-store.ts';

const MINE = workflowId('mine');
const OTHER = workflowId('other');
const ALL = { from: 0 as Sequence, limit: 100 };

const poll = effectOf({ operation: 'look', kind: 'idempotent', call: async () => 'seen' });
const notes = definitionOf({
  effects: [poll],
  steps: {
    async note(ctx) {
      const seen = await ctx.effect(poll, 'here');
      return { output: { seen }, belief: () => ({ noted: 'text' }), next: [{ step: 'wait', input: 'given' }] };
    },
    wait: { run: () => Promise.withResolvers<never>().promise },
  },
});

let log: SimulatedLog;
let world: SimulatedWorld;
/** As the adapter has them. */
let below: RowStore;

beforeEach(async () => {
  log = new SimulatedLog(2);
  world = new SimulatedWorld(log, 2);
  await world.coordinator.start();
  await world.worker([notes]);
  for (const id of [MINE, OTHER]) {
    await world.start(notes, null, { id });
    await world.ports.clock.runUntil(() => world.ports.store.rows.get(id)?.stream.sequence === 1, 60_000);
  }
  const { rows, partitions, placements } = world.ports.store;
  below = Object.assign(new SimulatedStore(2), { rows, partitions, placements });
});
afterEach(() => world.close());

const seen = async <Payload>(store: ProjectionStore<Payload>) => ({
  streams: (await store.loadStreams([MINE])).map(({ checkpoints, effects, causes }) => ({
    checkpoints,
    effects,
    causes,
  })),
  checkpoints: await store.checkpoints(MINE, ALL),
  effects: await store.effects(MINE),
  effectPage: await store.effectPage(MINE, { limit: 10 }),
});

/** The log, and the reads of it. */
function watched(): { readonly log: Pick<EventLog, 'read'>; readonly asked: Parameters<EventLog['read']>[0][] } {
  const asked: Parameters<EventLog['read']>[0][] = [];
  const read: EventLog['read'] = (requests) => {
    asked.push(requests);
    return log.read(requests);
  };
  return { asked, log: { read } };
}

type Placed = CheckpointRow<RecordPlace>;

/** What the view returns when a row of the second workflow's first checkpoint was changed. */
async function changed(change: (row: Placed) => Partial<Placed>): Promise<readonly CheckpointRow[]> {
  const rows = (await below.checkpoints(MINE, ALL)).map((row) =>
    row.sequence === 1 ? { ...row, ...change(row) } : row,
  );
  const store = { ...below, checkpoints: async () => rows, loadStreams: async () => [], effects: async () => [] };
  const given = { ...store, effectPage: async () => [], events: async () => [] } as unknown as RowStore;
  return loggedStore(given, log).checkpoints(MINE, ALL);
}

it('has every text, and the rows below it have none', async () => {
  const raw = JSON.stringify(await seen(below));
  for (const text of ['noted', 'seen', 'given', 'here']) expect(raw).not.toContain(text);
  const said = await seen(loggedStore(below, log));
  expect(said.checkpoints.map(({ payload }) => JSON.parse(payload))).toMatchObject([
    { belief: {} },
    { output: { seen: 'seen' }, tasks: ['given'] },
  ]);
  expect(said.effects.map(({ payload, request }) => [JSON.parse(payload), JSON.parse(request!)])).toEqual([
    [{ response: 'seen' }, expect.objectContaining({ request: 'here' })],
  ]);
  expect(JSON.stringify(said.streams)).toContain('noted');
});

it('reads what lies near each other in one stretch, to its last record and no further', async () => {
  const { log: under, asked } = watched();
  const rows = await loggedStore(below, under).checkpoints(MINE, ALL);
  const [from, last] = [rows[0]!.offset, rows.at(-1)!.offset];
  expect(asked).toMatchObject([[{ from, to: last + 1, wanted: new Set(rows.map(({ offset }) => offset)) }]]);
});

it('brings no other workflow’s record, nor another of the same, for a row that was changed', async () => {
  const [other] = (await below.checkpoints(OTHER, ALL)).slice(1);
  const [opening] = await below.checkpoints(MINE, ALL);
  const wrong = {
    name: 'CorruptError',
    code: 'rows-wrong',
    message: expect.stringContaining('tidemark admin rebuild'),
  };
  await expect(changed(() => ({ payload: other!.payload }))).rejects.toMatchObject(wrong);
  await expect(changed(() => ({ payload: opening!.payload }))).rejects.toMatchObject(wrong);
  // The control: as it was.
  expect(await changed(() => ({}))).toHaveLength(2);
});

it('brings no answer of another effect for one that was changed, nor what it was asked as what it answered', async () => {
  const [own] = await below.effects(MINE);
  const said = (change: Partial<EffectRow<RecordPlace>>) => {
    const effects = async () => [{ ...own!, ...change }];
    return loggedStore({ ...below, effects, loadStreams: async () => [] } as unknown as RowStore, log).effects(MINE);
  };
  const wrong = { code: 'rows-wrong' };
  await expect(said({ payload: own!.request! })).rejects.toMatchObject(wrong);
  await expect(said({ request: own!.payload })).rejects.toMatchObject(wrong);
  await expect(said({ key: 'mine:0.0:look:other' as EffectKey })).rejects.toMatchObject(wrong);
  await expect(said({ responseDigest: 'e'.repeat(64) })).rejects.toMatchObject(wrong);
  await expect(said({ status: 'constructor' as never })).rejects.toMatchObject(wrong);
  // The control: as it was.
  expect(await said({})).toMatchObject([{ payload: expect.stringContaining('seen') }]);
});

it('says so where a row names what the log doesn’t have', async () => {
  const moved = (place: Partial<{ partition: Partition; offset: Offset }>) =>
    changed(({ payload }) => ({ payload: { ...payload, ...place } }));
  await expect(moved({ offset: 999 as Offset })).rejects.toMatchObject({ code: 'log-past-end' });
  const [row] = await below.checkpoints(MINE, ALL);
  await log.trim(row!.payload.partition, (row!.offset + 1) as Offset);
  await expect(loggedStore(below, log).checkpoints(MINE, ALL)).rejects.toMatchObject({ code: 'log-trimmed' });
});
