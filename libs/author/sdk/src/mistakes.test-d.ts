/** Owns the proof that mistakes don't compile, one under each `@ts-expect-error`: checked by `tsc`, run by no one. */

import { z } from 'zod';
import {
  agent,
  anyOf,
  approval,
  child,
  defineEffect,
  defineWorkflow,
  done,
  pending,
  signal,
  task,
  timer,
  tool,
} from './index.ts';
import type { TaskOf } from './task.ts';

const base = {
  name: 'x',
  version: 2,
  input: z.object({ orderId: z.string() }),
  belief: z.object({ cents: z.number().optional(), notes: z.array(z.string()).default([]) }),
  output: z.object({ creditId: z.string() }),
  tasks: {
    price: z.object({ orderId: z.string() }),
    credit: z.object({ orderId: z.string(), cents: z.number().int(), mode: z.enum(['now', 'later']).default('now') }),
    confirm: z.object({ creditId: z.string() }),
  },
} as const;

const issueCredit = defineEffect({
  operation: 'payments.credit',
  kind: 'irreversible',
  request: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  response: z.object({ creditId: z.string() }),
  call: ({ orderId }) => ({ creditId: orderId }),
});
const begin = ({ orderId }: { orderId: string }) => ({ belief: {}, next: [task('price', { orderId })] });
const flow = { price: ['credit'], credit: ['confirm'], confirm: [] } as const;
const rest = { async credit() {}, async confirm() {} };

// The control: the same without a mistake.
export const sound = defineWorkflow({
  ...base,
  flow,
  begin,
  steps: {
    ...rest,
    async price() {
      return { belief: (b) => ({ ...b, cents: 5 }), next: [task('credit', { orderId: 'o', cents: 5 })] };
    },
  },
});

export const wrongTaskInput = defineWorkflow({
  ...base,
  flow,
  begin,
  steps: {
    ...rest,
    // @ts-expect-error cents must be a number
    async price() {
      return { next: [task('credit', { orderId: 'o', cents: '5' })] };
    },
  },
});

export const unknownTask = defineWorkflow({
  ...base,
  flow,
  begin,
  steps: {
    ...rest,
    // @ts-expect-error no step is called refnd
    async price() {
      return { next: [task('refnd', {})] };
    },
  },
});

export const inventedTask = defineWorkflow({
  ...base,
  flow,
  begin,
  steps: {
    ...rest,
    // @ts-expect-error a word of a model is no task's name until it is narrowed to one
    async price(ctx) {
      const reply: string = await ctx.run('model', () => 'credit');
      return { next: [task(reply, { orderId: 'o', cents: 5 })] };
    },
  },
});

export const taskNotInFlow = defineWorkflow({
  ...base,
  flow,
  begin,
  steps: {
    ...rest,
    // @ts-expect-error confirm is a step, but price may only add credit
    async price() {
      return { next: [task('confirm', { creditId: 'c' })] };
    },
  },
});

export const wrongBelief = defineWorkflow({
  ...base,
  flow,
  begin,
  steps: {
    ...rest,
    // @ts-expect-error cents must be a number
    async price() {
      return { belief: (b: object) => ({ ...b, cents: 'five' }) };
    },
  },
});

export const wrongDone = defineWorkflow({
  ...base,
  flow,
  begin,
  steps: {
    ...rest,
    // @ts-expect-error creditId must be a string
    async price() {
      return { done: { creditId: 5 } };
    },
  },
});

export const wrongContinuation = defineWorkflow({
  ...base,
  flow,
  begin,
  steps: {
    ...rest,
    // @ts-expect-error it goes on with the workflow's own input
    async price() {
      return { continueAsNew: { order: 'o' } };
    },
  },
});

export const doneAndOn = defineWorkflow({
  ...base,
  flow,
  begin,
  steps: {
    ...rest,
    // @ts-expect-error who is done does not go on
    async price() {
      return { done: { creditId: 'c' }, continueAsNew: { orderId: 'o' } };
    },
  },
});

export const misspeltMember = defineWorkflow({
  ...base,
  flow,
  begin,
  steps: {
    ...rest,
    // @ts-expect-error it is called next
    async price() {
      return { nxt: [] };
    },
  },
});

export const inPlace = defineWorkflow({
  ...base,
  flow,
  begin,
  steps: {
    ...rest,
    async price(ctx) {
      // @ts-expect-error belief is readonly: return a function of it instead
      ctx.belief.notes.push('changed in place');
      // @ts-expect-error cents must be a number
      await ctx.effect(issueCredit, { orderId: 'o', cents: '5' });
      // @ts-expect-error a member is missing
      await ctx.effect(issueCredit, { orderId: 'o' });
      // @ts-expect-error no step is called pric
      await ctx.outputs('pric');
    },
  },
});

