/** Dispatch: one job for what is runnable and none for anything else; lost jobs are sent again; an unavailable queue costs nothing else. */

import {
  type Epoch,
  type Lamport,
  type Offset,
  type Partition,
  type Position,
  type TenantId,
  UnavailableError,
  type WorkflowId,
} from '@tidemark/core';
import type { RunnableStream, StreamRow } from '@tidemark/ports';
import { TENANT } from '@tidemark/testkit/engine/simulated-definition';
import { quiet, type SimulatedPorts, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, describe, expect, it } from 'vitest';
import { PausedQueues } from '../control/paused-queues.ts';
import { Dispatcher, REDISPATCH_DOUBTED_COUNT } from './dispatcher.ts';
import { REDISPATCH_PAGE_COUNT } from './limits.ts';

const away = new UnavailableError('queue-unavailable', 'away');

describe('a dispatcher', () => {
  let ports: SimulatedPorts;
  let dispatcher: Dispatcher;
  let errors: unknown[];
  let runnable: RunnableStream[];

  beforeEach(() => {
    ports = simulatedPorts(new SimulatedLog(1));
    errors = [];
    runnable = [];
    dispatcher = new Dispatcher({ ports, onError: (error) => errors.push(error) });
    ports.store.runnable = async (after, limit) =>
      runnable.filter(({ workflow }) => workflow > (after ?? '')).slice(0, limit);
  });

  const stream = (workflow: string, fields: Partial<StreamRow & RunnableStream> = {}) =>
    ({
      workflow,
      tenant: TENANT,
      definition: 'd',
      partition: 3,
      lamport: 7,
      position: 2,
      next: 9,
      runnable: true,
      ...fields,
    }) as never;
  const next = new Map([[3 as Partition, 9 as Offset]]);
  const sent = () => ports.queue.enqueued.map(({ workflow }) => workflow as string);

  it('makes a job of each stream that can run, with what a worker needs to know', async () => {
    dispatcher.applied(
      [
        stream('a'),
        stream('b', { runnable: false }),
        stream('c', { partition: 4 as Partition }),
        // Whoever opened it has sent its job.
        stream('d', { position: 1 as Position }),
        // What a fork goes on from is in rows, so nobody did.
        stream('e', { position: 1 as Position, fork: { workflow: 'base' } as StreamRow['fork'] }),
      ],
      next,
    );
    await quiet();
    expect(ports.queue.enqueued).toEqual([
      { workflow: 'a', tenant: TENANT, definition: 'd', partition: 3, offset: 9, lamport: 7 },
      { workflow: 'e', tenant: TENANT, definition: 'd', partition: 3, offset: 9, lamport: 7 },
    ]);
  });

  it('leaves to whoever woke a stream to send its job', async () => {
    const happened = (workflow: string, type: string, position = 2) => ({ workflow, type, position }) as never;
    dispatcher.applied([stream('a'), stream('b'), stream('c')], next, [
      happened('a', 'SignalReceived'),
      // Something has happened since.
      happened('b', 'SignalReceived', 1),
      happened('c', 'TimerFired'),
    ]);
    await quiet();
    expect(sent()).toEqual(['b', 'c']);
  });

  it('makes none of a stream whose queue is held', async () => {
    const held = new PausedQueues([{ definition: 'd', tenant: TENANT, by: 'x', why: 'y', sinceMs: 0 }]);
    const pauses = { known: async () => held, poll: async () => held };
    dispatcher = new Dispatcher({ ports, onError: (error) => errors.push(error), pauses });
    dispatcher.applied([stream('a'), stream('b', { definition: 'free' })], next);
    await dispatcher.stop();
    expect(sent()).toEqual(['b']);
  });

  it('reads how a stream stands among others once, and says it with each job', async () => {
    const dispatch = { priority: 1 } as const;
    const known: (readonly WorkflowId[])[] = [];
    ports.store.runnable = async (_after, _limit, before = new Map()) => {
      known.push([...before.keys()]);
      return [stream('a', { dispatch: before.get('a' as WorkflowId)?.dispatch ?? dispatch })];
    };
    for (let sweep = 0; sweep < 3; sweep++) await dispatcher.sweep();
    expect(known).toEqual([[], ['a'], ['a']]);
    expect(ports.queue.enqueued.map((job) => job.dispatch)).toEqual([dispatch, dispatch, dispatch]);
  });

  it('says how it stands among others; what began before counts against no rate again', async () => {
    const both = { key: 'both', concurrency: 2, rate: { count: 5, perMs: 1_000 } };
    const dispatch = { priority: 1, limits: [both, { key: 'rate', rate: { count: 1, perMs: 9 } }] } as const;
    dispatcher.applied(
      [stream('new', { epoch: 0 as Epoch, dispatch }), stream('old', { epoch: 1 as Epoch, dispatch })],
      next,
    );
    await quiet();
    expect(ports.queue.enqueued.map((job) => job.dispatch)).toEqual([
      dispatch,
      { priority: 1, limits: [{ key: 'both', concurrency: 2 }] },
    ]);
  });

  it('outlives a queue that is away, and sends what comes later', async () => {
    ports.queue.failure = away;
    dispatcher.applied([stream('a')], next);
    await quiet();
    ports.queue.failure = undefined;
    dispatcher.applied([stream('b')], next);
    await dispatcher.stop();
    expect(errors).toEqual([away]);
    expect(sent()).toEqual(['b']);
  });

  it('holds one job for each workflow while the queue does not answer', async () => {
    const gate = Promise.withResolvers<void>();
    const batches: number[] = [];
    ports.queue.enqueue = async (jobs) => {
      batches.push(jobs.length);
      await gate.promise;
    };
    for (let round = 0; round < 1_000; round++) dispatcher.applied([stream('a'), stream('b')], next);
    await quiet();
    expect(batches).toEqual([2]);
    gate.resolve();
    await dispatcher.stop();
    expect(batches).toEqual([2, 2]);
  });

  it('sends a workflow’s newest job', async () => {
    const gate = Promise.withResolvers<void>();
    const offsets: number[] = [];
    ports.queue.enqueue = async (jobs) => {
      offsets.push(...jobs.map((job) => job.offset));
      await gate.promise;
    };
    for (const offset of [1, 2, 3]) {
      dispatcher.applied([stream('a')], new Map([[3 as Partition, offset as Offset]]));
      await quiet();
    }
    gate.resolve();
    await dispatcher.stop();
    expect(offsets).toEqual([1, 3]);
  });

  describe('sweeping', () => {
    const named = (prefix: string, count: number, fields: Partial<StreamRow & RunnableStream> = {}) =>
      Array.from({ length: count }, (_, at) => stream(`${prefix}${String(at).padStart(6, '0')}`, fields));
    const waiting = (count: number) => {
      ports.queue.depth = async () => new Map([['d', count]]);
    };
    const other = 'other' as TenantId;
    /** Another tenant's workflows of the same definition, which make progress at every sweep. */
    const moving = (count: number) => named('m', count, { tenant: other, lamport: ++moves as Lamport });
    let moves = 100;

    // Nothing was there when it started.
    beforeEach(() => dispatcher.sweep());

    it('sends at its first sweep what stood there before it, once the queue answers', async () => {
      dispatcher = new Dispatcher({ ports, onError: (error) => errors.push(error) });
      runnable = [stream('a')];
      ports.queue.failure = away;
      await expect(dispatcher.sweep()).rejects.toBe(away);
      ports.queue.failure = undefined;
      await dispatcher.sweep();
      expect(sent()).toEqual(['a']);
    });

    it('sends some of a backlog again, in turn: never the whole, and each within as many sweeps as it has such parts', async () => {
      const parts = 4;
      runnable = named('w', parts * REDISPATCH_DOUBTED_COUNT);
      waiting(runnable.length);
      await dispatcher.sweep();
      expect(sent()).toEqual([]);
      for (let sweep = 1; sweep <= parts; sweep++) {
        await dispatcher.sweep();
        expect(sent()).toHaveLength(sweep * REDISPATCH_DOUBTED_COUNT);
      }
      expect(new Set(sent()).size).toBe(runnable.length);
      await dispatcher.sweep();
      expect(sent().slice(-REDISPATCH_DOUBTED_COUNT)).toEqual(sent().slice(0, REDISPATCH_DOUBTED_COUNT));
    });

    it('sends all again that fewer jobs wait than are suspected', async () => {
      runnable = named('w', REDISPATCH_DOUBTED_COUNT + 1);
      waiting(REDISPATCH_DOUBTED_COUNT);
      await dispatcher.sweep();
      await dispatcher.sweep();
      expect(sent()).toHaveLength(runnable.length);
    });

    it('sends lost jobs again though others have a backlog of the same definition', async () => {
      waiting(50);
      runnable = [...named('a', 10), ...moving(50)];
      await dispatcher.sweep();
      runnable = [...named('a', 10), ...moving(50)];
      await dispatcher.sweep();
      expect(sent()).toEqual(named('a', 10).map(({ workflow }: RunnableStream) => workflow));
    });

    it('sends those first that have waited for the most sweeps, whoever comes after them', async () => {
      waiting(10 * REDISPATCH_DOUBTED_COUNT);
      runnable = [stream('z')];
      await dispatcher.sweep();
      // They come earlier in the rows.
      runnable = [...named('w', 2 * REDISPATCH_DOUBTED_COUNT), stream('z')];
      await dispatcher.sweep();
      await dispatcher.sweep();
      await dispatcher.sweep();
      expect(sent().filter((workflow) => workflow === 'z')).toHaveLength(1);
      await dispatcher.sweep();
      expect(sent().filter((workflow) => workflow === 'z')).toHaveLength(2);
    });

    describe('a queue that was held and isn’t any more', () => {
      const heldBy = new PausedQueues([{ definition: 'd', tenant: TENANT, by: 'x', why: 'y', sinceMs: 0 }]);
      let held: PausedQueues;

      beforeEach(async () => {
        held = heldBy;
        const looks = { known: async () => held, poll: async () => held };
        dispatcher = new Dispatcher({ ports, onError: (error) => errors.push(error), pauses: looks });
        await dispatcher.sweep();
        waiting(3_000);
        runnable = [...named('a', 2 * REDISPATCH_DOUBTED_COUNT), ...moving(50)];
        await dispatcher.sweep();
        held = new PausedQueues([]);
        runnable = [...runnable.slice(0, -50), ...moving(50)];
      });

      it('gets all that was left out at once, whatever else waits', async () => {
        await dispatcher.sweep();
        expect(sent()).toEqual(runnable.slice(0, -50).map(({ workflow }) => workflow));
      });

      it('gets it later when the queue was away', async () => {
        ports.queue.failure = away;
        await expect(dispatcher.sweep()).rejects.toBe(away);
        ports.queue.failure = undefined;
        await dispatcher.sweep();
        expect(sent()).toEqual(runnable.slice(0, -50).map(({ workflow }) => workflow));
      });
    });

    it('sends again what stayed runnable and unchanged since the last sweep, and nothing else', async () => {
      runnable = [stream('a'), stream('b'), stream('c')];
      await dispatcher.sweep();
      expect(sent()).toEqual([]);
      // b has run meanwhile and is runnable again; c is done; d is new.
      runnable = [stream('a'), stream('b', { lamport: 8 as never }), stream('d')];
      await dispatcher.sweep();
      expect(sent()).toEqual(['a']);
      await dispatcher.sweep();
      expect(sent()).toEqual(['a', 'a', 'b', 'd']);
    });

    it('goes through all pages', async () => {
      const count = 2 * REDISPATCH_PAGE_COUNT + 1;
      runnable = Array.from({ length: count }, (_, at) => stream(`w${String(at).padStart(6, '0')}`));
      await dispatcher.sweep();
      await dispatcher.sweep();
      expect(new Set(sent()).size).toBe(count);
    });

    it('fails while the queue is away, and makes up for it afterwards', async () => {
      runnable = [stream('a')];
      await dispatcher.sweep();
      ports.queue.failure = away;
      await expect(dispatcher.sweep()).rejects.toBe(away);
      ports.queue.failure = undefined;
      await dispatcher.sweep();
      expect(sent()).toEqual(['a' as WorkflowId]);
    });
  });
});
