/** No id is opened in two partitions, whatever of a start was under way when the rows were lost (I1). */

import { workflowId } from '@tidemark/core';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, expect, it } from 'vitest';
import { addPartitions } from './partition-rows.ts';
import { LamportClock } from './ports.ts';
import { definitionOf, foldLog, P0, TENANT, typesOf } from './simulated-definition.ts';
import { quiet, type SimulatedPorts, simulatedPorts } from './simulated-ports.ts';
import { Starter } from './starter.ts';

const definition = definitionOf({ steps: { a: () => ({ done: null }) } });
const lamport = new LamportClock();
let log: SimulatedLog;
let ports: SimulatedPorts;
beforeEach(() => {
  log = new SimulatedLog(2);
  ports = simulatedPorts(log, 2);
});

const start = (id: string) =>
  new Starter({ ports, lamport, partitionsMax: 2 }).start({
    definition,
    input: null,
    workflow: workflowId(id),
    tenant: TENANT,
  });

it('rejects an opening that lands after the rows that placed it were lost, and new rows were made', async () => {
  const landing = Promise.withResolvers<void>();
  const append = log.append.bind(log);
  log.append = async (partition, records) => {
    if (records[0]!.type === 'WorkflowOpened') await landing.promise;
    return append(partition, records);
  };
  const starting = start('w');
  await quiet();
  ports.store.drop();
  await addPartitions({ ports, lamport }, 2);
  expect(await ports.store.ready()).toBe(true);
  landing.resolve();
  await expect(starting).rejects.toMatchObject({ code: 'start-in-doubt' });
  expect(await typesOf(log, P0)).toEqual(['PartitionFenced', 'WorkflowOpened']);
  expect((await foldLog(log, P0)).state.streams.size).toBe(0);
});

it('fences no partition that has rows, and keeps the store ready while the pool grows', async () => {
  await start('w');
  await log.growTo(4);
  await addPartitions({ ports, lamport }, 4);
  expect(await ports.store.ready()).toBe(true);
  expect(await typesOf(log, P0)).toEqual(['WorkflowOpened']);
  expect(await start('v')).toMatchObject({ created: true });
});
