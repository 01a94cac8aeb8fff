/** Owns the workflows of the hostile run: one that is done at once, and one that listens for signals. */

import { defineWorkflow, type Json, signal, task } from '@tidemark/sdk';
import { z } from 'zod';

export const greet = defineWorkflow({
  name: 'greet',
  version: 1,
  input: z.object({ name: z.string().max(100) }),
  belief: z.object({}),
  output: z.object({ greeting: z.string() }),
  tasks: { greet: z.object({}) },
  flow: { greet: [] },
  begin: () => ({ belief: {}, next: [task('greet', {})] }),
  steps: { greet: ({ input }) => ({ done: { greeting: `Hello, ${input.name}.` } }) },
});

/** Takes whatever comes under `go`, and keeps the newest. */
export const listen = defineWorkflow({
  name: 'listen',
  version: 1,
  input: z.json(),
  belief: z.object({ heard: z.json() }),
  output: z.json(),
  signals: { go: z.json() },
  tasks: { hear: z.object({}) },
  flow: { hear: ['hear'] },
  begin: () => ({ belief: { heard: null }, next: [task('hear', {}, { when: signal('go') })] }),
  steps: {
    hear: ({ cause }) => {
      const heard: Json = cause?.kind === 'signal' ? cause.value : null;
      return { belief: () => ({ heard }), next: [task('hear', {}, { when: signal('go') })] };
    },
  },
});
