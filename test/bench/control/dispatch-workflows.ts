/** Owns the workflows by which dispatch, signals and timers are measured. Times are of the wall clock: all processes are on one machine. */

import { at, defineWorkflow, signal, task, timer } from '@tidemark/sdk';
import { z } from 'zod';

const began = z.object({ beganMs: z.number() });

/** One step that waits, as for a model's answer, and tells when it began. */
export const asking = defineWorkflow({
  name: 'bench-asking',
  version: 1,
  input: z.object({ askMs: z.int() }),
  belief: z.object({}),
  output: began,
  tasks: { ask: z.object({ askMs: z.int() }) },
  flow: { ask: [] },
  begin: ({ askMs }) => ({ belief: {}, next: [task('ask', { askMs })] }),
  steps: {
    ask: async (_, { askMs }) => {
      const beganMs = Date.now();
      await new Promise((resolve) => setTimeout(resolve, askMs));
      return { done: { beganMs } };
    },
  },
});

/** Waits for a signal, and tells when the step after it began. */
export const listening = defineWorkflow({
  name: 'bench-listening',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: began,
  signals: { go: z.null() },
  tasks: { hear: z.object({}) },
  flow: { hear: [] },
  begin: () => ({ belief: {}, next: [task('hear', {}, { when: signal('go') })] }),
  steps: { hear: () => ({ done: { beganMs: Date.now() } }) },
});

/** Waits for a moment, and tells when the step after it began. */
export const waking = defineWorkflow({
  name: 'bench-waking',
  version: 1,
  input: z.object({ dueMs: z.number() }),
  belief: z.object({}),
  output: began,
  tasks: { wake: z.object({}) },
  flow: { wake: [] },
  begin: ({ dueMs }) => ({ belief: {}, next: [task('wake', {}, { when: at(new Date(dueMs)) })] }),
  steps: { wake: () => ({ done: { beganMs: Date.now() } }) },
});

/** Holds many timers that don't come. */
export const dreaming = defineWorkflow({
  name: 'bench-dreaming',
  version: 1,
  input: z.object({ timers: z.int().positive() }),
  belief: z.object({}),
  output: z.object({}),
  tasks: { dream: z.object({}) },
  flow: { dream: [] },
  begin: ({ timers }) => ({
    belief: {},
    next: Array.from({ length: timers }, () => task('dream', {}, { when: timer('365d') })),
  }),
  steps: { dream: () => ({ done: {} }) },
});
