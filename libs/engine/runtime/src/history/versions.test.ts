/**
 * Versions of a definition: a newer one resumes what an older one stored, across crashes, and only if it can; a pinned workflow stays;
 * nothing goes back.
 */

import { InvalidError, type Offset, type WorkflowId } from '@tidemark/core';
import {
  controlsOf,
  definitionOf,
  foldLog,
  inboxRecord,
  openWorkflow,
  P0,
  typesOf,
} from '@tidemark/testkit/engine/simulated-definition';
import { quiet, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { claimedRun } from '@tidemark/testkit/engine/simulated-run';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Definition, StepDefinition, StepResult, Upcaster } from '../definition/definition.ts';
import { routesOf, runnableVersions } from './versions.ts';

/** From prices in whole coins to cents, and from `pay` to `credit`. */
const toCents: Upcaster = {
  belief: (belief) => ({ cents: (belief as { price: number }).price * 100 }),
  task: (step, input) =>
    step === 'pay' ? { step: 'credit', input: { cents: (input as { price: number }).price * 100 } } : { step, input },
};
const unchanged: Upcaster = { belief: (belief) => belief, task: (step, input) => ({ step, input }) };

/** The first step raises the price, the second never ends. */
const v1 = definitionOf({
  belief: { price: 1 },
  steps: {
    price: () => ({
      belief: (b) => ({ price: (b as { price: number }).price + 1 }),
      next: [{ step: 'pay', input: { price: 2 } }],
    }),
    pay: () => new Promise<StepResult>(() => {}),
  },
});

type Run = StepDefinition['run'];

function v2Of(credit: Run, upcaster = toCents, end: Run = ({ belief }) => ({ done: belief })): Definition {
  return definitionOf({
    version: 2,
    belief: { cents: 100 },
    upcasters: new Map([[1, upcaster]]),
    parseBelief: (belief) => {
      const { cents } = belief as { cents?: unknown };
      if (typeof cents !== 'number') throw new InvalidError('belief-invalid', 'cents is missing');
      return { cents };
    },
    steps: {
      credit,
      end,
    },
  });
}

const credited: StepResult = {
  belief: (b) => ({ cents: (b as { cents: number }).cents + 1 }),
  next: [{ step: 'end', input: null }],
};

