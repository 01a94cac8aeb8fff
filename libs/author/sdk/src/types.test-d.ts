/** Owns the proof that definitions infer: checked by `tsc`, run by no one. */

import type { EffectKey, Json, TaskId, WorkflowId } from '@tidemark/core';
import { z } from 'zod';
import * as mini from 'zod/mini';
import {
  anyOf,
  approval,
  type BeliefOf,
  checkTogether,
  child,
  agent as defineAgent,
  defineEffect,
  defineWorkflow,
  done,
  hasToolCall,
  type InputOf,
  isStepCount,
  notDone,
  type OutputOf,
  pending,
  type StepActions,
  said,
  signal,
  task,
  taskGoal,
  timer,
  tool,
  toolCallSchema,
  toolResult,
  type Workflow,
} from './index.ts';

/** Compiles only when both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_proof: Same<A, B>): void => {};

declare const payments: {
  credit(
    request: { orderId: string; cents: number },
    options: { idempotencyKey: string },
  ): Promise<{ creditId: string }>;
};

export const issueCredit = defineEffect({
  operation: 'payments.credit',
  kind: 'irreversible',
  request: z.object({ orderId: z.string(), cents: z.number().int().positive() }),
  response: z.object({ creditId: z.string() }),
  call: (request, { key }) => payments.credit(request, { idempotencyKey: key }),
  probe: async (key, { request }) => (request.cents > 0 ? done({ creditId: key }) : notDone()),
  probeFences: true,
  compensate: async (response) => response.creditId,
  retry: { attempts: 5, firstDelayMs: 200, factor: 2 },
  timeoutMs: 10_000,
});

// Accepted now, confirmed later: the response has the effect's type, whoever brings it.
export const bookSeat = defineEffect({
  operation: 'seats.book',
  kind: 'irreversible',
  request: z.object({ seat: z.string() }),
  response: z.object({ ticket: z.string() }),
  call: async ({ seat }, { key, heartbeat }) => {
    heartbeat({ done: 1, total: 2 });
    return seat === 'last' ? pending(key, { seat }) : { ticket: `t-${seat}` };
  },
  confirm: { probeEveryMs: 5_000, timeoutMs: 60_000 },
  heartbeatTimeoutMs: 2_000,
  retry: { nonRetryable: ['seat-taken'] },
  compensate: ({ ticket }) => void ticket.length,
  compensateUnknown: ({ seat }, { key }) => void (seat + key),
});

const base = {
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

// The example of the documentation, in full.
export const refund = defineWorkflow({
  ...base,
  name: 'refund',
  flow: { price: ['credit'], credit: ['confirm'], confirm: [] },
  effects: [issueCredit, bookSeat],
  onFailure: 'compensate',
  stepBudget: 1_000,
  upcast: {
    1: {
      // Only the author knows what an older version stored: annotated, or narrowed from unknown.
      belief: (b: { readonly price: number }) => ({ cents: b.price * 100 }),
      tasks: {
        pay: (input: { readonly orderId: string }) => task('price', { orderId: input.orderId }),
        cancel: (input) => {
          same<typeof input, unknown>(true);
          return task('price', { orderId: String(input) });
        },
      },
    },
  },
  begin: ({ orderId }) => ({ belief: {}, next: [task('price', { orderId })] }),
  steps: {
    async price(ctx, { orderId }) {
      const cents = await ctx.run('prorate', () => orderId.length);
      same<typeof cents, number>(true);
      same<typeof ctx.workflow, WorkflowId>(true);
      same<typeof ctx.task, TaskId>(true);
      same<typeof ctx.attempt, number>(true);
      same<typeof ctx.signal, AbortSignal>(true);
      same<typeof ctx.input, { readonly orderId: string }>(true);
      same<typeof ctx.belief, { readonly cents?: number | undefined; readonly notes: readonly string[] }>(true);
      return {
        belief: (b) => ({ ...b, cents, notes: [...b.notes, 'priced'] }),
        next: [task('credit', { orderId, cents })],
        lastAction: `priced ${orderId}`,
      };
    },
    async credit(ctx, { orderId, cents, mode }) {
      same<typeof mode, 'now' | 'later'>(true);
      const { creditId } = await ctx.effect(issueCredit, { orderId, cents }, { name: 'once' });
      const seat = await ctx.effect(bookSeat, { seat: 'last' });
      same<typeof seat, { ticket: string }>(true);
      ctx.log('credited', { creditId });
      ctx.progress({ done: 1, total: 1 });
      return { next: [task('confirm', { creditId })] };
    },
    confirm: {
      durability: 'staged',
      retry: { attempts: 2 },
      run: (_ctx, { creditId }) => ({ done: { creditId }, supersedes: 1 }),
      compensate: ({ input, output }, { key }) => {
        same<typeof input, { readonly creditId: string }>(true);
        same<typeof output, Json>(true);
        same<typeof key, EffectKey>(true);
      },
    },
  },
});

same<InputOf<typeof refund>, { readonly orderId: string }>(true);
same<OutputOf<typeof refund>, { creditId: string }>(true);
same<BeliefOf<typeof refund>, { cents?: number | undefined; notes: string[] }>(true);

// A fan-out: several starts, a typed output, a join over it; tasks made in a callback keep their literal types.
export const fan = defineWorkflow({
  name: 'fan',
  version: 1,
  input: z.object({ paths: z.array(z.string()) }),
  belief: z.object({}),
  output: z.object({ lines: z.number() }),
  tasks: { parse: z.object({ path: z.string(), depth: z.enum(['full', 'head']) }), merge: z.object({}) },
  outputs: { parse: z.object({ lines: z.number() }) },
  flow: { parse: [], merge: ['parse', 'merge'] },
  starts: ['parse', 'merge'],
  begin: ({ paths }) => ({
    belief: {},
    next: [...paths.map((path) => task('parse', { path, depth: 'full' })), task('merge', {}, { after: 'all' })],
  }),
  steps: {
    parse: {
      run: async (ctx, { path }) => {
        const found = await ctx.run('find', () => [...path].find((c) => c > 'a'));
        same<typeof found, string | null>(true);
        const nothing = await ctx.run('nothing', () => {});
        same<typeof nothing, null>(true);
        return { output: { lines: path.length } };
      },
      compensate: ({ output }) => same<typeof output, { lines: number }>(true),
    },
    merge: async (ctx, _input) => {
      const parsed = await ctx.outputs('parse');
      same<typeof parsed, readonly { lines: number }[]>(true);
      if (parsed.length === 0) {
        const parts = ['a', 'b'].map((path) => task('parse', { path, depth: 'head' }));
        return { next: [...parts, task('merge', {}, { after: parts })] };
      }
      return { done: { lines: parsed.reduce((sum, { lines }) => sum + lines, 0) } };
    },
  },
});

// A step may do nothing but its work, and steps may share functions.
const note = async (ctx: StepActions, text: string) => ctx.log('note', text);
export const quiet = defineWorkflow({
  name: 'quiet',
  version: 1,
  input: mini.object({}),
  belief: mini.object({ n: mini.number() }),
  output: z.null(),
  tasks: { think: mini.object({ choice: mini.enum(['think', 'stop']) }), stop: z.object({}) },
  flow: { think: ['think', 'stop'], stop: [] },
  begin: () => ({ belief: { n: 0 }, next: [task('think', { choice: 'think' })] }),
  steps: {
    async think(ctx, { choice }) {
      await note(ctx, choice);
      // A word of a model chooses among the tasks, once it is one of their names.
      return { next: [choice === 'stop' ? task('stop', {}) : task('think', { choice })] };
    },
    async stop() {},
  },
});

// Schemas that are open or recursive.
const tree = z.object({
  name: z.string(),
  get children() {
    return z.array(tree);
  },
});
export const open = defineWorkflow({
  name: 'open',
  version: 1,
  input: z.object({ data: z.json(), any: z.any(), map: z.record(z.string(), z.array(z.number())) }),
  belief: z.object({ tree, data: z.json(), unknown: z.unknown() }),
  output: tree,
  tasks: { grow: tree, keep: z.object({ data: z.json().optional(), list: z.array(z.json()) }) },
  flow: { grow: ['grow', 'keep'], keep: [] },
  begin: ({ data, any }) => ({
    belief: { tree: { name: 'root', children: [] }, data, unknown: any },
    next: [task('grow', { name: 'root', children: [{ name: 'leaf', children: [] }] })],
  }),
  steps: {
    async grow(ctx, { name, children }) {
      const any: { readonly whatever: number } = ctx.input.any;
      ctx.log('any', any.whatever);
      same<typeof ctx.belief.unknown, unknown>(true);
      // Values from Tidemark are readonly, and may be passed on.
      const { data } = ctx.belief;
      same<typeof data, Json>(true);
      if (name === '') return { next: [task('keep', { data, list: [data, { deep: [1] }] })] };
      if (children.length > 0) return { next: [task('grow', children[0] ?? ctx.belief.tree)] };
      return { belief: (b) => ({ ...b, tree: { name, children } }), done: ctx.belief.tree };
    },
    async keep(_ctx, { data, list }) {
      return { belief: (b) => ({ ...b, data: data ?? list[0] ?? null }) };
    },
  },
});

// An agent: models, tools, bundles and phases, with results typed by the given schemas.
export const agent = defineWorkflow({
  name: 'agent',
  version: 1,
  input: z.object({ question: z.string() }),
  belief: z.object({}),
  output: z.object({ answer: z.string() }),
  tasks: { think: z.object({}), act: toolCallSchema },
  flow: { think: ['act', 'think'], act: [] },
  starts: ['think'],
  tools: {
    poll: tool({
      description: 'Looks.',
      input: z.object({ at: z.string() }),
      run: ({ at }) => {
        same<typeof at, string>(true);
        return at;
      },
    }),
  },
  bundles: { investigate: { budgetTokens: 8_000, summary: { thresholdTokens: 4_000, keepTokens: 1_000, by: 'rule' } } },
  phases: { research: { next: ['write'], memory: z.object({ notes: z.string().optional() }) }, write: {} },
  budget: { workflow: { usd: 1 } },
  system: ({ question }) => `Answer: ${question}`,
  begin: ({ question }) => ({ belief: {}, next: [task('think', {})], fragments: [taskGoal(question)] }),
  steps: {
    async think(ctx) {
      const reply = await ctx.model({ bundle: 'investigate' });
      same<typeof reply.object, undefined>(true);
      const { object } = await ctx.model({ prompt: 'Sure?', schema: z.object({ sure: z.boolean() }) });
      same<typeof object, { sure: boolean }>(true);
      if (object.sure) return { done: { answer: reply.text }, handOver: { to: 'write', summary: 'Sure.' } };
      return {
        fragments: said(reply),
        next: [...reply.toolCalls.map((call) => task('act', call)), task('think', {}, { after: 'all' })],
      };
    },
    async act(ctx, call) {
      return { fragments: [toolResult(call, await ctx.tool(call))], memory: { notes: 'looked' } };
    },
  },
});

const approvalFlow = defineWorkflow({
  name: 'approval',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({ by: z.string() }),
  tasks: { ask: z.object({}), decide: z.object({}) },
  flow: { ask: ['decide'], decide: [] },
  signals: { approved: z.object({ by: z.string() }), denied: z.string().default('no') },
  begin: () => ({ belief: {}, next: [task('ask', {})] }),
  steps: {
    ask: (ctx) => {
      same<NonNullable<typeof ctx.cause>['kind'], 'signal' | 'timer'>(true);
      return { next: [task('decide', {}, { when: anyOf(signal('approved'), signal('denied'), timer('2h')) })] };
    },
    decide: ({ cause }) => {
      if (cause?.kind !== 'signal') return { done: { by: 'nobody' } };
      if (cause.name === 'denied') same<typeof cause.value, string>(true);
      return { done: { by: cause.name === 'approved' ? cause.value.by : cause.value } };
    },
  },
});

// What a child ended with is typed by its definition.
export const parentFlow = defineWorkflow({
  name: 'parent',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({ by: z.string() }),
  tasks: { hear: z.object({}) },
  flow: { hear: [] },
  children: { approval: approvalFlow },
  begin: () => ({ belief: {}, next: [task('hear', {}, { when: anyOf(child('approval', {}), timer('2h')) })] }),
  steps: {
    hear: ({ cause }) => {
      same<NonNullable<typeof cause>['kind'], 'child' | 'timer'>(true);
      if (cause?.kind !== 'child') return { done: { by: 'nobody' } };
      same<typeof cause.name, 'approval'>(true);
      if (cause.outcome !== 'completed') {
        same<typeof cause.reason, string | null>(true);
        return { done: { by: 'nobody' } };
      }
      return { done: { by: cause.output.by } };
    },
  },
});

export const definitions: readonly Workflow[] = [refund, fan, quiet, open, agent, approvalFlow, parentFlow];
export const warnings = checkTogether([refund, fan, quiet, open]);

// A person's answer is typed by its form.
export const asked = defineWorkflow({
  name: 'asked',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  tasks: { ask: z.object({}), decide: z.object({}) },
  flow: { ask: ['decide'], decide: [] },
  signals: { go: z.object({ on: z.string() }) },
  approvals: { amount: z.object({ cents: z.number() }), plain: z.object({}) },
  timeout: '24h',
  begin: () => ({ belief: {}, next: [task('ask', {}, { when: approval('plain') })] }),
  steps: {
    ask: () => ({
      next: [task('decide', {}, { when: anyOf(approval('amount', { assignee: 'ana' }), signal('go'), timer('2d')) })],
    }),
    decide: ({ cause }) => {
      if (cause?.kind === 'approval' && cause.name === 'amount') {
        same<typeof cause.by, string>(true);
        if (cause.approved) same<typeof cause.value, { readonly cents: number }>(true);
        else same<typeof cause.value, null>(true);
      }
      if (cause?.kind === 'signal') same<typeof cause.value, { readonly on: string }>(true);
      return { done: {} };
    },
  },
});

// A long run ends with the input of the next one; the schema's output is for that one.
export const turning = defineWorkflow({
  name: 'turning',
  version: 1,
  input: z.object({ inbox: z.string(), turn: z.number().default(0) }),
  belief: z.object({}),
  output: z.object({ turns: z.number() }),
  tasks: { turn: z.object({}) },
  flow: { turn: ['turn'] },
  starts: ['turn'],
  begin: ({ turn }) => {
    same<typeof turn, number>(true);
    return { belief: {}, next: [task('turn', {})] };
  },
  steps: {
    turn: ({ input, attempt }) => {
      if (attempt > 1) return { next: [task('turn', {})] };
      if (input.turn > 3) return { done: { turns: input.turn }, lastAction: 'enough' };
      if (input.turn === 0) return { continueAsNew: { inbox: input.inbox } };
      return { continueAsNew: { ...input, turn: input.turn + 1 }, output: { kept: true }, belief: (b) => b };
    },
  },
});

// The tool loop: input, output and the rules of approvals are typed by its schemas and tools.
declare const languageModel: Parameters<typeof defineAgent>[0]['model'];
const refundTool = tool({
  description: 'Refunds.',
  input: z.object({ order: z.string(), cents: z.int() }),
  run: ({ cents }) => cents,
});
export const loop = defineAgent({
  name: 'loop',
  model: languageModel,
  instructions: ({ prompt }) => `Answer ${prompt}`,
  tools: { refund: refundTool },
  stopWhen: [isStepCount(5), hasToolCall('refund'), ({ steps }) => steps.at(-1)?.finishReason === 'length'],
  toolApproval: {
    refund: ({ cents }) => {
      same<typeof cents, number>(true);
      return cents > 5 ? { type: 'user-approval', within: '2d' } : undefined;
    },
  },
  limits: ({ prompt }) => [{ key: prompt, concurrency: 1 }],
});
same<InputOf<typeof loop>, { readonly prompt: string }>(true);
same<OutputOf<typeof loop>['text'], string>(true);

export const typed = defineAgent({
  name: 'typed',
  model: languageModel,
  input: z.object({ order: z.string() }),
  prompt: ({ order }) => `Refund ${order}.`,
  output: z.object({ cents: z.int() }),
  tools: { refund: refundTool },
  toolApproval: { refund: 'user-approval' },
});
same<InputOf<typeof typed>, { readonly order: string }>(true);
same<OutputOf<typeof typed>, { cents: number }>(true);
