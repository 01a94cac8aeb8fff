/**
 * Starts: one id is one workflow of one tenant and one definition, however often and by whomever it is started, and wherever it is placed.
 */

import {
  ConflictError,
  type EventId,
  type Lamport,
  LimitError,
  type Parent,
  type Partition,
  type Sequence,
  type TenantId,
  taskId,
  workflowId,
} from '@tidemark/core';
import { definitionOf, entriesOf, foldLog, P0, TENANT, typesOf } from '@tidemark/testkit/engine/simulated-definition';
import { placementOf } from '@tidemark/testkit/engine/simulated-placing';
import { quiet, type SimulatedPorts, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { newRows } from '@tidemark/testkit/engine/simulated-rows';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, describe, expect, it } from 'vitest';
import { LamportClock } from '../kernel/ports.ts';
import { ownContent } from '../kernel/secret-guard.ts';
import { addPartitions } from '../projection/partition-rows.ts';
import { streamRow } from '../projection/stream-rows.ts';
import { childId, drawUpOpening, placingOf, type StartRequest } from '../run/opening.ts';
import type { Admission } from './placing.ts';
import { ADMISSION_RETRY_AFTER_MS } from './placing.ts';
import { Starter } from './starter.ts';

const OTHER = 't2' as TenantId;

