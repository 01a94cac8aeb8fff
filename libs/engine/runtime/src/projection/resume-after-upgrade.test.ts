/**
 * Two releases project one log in turn: where the older one stops at an event that it can't read, the newer one resumes, and its rows are
 * as if the stream had never stopped (I5). What stops one workflow stops no other.
 */

import { CorruptError, type Partition, type WorkflowId, workflowId } from '@tidemark/core';
import { type EventLog, RANGE_COUNT } from '@tidemark/ports';
import { definitionOf, inboxRecord, TENANT } from '@tidemark/testkit/engine/simulated-definition';
import { quiet, type SimulatedPorts, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Starter } from '../inbox/starter.ts';
import { LamportClock } from '../kernel/ports.ts';
import { Projector } from './projector.ts';

const ALL = Array.from({ length: RANGE_COUNT }, (_, range) => range);
const PARTITIONS = [0, 1] as Partition[];

describe('what a release can not read', () => {
  let log: SimulatedLog;
  let ports: SimulatedPorts;
  let errors: unknown[];
  const projectors: Projector[] = [];

  /** Where each read of partition 0 began, and how many records one returns. */
  let reads: number[];
  let pageRecords: number;
  /** Offsets of partition 0 that can no longer be read. */
  let damaged: ReadonlySet<number>;

  /** `unread`: an event type that the release does not know. */
  const project = async (on: SimulatedPorts, unread?: (header: string) => string): Promise<void> => {
    const read: EventLog['read'] = async (...asked) => {
      for (const { partition, from } of asked[0]) {
        if (partition !== 0) continue;
        reads.push(from);
        if (damaged.has(from)) throw new CorruptError('log-damaged', 'Partition 0 is damaged.', { partition });
      }
      const answered = await log.read(asked[0]);
      const results = answered.map((result) => ({ ...result, records: result.records.slice(0, pageRecords) }));
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
    const to = {
      tenant: TENANT,
      workflow: workflow as WorkflowId,
      generation: row(workflow)?.generation ?? (1 as never),
    };
    const value = inboxRecord(to, id, 'SignalReceived', { name: id }, { value: id });
    return log.append(partition, [{ value, type: 'x' }]);
  };
  const row = (workflow: string) => ports.store.rows.get(workflow as WorkflowId)?.stream;
  /** The rows by a release that can read everything. */
  const expected = async () => {
    const fresh = simulatedPorts(log, 2);
    await project(fresh);
    return fresh.store.rows;
  };

  beforeEach(async () => {
    log = new SimulatedLog(2);
    ports = simulatedPorts(log, 2);
    errors = [];
    reads = [];
    pageRecords = Number.POSITIVE_INFINITY;
    damaged = new Set();
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
    ['rules', (text: string) => (text.includes('"workflow":"a"') ? text.replace('"rules":1', '"rules":99') : text), 1],
  ])('(%s) stops it there, and a newer one goes on', async (_, unread, position) => {
    await project(ports, unread);
    expect(row('a')).toMatchObject({ position, runnable: false, reason: 'unreadable' });
    expect(row('b')).toMatchObject({ position: 2, reason: null });
    // As little as before when the same release reads it again.
    await project(ports, unread);
    expect(row('a')).toMatchObject({ position, runnable: false });
    await project(ports);
    expect(row('a')).toMatchObject({ position: 3, runnable: true, reason: null });
    expect(ports.store.rows).toEqual(await expected());
    expect(errors).toEqual([]);
  });

  it('stops the partition alone whose stretch is damaged', async () => {
    const unread = (text: string) => text.replace(/"type":"SignalReceived"(?=.*"s1")/, '"type":"SomethingNew"');
    await project(ports, unread);
    await signal('b', PARTITIONS[1]!, 's4');
    damaged = new Set([1]);
    await project(ports);
    expect(errors).toMatchObject([{ code: 'log-damaged' }]);
    expect(row('a')).toMatchObject({ position: 1, reason: 'unreadable' });
    expect(row('b')).toMatchObject({ position: 3 });
    // The control: the damage is what stops it.
    damaged = new Set();
    await project(ports);
    expect(row('a')).toMatchObject({ position: 3, reason: null });
  });

  describe('of many streams and much', () => {
    const SIGNALS = 30;
    /** Stops all streams of partition 0 at different places, with much after them. */
    const stopAll = async (): Promise<readonly string[]> => {
      for (const id of ['c', 'd', 'e', 'f']) await open(id);
      await project(ports);
      const here = [...ports.store.rows.values()].flatMap(({ stream }) =>
        stream.partition === 0 ? [stream.workflow] : [],
      );
      expect(here.length).toBeGreaterThan(2);
      for (let at = 0; at < SIGNALS; at++) {
        for (const id of here) await signal(id, PARTITIONS[0]!, `${id}-${at}`);
      }
      const stops = here.map((id, at) => `"${id}-${at}"`);
      const isStop = (text: string): boolean =>
        text.includes('"SignalReceived"') && stops.some((id) => text.includes(id));
      await project(ports, (text) => (isStop(text) ? text.replace('"type":"SignalReceived"', '"type":"New"') : text));
      for (const id of here) expect(row(id)).toMatchObject({ runnable: false, reason: 'unreadable' });
      reads = [];
      return here;
    };

    it('reads the stretch once for all of them, a page at a time', async () => {
      const here = await stopAll();
      pageRecords = 7;
      const { next } = ports.store.partitions.get(PARTITIONS[0]!)!;
      await project(ports);
      const rereads = reads.filter((from) => from < next);
      expect(rereads.length).toBeLessThanOrEqual(Math.ceil((SIGNALS * here.length) / pageRecords) + 1);
      expect(rereads).toEqual([...new Set(rereads)].toSorted((a, b) => a - b));
      pageRecords = Number.POSITIVE_INFINITY;
      expect(ports.store.rows).toEqual(await expected());
      expect(errors).toEqual([]);
    });

    it('goes on behind the pages that it wrote, whoever goes on', async () => {
      await stopAll();
      const { next } = ports.store.partitions.get(PARTITIONS[0]!)!;
      pageRecords = 7;
      let pages = 0;
      ports.store.on('apply', () => {
        pages++;
        if (pages > 3) throw new Error('died');
      });
      await project(ports);
      expect(errors.length).toBeGreaterThan(0);
      const written = Math.max(...reads.slice(0, 4));
      errors = [];
      reads = [];
      ports.store.on('apply', undefined);
      await project(ports);
      expect(reads[0]).toBe(written);
      expect(ports.store.partitions.get(PARTITIONS[0]!)!.next).toBe(next);
      pageRecords = Number.POSITIVE_INFINITY;
      expect(ports.store.rows).toEqual(await expected());
      expect(errors).toEqual([]);
    });
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
    // It left the partition unchanged: the release that wrote it resumes.
    Object.assign(stored, { stream: { ...stored.stream, state: state.replace('99', '1') } });
    await project(ports);
    expect(row('a')?.position).toBe(4);
  });
});
