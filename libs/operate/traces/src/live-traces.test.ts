/**
 * The live export against a real coordinator and worker: what a collector gets is what an export from the log draws, id for id, whoever
 * dies, is away or takes over; nothing twice but what a crash repeats, and nothing missing that isn't counted.
 */

import { UnavailableError, type WorkflowId } from '@tidemark/core';
import { systemClock } from '@tidemark/runtime';
import { defineWorkflow, signal, task } from '@tidemark/sdk';
import { type TestWorld, testWorld } from '@tidemark/testkit';
import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { traceOf } from './history.ts';
import { LiveTraces, POLL_PERIOD_MS } from './live-traces.ts';
import type { TraceSpan } from './span.ts';
import { FLUSH_PERIOD_MS, SPANS_WAITING_MAX, SpanQueue } from './span-queue.ts';

const walk = defineWorkflow({
  name: 'walk',
  version: 1,
  input: z.object({ steps: z.number(), wait: z.boolean().optional() }),
  belief: z.object({}),
  output: z.object({}),
  tasks: { go: z.object({ left: z.number() }) },
  signals: { on: z.object({}) },
  flow: { go: ['go'] },
  begin: ({ steps }) => ({ belief: {}, next: [task('go', { left: steps })] }),
  steps: {
    async go(ctx, { left }) {
      await ctx.run('look', () => left);
      if (left === 0) return { done: {} };
      return { next: [task('go', { left: left - 1 }, ctx.input.wait === true ? { when: signal('on') } : {})] };
    },
  },
});

/** A collector of the test's own, which may be away. */
class Collected {
  readonly spans: TraceSpan[] = [];
  isAway = false;
  readonly dropped: [number, string][] = [];
  readonly errors: unknown[] = [];

  traces(ports: TestWorld['ports'], ratio = 1): LiveTraces {
    return new LiveTraces({
      ports,
      ratio,
      send: async (spans) => {
        if (this.isAway) throw new UnavailableError('collector-away', 'away');
        this.spans.push(...structuredClone(spans as TraceSpan[]));
      },
      onDropped: (count, reason) => void this.dropped.push([count, reason]),
      onError: (error) => void this.errors.push(error),
    });
  }

  of(traceId: string): readonly TraceSpan[] {
    return this.spans.filter((span) => span.traceId === traceId).toSorted(bySpan);
  }
}

const bySpan = (a: TraceSpan, b: TraceSpan): number => (a.spanId < b.spanId ? -1 : 1);

async function drawn(world: TestWorld, workflow: WorkflowId): Promise<readonly TraceSpan[]> {
  return (await traceOf(world.ports, workflow)).spans.toSorted(bySpan);
}

let world: TestWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

async function expectSame(collected: Collected, run: { readonly id: WorkflowId }): Promise<void> {
  const exported = await drawn(world!, run.id);
  const all = () => collected.of(exported[0]!.traceId).length;
  await world!.fastForward(expect.poll(all).toBe(exported.length));
  expect(collected.of(exported[0]!.traceId)).toEqual(exported);
}

describe('what the collector gets', () => {
  test('is what the log draws, for runs that go well and for one whose worker dies', async () => {
    const collected = new Collected();
    world = await testWorld({ workflows: [walk], traces: (ports) => collected.traces(ports) });
    const plain = await world.start(walk, { steps: 3 }, { id: 'w1' });
    await plain.result();
    world.crash({ before: 'CheckpointCommitted' });
    const killed = await world.start(walk, { steps: 3 }, { id: 'w2' });
    await killed.result();
    expect(world.crashCount).toBe(1);
    await expectSame(collected, plain);
    await expectSame(collected, killed);
    expect(collected.errors).toEqual([]);
    expect(collected.dropped).toEqual([]);
  });

  test('goes on after a coordinator’s restart, with nothing missing', async () => {
    const collected = new Collected();
    world = await testWorld({ workflows: [walk], traces: (ports) => collected.traces(ports) });
    const run = await world.start(walk, { steps: 3, wait: true }, { id: 'w3' });
    await world.client.signal('w3', 'on', {});
    await expect.poll(async () => (await run.summary())?.sequence).toBe(2);
    await world.restartCoordinator();
    for (let at = 0; at < 2; at++) await world.client.signal('w3', 'on', {});
    await run.result();
    await expectSame(collected, run);
  });

  test('is kept while the collector is away, and remembered by whoever comes next', async () => {
    const collected = new Collected();
    collected.isAway = true;
    world = await testWorld({ workflows: [walk], traces: (ports) => collected.traces(ports) });
    const run = await world.start(walk, { steps: 2 }, { id: 'w4' });
    await run.result();
    await world.fastForward(expect.poll(() => collected.errors.length).toBeGreaterThan(0));
    // This coordinator ends without having handed anything on.
    await world.restartCoordinator();
    expect(collected.spans).toEqual([]);
    expect(collected.errors.at(-1)).toMatchObject({
      code: 'spans-unsent',
      message: expect.stringMatching(/^Not sent yet: \d+ spans\. The next process .* sends them\.$/),
    });
    collected.isAway = false;
    await expectSame(collected, run);
  });

  test('reads nothing once it was asked to end, since the store is closed next', async () => {
    const clock = new SimulatedClock();
    let readCount = 0;
    const store = {
      tracedTo: async () => {
        readCount++;
        return new Map();
      },
      // Events that another process has folded, and has not exported.
      positions: async () => new Map([[0, 5]]),
    };
    const traces = new Collected().traces({ store, clock, log: { read: async () => [] } } as never);
    await traces.begin(() => true);
    await clock.run(POLL_PERIOD_MS + FLUSH_PERIOD_MS / 2);
    // As when a collector has kept the last request waiting.
    clock.jump(POLL_PERIOD_MS);
    readCount = 0;
    await traces.end();
    await clock.run(0);
    expect(readCount).toBe(0);
  });
});

