/**
 * The smallest workflow of one's own: it greets each name, one a step, so that a worker that dies goes on with the next.
 *
 * Input: `{ "names": ["Ada", "Grace"] }`.
 */

import { defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';

export const greeting = defineWorkflow({
  name: 'greeting',
  version: 1,
  input: z.object({ names: z.array(z.string()).min(1) }),
  belief: z.object({ left: z.array(z.string()), said: z.array(z.string()) }),
  output: z.array(z.string()),
  tasks: { greet: z.object({ name: z.string() }) },
  flow: { greet: ['greet'] },
  begin: ({ names: [name, ...left] }) => ({ belief: { left, said: [] }, next: [task('greet', { name: name! })] }),
  steps: {
    async greet(ctx, { name }) {
      const said = [...ctx.belief.said, `Hello ${name}`];
      const [next, ...left] = ctx.belief.left;
      if (next === undefined) return { done: said };
      return { belief: () => ({ left, said }), next: [task('greet', { name: next })] };
    },
  },
});
