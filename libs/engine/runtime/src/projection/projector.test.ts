/**
 * The projector: from the log to the rows, whatever fails on the way. Nothing hinted stays unread, nothing is written on top of batches
 * that were not (R1, R2), and damage in one partition stops no other.
 */

import {
  CorruptError,
  type Generation,
  type Offset,
  type Partition,
  type TenantId,
  UnavailableError,
  type WorkflowId,
  workflowId,
} from '@tidemark/core';
import { RANGE_COUNT, type StreamRow } from '@tidemark/ports';
import { definitionOf, inboxRecord, P0, TENANT } from '@tidemark/testkit/engine/simulated-definition';
import { quiet, type SimulatedPorts, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Starter } from '../inbox/starter.ts';
import { LamportClock } from '../kernel/ports.ts';
import { PROJECTION_ENTRIES_MAX } from './limits.ts';
import { Projector, type ProjectorOptions } from './projector.ts';

const P1 = 1 as Partition;
const P2 = 2 as Partition;
const ALL = Array.from({ length: RANGE_COUNT }, (_, range) => range);

describe('a projector', () => {
  let log: SimulatedLog;
  let ports: SimulatedPorts;
  let errors: unknown[];
  let applied: { streams: readonly StreamRow[]; next: ReadonlyMap<Partition, Offset> }[];
  const projectors: Projector[] = [];

  const make = (options: Pick<ProjectorOptions, 'isRebuilding'> = {}): Projector => {
    const projector = new Projector({
      ...options,
      ports,
      lamport: new LamportClock(),
      onApplied: (streams, next) => applied.push({ streams, next }),
      onError: (error) => errors.push(error),
    });
    projector.own(ALL);
    projector.start();
    projectors.push(projector);
    return projector;
  };

  beforeEach(() => {
    log = new SimulatedLog(4);
    ports = simulatedPorts(log, 4);
    errors = [];
    applied = [];
  });
  afterEach(async () => {
    for (const projector of projectors.splice(0)) await projector.stop();
  });

  const definition = definitionOf({ steps: { a: () => ({}) } });
  const open = async (id: string): Promise<Partition> => {
    const starter = new Starter({ ports, lamport: new LamportClock(), partitionsMax: 4 });
    const started = await starter.start({ definition, input: null, workflow: workflowId(id), tenant: TENANT });
    return started.partition;
  };
  const signal = (workflow: string, id: string, generation = 1): Uint8Array =>
    inboxRecord(
      { tenant: TENANT, workflow: workflow as WorkflowId, generation: generation as never },
      id,
      'SignalReceived',
      { name: 's' },
      { value: 1 },
    );
  const add = (partition: Partition, ...values: Uint8Array[]) =>
    log.append(
      partition,
      values.map((value) => ({ value, type: 'x' })),
    );
  const next = (partition: Partition) => ports.store.partitions.get(partition)!.next;
  const row = (workflow: string) => ports.store.rows.get(workflow as WorkflowId)?.stream;

  it('writes what is hinted, tells the streams that changed, and hints that it is applied', async () => {
    await open('a');
    const heard: Partition[] = [];
    await ports.hints.subscribe('applied', (partitions) => heard.push(...partitions));
    const projector = make();
    await quiet();
    expect(next(P0)).toBe(0);
    projector.hint([P0]);
    await quiet();
    expect(next(P0)).toBe(1);
    expect(heard).toEqual([P0]);
    expect(applied).toMatchObject([{ streams: [{ workflow: 'a', runnable: true, tenant: TENANT }] }]);
    expect(applied[0]!.next).toEqual(new Map([[P0, 1]]));
  });

  it('reads no partition that is not hinted, and writes nothing when there is nothing', async () => {
    await open('a');
    await open('b');
    const projector = make();
    projector.hint([P1, P2]);
    await quiet();
    expect([next(P0), next(P1)]).toEqual([0, 1]);
    const batches = ports.store.batches.length;
    projector.hint([P1, P2]);
    await quiet();
    expect(ports.store.batches).toHaveLength(batches);
  });

  it('goes on from its fold without loading rows again', async () => {
    await open('a');
    const loads = (): number => ports.store.calls.get('loadPartitions') ?? 0;
    const before = loads();
    const projector = make();
    projector.hint([P0]);
    await quiet();
    await add(P0, signal('a', 's1'));
    projector.hint([P0]);
    await quiet();
    expect(row('a')).toMatchObject({ position: 2 });
    expect(loads() - before).toBe(1);
  });

  it('folds a long backlog in batches of its limit, in order', async () => {
    await open('a');
    await add(P0, ...Array.from({ length: PROJECTION_ENTRIES_MAX + 100 }, (_, at) => signal('nobody', `s${at}`)));
    make().hint([P0]);
    await quiet(60);
    expect(next(P0)).toBe(PROJECTION_ENTRIES_MAX + 101);
    expect(ports.store.batches.map(({ partitions }) => partitions[0]!.to - partitions[0]!.from)).toEqual([
      PROJECTION_ENTRIES_MAX,
      101,
    ]);
  });

  it('folds again from rows when another has moved them', async () => {
    await open('a');
    const first = make();
    const second = make();
    first.hint([P0]);
    await quiet();
    await add(P0, signal('a', 's1'));
    second.hint([P0]);
    await quiet();
    await add(P0, signal('a', 's2'));
    // The first is at 1, the rows are at 2.
    first.hint([P0]);
    await ports.clock.run(1_000);
    expect(next(P0)).toBe(3);
    expect(row('a')).toMatchObject({ position: 3 });
    expect(errors).toMatchObject([{ code: 'projection-moved' }]);
  });

  it('gives the same rows when two project the same partitions against each other', async () => {
    for (const id of ['a', 'b', 'c']) await open(id);
    const both = [make(), make()];
    for (let round = 0; round < 20; round++) {
      for (const [at, id] of ['a', 'b', 'c'].entries()) await add(at as Partition, signal(id, `${round}`));
      for (const projector of both) projector.hint([P0, P1, P2]);
      if (round % 4 === 0) await ports.clock.run(500);
      else await quiet(round % 3);
    }
    for (const projector of both) projector.hint([P0, P1, P2]);
    await ports.clock.run(20_000);
    expect([P0, P1, P2].map(next)).toEqual([21, 21, 21]);
    for (const id of ['a', 'b', 'c']) {
      expect(row(id)).toMatchObject({ position: 21 });
      expect(ports.store.rows.get(id as WorkflowId)!.events).toHaveLength(20);
    }
  });

  it('keeps every hint when a write fails: those of the batch, and those of the one prepared after it', async () => {
    await open('a');
    await open('b');
    const [reading, writing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const read = log.read.bind(log);
    log.read = async (requests) => {
      await reading.promise;
      return read(requests);
    };
    ports.store.on('apply', async () => {
      ports.store.on('apply', undefined);
      await writing.promise;
      throw new UnavailableError('store-unavailable', 'away');
    });
    const projector = make();
    projector.hint([P0]);
    await quiet();
    // Arrives while the first is read, so it is prepared while the first is written.
    projector.hint([P1]);
    reading.resolve();
    await quiet();
    writing.resolve();
    await ports.clock.run(1_000);
    expect([next(P0), next(P1)]).toEqual([1, 1]);
    expect(errors).toMatchObject([{ code: 'store-unavailable' }]);
  });

  it('keeps hints while rows, or the log, cannot be read', async () => {
    await open('a');
    ports.store.failOnce('loadPartitions', new UnavailableError('store-unavailable', 'away'));
    const read = log.read.bind(log);
    let failures = 2;
    log.read = async (requests) => {
      if (failures-- > 0) throw new UnavailableError('log-unavailable', 'away');
      return read(requests);
    };
    make().hint([P0]);
    await ports.clock.run(2_000);
    expect(next(P0)).toBe(1);
    expect(errors).toHaveLength(3);
  });

  it('writes one batch at a time, and reads the next meanwhile', async () => {
    await open('a');
    await open('b');
    let underWay = 0;
    const gates: (() => void)[] = [];
    ports.store.on('apply', async () => {
      expect(++underWay).toBe(1);
      await new Promise<void>((resolve) => gates.push(resolve));
      underWay--;
    });
    const projector = make();
    projector.hint([P0]);
    await quiet();
    const reads = log.readCount;
    projector.hint([P1]);
    await quiet();
    expect(gates).toHaveLength(1);
    gates[0]!();
    await quiet();
    gates[1]?.();
    await quiet();
    expect([next(P0), next(P1)]).toEqual([1, 1]);
    expect(log.readCount).toBeGreaterThan(reads);
  });

  it('writes one batch at a time also of partitions that it has folded before', async () => {
    await open('a');
    await open('b');
    const projector = make();
    projector.hint([P0, P1]);
    await quiet();
    await add(P0, signal('a', 's1'));
    await add(P1, signal('b', 's2'));
    const [reading, writing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const read = log.read.bind(log);
    log.read = async (requests) => {
      await reading.promise;
      return read(requests);
    };
    let [underWay, most] = [0, 0];
    ports.store.on('apply', async () => {
      most = Math.max(most, ++underWay);
      await writing.promise;
      underWay--;
    });
    projector.hint([P0]);
    await quiet();
    // Arrives while the first is read, so it is prepared while the first is written.
    projector.hint([P1]);
    reading.resolve();
    await quiet();
    writing.resolve();
    await quiet();
    expect(most).toBe(1);
    expect([next(P0), next(P1)]).toEqual([2, 2]);
  });

  it('writes nothing of a range that it lost while it read, and all of it once it has it again', async () => {
    await open('a');
    const gate = Promise.withResolvers<void>();
    const read = log.read.bind(log);
    log.read = async (requests) => {
      await gate.promise;
      return read(requests);
    };
    const projector = make();
    projector.hint([P0]);
    await quiet();
    expect(projector.own(ALL.filter((range) => range !== 0))).toBe(false);
    gate.resolve();
    await quiet();
    expect(next(P0)).toBe(0);
    projector.hint([P0]);
    await quiet();
    expect(next(P0)).toBe(0);
    // A coordinator that gains a range is told, and reads what came meanwhile.
    expect(projector.own(ALL)).toBe(true);
    projector.hint([P0]);
    await quiet();
    expect(next(P0)).toBe(1);
  });

  it('forgets what it folded when the rows are lost in the middle of a read', async () => {
    await open('a');
    const projector = make();
    projector.hint([P0]);
    await quiet();
    await add(P0, signal('a', 's1'));
    const gate = Promise.withResolvers<void>();
    const read = log.read.bind(log);
    log.read = async (requests) => {
      await gate.promise;
      return read(requests);
    };
    projector.hint([P0]);
    await quiet();
    ports.store.drop();
    await ports.store.addPartitions([{ partition: P0, start: 0 as Offset, rebuildTo: 2 as Offset }]);
    projector.forgetAll();
    gate.resolve();
    await ports.clock.run(1_000);
    expect(next(P0)).toBe(2);
    expect(row('a')).toMatchObject({ position: 2 });
    expect(errors).toEqual([]);
  });

  it('leaves a partition alone that was trimmed below its rows, tells it once, and goes on with the others', async () => {
    await open('a');
    await open('b');
    await add(P0, signal('a', 's1'));
    await log.trim(P0, 1 as Offset);
    const projector = make();
    projector.hint([P0, P1]);
    await quiet();
    expect([next(P0), next(P1)]).toEqual([0, 1]);
    expect(errors).toMatchObject([{ code: 'log-trimmed', details: { partition: 0 } }]);
    for (let again = 0; again < 3; again++) projector.hint([P0, P1]);
    await quiet();
    expect(errors).toHaveLength(1);
    // Rows that were rebuilt may begin where the log does.
    ports.store.partitions.get(P0)!.next = 1 as Offset;
    projector.forgetAll();
    projector.hint([P0]);
    await quiet();
    expect(next(P0)).toBe(2);
  });

  it('folds what could not be folded once the tables are others, without being told of that', async () => {
    await open('a');
    await add(P0, signal('a', 's1'));
    await log.trim(P0, 1 as Offset);
    const projector = make();
    projector.hint([P0]);
    await quiet();
    expect(errors).toMatchObject([{ code: 'log-trimmed' }]);
    // Another process has rebuilt them.
    ports.store.drop();
    await ports.store.addPartitions([{ partition: P0, start: 1 as Offset, rebuildTo: 2 as Offset }]);
    projector.hint([P0]);
    await ports.clock.run(1_000);
    expect(next(P0)).toBe(2);
    expect(errors).toHaveLength(1);
  });

  it('finds the one partition that the log does not name in its error', async () => {
    for (const id of ['a', 'b', 'c']) await open(id);
    const read = log.read.bind(log);
    log.read = async (requests) => {
      if (requests.some(({ partition }) => partition === P1)) {
        throw new CorruptError('log-damaged', 'bad page');
      }
      return read(requests);
    };
    make().hint([P0, P1, P2]);
    await quiet();
    expect([P0, P1, P2].map(next)).toEqual([1, 0, 1]);
    expect(errors).toMatchObject([{ code: 'log-damaged' }]);
  });

  it('keeps malformed, foreign and unknown records aside, counts them, and goes on', async () => {
    await open('a');
    await open('b');
    const unknown = { v: 1, id: 'u', tenant: TENANT, workflow: 'a', generation: 1, lamport: 1, epoch: 0, holder: '' };
    await add(
      P0,
      Buffer.from('not ours'),
      Buffer.alloc(0),
      Buffer.from('{"v":1}\n{}'),
      Buffer.from([0xff, 0xfe, 0x0a]),
      signal('nobody', 's1'),
      inboxRecord(
        { tenant: 'evil' as TenantId, workflow: 'a' as WorkflowId, generation: 1 as never },
        's2',
        'SignalReceived',
        { name: 's' },
        { value: 1 },
      ),
      signal('a', 's3'),
      Buffer.from(
        `${JSON.stringify({ ...unknown, ordinal: 0, atMs: 1, type: 'Novel', control: {}, payload: 'json' })}\nnull`,
      ),
      signal('a', 's4'),
    );
    make().hint([P0, P1]);
    await quiet();
    expect([next(P0), next(P1)]).toEqual([10, 1]);
    expect(ports.store.rejectedRows.map(({ offset, reason }) => [offset, reason])).toEqual([
      [1, 'malformed'],
      [2, 'malformed'],
      [3, 'malformed'],
      [4, 'malformed'],
      [5, 'wrong-generation'],
      [6, 'wrong-generation'],
    ]);
    // The stream stops where it could not be read, until a newer process resumes it.
    expect(row('a')).toMatchObject({ position: 2, runnable: false });
    expect(row('b')).toMatchObject({ runnable: true });
    expect(ports.telemetry.counts.get('records_malformed_total')).toBe(4);
    expect(ports.telemetry.counts.get('events_rejected_total')).toBe(6);
    expect(errors).toEqual([]);
  });

  it('counts nothing again that was rejected before, while rows are rebuilt', async () => {
    let isRebuilding = true;
    await add(P0, Buffer.from('not ours'));
    make({ isRebuilding: () => isRebuilding }).hint([P0]);
    await quiet();
    expect(ports.store.rejectedRows).toHaveLength(1);
    expect(ports.telemetry.counts.get('records_malformed_total') ?? 0).toBe(0);
    // The control: later events are counted.
    isRebuilding = false;
    await add(P0, Buffer.from('not ours'));
    projectors[0]!.hint([P0]);
    await quiet();
    expect(ports.telemetry.counts.get('records_malformed_total')).toBe(1);
    expect(ports.telemetry.counts.get('events_rejected_total')).toBe(1);
  });

  it('writes partitions one by one when one workflow was opened in two of them', async () => {
    await open('a');
    const [opening] = (await log.read([{ partition: P0, from: 0 as Offset }]))[0]!.records;
    const text = Buffer.from(opening!.value).toString().replace('"partition":0', '"partition":1');
    await add(P1, Buffer.from(text));
    await add(P2, signal('nobody', 's'));
    make().hint([P0, P1, P2]);
    await ports.clock.run(2_000);
    expect([P0, P1, P2].map(next)).toEqual([1, 1, 1]);
    expect(row('a')).toMatchObject({ partition: 0 });
    expect(errors.length).toBeLessThanOrEqual(2);
  });

  it('catches up with rows that went back', async () => {
    await open('a');
    await add(P0, signal('a', 's1'), signal('a', 's2'));
    const projector = make();
    projector.hint([P0]);
    await quiet();
    const backup = { ...ports.store.partitions.get(P0)!, next: 0 as Offset, generation: 0 as Generation };
    ports.store.rows.clear();
    ports.store.partitions.set(P0, backup);
    projector.reconcile(await ports.store.positions());
    await quiet();
    expect(next(P0)).toBe(0);
    projector.reconcile(await ports.store.positions());
    await quiet();
    expect(next(P0)).toBe(3);
    expect(row('a')).toMatchObject({ position: 3 });
  });

  it('stops in the middle of a write without losing it', async () => {
    await open('a');
    const gate = Promise.withResolvers<void>();
    ports.store.on('apply', () => gate.promise);
    const projector = make();
    projector.hint([P0]);
    await quiet();
    const stopping = projector.stop();
    gate.resolve();
    await stopping;
    expect(next(P0)).toBe(1);
  });
});
