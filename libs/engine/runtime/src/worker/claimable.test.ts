/** What a worker finds of a workflow before it claims it: in the log, where rows don't show it yet, or in rows; a job proves nothing. */

import { type Lamport, type Offset, type Partition, workflowId } from '@tidemark/core';
import type { Job } from '@tidemark/ports';
import { definitionOf, TENANT } from '@tidemark/testkit/engine/simulated-definition';
import { type SimulatedPorts, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, expect, it } from 'vitest';
import { Starter } from '../inbox/starter.ts';
import { LamportClock } from '../kernel/ports.ts';
import { ClaimableReads } from './claimable.ts';

const definition = definitionOf({ steps: { a: () => ({ done: null }) } });
const ID = workflowId('w');
let log: SimulatedLog;
let ports: SimulatedPorts;
let reads: ClaimableReads;
beforeEach(async () => {
  log = new SimulatedLog(2);
  ports = simulatedPorts(log, 2);
  reads = new ClaimableReads(ports);
  const starter = new Starter({ ports, lamport: new LamportClock(), partitionsMax: 2 });
  await starter.start({ definition, input: { x: 1 }, workflow: ID, tenant: TENANT });
});

const sent = (): Job => ports.queue.enqueued[0]!;

it('is found in the log as it was opened, by the job that its starter has sent', async () => {
  expect(sent()).toMatchObject({ workflow: ID, begins: true, offset: 1 });
  expect(ports.store.rows.size).toBe(0);
  const found = await reads.of(sent());
  expect(found).toMatchObject({ partition: sent().partition, next: 1, state: { workflow: ID, epoch: 0 } });
  expect(found?.content().input).toEqual({ x: 1 });
});

it('is not claimed where it was opened, but is placed elsewhere by now', async () => {
  const placement = ports.store.placements.get(ID)!;
  ports.store.placements.set(ID, { ...placement, partition: (1 - placement.partition) as Partition });
  expect(await reads.of(sent())).toBeUndefined();
});

it.each<[string, Partial<Job>]>([
  ['of a record that is not there', { offset: 1_000 as Offset }],
  ['of a partition that is not there', { partition: 77 as Partition }],
  ['of another partition', { partition: 1 as Partition }],
  ['of a workflow that is not there', { workflow: workflowId('other') }],
  ['without an offset', { offset: 0 as Offset }],
])('a job %s keeps no other from its workflow', async (_, forged) => {
  const [found, other] = await Promise.all([
    reads.of(sent()),
    reads.of({ ...sent(), lamport: 9 as Lamport, ...forged }),
  ]);
  expect(found?.state.workflow).toBe(ID);
  expect(other === undefined || other.state.workflow === ID).toBe(true);
});