export const missingStep = defineWorkflow({
  ...base,
  flow,
  begin,
  // @ts-expect-error no step handles task price
  steps: rest,
});

export const unknownStep = defineWorkflow({
  ...base,
  flow,
  begin,
  // @ts-expect-error audit has no task schema
  steps: { ...rest, async price() {}, async audit() {} },
});

export const flowToNowhere = defineWorkflow({
  ...base,
  // @ts-expect-error no step is called credt
  flow: { price: ['credt'], credit: ['confirm'], confirm: [] },
  begin: () => ({ belief: {}, next: [] }),
  steps: { ...rest, async price() {} },
});

export const flowFromNowhere = defineWorkflow({
  ...base,
  // @ts-expect-error no step is called audit
  flow: { price: ['credit'], credit: ['confirm'], confirm: [], audit: [] },
  begin: () => ({ belief: {}, next: [] }),
  steps: { ...rest, async price() {} },
});

export const wrongBeginTask = defineWorkflow({
  ...base,
  flow,
  begin: () => ({
    belief: {},
    // @ts-expect-error begin may add price, the one step that no other names
    next: [task('confirm', { creditId: 'c' })],
  }),
  steps: { ...rest, async price() {} },
});

export const wrongBeginBelief = defineWorkflow({
  ...base,
  flow,
  begin: ({ orderId }) => ({
    // @ts-expect-error cents must be a number
    belief: { cents: 'five' },
    next: [task('price', { orderId })],
  }),
  steps: { ...rest, async price() {} },
});

export const missingOutput = defineWorkflow({
  ...base,
  flow,
  outputs: { price: z.object({ cents: z.number() }) },
  begin,
  steps: {
    ...rest,
    // @ts-expect-error price has an output schema, so it must return one
    async price() {
      return { lastAction: 'priced' };
    },
  },
});

export const wrongCall = defineEffect({
  operation: 'x',
  kind: 'pure',
  request: z.object({}),
  response: z.object({ n: z.number() }),
  // @ts-expect-error n must be a number
  call: () => ({ n: 'five' }),
});

export const wrongProbe = defineEffect({
  operation: 'x',
  kind: 'irreversible',
  request: z.object({}),
  response: z.object({ n: z.number() }),
  call: () => ({ n: 5 }),
  // @ts-expect-error n must be a number
  probe: () => done({ n: 'five' }),
});

export const wrongBesidePending = defineEffect({
  operation: 'x',
  kind: 'irreversible',
  request: z.object({ later: z.boolean() }),
  response: z.object({ n: z.number() }),
  // @ts-expect-error n must be a number, whether or not it may be confirmed later
  call: ({ later }) => (later ? pending('t') : { n: 'five' }),
});

export const wrongUnknown = defineEffect({
  operation: 'x',
  kind: 'irreversible',
  request: z.object({ seat: z.string() }),
  response: z.object({ n: z.number() }),
  call: () => ({ n: 5 }),
  // @ts-expect-error what is unknown has no response: it gets the request
  compensateUnknown: ({ n }) => n,
  // @ts-expect-error it is called timeoutMs
  confirm: { timeout: 5 },
});

export const wrongStepCompensate = defineWorkflow({
  ...base,
  flow,
  begin,
  steps: {
    ...rest,
    price: {
      async run() {},
      // @ts-expect-error price gets an order, and knows of no credit
      compensate: ({ input }) => input.creditId,
    },
  },
});

export const wrongOnFailure = defineWorkflow({
  ...base,
  flow,
  begin,
  // @ts-expect-error it is fail or compensate
  onFailure: 'undo',
  steps: { ...rest, async price() {} },
});

export const wrongUpcast = defineWorkflow({
  ...base,
  flow,
  begin,
  // @ts-expect-error a task upcaster returns a task
  upcast: { 1: { tasks: { pay: () => 'price' } } },
  steps: { ...rest, async price() {} },
});

export const unknownSignal = defineWorkflow({
  ...base,
  flow,
  signals: { approved: z.object({ by: z.string() }) },
  begin,
  steps: {
    ...rest,
    // @ts-expect-error there is no signal of that name
    async price() {
      return { next: [task('credit', { orderId: 'o', cents: 5 }, { when: signal('aproved') })] };
    },
  },
});