describe('a start', () => {
  let log: SimulatedLog;
  let ports: SimulatedPorts;
  let starter: Starter;

  const make = (partitionCount: number, partitionsMax = 16, recordMaxBytes?: number, admission?: Admission): void => {
    log = new SimulatedLog(partitionCount, recordMaxBytes);
    ports = simulatedPorts(log, partitionCount);
    starter = new Starter({ ports, lamport: new LamportClock(), partitionsMax, admission });
  };
  beforeEach(() => make(2));

  const definition = definitionOf({ steps: { a: () => ({}) } });
  const start = (id: string, fields: Partial<StartRequest> = {}) =>
    starter.start({ definition, input: 1, workflow: workflowId(id), tenant: TENANT, ...fields });

  /** Its row, as a projector writes it. */
  const project = async (id: string): Promise<void> => {
    const workflow = workflowId(id);
    const { state } = await foldLog(log);
    ports.store.rows.set(workflow, newRows(streamRow(state.streams.get(workflow)!, P0)));
  };

  it('is in the log when it is answered, with all that the workflow begins from', async () => {
    const started = await start('w');
    expect(started).toEqual({ workflow: 'w', partition: 0, created: true });
    expect(await entriesOf(log)).toMatchObject([
      {
        envelope: {
          id: 'open:w',
          tenant: TENANT,
          workflow: 'w',
          generation: 1,
          type: 'WorkflowOpened',
          control: { definition: 'd', version: 1, partition: 0, placement: 'exclusive', tasks: [{ step: 'a' }] },
        },
      },
    ]);
  });

  it('is not answered before it is in the log', async () => {
    const release = log.hold();
    let isAnswered = false;
    const starting = start('w').then(() => {
      isAnswered = true;
    });
    await quiet();
    expect(isAnswered).toBe(false);
    release();
    await starting;
  });

  it('of a child is beside its parent unless its definition asks for a partition of its own', () => {
    const parent: Parent = { workflow: workflowId('p'), task: taskId(1 as Sequence, 0), onClose: 'cancel' };
    expect(placingOf({}, parent)).toEqual({ mode: 'exclusive', besideParent: true });
    expect(placingOf({ placement: 'exclusive' }, parent)).toEqual({ mode: 'exclusive' });
    expect(placingOf({}, undefined)).toEqual({ mode: 'exclusive' });
  });

  it('of six children each of a thousand parents needs no more partitions than the parents', async () => {
    make(64, 4_096);
    const families = Array.from({ length: 1_000 }, (_, n) => workflowId(`p${n}`));
    const parents = await Promise.all(families.map((id) => start(id)));
    const partitionOf = new Map(parents.map(({ workflow, partition }) => [workflow, partition]));
    expect(new Set(partitionOf.values()).size).toBe(1_000);
    const opened = families.flatMap((parent) =>
      Array.from({ length: 6 }, async (_, n) => {
        const task = taskId(1 as Sequence, n);
        const workflow = childId(parent, task);
        const drawn = drawUpOpening(
          { definition, input: 1, workflow, parent: { workflow: parent, task, onClose: 'cancel' } },
          ports,
        );
        const { partition } = await starter.open({
          ...{ workflow, tenant: TENANT, mode: 'exclusive', besideParent: true, name: 'd', isPlain: true },
          opening: ownContent('stored', { lamport: 1 as Lamport, ...drawn }),
        });
        return partition === partitionOf.get(parent);
      }),
    );
    // The others have what was free.
    expect((await Promise.all(opened)).filter((isBeside) => !isBeside)).toHaveLength(24);
    expect(await ports.store.counts()).toMatchObject({ openCount: 7_000, partitionCount: 1_024 });
    expect(await log.partitionCount()).toBe(1_024);
  });

  it('of an id that is there answers its run, also when both come at once', async () => {
    const [first, second, third] = await Promise.all([start('w'), start('w'), start('w')]);
    expect([first.created, second.created, third.created]).toEqual([true, false, false]);
    expect(new Set([first, second, third].map((one) => one.partition))).toEqual(new Set([0]));
    expect(await start('w')).toMatchObject({ created: false, partition: 0 });
    const { state } = await foldLog(log);
    expect([...state.streams.keys()]).toEqual(['w']);
    expect(await typesOf(log, 1 as Partition)).toEqual([]);
  });

  it.each([
    ['another tenant', { tenant: OTHER }],
    ['another definition', { definition: { ...definition, name: 'other' } }],
  ])('of an id that belongs to %s is refused, later and at once', async (_, fields) => {
    const [first, second] = await Promise.allSettled([start('w'), start('w', fields)]);
    expect(first.status).toBe('fulfilled');
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'workflow-differs' } });
    await expect(start('w', fields)).rejects.toThrow(ConflictError);
    // Also once its opening is projected and the placement no longer has it.
    Object.assign(ports.store.placements.get(workflowId('w'))!, { appended: true, opening: '' });
    await project('w');
    await expect(start('w', fields)).rejects.toMatchObject({ code: 'workflow-differs' });
    expect((await start('w')).created).toBe(false);
  });

  it('of an id that belongs to a shadow run is refused, later and at once; that run goes on', async () => {
    const [first, second] = await Promise.allSettled([start('w', { shadow: true }), start('w')]);
    expect(first.status).toBe('fulfilled');
    expect(second).toMatchObject({ status: 'rejected', reason: { code: 'workflow-is-shadow' } });
    await expect(start('w')).rejects.toThrow(ConflictError);
    Object.assign(ports.store.placements.get(workflowId('w'))!, { appended: true, opening: '' });
    await project('w');
    await expect(start('w')).rejects.toMatchObject({ code: 'workflow-is-shadow' });
    expect((await start('w', { shadow: true })).created).toBe(false);
  });

  it('of an id that the system derives and that is taken all the same is counted', async () => {
    for (const id of ['w~undo', 'nightly@2026-11-27T19:09:00.000Z', 'w']) {
      await start(id, { tenant: OTHER });
      await expect(start(id)).rejects.toMatchObject({ code: 'workflow-differs' });
    }
    // The last one is a caller's own.
    expect(ports.telemetry.counts.get('workflow_ids_taken_total')).toBe(2);
  });

  it('gets partitions of its own while the pool may grow, by doubling', async () => {
    const started = [];
    for (const id of ['a', 'b', 'c', 'd', 'e']) started.push(await start(id));
    expect(started.map(({ partition }) => partition)).toEqual([0, 1, 2, 3, 4]);
    expect(await log.partitionCount()).toBe(8);
  });

  it('of many at once grows the pool to hold them all, in one growth', async () => {
    await Promise.all(Array.from({ length: 11 }, (_, at) => start(`w${at}`)));
    expect(await log.partitionCount()).toBe(16);
    expect(ports.store.calls.get('addPartitions')).toBe(1);
  });

  it.each([
    ['leaves the rows of partitions that another process adds to that one', true],
    ['makes them itself once that one took too long', false],
  ])('%s', async (_, isAlive) => {
    await start('a');
    await start('b');
    await log.growTo(4);
    const [other, lamport] = [simulatedPorts(log, 0), new LamportClock()];
    const { promise: held, resolve } = Promise.withResolvers<void>();
    ports.store.on('addPartitions', () => held);
    if (isAlive) void addPartitions({ ports: { ...other, store: ports.store }, lamport }, 4);
    const third = start('c');
    await ports.clock.run(300);
    resolve();
    await ports.clock.run(10_000);
    await expect(third).resolves.toMatchObject({ partition: 2 });
    const types = await typesOf(log, 2 as Partition);
    expect(types.filter((type) => type === 'PartitionFenced')).toHaveLength(1);
  });

  it('that asks to share grows the pool too before it is refused', async () => {
    const shared = { ...definition, placement: 'shared' as const };
    await start('a');
    await start('b');
    expect(await start('c', { tenant: OTHER, definition: shared })).toMatchObject({ partition: 2 });
  });

  it('shares a partition of its tenant once the pool is full', async () => {
    make(2, 2);
    await start('a');
    await start('b');
    expect(await start('c')).toMatchObject({ created: true });
    const { placements } = ports.store;
    expect(placements.get(workflowId('c'))).toMatchObject({ mode: 'shared', generation: 2 });
  });

  it('is refused beyond what may be live, of its tenant or of all; what the system starts is not; the same id is answered', async () => {
    make(8, 8, undefined, { tenantOpenMax: 2, openMax: 3 });
    const asked = { isLimited: true };
    await start('a', asked);
    await start('b', asked);
    const more = { code: 'tenant-full', details: { limit: 2, retryAfterMs: ADMISSION_RETRY_AFTER_MS } };
    await expect(start('c', asked)).rejects.toMatchObject(more);
    expect(await start('a', asked)).toMatchObject({ created: false });
    await start('d', { ...asked, tenant: OTHER });
    await expect(start('e', { ...asked, tenant: OTHER })).rejects.toMatchObject({ code: 'fleet-full' });
    expect(await start('system')).toMatchObject({ created: true });
    expect(ports.store.placements.has(workflowId('c'))).toBe(false);
  });

  it('is refused when the pool is full of others, and those that fit with it are not', async () => {
    make(2, 2);
    await start('a');
    const [fits, tooMany, none] = await Promise.allSettled([
      start('b', { tenant: OTHER }),
      start('c', { tenant: OTHER }),
      start('d', { tenant: 't3' as TenantId }),
    ]);
    expect(fits).toMatchObject({ status: 'fulfilled' });
    expect(tooMany).toMatchObject({ status: 'fulfilled' });
    expect(none).toMatchObject({ status: 'rejected', reason: { code: 'pool-full' } });
    expect(none.status === 'rejected' && none.reason).toBeInstanceOf(LimitError);
    expect(ports.store.placements.has(workflowId('d'))).toBe(false);
  });

  it('that is too large takes no id, wherever it would have been placed', async () => {
    make(2, 2, 2_000);
    const sized = (chars: number) => start('w', { input: 'x'.repeat(chars) });
    await expect(sized(2_000)).rejects.toMatchObject({ code: 'value-too-large' });
    expect(ports.store.placements.size).toBe(0);
    // Whatever is not refused can be appended: the largest accepted one, in the place with the longest numbers.
    let chars = 2_000;
    for (; chars > 0; chars--)
      if (
        await sized(chars).then(
          () => true,
          () => false,
        )
      )
        break;
    const placement = placementOf(ports.store.placements.get(workflowId('w'))!, false);
    await starter.append({ ...placement, partition: P0, generation: 123_456_789 as never });
  });

  it.each([
    [
      'its input',
      {
        parseInput: () => {
          throw new Error('bad input');
        },
      },
    ],
    [
      'its first belief',
      {
        parseBelief: () => {
          throw new Error('bad belief');
        },
      },
    ],
    ['an unknown first step', { begin: () => ({ belief: {}, next: [{ step: 'zzz', input: 1 }] }) }],
  ])('that is wrong in %s takes no id', async (_, wrong) => {
    await expect(start('w', { definition: { ...definition, ...wrong } })).rejects.toThrow();
    expect(ports.store.placements.size).toBe(0);
    expect(await typesOf(log)).toEqual([]);
  });

  it('whose opening is appended again gives one workflow', async () => {
    await start('w');
    const placement = placementOf(ports.store.placements.get(workflowId('w'))!, false);
    await starter.append(placement);
    await starter.append({ ...placement });
    const { state, rejected } = await foldLog(log);
    expect(state.streams.size).toBe(1);
    expect(rejected).toEqual(['WorkflowOpened duplicate', 'WorkflowOpened duplicate']);
    const ids = (await entriesOf(log)).map((entry) => (entry.kind === 'event' ? entry.envelope.id : undefined));
    expect(new Set(ids)).toEqual(new Set(['open:w' as EventId]));
    const [bytes] = await log.read([{ partition: P0, from: 0 as never }]);
    expect(new Set(bytes!.records.map((record) => Buffer.from(record.value).toString())).size).toBe(1);
  });
});
