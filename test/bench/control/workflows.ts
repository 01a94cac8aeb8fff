/** Owns the workflows that the control plane's benchmark runs: they wait for signals, and answer each with one small step. */

import { defineWorkflow, signal, task } from '@tidemark/sdk';
import { z } from 'zod';

export const listener = defineWorkflow({
  name: 'bench-listener',
  version: 1,
  input: z.object({ times: z.int().positive() }),
  belief: z.object({ heard: z.int() }),
  output: z.object({ heard: z.int() }),
  signals: { go: z.json() },
  tasks: { listen: z.object({ left: z.int() }) },
  flow: { listen: ['listen'] },
  begin: ({ times }) => ({ belief: { heard: 0 }, next: [task('listen', { left: times }, { when: signal('go') })] }),
  steps: {
    listen(ctx, { left }) {
      const heard = ctx.belief.heard + 1;
      if (left <= 1) return { done: { heard } };
      return { belief: () => ({ heard }), next: [task('listen', { left: left - 1 }, { when: signal('go') })] };
    },
  },
});