export const unknownApproval = defineWorkflow({
  ...base,
  flow,
  signals: { amount: z.object({}) },
  approvals: { refund: z.object({ cents: z.number() }) },
  begin,
  steps: {
    ...rest,
    // @ts-expect-error amount is a signal, and no approval
    async price() {
      return { next: [task('credit', { orderId: 'o', cents: 5 }, { when: approval('amount') })] };
    },
  },
});

export const unknownChild = defineWorkflow({
  ...base,
  flow,
  signals: { amount: z.object({}) },
  begin,
  steps: {
    ...rest,
    // @ts-expect-error amount is a signal, and no child
    async price() {
      return { next: [task('credit', { orderId: 'o', cents: 5 }, { when: child('amount', {}) })] };
    },
  },
});

const children = { refund: sound } as const;
export const wrongChildInput = defineWorkflow({
  ...base,
  flow,
  children,
  begin,
  steps: {
    // The control: the child's own input.
    async price() {
      const when = anyOf(child('refund', { orderId: 'o' }), timer('2h'));
      return { next: [task('credit', { orderId: 'o', cents: 5 }, { when })] };
    },
    // @ts-expect-error orderId must be a string
    async credit() {
      return { next: [task('confirm', { creditId: 'c' }, { when: child('refund', { orderId: 5 }) })] };
    },
    async confirm() {},
  },
});

export const misspeltChildInput = defineWorkflow({
  ...base,
  flow,
  children,
  begin,
  steps: {
    ...rest,
    // @ts-expect-error orderId is missing
    async price() {
      const when = anyOf(child('refund', { orderld: 'o' }), timer('2h'));
      return { next: [task('credit', { orderId: 'o', cents: 5 }, { when })] };
    },
  },
});

// The controls: an input that is the request, one that is made a request, and one that calls nothing.
const order = z.object({ orderId: z.string(), cents: z.number().int().positive() });
export const tools = {
  same: tool({ description: 'Credits.', input: order, effect: issueCredit }),
  made: tool({
    description: 'Credits.',
    input: z.object({ order: z.string() }),
    effect: issueCredit,
    request: ({ order: orderId }) => ({ orderId, cents: 5 }),
  }),
  says: tool({ description: 'Says.', input: z.object({ word: z.string() }), run: ({ word }) => word }),
};
// @ts-expect-error the effect asks for cents, and no request makes them
export const wrongTool = tool({
  description: 'Credits.',
  input: z.object({ orderId: z.string() }),
  effect: issueCredit,
});
export const wrongToolRequest = tool({
  description: 'Credits.',
  input: order,
  effect: issueCredit,
  // @ts-expect-error cents must be a number
  request: ({ orderId }) => ({ orderId, cents: '5' }),
});

/** What a step that `flow` forgets reads in the last line of its error. */
export const forgottenInFlow = defineWorkflow({
  ...base,
  flow: { price: ['credit'], credit: [], confirm: [] },
  starts: ['price', 'confirm'],
  begin,
  steps: {
    ...rest,
    // @ts-expect-error flow lists no task that this step may add
    async credit() {
      return { next: [task('confirm', { creditId: 'c' })] };
    },
    async price() {
      const none: TaskOf<typeof base.tasks, never> = 'flow lists no task that this step may add';
      return { lastAction: none };
    },
  },
});

export const wrongAnswer = defineWorkflow({
  ...base,
  flow,
  approvals: { refund: z.object({ cents: z.number() }) },
  begin,
  steps: {
    ...rest,
    async price({ cause }) {
      if (cause?.kind !== 'approval') return {};
      // @ts-expect-error what was rejected has no value
      return { lastAction: `${cause.value.cents}` };
    },
  },
});

declare const model: Parameters<typeof agent>[0]['model'];
const loop = {
  name: 'loop',
  model,
  tools: { pay: tool({ description: 'Pays.', input: z.object({ cents: z.int() }), run: () => 1 }) },
} as const;
// The control.
export const loops = agent({ ...loop, toolApproval: { pay: 'user-approval' } });
// @ts-expect-error no tool is named so
export const noSuchTool = agent({ ...loop, toolApproval: { refund: 'user-approval' } });
// @ts-expect-error true is no status: whether it asks or allows isn't said
export const noStatus = agent({ ...loop, toolApproval: { pay: true } });
// @ts-expect-error an input without a prompt needs prompt: (input) => …
export const noPrompt = agent({ ...loop, input: z.object({ order: z.string() }) });
