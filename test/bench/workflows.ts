/**
 * Owns the workflows that the benchmarks run: sequential steps, each leaving about 1 KB, and functions whose calls do the same. The process
 * that runs them notes when each began, and the last one returns the notes, so a step's cost is the time from its start to the next one's.
 */

import { defineEffect, defineFunction, defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';

const startedMs = new Map<string, number[]>();

function note(workflow: string, timed: boolean): void {
  if (!timed) return;
  const times = startedMs.get(workflow) ?? [];
  startedMs.set(workflow, times);
  times.push(performance.now());
}

/** The notes, which nothing needs any more. */
function taken(workflow: string): { readonly startedMs: number[] } {
  const times = startedMs.get(workflow) ?? [];
  startedMs.delete(workflow);
  return { startedMs: times };
}

const textOf = (n: number, bytes: number): string => `${n}`.padEnd(bytes, 'x');

const echo = defineEffect({
  operation: 'bench-echo',
  kind: 'idempotent',
  request: z.object({ n: z.int(), bytes: z.int() }),
  response: z.string(),
  call: async ({ n, bytes }) => textOf(n, bytes),
});

/** What makes the text of a step: the step itself, or an effect that it calls. */
type Maker = 'own' | 'effect';

const input = z.object({ steps: z.int().positive(), bytes: z.int().positive(), timed: z.boolean() });
const output = z.object({ startedMs: z.array(z.number()) });

function sequential(name: string, durability: 'durable' | 'staged', maker: Maker = 'own') {
  return defineWorkflow({
    name,
    version: 1,
    durability,
    input,
    belief: z.object({ done: z.int() }),
    output,
    effects: [echo],
    tasks: { step: input.extend({ n: z.int() }) },
    flow: { step: ['step'] },
    starts: ['step'],
    begin: (given) => ({ belief: { done: 0 }, next: [task('step', { ...given, n: 1 })] }),
    steps: {
      async step(ctx, { steps, bytes, timed, n }) {
        note(ctx.workflow, timed);
        const text = maker === 'own' ? textOf(n, bytes) : await ctx.effect(echo, { n, bytes });
        const belief = () => ({ done: n });
        if (n < steps) return { belief, output: text, next: [task('step', { steps, bytes, timed, n: n + 1 })] };
        return { belief, output: text, done: taken(ctx.workflow) };
      },
    },
  });
}

function calling(name: string, maker: Maker) {
  return defineFunction({
    name,
    version: 1,
    input,
    output,
    effects: [echo],
    async run(ctx, { steps, bytes, timed }) {
      for (let n = 1; n <= steps; n++) {
        note(ctx.workflow, timed);
        await (maker === 'own' ? ctx.run('step', () => textOf(n, bytes)) : ctx.effect(echo, { n, bytes }));
      }
      return taken(ctx.workflow);
    },
  });
}

export const durableSteps = sequential('bench-durable', 'durable');
export const stagedSteps = sequential('bench-staged', 'staged');
export const effectSteps = sequential('bench-effect-steps', 'durable', 'effect');
export const closureCalls = calling('bench-closure-calls', 'own');
export const effectCalls = calling('bench-effect-calls', 'effect');