describe('versions side by side', () => {
  let log: SimulatedLog;
  let world: SimulatedWorld;

  beforeEach(async () => {
    log = new SimulatedLog(2);
    world = new SimulatedWorld(log, 2);
    await world.coordinator.start();
  });
  afterEach(() => world.close());

  const rowsOf = (workflow: WorkflowId) => world.ports.store.rows.get(workflow)!;
  const reached = (workflow: WorkflowId, sequence: number) =>
    world.ports.clock.runUntil(() => (rowsOf(workflow)?.stream.sequence ?? 0) >= sequence, 60_000);

  it('goes on with what an older version stored, over deaths before and after', async () => {
    const old = await world.worker([v1]);
    const w = await world.start(v1);
    await reached(w, 1);
    await old.die();
    // The first worker of the new version dies in its step, the second right after it.
    const seen: unknown[] = [];
    let attempts = 0;
    const v2 = v2Of(({ belief, step }, input) => {
      seen.push({ belief, step, input });
      return ++attempts === 1 ? new Promise<StepResult>(() => {}) : { ...credited };
    });
    const dying = await world.worker([v2]);
    await world.ports.clock.runUntil(() => attempts === 1, 60_000);
    await dying.die();
    await world.worker([v2]);
    await world.until(w, 'completed');
    expect(await world.client.run(w).result()).toEqual({ cents: 201 });
    const once = { belief: { cents: 200 }, step: 'credit', input: { cents: 200 } };
    expect(seen).toEqual([once, once]);
    const checkpoints = rowsOf(w).checkpoints.map(({ step, stepVersion, belief }) => ({ step, stepVersion, belief }));
    expect(checkpoints.slice(1)).toEqual([
      { step: 'price', stepVersion: 1, belief: 'delta' },
      // A snapshot: a delta would build on the upcaster's result, which is nowhere in the log.
      { step: 'credit', stepVersion: 2, belief: 'snapshot' },
      { step: 'end', stepVersion: 2, belief: 'none' },
    ]);
    expect((await foldLog(log, rowsOf(w).stream.partition)).rejected).toEqual([]);
  });

  it('is left alone by a newer version without an upcaster, until one comes that has it', async () => {
    const old = await world.worker([v1]);
    const w = await world.start(v1);
    await reached(w, 1);
    await old.die();
    const v2 = v2Of(() => credited);
    await world.worker([{ ...v2, upcasters: new Map() }]);
    await world.ports.clock.run(60_000);
    expect(rowsOf(w).stream).toMatchObject({ status: 'open', holder: null, runnable: true, version: 1 });
    await world.worker([v2]);
    await world.until(w, 'completed');
  });

  it('never goes back: an old worker beside the new one gets nothing of what has reached the new version', async () => {
    const first = await world.worker([v1]);
    const w = await world.start(v1);
    await reached(w, 1);
    await first.die();
    const second = await world.worker([
      v2Of(
        () => credited,
        toCents,
        () => new Promise<StepResult>(() => {}),
      ),
    ]);
    await reached(w, 2);
    await second.die();
    let oldRuns = 0;
    const run = (): StepResult => {
      oldRuns++;
      return {};
    };
    await world.worker([definitionOf({ steps: { price: run, pay: run, credit: run, end: run } })]);
    // An older hint, and the sweeps after it.
    const { partition, lamport, tenant } = rowsOf(w).stream;
    const stale = { workflow: w, tenant, definition: 'd', version: 1, pinned: false, partition, lamport };
    await world.ports.queue.enqueue([{ ...stale, offset: 0 as Offset }]);
    await world.ports.clock.run(60_000);
    expect(oldRuns).toBe(0);
    expect(rowsOf(w).stream).toMatchObject({ status: 'open', version: 2, runnable: true });
    await world.worker([v2Of(() => credited)]);
    await world.until(w, 'completed');
  });

  it('keeps a pinned workflow to its version, and lets it go on once it is unpinned', async () => {
    const v2 = v2Of(() => credited);
    await world.worker([v2]);
    const w = await world.start(v1, null, { id: 'w', pinned: true });
    await world.ports.clock.run(60_000);
    expect(rowsOf(w).stream).toMatchObject({ status: 'open', sequence: 0, pinned: true, version: 1 });
    const old = await world.worker([v1]);
    await reached(w, 1);
    await old.die();
    await world.ports.clock.run(10_000);
    expect(rowsOf(w).stream).toMatchObject({ sequence: 1, version: 1 });
    const unpinned = world.client.pin(w, { pinned: false, by: 'ada', why: 'rolled out' });
    await world.until(w, 'completed');
    await unpinned;
    expect(rowsOf(w).stream).toMatchObject({ version: 2, pinned: false });
  });

  it('runs several versions of a definition in one worker, each with its own code', async () => {
    const one = definitionOf({ steps: { a: () => ({ done: 'one' }) } });
    const two = definitionOf({ version: 2, steps: { a: () => ({ done: 'two' }) } });
    await world.worker([one, two]);
    await world.start(one, null, { id: 'w1' });
    await world.start(two, null, { id: 'w2' });
    for (const id of ['w1', 'w2']) await world.until(id as WorkflowId, 'completed');
    expect(await Promise.all(['w1', 'w2'].map((id) => world.client.run(id).result()))).toEqual(['one', 'two']);
  });
});