describe('sampling', () => {
  test('keeps none of what goes well, and all of what was recovered, from its beginning', async () => {
    const collected = new Collected();
    world = await testWorld({ workflows: [walk], traces: (ports) => collected.traces(ports, 0) });
    await (await world.start(walk, { steps: 3 }, { id: 'w5' })).result();
    const killed = await world.start(walk, { steps: 3, wait: true }, { id: 'w6' });
    await world.client.signal('w6', 'on', {});
    await expect.poll(async () => (await killed.summary())?.sequence).toBe(2);
    world.crash({ before: 'CheckpointCommitted' });
    for (let at = 0; at < 2; at++) await world.client.signal('w6', 'on', {});
    await killed.result();
    await expectSame(collected, killed);
    const kept = new Set(collected.spans.map(({ traceId }) => traceId));
    expect(kept.size).toBe(1);
  });

  test('is decided by the run’s own trace, whatever its caller samples: a failed one is kept', async () => {
    const collected = new Collected();
    world = await testWorld({ workflows: [walk], traces: (ports) => collected.traces(ports, 0) });
    const caller = (flags: string): string => `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-${flags}`;
    await (await world.start(walk, { steps: 1 }, { id: 'w7', trace: caller('01') })).result();
    const ended = await world.start(walk, { steps: 1, wait: true }, { id: 'w8', trace: caller('00') });
    await world.client.terminate('w8', { by: 'someone', why: 'no more of it' });
    await expectSame(collected, ended);
    const root = collected.spans.find(({ parentSpanId }) => parentSpanId === null)!;
    expect(root.links).toMatchObject([{ traceId: 'ab'.repeat(16), spanId: 'cd'.repeat(8) }]);
    expect(new Set(collected.spans.map(({ traceId }) => traceId)).size).toBe(1);
  });

  test('decides alike everywhere, by the ratio', async () => {
    const { isInShare, traceIdOf } = await import('@tidemark/runtime');
    const ids = Array.from({ length: 4_000 }, (_, at) => traceIdOf(`w-${at}` as WorkflowId));
    const kept = ids.filter((id) => isInShare(id, 0.1)).length;
    expect(kept).toBeGreaterThan(320);
    expect(kept).toBeLessThan(480);
    expect(ids.every((id) => isInShare(id, 1))).toBe(true);
    expect(ids.some((id) => isInShare(id, 0))).toBe(false);
  });
});

describe('the queue', () => {
  const span = {
    spanId: 's',
    name: 'step',
    attributes: {},
    events: [] as const,
    links: [] as const,
  } as unknown as TraceSpan;

  test('drops and counts what comes when it is full, and never waits', () => {
    const dropped: [number, string][] = [];
    const queue = new SpanQueue({
      clock: systemClock,
      send: () => new Promise(() => {}),
      onDropped: (count, reason) => void dropped.push([count, reason]),
      onError: () => {},
    });
    queue.push(new Array<TraceSpan>(SPANS_WAITING_MAX - 1).fill(span));
    queue.push([span, span, span]);
    expect(dropped).toEqual([[2, 'queue-full']]);
    expect([queue.pushedCount, queue.settledCount]).toEqual([SPANS_WAITING_MAX + 2, 2]);
  });

  test('asks a collector that fails as the process ends no second time, and one that answers for all that waits', async () => {
    for (const isAway of [true, false]) {
      const began = Promise.withResolvers<void>();
      const askedCounts: number[] = [];
      const queue = new SpanQueue({
        clock: systemClock,
        send: async (spans, ending) => {
          askedCounts.push(spans.length);
          began.resolve();
          if (!ending.aborted) await new Promise((resolve) => ending.addEventListener('abort', resolve));
          if (isAway) throw new UnavailableError('collector-away', 'away');
        },
        onDropped: () => {},
        onError: () => {},
      });
      queue.push([span]);
      queue.start();
      await began.promise;
      queue.push([span, span]);
      await queue.stop();
      expect(askedCounts).toEqual(isAway ? [1] : [1, 2]);
      expect(queue.settledCount).toBe(isAway ? 0 : 3);
    }
  });

  test('drops what a collector refuses, and goes on', async () => {
    const [dropped, errors, sent]: [[number, string][], unknown[], number[]] = [[], [], []];
    let isRefused = true;
    const queue = new SpanQueue({
      clock: systemClock,
      send: async (spans) => {
        if (isRefused) throw new Error('400');
        sent.push(spans.length);
      },
      onDropped: (count, reason) => void dropped.push([count, reason]),
      onError: (error) => void errors.push(error),
    });
    queue.push([span]);
    queue.start();
    await expect.poll(() => dropped).toEqual([[1, 'refused']]);
    isRefused = false;
    queue.push([span, span]);
    await queue.stop();
    expect(sent).toEqual([2]);
    expect(errors).toHaveLength(1);
    expect(queue.settledCount).toBe(3);
  });
});
