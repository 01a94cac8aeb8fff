/** Who follows a list hears of everything that moved since it was read, once, or is told to read it again. */

import type { Generation, Partition, WorkflowId } from '@tidemark/core';
import type { HintBus, ProjectionBatch } from '@tidemark/ports';
import { systemClock } from '@tidemark/runtime';
import { closingBatch, openingBatch, streamRow } from '@tidemark/testkit/contracts/projection-store-rows';
import { SimulatedStore } from '@tidemark/testkit/engine/simulated-store';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CHANGES_PARTITIONS_MAX_COUNT, CHANGES_ROWS_MAX_COUNT, Changes } from './changes.ts';

const AT = 0 as Partition;

let store: SimulatedStore;
let hear: (partitions: readonly Partition[]) => void;
let changes: Changes;
let errors: unknown[];
let next: Map<Partition, number>;
let leave: AbortController;

beforeEach(() => {
  store = new SimulatedStore(CHANGES_PARTITIONS_MAX_COUNT + 1);
  hear = () => {};
  const hints: HintBus = {
    publish: () => {},
    subscribe: async (_topic, listener) => {
      hear = listener;
      return async () => {};
    },
    close: async () => {},
  };
  errors = [];
  next = new Map();
  leave = new AbortController();
  changes = new Changes({ store, hints, clock: systemClock }, (_where, error) => errors.push(error));
});

afterEach(async () => {
  leave.abort();
  await changes.close();
  expect(errors).toEqual([]);
});

/** What was told, each as `id position`, or `many`. */
async function follow(): Promise<string[]> {
  const reported: string[] = [];
  const write = (bytes: Uint8Array): void => {
    const [name, data] = `${bytes}`.split('\n').map((line) => line.slice(line.indexOf(' ') + 1));
    const { workflow, position } = JSON.parse(data!) as { workflow?: string; position?: number };
    reported.push(name === 'many' ? 'many' : `${workflow} ${position}`);
  };
  await changes.ready();
  void changes.follow({
    sink: { closed: leave.signal, write } as never,
    tenant: null,
    redaction: { content: true, words: true, tokens: true },
  });
  return reported;
}

async function apply(make: (from: number) => ProjectionBatch, partition = AT): Promise<void> {
  const from = next.get(partition) ?? 0;
  next.set(partition, from + 1);
  await store.apply(make(from));
  hear([partition]);
}
const open = (id: string, generation = 1, partition = AT) =>
  apply((from) => openingBatch(id, partition, from, generation), partition);
const close = (id: string, generation = 1) => apply((from) => closingBatch(id, AT, from, generation));

/** One that was open before closes, another comes and goes, a third one stays: all before anybody looks. */
async function threeInATick(): Promise<void> {
  await close('first', 1);
  await open('second', 2);
  await close('second', 2);
  await open('third', 3);
}

it('tells each that closed and made room for others between two looks, at its end', async () => {
  await open('first');
  const reported = await follow();
  await threeInATick();
  await expect.poll(() => reported.toSorted()).toEqual(['first 2', 'second 2', 'third 1']);
  await close('third', 3);
  await open('fourth', 4);
  await close('fourth', 4);
  await open('fifth', 5);
  // The same again, for a partition that was read before: nothing is reported twice.
  await expect
    .poll(() => reported.toSorted())
    .toEqual(['fifth 1', 'first 2', 'fourth 2', 'second 2', 'third 1', 'third 2']);
});

it('misses them where a look knows the newest generation alone (control)', async () => {
  await open('first');
  const reported = await follow();
  const { moving } = store;
  store.moving = async (since, limit) => moving.call(store, await store.generations([...since.keys()]), limit);
  await threeInATick();
  await expect.poll(() => reported).toEqual(['third 1']);
  await close('third', 3);
  await expect.poll(() => reported).toEqual(['third 1', 'third 2']);
});

it('tells nothing of what did not move, however often its partition is looked at', async () => {
  await open('first');
  await close('first');
  await open('second', 2);
  const reported = await follow();
  await close('second', 2);
  await expect.poll(() => reported).toEqual(['second 2']);
  const polls = store.calls.get('moving')!;
  hear([AT]);
  await expect.poll(() => store.calls.get('moving')).toBeGreaterThan(polls);
  await open('third', 3);
  await expect.poll(() => reported).toEqual(['second 2', 'third 1']);
});

it('tells nothing of what had closed last in a partition before, when another opens there', async () => {
  await open('first');
  await close('first');
  const reported = await follow();
  await open('second', 2);
  await expect.poll(() => reported).toEqual(['second 1']);
});

it('says that the list is to be read again where too much moved, and goes on from there', async () => {
  const reported = await follow();
  for (let partition = 0; partition <= CHANGES_PARTITIONS_MAX_COUNT; partition++)
    await open(`w${partition}`, 1, partition as Partition);
  await expect.poll(() => reported).toEqual(['many']);
  const streams = Array.from({ length: CHANGES_ROWS_MAX_COUNT }, (_, at) =>
    streamRow(`quick${at}`, AT, {
      generation: (at + 2) as Generation,
      status: 'completed',
      closedInGeneration: (at + 2) as Generation,
    }),
  );
  await apply((from) => {
    const { partitions, opened, ...batch } = openingBatch('last', AT, from, CHANGES_ROWS_MAX_COUNT + 2);
    return {
      ...batch,
      partitions,
      streams: [...batch.streams, ...streams],
      opened: [...opened, ...streams.map((row) => ({ ...opened[0]!, workflow: row.workflow as WorkflowId }))],
    };
  });
  await expect.poll(() => reported).toEqual(['many', 'many']);
  await close('last', CHANGES_ROWS_MAX_COUNT + 2);
  await expect.poll(() => reported.at(-1)).toBe('last 2');
});
