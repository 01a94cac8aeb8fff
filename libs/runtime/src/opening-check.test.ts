/** A start is acknowledged only when the fold has taken its opening, wherever rows stand at that moment (I6). */

import { type Offset, type Partition, workflowId } from '@tidemark/core';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, expect, it } from 'vitest';
import { LamportClock } from './ports.ts';
import { definitionOf, P0, TENANT, typesOf } from './simulated-definition.ts';
import { quiet, type SimulatedPorts, simulatedPorts } from './simulated-ports.ts';
import { Starter } from './starter.ts';

const definition = definitionOf({ steps: { a: () => ({ done: null }) } });
let log: SimulatedLog;
let ports: SimulatedPorts;
beforeEach(() => {
  log = new SimulatedLog(1);
  ports = simulatedPorts(log, 1);
});

const start = (id: string) =>
  new Starter({ ports, lamport: new LamportClock(), partitionsMax: 1 }).start({
    definition,
    input: null,
    workflow: workflowId(id),
    tenant: TENANT,
  });

it('acknowledges a start by the log alone, while no rows follow', async () => {
  expect(await start('w1')).toMatchObject({ workflow: 'w1', partition: 0 });
  expect(ports.store.rows.size).toBe(0);
});

it('does not acknowledge an opening that was rejected, since its placement was lost before it landed', async () => {
  const release = log.hold();
  const first = start('w1');
  await quiet();
  ports.store.drop();
  await ports.store.addPartitions([{ partition: P0 as Partition, start: 0 as Offset, rebuildTo: 0 as Offset }]);
  const second = start('w2');
  await quiet();
  release();
  await first;
  await expect(second).rejects.toMatchObject({ code: 'start-in-doubt' });
  expect(await typesOf(log)).toEqual(['WorkflowOpened', 'WorkflowOpened']);
});
