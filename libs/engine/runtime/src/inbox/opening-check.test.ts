/** A start is acknowledged only once the fold has accepted its opening, wherever rows are at that moment (I6). */

import { eventId, generation, type Lamport, type Offset, type Partition, workflowId } from '@tidemark/core';
import { definitionOf, P0, TENANT, typesOf } from '@tidemark/testkit/engine/simulated-definition';
import { quiet, type SimulatedPorts, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, expect, it } from 'vitest';
import { BACKOFF_FIRST_MS } from '../kernel/limits.ts';
import { LamportClock } from '../kernel/ports.ts';
import { inboxRecord } from '../lease/inbox.ts';
import { GAP_EMPTY_READS_MAX } from '../lease/limits.ts';
import { Starter } from './starter.ts';

const definition = definitionOf({ steps: { a: () => ({ done: null }) } });
let log: SimulatedLog;
let ports: SimulatedPorts;
beforeEach(() => {
  log = new SimulatedLog(1);
  ports = simulatedPorts(log, 1);
});

/** This many reads return nothing. */
function hideReads(count: number): void {
  let leftCount = count;
  const read = log.read.bind(log);
  log.read = async (...given) => {
    const found = await read(...given);
    if (leftCount === 0) return found;
    leftCount--;
    return found.map((one) => ({ ...one, records: [] }));
  };
}

/** Just before the next append, an event arrives for a workflow that was here long ago, which rows don't know. */
function interposeLate(): void {
  const late = { tenant: TENANT, workflow: workflowId('w0'), generation: generation(99), lamport: 1 as Lamport };
  const control = { name: 'late', key: null };
  const event = { ...late, id: eventId('late'), atMs: 0, type: 'SignalReceived', control } as const;
  log.interpose([inboxRecord(log, event, { value: null }).value]);
}

async function inTime<T>(promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settled = promise.finally(() => {
    isSettled = true;
  });
  settled.catch(() => {});
  await ports.clock.runUntil(() => isSettled, 60_000);
  return settled;
}

const start = (id: string) =>
  new Starter({ ports, lamport: new LamportClock(), partitionsMax: 1 }).start({
    definition,
    input: null,
    workflow: workflowId(id),
    tenant: TENANT,
  });

it('acknowledges a start by rows and its own record, where nothing lies between', async () => {
  expect(await start('w1')).toMatchObject({ workflow: 'w1', partition: 0 });
  expect(log.readCount).toBe(0);
});

it('acknowledges a start by the log alone, while no rows follow', async () => {
  interposeLate();
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

it('asks a log that lags again, each time after a pause', async () => {
  interposeLate();
  hideReads(4);
  expect(await inTime(start('w1'))).toMatchObject({ workflow: 'w1' });
  expect(ports.clock.monotonicMs()).toBeGreaterThanOrEqual(3 * BACKOFF_FIRST_MS);
});

it('gives up on a log that goes on to hide what it acknowledged; another try is the same start', async () => {
  interposeLate();
  // One goes along with the read of rows, and one follows it at once.
  hideReads(2 + GAP_EMPTY_READS_MAX);
  await expect(inTime(start('w1'))).rejects.toMatchObject({ code: 'log-gap' });
  expect(await start('w1')).toMatchObject({ workflow: 'w1', partition: 0 });
});
