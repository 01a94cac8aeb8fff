/**
 * Owns the workflows that the benchmarks run: sequential steps, each leaving about 1 KB. The process that runs the steps
 * notes when each began, and the last step returns the notes, so a step's cost is the time from its start to the next one's.
 */

import { defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';

const startedMs = new Map<string, number[]>();

const input = z.object({ steps: z.int().positive(), bytes: z.int().positive(), timed: z.boolean() });

function sequential(name: string, durability: 'durable' | 'staged') {
  return defineWorkflow({
    name,
    version: 1,
    durability,
    input,
    belief: z.object({ done: z.int() }),
    output: z.object({ startedMs: z.array(z.number()) }),
    tasks: { step: input.extend({ n: z.int() }) },
    flow: { step: ['step'] },
    starts: ['step'],
    begin: (given) => ({ belief: { done: 0 }, next: [task('step', { ...given, n: 1 })] }),
    steps: {
      step(ctx, { steps, bytes, timed, n }) {
        if (timed) {
          const times = startedMs.get(ctx.workflow) ?? [];
          startedMs.set(ctx.workflow, times);
          times.push(performance.now());
        }
        const output = `${n}`.padEnd(bytes, 'x');
        const belief = () => ({ done: n });
        if (n < steps) return { belief, output, next: [task('step', { steps, bytes, timed, n: n + 1 })] };
        const times = startedMs.get(ctx.workflow) ?? [];
        startedMs.delete(ctx.workflow);
        return { belief, output, done: { startedMs: times } };
      },
    },
  });
}

export const durableSteps = sequential('bench-durable', 'durable');
export const stagedSteps = sequential('bench-staged', 'staged');
