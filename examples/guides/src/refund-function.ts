/** Owns the refund agent as a function: a loop of a model and its tools, one of which asks a person and starts children. */

import { defineFunction, said, toolResult, userMessage } from '@tidemark/sdk';
import { z } from 'zod';
import { issueRefund, linesOf, lookup, model, refundInput, restock, tagTicket } from './refund-outside.ts';

export const refundFunction = defineFunction({
  name: 'refund-function',
  version: 1,
  input: z.object({ text: z.string() }),
  output: z.object({ answer: z.string() }),
  models: { default: model },
  bundles: { loop: { budgetTokens: 4_000 } },
  budget: { workflow: { tokens: 50_000 } },
  tools: { lookup, tag: tagTicket, refund: { description: 'Refunds an order.', input: refundInput } },
  approvals: { refund: refundInput },
  children: [restock],
  effects: [issueRefund],
  async run(ctx, { text }) {
    const refund = async (asked: z.infer<typeof refundInput>) => {
      const title = `Refund ${asked.cents} of ${asked.order}?`;
      const first = await ctx.race({ answer: ctx.approval('refund', { title, preset: asked }), late: ctx.sleep('2d') });
      if (first.name === 'late' || !first.value.approved) return 'Nobody approved it.';
      const { id } = await ctx.effect(issueRefund, first.value.value);
      await ctx.all(linesOf(asked.order).map((line) => () => ctx.child(restock, { line })));
      return { id, cents: first.value.value.cents };
    };
    ctx.tell(userMessage(text));
    for (;;) {
      const reply = await ctx.model({ bundle: 'loop', stream: true });
      if (reply.toolCalls.length === 0) return { answer: reply.text };
      const results = await ctx.all(reply.toolCalls.map((call) => () => ctx.tool(call, { refund })));
      ctx.tell(said(reply), ...results.map((result, at) => toolResult(reply.toolCalls[at]!, result)));
    }
  },
});
