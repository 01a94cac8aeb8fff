/**
 * Owns the workflows of `bench -- resume`: a history of quick steps, then steps of one length until the end, each on a timer.
 * The process that runs the steps notes when each began and ended, so that a run's own time can be told from its steps'.
 */

import { defineWorkflow, task } from '@tidemark/sdk';
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
  onFailure: process.env.BENCH_ON_FAILURE === 'retry-on-new-build' ? 'retry-on-new-build' : 'park',
  retry: { attempts: 2, firstDelayMs: 100 },
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
      if (process.env.BENCH_IS_BROKEN === 'yes') throw new TypeError('a bug of this build');
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
