/**
 * Owns the family of a chaos run: one parent with children by the hundred, each of which acts, asks a person and acts again, and what a schedule
 * starts. What each must do and end with follows from its id alone (see family-checks.ts).
 */

import { approval, child, defineWorkflow, task } from '@tidemark/sdk';
import { z } from 'zod';
import { deposit, wire } from './workload.ts';

export const member = defineWorkflow({
  name: 'chaos-member',
  version: 1,
  // A partition each would be a measurement of its own (bench partitions).
  placement: 'shared',
  input: z.object({ amount: z.int() }),
  belief: z.object({ receipt: z.int() }),
  output: z.object({ receipt: z.int(), by: z.string() }),
  tasks: { ask: z.object({}), act: z.object({}) },
  flow: { ask: ['act'], act: [] },
  effects: [deposit, wire],
  approvals: { act: z.object({ n: z.int() }) },
  begin: () => ({ belief: { receipt: 0 }, next: [task('ask', {})] }),
  steps: {
    async ask(ctx) {
      const { receipt } = await ctx.effect(wire, { action: `${ctx.workflow}/before`, amount: ctx.input.amount });
      const next = [task('act', {}, { when: approval('act', { assignee: 'group:chaos' }) })];
      return { belief: () => ({ receipt }), next };
    },
    async act(ctx) {
      const by = ctx.cause?.kind === 'approval' && ctx.cause.approved ? ctx.cause.by : 'nobody';
      const { receipt } = await ctx.effect(deposit, { action: `${ctx.workflow}/after`, amount: ctx.input.amount });
      return { done: { receipt: receipt + ctx.belief.receipt, by } };
    },
  },
});

export const tribe = defineWorkflow({
  name: 'chaos-tribe',
  version: 1,
  input: z.object({ amounts: z.array(z.int()) }),
  belief: z.object({ total: z.int(), reportedCount: z.int() }),
  output: z.object({ total: z.int(), reportedCount: z.int() }),
  tasks: { spread: z.object({}), hear: z.object({}), end: z.object({}) },
  flow: { spread: ['hear', 'end'], hear: [], end: [] },
  starts: ['spread'],
  children: { member },
  begin: () => ({ belief: { total: 0, reportedCount: 0 }, next: [task('spread', {})] }),
  steps: {
    spread: ({ input }) => {
      const heard = input.amounts.map((amount) => task('hear', {}, { when: child('member', { amount }) }));
      return { next: [...heard, task('end', {}, { after: heard })] };
    },
    hear: ({ cause }) => {
      if (cause?.kind !== 'child' || cause.outcome !== 'completed') return {};
      const { receipt } = cause.output;
      return { belief: ({ total, reportedCount }) => ({ total: total + receipt, reportedCount: reportedCount + 1 }) };
    },
    end: ({ belief }) => ({ done: { ...belief } }),
  },
});

/** What the schedule starts. */
export const tick = defineWorkflow({
  name: 'chaos-tick',
  version: 1,
  placement: 'shared',
  input: z.object({ slot: z.string() }),
  belief: z.object({}),
  output: z.object({ slot: z.string() }),
  tasks: { act: z.object({}) },
  flow: { act: [] },
  effects: [deposit],
  begin: () => ({ belief: {}, next: [task('act', {})] }),
  steps: {
    async act(ctx) {
      await ctx.effect(deposit, { action: `${ctx.workflow}/tick`, amount: 1 });
      return { done: { slot: ctx.input.slot } };
    },
  },
});
