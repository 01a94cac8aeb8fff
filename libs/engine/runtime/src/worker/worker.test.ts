/**
 * The worker: a job with nothing to do is dropped, none with something to do is lost; the log settles claims; it stops in time whatever is
 * unavailable, and hands over its workflows.
 */

import {
  CorruptError,
  FencedError,
  type Partition,
  type StreamState,
  UnavailableError,
  type WorkflowId,
} from '@tidemark/core';
import type { Job } from '@tidemark/ports';
import {
  definitionOf,
  effectOf,
  foldLog,
  RETRY_AT_ONCE,
  TENANT,
  typesOf,
} from '@tidemark/testkit/engine/simulated-definition';
import { quiet } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LEASE_CHECK_PERIOD_MS } from '../coordinator/coordinator.ts';
import { REDISPATCH_PERIOD_MS } from '../coordinator/limits.ts';
import type { StepContext, StepResult } from '../definition/definition.ts';
import { BEAT_PERIOD_MS } from './limits.ts';
import { HAND_OVER_MAX_MS } from './worker.ts';

const PARTITIONS = 4;

describe('a worker', () => {
  let log: SimulatedLog;
  let world: SimulatedWorld;

  beforeEach(async () => {
    log = new SimulatedLog(PARTITIONS);
    world = new SimulatedWorld(log, PARTITIONS);
    await world.coordinator.start();
  });

  afterEach(() => world.close());

  const trivial = definitionOf({ steps: { a: () => ({ done: 'end' }) } });
  const partitionOf = (workflow: WorkflowId): Partition => world.ports.store.placements.get(workflow)!.partition;
  const typesFor = (workflow: WorkflowId) => typesOf(log, partitionOf(workflow));
  const jobFor = (workflow: string, fields: Partial<Job> = {}): Job =>
    ({ workflow, tenant: TENANT, definition: 'd', partition: 0, offset: 0, lamport: 1, ...fields }) as Job;

  it('runs what a job hints at, to its end', async () => {
    await world.worker([trivial]);
    const w = await world.start(trivial);
    await world.until(w, 'completed');
    expect(await world.client.run(w).result()).toBe('end');
    expect(await typesFor(w)).toEqual(['WorkflowOpened', 'LeaseClaimed', 'CheckpointCommitted', 'WorkflowCompleted']);
    expect(world.errors).toEqual([]);
  });

  describe('drops a job', () => {
    it('of a workflow that is not there', async () => {
      await world.worker([trivial]);
      await world.ports.queue.enqueue([jobFor('nobody')]);
      await quiet();
      expect(world.ports.queue.underWayCount).toBe(0);
      expect(world.errors).toEqual([]);
    });

    it('of a workflow that has ended, or is leased', async () => {
      const gate = Promise.withResolvers<StepResult>();
      const slow = definitionOf({ name: 'slow', steps: { a: () => gate.promise } });
      await world.worker([trivial, slow]);
      const ended = await world.start(trivial, null, { id: 'ended' });
      await world.until(ended, 'completed');
      const leased = await world.start(slow, null, { id: 'leased' });
      await world.ports.clock.run(100);
      await world.worker([trivial, slow]);
      const before = log.appendCount;
      await world.ports.queue.enqueue([jobFor('ended'), jobFor('leased'), jobFor('ended'), jobFor('leased')]);
      await world.ports.clock.run(100);
      expect(log.appendCount).toBe(before);
      gate.resolve({ done: 1 });
      await world.until(leased, 'completed');
    });

    it('of a definition that it does not have, and of a version newer than its own', async () => {
      const newer = { ...trivial, version: 2 };
      const old = await world.worker([trivial]);
      const w = await world.start(newer);
      const other = await world.start({ ...trivial, name: 'unheard' }, null, { id: 'x' });
      await world.ports.queue.enqueue([jobFor(other)]);
      await world.ports.clock.run(10_000);
      expect(await typesFor(w)).toEqual(['WorkflowOpened']);
      expect(await typesFor(other)).toEqual(['WorkflowOpened']);
      // A worker of that version takes it; the old one may still get its jobs meanwhile.
      await world.worker([newer]);
      await old.stop(0);
      await world.until(w, 'completed');
    });

    it('of a workflow that another claims first, and does the step once', async () => {
      let runs = 0;
      const counted = definitionOf({
        steps: {
          a: () => {
            runs++;
            return { done: 1 };
          },
        },
      });
      for (let count = 0; count < 4; count++) await world.worker([counted]);
      const w = await world.start(counted);
      await quiet();
      await world.ports.queue.enqueue(Array.from({ length: 8 }, () => jobFor(w)));
      await world.until(w, 'completed');
      expect(runs).toBe(1);
      expect(world.errors).toEqual([]);
    });
  });

  it('takes a job for what it is: another tenant’s name in it changes nothing', async () => {
    const seen: StepContext[] = [];
    const definition = definitionOf({
      steps: {
        a: (context) => {
          seen.push(context);
          return { done: 1 };
        },
      },
    });
    await world.worker([definition]);
    const w = await world.start(definition, null, { id: 'w', tenant: TENANT });
    await world.ports.queue.enqueue([jobFor(w, { tenant: 'evil' as never, partition: 3 as Partition })]);
    await world.until(w, 'completed');
    expect(seen).toHaveLength(1);
    const { state } = await foldLog(log, partitionOf(w));
    expect([...state.streams.values()][0]).toMatchObject({ tenant: TENANT, status: 'completed' });
  });

  it('does not lose the job that comes while its own run of the workflow is ending', async () => {
    let attempts = 0;
    const twice = definitionOf({
      steps: {
        a: {
          retry: RETRY_AT_ONCE,
          run: () => {
            if (++attempts === 1) throw new Error('once');
            return { done: 1 };
          },
        },
      },
    });
    // The release is stored and its answer is late: the rows are runnable again before the run has ended here.
    const answer = Promise.withResolvers<void>();
    const append = log.append.bind(log);
    log.append = async (partition, records) => {
      const base = await append(partition, records);
      if (records.some((record) => record.type === 'LeaseReleased')) await answer.promise;
      return base;
    };
    await world.worker([twice]);
    const w = await world.start(twice);
    await world.ports.clock.runUntil(() => world.ports.queue.enqueued.length === 2, 5_000);
    await quiet();
    answer.resolve();
    const delayMs = await world.until(w, 'completed');
    // The sweep would take up to two of its periods.
    expect(delayMs).toBeLessThan(REDISPATCH_PERIOD_MS / 4);
  });

  it('waits with a job while the store is away, and runs it then', async () => {
    await world.worker([trivial]);
    let isAway = true;
    world.ports.store.on('loadStreams', () => {
      if (isAway) throw new UnavailableError('store-unavailable', 'away');
    });
    const w = await world.start(trivial);
    await world.ports.clock.run(1_000);
    expect(world.status(w)).toBe('open');
    isAway = false;
    await world.until(w, 'completed', 3_000);
  });

  it('claims what it can read, though rows of another workflow were changed that came with it', async () => {
    const { store } = world.ports;
    const loadStreams = store.loadStreams.bind(store);
    store.loadStreams = async (workflows) => {
      if (workflows.includes('changed' as WorkflowId)) throw new CorruptError('sealed-wrong', 'changed');
      return loadStreams(workflows);
    };
    await world.worker([trivial]);
    await Promise.all(['changed', 'w1', 'w2'].map((id) => world.start(trivial, null, { id })));
    for (const id of ['w1', 'w2']) await world.until(id as WorkflowId, 'completed');
    expect(world.status('changed' as WorkflowId)).toBe('open');
    expect(world.errors).toMatchObject([{ where: 'workflow changed', error: { code: 'sealed-wrong' } }]);
  });

  it('tells a failure that it outlives, and takes the workflow up again', async () => {
    await world.worker([trivial]);
    world.ports.store.failOnce('loadStreams', new Error('odd'));
    const w = await world.start(trivial);
    await world.until(w, 'completed', 3 * REDISPATCH_PERIOD_MS);
    expect(world.errors).toMatchObject([{ where: 'workflow w', error: { message: 'odd' } }]);
  });

  it('frees its slot also when the one who is told of a failure fails', async () => {
    let isFailing = true;
    await world.worker([trivial], {
      onError: () => {
        throw new Error('teller');
      },
    });
    world.ports.store.on('loadStreams', () => {
      if (isFailing) throw new Error('odd');
    });
    const w = await world.start(trivial);
    await world.ports.clock.run(100);
    isFailing = false;
    await world.until(w, 'completed', 3 * REDISPATCH_PERIOD_MS);
  });

  it('lists a lease before its claim lands, and no longer than it runs', async () => {
    const gate = Promise.withResolvers<StepResult>();
    const slow = definitionOf({ steps: { a: () => gate.promise } });
    const worker = await world.worker([slow]);
    const w = await world.start(slow);
    const release = log.hold();
    await world.ports.clock.run(2 * BEAT_PERIOD_MS);
    expect(await typesFor(w)).toEqual(['WorkflowOpened']);
    expect(world.ports.liveness.holders.get(worker.holder)!.get(w)).toBe(1);
    release();
    gate.resolve({ done: 1 });
    await world.until(w, 'completed');
    await world.ports.clock.run(2 * BEAT_PERIOD_MS);
    expect(world.ports.liveness.holders.get(worker.holder)!.size).toBe(0);
  });

  it('gives a join the outputs of staged tasks that no one has flushed, in order of their creation', async () => {
    const joined: unknown[] = [];
    const join = definitionOf({
      steps: {
        part: { durability: 'staged', run: (_, input) => ({ output: input }) },
        join: async (context) => {
          joined.push(await context.outputs('part'));
          return { done: 1 };
        },
      },
      next: [
        ...[1, 2, 3, 4, 5].map((input) => ({ step: 'part', input })),
        { step: 'join', input: null, after: 'all' as const },
      ],
    });
    await world.worker([join]);
    const w = await world.start(join);
    await world.until(w, 'completed');
    expect(joined).toEqual([[1, 2, 3, 4, 5]]);
  });

  describe('that stops', () => {
    const held = (signals: AbortSignal[] = []) => {
      const gate = Promise.withResolvers<StepResult>();
      const definition = definitionOf({
        steps: {
          a: (context) => {
            signals.push(context.signal);
            return gate.promise;
          },
        },
      });
      return { gate, definition };
    };

    const stopped = (stopping: Promise<void>): { done: boolean } => {
      const watch = { done: false };
      void stopping.then(() => {
        watch.done = true;
      });
      return watch;
    };

    it('hands over by itself, also while no coordinator is there', async () => {
      const { gate, definition } = held();
      const worker = await world.worker([definition]);
      const w = await world.start(definition);
      await world.ports.clock.run(100);
      await world.coordinator.stop();
      const other = definitionOf({ steps: { a: () => ({ done: 'by another' }) } });
      await world.worker([other]);
      await worker.stop(0);
      await world.ports.clock.run(100);
      gate.resolve({});
      const { state } = await foldLog(log, partitionOf(w));
      expect(state.streams.get(w)).toMatchObject({ status: 'completed', epoch: 2 });
      expect(world.errors).toEqual([]);
    });

    it('lets a step end within the budget, and releases in one append with its checkpoint', async () => {
      const { gate, definition } = held();
      const worker = await world.worker([definition]);
      const w = await world.start(definition);
      await world.ports.clock.run(100);
      const stop = stopped(worker.stop(5_000));
      await world.ports.clock.run(1_000);
      expect(stop.done).toBe(false);
      const before = log.appendCount;
      gate.resolve({ next: [{ step: 'a', input: null }] });
      await quiet();
      expect(log.appendCount).toBe(before + 1);
      expect(stop.done).toBe(true);
      expect((await typesFor(w)).slice(-2)).toEqual(['CheckpointCommitted', 'LeaseReleased']);
      expect(world.ports.liveness.holders.has(worker.holder)).toBe(false);
    });

    it('abandons a step that ignores it after the budget, and another goes on at once', async () => {
      const signals: AbortSignal[] = [];
      const { definition } = held(signals);
      const worker = await world.worker([definition]);
      const w = await world.start(definition);
      await world.ports.clock.run(100);
      const stop = stopped(worker.stop(5_000));
      await world.ports.clock.run(5_000);
      expect(stop.done).toBe(true);
      expect(signals[0]!.aborted).toBe(true);
      expect((await typesFor(w)).at(-1)).toBe('LeaseReleased');
      await world.worker([trivial]);
      expect(await world.until(w, 'completed')).toBeLessThan(REDISPATCH_PERIOD_MS * 2);
    });

    it('abandons at once, and alone, the step that would not end in time, and releases when the other has ended', async () => {
      const contexts = new Map<string, StepContext>();
      const gate = Promise.withResolvers<StepResult>();
      const both = definitionOf({
        steps: {
          short: (context) => {
            contexts.set('short', context);
            return gate.promise;
          },
          long: (context) => {
            contexts.set('long', context);
            return new Promise(() => {});
          },
        },
        next: [
          { step: 'short', input: null },
          { step: 'long', input: null },
        ],
      });
      const worker = await world.worker([both]);
      const w = await world.start(both);
      await world.ports.clock.runUntil(() => contexts.size === 2, 1_000);
      await world.ports.clock.run(1_000);
      contexts.get('short')!.progress({ done: 1, total: 2 });
      contexts.get('long')!.progress({ done: 1, total: 1_000 });
      const stop = stopped(worker.stop(60_000));
      await quiet();
      expect([contexts.get('short')!.signal.aborted, contexts.get('long')!.signal.aborted]).toEqual([false, true]);
      expect(stop.done).toBe(false);
      gate.resolve({});
      await quiet();
      expect(stop.done).toBe(true);
      expect((await typesFor(w)).slice(-2)).toEqual(['CheckpointCommitted', 'LeaseReleased']);
    });

    it('takes no job any more', async () => {
      const worker = await world.worker([trivial]);
      await worker.stop(0);
      const w = await world.start(trivial);
      await world.ports.clock.run(100);
      expect(await typesFor(w)).toEqual(['WorkflowOpened']);
    });

    it('does not wait for a log that is away longer than the hand-over may take', async () => {
      const { gate, definition } = held();
      const worker = await world.worker([definition]);
      await world.start(definition);
      await world.ports.clock.run(100);
      const release = log.hold();
      gate.resolve({ done: 1 });
      await quiet();
      const stop = stopped(worker.stop(1_000));
      await world.ports.clock.run(1_000 + HAND_OVER_MAX_MS - 1);
      expect(stop.done).toBe(false);
      await world.ports.clock.run(1);
      expect(stop.done).toBe(true);
      expect(world.ports.queue.underWayCount).toBe(0);
      release();
    });
  });

  describe('that dies', () => {
    it('is noticed, and its workflow taken up by another from its last checkpoint', async () => {
      const ran: string[] = [];
      const block = new Map<string, Promise<StepResult>>([['b', new Promise(() => {})]]);
      const two = definitionOf({
        steps: {
          a: () => {
            ran.push('a');
            return { next: [{ step: 'b', input: null }] };
          },
          b: () => {
            ran.push('b');
            return block.get('b') ?? { done: 1 };
          },
        },
      });
      const first = await world.worker([two]);
      const w = await world.start(two);
      await world.ports.clock.run(500);
      block.clear();
      await first.die();
      const resumed: unknown[] = [];
      await world.worker([two], { onResume: (at) => resumed.push(at) });
      const tookMs = await world.until(w, 'completed');
      // Its closed connection shows it, not a missing heartbeat.
      expect(tookMs).toBeLessThan(LEASE_CHECK_PERIOD_MS / 2);
      expect(ran).toEqual(['a', 'b', 'b']);
      expect(resumed).toEqual([{ workflow: w, sequence: 1, epoch: 2 }]);
    });

    it('and comes back to life writes nothing more that counts', async () => {
      const gates: PromiseWithResolvers<StepResult>[] = [];
      const slow = definitionOf({
        steps: {
          a: () => {
            const gate = Promise.withResolvers<StepResult>();
            gates.push(gate);
            return gate.promise;
          },
        },
      });
      const first = await world.worker([slow]);
      const w = await world.start(slow);
      await world.ports.clock.run(500);
      await first.die();
      await world.worker([slow]);
      await world.ports.clock.runUntil(() => gates.length === 2, 5_000);
      gates[0]!.resolve({ done: 'zombie' });
      await quiet();
      gates[1]!.resolve({ done: 'heir' });
      await world.until(w, 'completed');
      expect(await world.client.run(w).result()).toBe('heir');
      expect((await foldLog(log, partitionOf(w))).rejected).toEqual([
        expect.stringMatching(/^CheckpointCommitted /),
        expect.stringMatching(/^WorkflowCompleted /),
      ]);
      expect(world.errors.filter(({ error }) => !(error instanceof FencedError))).toEqual([]);
    });
  });

  it('says that a workflow waits for a person', async () => {
    const pay = {
      operation: 'pay',
      kind: 'irreversible' as const,
      timeoutMs: 5_000,
      confirm: { probeEveryMs: 1_000, timeoutMs: 10_000 },
      retry: { ...RETRY_AT_ONCE, attempts: 1 },
    };
    const asIs = (value: unknown) => value as never;
    const parked = definitionOf({
      steps: {
        a: async (context) => {
          await context.effect(
            { ...pay, parseRequest: asIs, parseResponse: asIs, call: () => Promise.reject(new Error('lost')) },
            1,
          );
          return {};
        },
      },
    });
    await world.worker([parked]);
    const w = await world.start(parked);
    await world.until(w, 'parked');
    expect(world.errors).toMatchObject([{ where: 'workflow w', error: { code: 'parked' } }]);
    await expect(world.client.run(w).result()).rejects.toMatchObject({ code: 'workflow-parked' });
    const { state } = await foldLog(log, partitionOf(w));
    expect([...state.streams.values()][0] as StreamState).toMatchObject({ status: 'parked', lease: null });
  });

  it('whose run ends by an error of its own lets go and says so; a person is asked when that goes on', async () => {
    const broken = effectOf({
      operation: 'pay',
      call: async () => 'paid',
      // A probe may not return this: it has no meaning.
      probe: async () => undefined as never,
    });
    const definition = definitionOf({
      effects: [broken],
      steps: {
        a: async (context) => {
          await context.effect(broken, 1);
          return { next: [{ step: 'b', input: null }] };
        },
        b: () => new Promise(() => {}),
      },
    });
    const first = await world.worker([definition]);
    const w = await world.start(definition);
    await world.ports.clock.runUntil(() => world.ports.store.rows.get(w)?.stream.sequence === 1, 10_000);
    await first.die();
    await world.worker([definition]);
    await world.until(w, 'parked', 60_000);
    expect(world.ports.store.rows.get(w)?.stream.reason).toBe('recovery-limit');
  });

  it('joins no outputs from rows that have gone back, as those of a database that crashed', async () => {
    const definition = definitionOf({
      next: [
        { step: 'part', input: 1 },
        { step: 'part', input: 2 },
        { step: 'join', input: null, after: 'all' },
      ],
      steps: {
        part: (_context, input) => ({ output: input }),
        join: async (context) => ({ done: await context.outputs('part') }),
      },
    });
    let pollCount = 0;
    let lost: unknown[] = [];
    world.ports.store.on('checkpoints', () => {
      const rows = world.ports.store.rows.get('w' as never)!;
      pollCount++;
      if (pollCount === 1) {
        lost = [rows.stream, ...rows.checkpoints.splice(1)];
        rows.stream = { ...rows.stream, position: 1 as never };
      } else if (pollCount === 2) {
        const [stream, ...checkpoints] = lost as never[];
        rows.stream = stream!;
        rows.checkpoints.push(...checkpoints);
      }
    });
    await world.worker([definition]);
    const w = await world.start(definition);
    await world.until(w, 'completed');
    expect(JSON.parse(world.ports.store.rows.get(w)!.result!)).toEqual({ output: [1, 2] });
    expect(pollCount).toBe(2);
  });
});