describe('a holder', () => {
  let log: SimulatedLog;
  beforeEach(() => {
    log = new SimulatedLog(1);
  });

  /** Opens with version 1, and runs it with the other definition. */
  async function runWith(definition: Definition, opened: Definition = v1) {
    const ports = simulatedPorts(log);
    await openWorkflow(ports, opened);
    const run = await claimedRun(log, definition, { ports });
    return { ...run, ended: await run.runner.run(), state: run.stream.confirmed };
  }
  const paying: Definition = {
    ...v1,
    begin: () => ({ belief: { price: 1 }, next: [{ step: 'pay', input: { price: 3 } }] }),
  };
  const onlyStream = async () => {
    const { state } = await foldLog(log);
    return [...state.streams.values()][0]!;
  };

  it.each<[string, string, Upcaster, RegExp?]>([
    [
      'an upcaster of belief throws',
      'belief-not-upcast',
      {
        ...toCents,
        belief: () => {
          throw new Error('no price');
        },
      },
    ],
    ['what it gives does not fit the schema', 'belief-not-upcast', unchanged],
    [
      'an upcaster of the input throws',
      'input-not-upcast',
      {
        ...toCents,
        input: () => {
          throw new Error('no order');
        },
      },
    ],
    ['a step is gone', 'step-gone', { ...toCents, task: unchanged.task }],
    [
      'an upcaster of a task throws',
      'task-not-upcast',
      {
        ...toCents,
        task: () => {
          throw new Error('no amount');
        },
      },
    ],
  ])('asks a person when %s, and fails nothing', async (_, reason, upcaster) => {
    const { ended } = await runWith(v2Of(() => credited, upcaster));
    expect(ended).toBe('closed');
    expect(await onlyStream()).toMatchObject({ status: 'parked', reason, question: { code: reason } });
    expect((await foldLog(log)).rejected).toEqual([]);
  });

  it('asks a person about a task whose input no longer fits', async () => {
    const strict = v2Of(() => credited);
    const step = {
      ...strict.steps.get('credit')!,
      parseInput: () => {
        throw new InvalidError('task-input-invalid', 'cents: is missing');
      },
    };
    await runWith({ ...strict, steps: new Map([...strict.steps, ['credit', step]]) }, paying);
    expect(await onlyStream()).toMatchObject({ status: 'parked', reason: 'task-not-upcast' });
  });

  it('goes on where it stopped, once the upcaster is mended and a person says so', async () => {
    const { ports } = await runWith(
      v2Of(() => credited, unchanged),
      paying,
    );
    const parked = await onlyStream();
    const control = { question: parked.question!.id, resolution: 'retry', by: 'ada', responseDigest: null } as const;
    const decided = inboxRecord(parked, 'decided', 'ApprovalDecided', control, { why: 'mended' });
    await log.append(P0, [{ value: decided, type: 'ApprovalDecided' }]);
    const mended = await claimedRun(
      log,
      v2Of(() => credited),
      { ports },
    );
    expect(await mended.runner.run()).toBe('closed');
    expect(await onlyStream()).toMatchObject({ status: 'completed', version: 2 });
  });

  it('lets a stream go untouched that others have led on to a newer version', async () => {
    let runs = 0;
    const run = (): StepResult => {
      runs++;
      return {};
    };
    const old = definitionOf({ steps: { credit: run, end: run } });
    const { ended } = await runWith(
      old,
      v2Of(() => credited),
    );
    expect([ended, runs]).toEqual(['idle', 0]);
    expect(await typesOf(log)).toEqual(['WorkflowOpened', 'LeaseClaimed', 'LeaseReleased']);
  });

  it('makes nothing of a step that ran while the workflow was pinned to the older version', async () => {
    const ports = simulatedPorts(log);
    await openWorkflow(ports, paying);
    const gate = Promise.withResolvers<StepResult>();
    const { runner, stream } = await claimedRun(
      log,
      v2Of(() => gate.promise),
      { ports },
    );
    const ended = runner.run();
    await quiet();
    const pin = inboxRecord(stream.confirmed, 'pin:1', 'VersionPinned', { pinned: true, by: 'ada' }, { why: 'audit' });
    await log.append(P0, [{ value: pin, type: 'VersionPinned' }]);
    await stream.catchUp();
    gate.resolve(credited);
    expect(await ended).toBe('idle');
    const { state, rejected } = await foldLog(log);
    expect(rejected).toEqual([]);
    expect([...state.streams.values()][0]).toMatchObject({
      version: 1,
      pinned: true,
      lease: null,
      head: { sequence: 0 },
    });
  });

  it('upcasts input and belief by every version in between, in order', async () => {
    const order: string[] = [];
    const link = (name: string): Upcaster => ({
      input: (input) => [...(input as string[]), name],
      belief: (belief) => {
        order.push(name);
        return belief;
      },
      task: (step, input) => ({ step, input: [...((input ?? []) as string[]), name] }),
    });
    const opened = definitionOf({ steps: { a: () => ({}) }, parseInput: () => [], next: [{ step: 'a', input: [] }] });
    const v3 = definitionOf({
      version: 3,
      upcasters: new Map([
        [2, link('two')],
        [1, link('one')],
      ]),
      steps: { a: (context, input) => ({ done: { given: context.input, input } }) },
    });
    await runWith(v3, opened);
    expect(order).toEqual(['one', 'two']);
    const chain = ['one', 'two'];
    const [completed] = await controlsOf(log, 'WorkflowCompleted');
    const { digest } = simulatedPorts(log);
    expect(completed!.outputDigest).toBe(digest.sha256(JSON.stringify({ given: chain, input: chain })));
  });
});

describe('what a worker announces', () => {
  it('is its own version, older ones that upcasters lead from, and pinned ones of its own version alone', () => {
    const upcasters = new Map([
      [1, unchanged],
      [3, unchanged],
      [4, unchanged],
    ]);
    const v5 = definitionOf({ version: 5, upcasters, steps: { a: () => ({}) } });
    // 1 would need 2, which has no upcaster.
    expect(runnableVersions(v5)).toEqual([5, 4, 3]);
    expect(routesOf([v5]).map(({ version, pinned }) => `${version}${pinned ? ' pinned' : ''}`)).toEqual([
      '5 pinned',
      '5',
      '4',
      '3',
    ]);
  });
});
