/** Owns the guide on moving from LangGraph: the same as a workflow. */

import { approval, defineEffect, defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';
import { ask, complete } from './outside.ts';

const send = defineEffect({
  operation: 'mail.send',
  kind: 'idempotent',
  request: z.object({ reply: z.string() }),
  response: z.object({ id: z.string() }),
  call: async ({ reply }, { key }) => ({ id: await ask(`mail ${reply}`, key) }),
});

export const ticket = defineWorkflow({
  name: 'ticket',
  version: 1,
  input: z.object({ text: z.string() }),
  belief: z.object({ topic: z.string().optional(), reply: z.string().optional() }),
  output: z.object({ topic: z.string(), sent: z.string().nullable() }),
  tasks: { classify: z.object({}), answer: z.object({ topic: z.string() }) },
  flow: { classify: ['answer'], answer: [] },
  approvals: { reply: z.object({ reply: z.string() }) },
  effects: [send],
  begin: () => ({ belief: {}, next: [task('classify', {})] }),
  steps: {
    classify: async (ctx) => {
      const topic = await ctx.run('model', () => complete(ctx.input.text));
      if (topic !== 'billing') return { belief: () => ({ topic }), done: { topic, sent: null } };
      const asked = approval('reply', { title: `How do we answer this ${topic} ticket?` });
      return { belief: () => ({ topic }), next: [task('answer', { topic }, { when: asked })] };
    },
    answer: async (ctx, { topic }) => {
      if (ctx.cause?.kind !== 'approval' || !ctx.cause.approved) return { done: { topic, sent: null } };
      const { reply } = ctx.cause.value;
      const { id } = await ctx.effect(send, { reply });
      return { belief: (b) => ({ ...b, reply }), done: { topic, sent: id } };
    },
  },
});
