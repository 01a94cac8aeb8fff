/** Owns the refund agent as a workflow of steps: what its function keeps in variables is in its belief and its frontier. */

import {
  anyOf,
  approval,
  child,
  defineWorkflow,
  said,
  task,
  timer,
  toolCallSchema,
  toolResult,
  userMessage,
} from '@tidemark/sdk';
import { z } from 'zod';
import { issueRefund, linesOf, lookup, model, refundInput, restock, tagTicket } from './refund-outside.ts';

const refunding = z.object({ call: toolCallSchema, asked: refundInput });
const restocking = z.object({ call: toolCallSchema, id: z.string(), cents: z.int(), left: z.array(z.string()) });

export const refundSteps = defineWorkflow({
  name: 'refund-steps',
  version: 1,
  input: z.object({ text: z.string() }),
  belief: z.object({ open: z.array(z.string()) }),
  output: z.object({ answer: z.string() }),
  tasks: { think: z.object({}), act: toolCallSchema, refund: refunding, restocked: restocking },
  flow: {
    think: ['think', 'act', 'refund'],
    act: [],
    refund: ['restocked'],
    restocked: ['restocked'],
  },
  starts: ['think'],
  models: { default: model },
  bundles: { loop: { budgetTokens: 4_000 } },
  budget: { workflow: { tokens: 50_000 } },
  tools: {
    lookup,
    tag: tagTicket,
    // Not called as a tool: its task waits for a person.
    refund: { description: 'Refunds an order.', input: refundInput, run: () => 'Not approved.' },
  },
  approvals: { refund: refundInput },
  children: { restock },
  effects: [issueRefund],
  begin: ({ text }) => ({ belief: { open: [] }, next: [task('think', {})], fragments: [userMessage(text)] }),
  steps: {
    async think(ctx) {
      // A refund adds tasks of its own, which come after this one was added: then it must wait anew.
      if (ctx.belief.open.length > 0) return { next: [task('think', {}, { after: 'all' })] };
      const reply = await ctx.model({ bundle: 'loop', stream: true });
      if (reply.toolCalls.length === 0) return { done: { answer: reply.text } };
      const acts = reply.toolCalls.map((call) => {
        const read = refundInput.safeParse(call.input);
        if (call.name !== 'refund' || !read.success) return task('act', call);
        const title = `Refund ${read.data.cents} of ${read.data.order}?`;
        const wait = anyOf(approval('refund', { title, preset: read.data }), timer('2d'));
        return task('refund', { call, asked: read.data }, { when: wait });
      });
      return {
        belief: () => ({ open: reply.toolCalls.map(({ id }) => id) }),
        fragments: said(reply),
        next: [...acts, task('think', {}, { after: 'all' })],
      };
    },
    async act(ctx, call) {
      const result = await ctx.tool(call);
      return {
        belief: ({ open }) => ({ open: open.filter((id) => id !== call.id) }),
        fragments: [toolResult(call, result)],
      };
    },
    async refund(ctx, { call, asked }) {
      const { cause } = ctx;
      if (cause?.kind !== 'approval' || !cause.approved) {
        return {
          belief: ({ open }) => ({ open: open.filter((id) => id !== call.id) }),
          fragments: [toolResult(call, 'Nobody approved it.')],
        };
      }
      const { id } = await ctx.effect(issueRefund, cause.value);
      const [line, ...left] = linesOf(asked.order);
      if (line === undefined) {
        return {
          belief: ({ open }) => ({ open: open.filter((one) => one !== call.id) }),
          fragments: [toolResult(call, { id, cents: cause.value.cents })],
        };
      }
      const input = { call, id, cents: cause.value.cents, left };
      return { next: [task('restocked', input, { when: child('restock', { line }) })] };
    },
    async restocked(_, { call, id, cents, left: [line, ...left] }) {
      if (line !== undefined) {
        return { next: [task('restocked', { call, id, cents, left }, { when: child('restock', { line }) })] };
      }
      return {
        belief: ({ open }) => ({ open: open.filter((one) => one !== call.id) }),
        fragments: [toolResult(call, { id, cents })],
      };
    },
  },
});
