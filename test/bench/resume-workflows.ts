/**
 * Owns the workflows of `bench -- resume`: a history of quick steps, then steps of one length until the end, each on a timer;
 * and turns with pauses between them. The process that runs the steps notes when each began and ended, so that a run's own time can be told from its steps'.
 */

import { defineWorkflow, task, timer } from '@tidemark/sdk';
import { z } from 'zod';

const input = z.object({
  /** Quick steps before those on a timer. */
  history: z.int().min(0),
  /** Steps in all. */
  steps: z.int().positive(),
  stepMs: z.int().positive(),
  timed: z.boolean(),
});

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
  output: z.object({ startedMs: z.array(z.number()), endedMs: z.array(z.number()) }),
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
