/**
 * Two releases that project one log in turn: where the older one stops at something that it can't read, the newer one goes on, and its rows are as
 * if nobody had stopped (I5). What stops one workflow stops no other.
 */

import { type Partition, type WorkflowId, workflowId } from '@tidemark/core';
import { type EventLog, RANGE_COUNT } from '@tidemark/ports';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LamportClock } from './ports.ts';
import { Projector } from './projector.ts';
import { definitionOf, inboxRecord, TENANT } from './simulated-definition.ts';
import { quiet, type SimulatedPorts, simulatedPorts } from './simulated-ports.ts';
import { Starter } from './starter.ts';

const ALL = Array.from({ length: RANGE_COUNT }, (_, range) => range);
const PARTITIONS = [0, 1] as Partition[];

describe('what a release can not read', () => {
  let log: SimulatedLog;
  let ports: SimulatedPorts;
  let errors: unknown[];
  const projectors: Projector[] = [];

  /** `unread`: what the release takes for something else. */
  const project = async (on: SimulatedPorts, unread?: (header: string) => string): Promise<void> => {
    const read: EventLog['read'] = async (...asked) => {
      const results = await log.read(asked[0]);
      if (unread === undefined) return results;
      const changed = (value: Uint8Array): Uint8Array => Buffer.from(unread(Buffer.from(value).toString()));
      return results.map((result) => ({
        ...result,
        records: result.records.map((record) => ({ ...record, value: changed(record.value) })),
      }));
    };
    const projector = new Projector({
      ports: { ...on, log: { read } },
      lamport: new LamportClock(),
      onApplied: () => {},
      onError: (error) => errors.push(error),
    });
    projectors.push(projector);
    projector.own(ALL);
    projector.start();
    projector.hint(PARTITIONS);
    await quiet();
    await projector.stop();
  };
  const definition = definitionOf({ steps: { a: () => ({}) } });
  const open = async (id: string): Promise<void> => {
    const starter = new Starter({ ports, lamport: new LamportClock(), partitionsMax: 2 });
    await starter.start({ definition, input: null, workflow: workflowId(id), tenant: TENANT });
  };
  const signal = (workflow: string, partition: Partition, id: string) => {
    const to = { tenant: TENANT, workflow: workflow as WorkflowId, generation: 1 as never };
    const value = inboxRecord(to, id, 'SignalReceived', { name: id }, { value: id });
    return log.append(partition, [{ value, type: 'x' }]);
  };
  const row = (workflow: string) => ports.store.rows.get(workflow as WorkflowId)?.stream;
  /** As one release makes them that can read everything. */
  const expected = async () => {
    const fresh = simulatedPorts(log, 2);
    await project(fresh);
    return fresh.store.rows;
  };

  beforeEach(async () => {
    log = new SimulatedLog(2);
    ports = simulatedPorts(log, 2);
    errors = [];
    await open('a');
    await open('b');
    await signal('a', PARTITIONS[0]!, 's1');
    await signal('a', PARTITIONS[0]!, 's2');
    await signal('b', PARTITIONS[1]!, 's3');
  });
  afterEach(async () => {
    for (const projector of projectors.splice(0)) await projector.stop();
  });

  it.each([
    ['a type', (text: string) => text.replace(/"type":"SignalReceived"(?=.*"s1")/, '"type":"SomethingNew"'), 1],
    ['a version', (text: string) => (text.includes('"s1"') ? text.replace(/"v":\d+/, '"v":99') : text), 1],
    ['rules', (text: string) => (text.includes('"workflow":"a"') ? text.replace('"rules":2', '"rules":99') : text), 1],
  ])('(%s) stops it there, and a newer one goes on', async (_, unread, position) => {
    await project(ports, unread);
    expect(row('a')).toMatchObject({ position, runnable: false, reason: 'unreadable' });
    expect(row('b')).toMatchObject({ position: 2, reason: null });
    // As little as before when the same release looks again.
    await project(ports, unread);
    expect(row('a')).toMatchObject({ position, runnable: false });
    await project(ports);
    expect(row('a')).toMatchObject({ position: 3, runnable: true, reason: null });
    expect(ports.store.rows).toEqual(await expected());
    expect(errors).toEqual([]);
  });

  it('in rows: leaves that partition alone, and folds the others', async () => {
    await project(ports);
    const stored = ports.store.rows.get('a' as WorkflowId)!;
    const state = stored.stream.state.replace(/"stateVersion":\d+/, '"stateVersion":99');
    Object.assign(stored, { stream: { ...stored.stream, state } });
    await signal('a', PARTITIONS[0]!, 's4');
    await signal('b', PARTITIONS[1]!, 's5');
    await project(ports);
    expect(errors).toMatchObject([{ code: 'state-version' }]);
    expect([row('a')?.position, row('b')?.position]).toEqual([3, 3]);
    // What it left alone is as it was: the release that wrote it goes on.
    Object.assign(stored, { stream: { ...stored.stream, state: state.replace('99', '3') } });
    await project(ports);
    expect(row('a')?.position).toBe(4);
  });
});
