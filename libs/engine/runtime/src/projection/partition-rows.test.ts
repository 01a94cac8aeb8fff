/** No id is opened in two partitions, whatever part of a start was on its way when the rows were lost (I1). */

import { type Offset, type Partition, workflowId } from '@tidemark/core';
import { definitionOf, foldLog, P0, TENANT, typesOf } from '@tidemark/testkit/engine/simulated-definition';
import { quiet, type SimulatedPorts, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, expect, it } from 'vitest';
import type { Definition } from '../definition/definition.ts';
import { Starter } from '../inbox/starter.ts';
import { LamportClock } from '../kernel/ports.ts';
import { addPartitions } from './partition-rows.ts';

const definition = definitionOf({ steps: { a: () => ({ done: null }) } });
const P1 = 1 as Partition;
const lamport = new LamportClock();
let log: SimulatedLog;
let ports: SimulatedPorts;
beforeEach(() => {
  log = new SimulatedLog(2);
  ports = simulatedPorts(log, 2);
});

const start = (id: string, of: Definition = definition) =>
  new Starter({ ports, lamport, partitionsMax: 2 }).start({
    definition: of,
    input: null,
    workflow: workflowId(id),
    tenant: TENANT,
  });

/** Openings land when the returned function is called. */
function holdOpenings(): () => void {
  const landing = Promise.withResolvers<void>();
  const append = log.append.bind(log);
  log.append = async (partition, records) => {
    if (records[0]!.type === 'WorkflowOpened') await landing.promise;
    return append(partition, records);
  };
  return () => {
    log.append = append;
    landing.resolve();
  };
}

it('rejects openings that land after the rows that placed them were lost, and new rows were made', async () => {
  const land = holdOpenings();
  const shared = { ...definition, placement: 'shared' as const };
  const starting = ['a', 'b', 'c'].map((id) => start(id, shared));
  await quiet();
  expect([...ports.store.placements.values()].map(({ generation }) => generation)).toEqual([1, 1, 2]);
  ports.store.drop();
  await addPartitions({ ports, lamport }, 2);
  expect(await ports.store.ready()).toBe(true);
  land();
  for (const each of starting) await expect(each).rejects.toMatchObject({ code: 'start-in-doubt' });
  for (const partition of [P0, P1]) expect((await foldLog(log, partition)).state.streams.size).toBe(0);
  // The next one opens a workflow that the first two could have been mistaken for.
  await start('x', shared);
  expect((await foldLog(log, P0)).state.streams.size).toBe(1);
});

it('would take them if the rows were made without a fence', async () => {
  const land = holdOpenings();
  const starting = start('a');
  await quiet();
  ports.store.drop();
  await ports.store.addPartitions([{ partition: P0, start: 0 as Offset, rebuildTo: 0 as Offset }]);
  land();
  await starting;
  expect((await foldLog(log, P0)).state.streams.size).toBe(1);
});

it('folds what landed before the fence, and says so to whoever projects', async () => {
  await start('w');
  // Its own hint has been sent.
  await quiet();
  ports.store.drop();
  const hinted: Partition[] = [];
  await ports.hints.subscribe('appended', (partitions) => void hinted.push(...partitions));
  await addPartitions({ ports, lamport }, 2);
  expect(await ports.store.ready()).toBe(false);
  expect((await ports.store.positions()).get(P0)).toBe(0);
  await quiet();
  expect(hinted).toEqual([P0]);
});

it('gives no rows to a partition whose first records are gone: openings may have been among them', async () => {
  await start('w');
  await log.trim(P0, 1 as Offset);
  ports.store.drop();
  await expect(addPartitions({ ports, lamport }, 2)).rejects.toMatchObject({ code: 'archive-missing' });
  expect((await ports.store.positions()).size).toBe(0);
  expect(await typesOf(log, P1)).toEqual([]);
});

it('keeps the store ready while the pool grows, by one or by two at once', async () => {
  await start('w');
  await log.growTo(4);
  await Promise.all([addPartitions({ ports, lamport }, 4), addPartitions({ ports, lamport }, 4)]);
  expect(await ports.store.ready()).toBe(true);
  expect(await typesOf(log, P0)).toEqual(['WorkflowOpened']);
  expect(await start('v')).toMatchObject({ created: true });
});

it('adds nothing to a store that was lost since it was looked at', async () => {
  ports.store.drop();
  ports.store.on('addPartitions', () => {
    ports.store.on('addPartitions', undefined);
    ports.store.drop();
  });
  await addPartitions({ ports, lamport }, 2);
  expect((await ports.store.positions()).size).toBe(0);
});
