/**
 * Owns the workflows of `bench -- resume` and `functions`: a history of quick steps, then steps of one length until the end, each on a timer;
 * functions that do the same, and that wait behind recorded calls; and turns with pauses between them. The process that runs the steps notes when each began and ended, so that a run's own time can be told from its steps'.
 */

import type { Definition } from '@tidemark/runtime';
import { defineFunction, defineWorkflow, task, timer } from '@tidemark/sdk';
import { z } from 'zod';

const input = z.object({
  /** Quick steps before those on a timer. */
  history: z.int().min(0),
  /** Steps in all. */
  steps: z.int().positive(),
  stepMs: z.int().positive(),
  timed: z.boolean(),
});

const output = z.object({ startedMs: z.array(z.number()), endedMs: z.array(z.number()) });

interface Times {
  readonly startedMs: number[];
  readonly endedMs: number[];
}

const noted = new Map<string, Times>();

export const ticks = defineWorkflow({
  name: 'bench-ticks',
  version: 1,
  durability: 'durable',
  input,
  belief: z.object({ done: z.int() }),
  output,
  tasks: { tick: z.object({ n: z.int() }) },
  flow: { tick: ['tick'] },
  starts: ['tick'],
  begin: () => ({ belief: { done: 0 }, next: [task('tick', { n: 1 })] }),
  steps: {
    async tick(ctx, { n }) {
      const { history, steps, stepMs, timed } = ctx.input;
      const startedMs = performance.now();
      if (n > history) await new Promise((resolve) => setTimeout(resolve, stepMs));
      const times = noted.get(ctx.workflow) ?? { startedMs: [], endedMs: [] };
      if (timed && n > history) {
        noted.set(ctx.workflow, times);
        times.startedMs.push(startedMs);
        times.endedMs.push(performance.now());
      }
      const belief = () => ({ done: n });
      if (n < steps) return { belief, next: [task('tick', { n: n + 1 })] };
      return { belief, done: times };
    },
  },
});

export type Ticks = Definition<z.input<typeof input>, z.output<typeof output>>;

const CHAPTER_CALLS = 100;

/** The same without history, as a function that begins afresh now and then. */
export const tickCalls = defineFunction({
  name: 'bench-tick-calls',
  version: 1,
  input,
  output,
  async run(ctx, { steps, stepMs }) {
    let n = Number(ctx.state);
    for (const end = Math.min(steps, n + CHAPTER_CALLS); n < end; n++)
      await ctx.run('tick', () => new Promise<void>((resolve) => setTimeout(resolve, stepMs)));
    return n < steps ? ctx.chapter(n) : { startedMs: [], endedMs: [] };
  },
});

/** Waits behind so many recorded calls, and returns when the next one was made, in milliseconds since the Unix epoch. */
export const waitingCalls = defineFunction({
  name: 'bench-waiting-calls',
  version: 1,
  input: z.object({ calls: z.int().positive() }),
  output: z.number(),
  signals: { go: z.null() },
  async run(ctx, { calls }) {
    for (let n = 1; n <= calls; n++) await ctx.run('call', () => n);
    await ctx.signal('go');
    return ctx.run('next', () => Date.now());
  },
});

/** Takes a turn now and then, for ever, as agents do; a build of it may be broken. */
export const turns = defineWorkflow({
  name: 'bench-turns',
  version: 1,
  onFailure: process.env.BENCH_ON_FAILURE === 'park' ? 'park' : 'retry-on-new-build',
  retry: { attempts: 2, firstDelayMs: 100 },
  input: z.object({}),
  belief: z.object({ done: z.int() }),
  output: z.object({}),
  tasks: { turn: z.object({}) },
  flow: { turn: ['turn'] },
  starts: ['turn'],
  begin: () => ({ belief: { done: 0 }, next: [task('turn', {})] }),
  steps: {
    turn: () => {
      if (process.env.BENCH_IS_BROKEN === 'yes') throw new TypeError('a bug of this build');
      return { belief: ({ done }) => ({ done: done + 1 }), next: [task('turn', {}, { when: timer('10s') })] };
    },
  },
});
