/** Owns workflows that the console's pages are tried and pictured with: an agent that thinks and acts, a refund that asks, and plain ones. */

import { setTimeout as wait } from 'node:timers/promises';
import {
  approval,
  child,
  defineEffect,
  defineFunction,
  defineWorkflow,
  said,
  signal,
  task,
  taskGoal,
  timer,
  tool,
  toolResult,
  unknown,
  userMessage,
} from '@tidemark/sdk';
import { testModel } from '@tidemark/testkit';
import { z } from 'zod';

const MODULES = ['billing', 'ledger', 'webhooks', 'invoices', 'payouts', 'disputes', 'tax', 'reports'] as const;
/** Time that a module takes to be read, in milliseconds; slow enough to be watched. */
const pauseMs = Number(process.env.CONSOLE_PAUSE_MS ?? '0');

const model = testModel(
  async ({ messages }, call) => {
    await wait(pauseMs);
    const text = JSON.stringify(messages);
    const module = MODULES.findLast((each) => text.includes(`module ${each}`)) ?? 'billing';
    return {
      text: `In ${module} amounts are added as floating-point numbers in two places. Retries of the transfer reuse no key, so a time-out may pay twice.`,
      // By the module, not by the call: several reviews share the model.
      ...(MODULES.indexOf(module) % 2 === 0 && {
        toolCalls: [{ id: `call-${call}`, name: 'search', input: { words: `${module} retry` } }],
      }),
    };
  },
  { modelId: 'reef-large', microsPerToken: 3 },
);

/** Reads one module after another, thinks about each, and keeps what it found. */
export const reviewer = defineWorkflow({
  name: 'code-review',
  version: 3,
  input: z.object({ repository: z.string(), modules: z.int().min(1).max(8) }),
  belief: z.object({
    read: z.array(z.string()),
    findings: z.array(z.object({ module: z.string(), severity: z.string(), what: z.string() })),
    riskScore: z.number(),
  }),
  output: z.object({ findings: z.int() }),
  tasks: {
    plan: z.object({}),
    think: z.object({ at: z.int() }),
    act: z.object({ id: z.string(), name: z.string(), input: z.record(z.string(), z.json()) }),
    report: z.object({}),
  },
  flow: { plan: ['think'], think: ['act', 'think', 'report'], act: [], report: [] },
  starts: ['plan'],
  models: { default: model },
  tools: {
    search: tool({
      description: 'Finds passages of the code by words.',
      input: z.object({ words: z.string() }),
      run: ({ words }) => `src/${words.split(' ')[0]}/transfer.ts:42  await pay(amount) // ${words}`,
    }),
  },
  system: 'You review code for mistakes that lose money. Say what you found, and where.',
  bundles: { review: { budgetTokens: 420 } },
  begin: ({ repository }) => ({
    belief: { read: [], findings: [], riskScore: 0 },
    next: [task('plan', {})],
    fragments: [taskGoal(`Review ${repository} for mistakes that lose money.`)],
  }),
  steps: {
    plan: (ctx) => ({
      next: [task('think', { at: 0 })],
      fragments: [
        userMessage(`Read the first ${ctx.input.modules} modules: ${MODULES.slice(0, ctx.input.modules).join(', ')}.`),
      ],
      lastAction: 'made a plan',
    }),
    async think(ctx, { at }) {
      const module = MODULES[at]!;
      const reply = await ctx.model({ bundle: 'review', prompt: `Review the module ${module}.` });
      const severity = ['low', 'medium', 'high'][at % 3]!;
      const isLast = at + 1 >= ctx.input.modules;
      return {
        belief: (belief) => ({
          read: [...belief.read, module],
          findings: [...belief.findings, { module, severity, what: 'amounts are added as floating-point numbers' }],
          riskScore: Math.round((belief.riskScore + (at % 3) * 1.7) * 10) / 10,
        }),
        fragments: said(reply),
        next: [
          ...reply.toolCalls.map(({ id, name, input }) =>
            task('act', { id, name, input: input as Record<string, never> }),
          ),
          isLast ? task('report', {}, { after: 'all' }) : task('think', { at: at + 1 }, { after: 'all' }),
        ],
        lastAction: `read ${module}: ${severity} risk`,
      };
    },
    async act(ctx, call) {
      const result = await ctx.tool(call);
      return { fragments: [toolResult(call, result)], lastAction: `searched for ${String(call.input.words)}` };
    },
    report: (ctx) => ({ done: { findings: ctx.belief.findings.length }, lastAction: 'wrote the report' }),
  },
});

/** Nobody ever learns whether the money went out: a person is asked. */
const wire = defineEffect({
  operation: 'bank.wire',
  kind: 'irreversible',
  request: z.object({ orderId: z.string(), cents: z.number() }),
  response: z.object({ receipt: z.string() }),
  call: () => {
    throw new Error('the line went dead after the request was sent');
  },
  probe: () => unknown(),
  retry: { attempts: 1 },
});

export const refund = defineWorkflow({
  name: 'refund',
  version: 2,
  input: z.object({ orderId: z.string(), cents: z.number() }),
  belief: z.object({ cents: z.number().optional(), receipt: z.string().optional() }),
  output: z.object({ receipt: z.string() }),
  tasks: { price: z.object({}), pay: z.object({ cents: z.number() }), confirm: z.object({ receipt: z.string() }) },
  flow: { price: ['pay'], pay: ['confirm'], confirm: [] },
  effects: [wire],
  begin: () => ({ belief: {}, next: [task('price', {})] }),
  steps: {
    price: (ctx) => ({
      belief: () => ({ cents: ctx.input.cents }),
      next: [task('pay', { cents: ctx.input.cents })],
      lastAction: `priced at ${ctx.input.cents} cents`,
    }),
    async pay(ctx, { cents }) {
      const { receipt } = await ctx.effect(wire, { orderId: ctx.input.orderId, cents });
      return { belief: (belief) => ({ ...belief, receipt }), next: [task('confirm', { receipt })] };
    },
    confirm: (_ctx, { receipt }) => ({ done: { receipt }, lastAction: 'told the customer' }),
  },
});

/** Waits for a signal or an hour, whichever is first, as often as it is told to. */
export const order = defineWorkflow({
  name: 'order',
  version: 1,
  input: z.object({ item: z.string(), times: z.int().min(1).default(1) }),
  belief: z.object({ heard: z.array(z.json()) }),
  output: z.object({ heard: z.array(z.json()) }),
  signals: { shipped: z.json() },
  tasks: { listen: z.object({ left: z.number() }), remind: z.object({}) },
  flow: { listen: ['listen'], remind: [] },
  starts: ['listen', 'remind'],
  begin: ({ times }) => ({
    belief: { heard: [] },
    next: [task('listen', { left: times }, { when: signal('shipped') }), task('remind', {}, { when: timer('36h') })],
  }),
  steps: {
    listen(ctx, { left }) {
      const heard = [...ctx.belief.heard, ctx.cause?.kind === 'signal' ? ctx.cause.value : null];
      if (left <= 1) return { done: { heard } };
      return { belief: () => ({ heard }), next: [task('listen', { left: left - 1 }, { when: signal('shipped') })] };
    },
    remind: () => ({ lastAction: 'reminded' }),
  },
});

/** So many steps, each of which changes a little. */
export const counter = defineWorkflow({
  name: 'backfill',
  version: 1,
  input: z.object({ steps: z.int(), pauseMs: z.int().default(0), breaks: z.boolean().default(false) }),
  belief: z.object({ done: z.int(), last: z.string() }),
  output: z.object({ done: z.int() }),
  tasks: { step: z.object({ at: z.int() }) },
  flow: { step: ['step'] },
  begin: () => ({ belief: { done: 0, last: '' }, next: [task('step', { at: 1 })] }),
  steps: {
    async step(ctx, { at }) {
      if (ctx.input.pauseMs > 0) await wait(ctx.input.pauseMs);
      if (ctx.input.breaks && at === 3) throw new Error('row 2,014 has no customer: <b>null</b>');
      const rows = await ctx.run('copy', () => at * 250);
      if (at >= ctx.input.steps) return { done: { done: at } };
      return {
        belief: () => ({ done: at, last: `batch ${at}` }),
        next: [task('step', { at: at + 1 })],
        lastAction: `copied rows up to ${rows}`,
      };
    },
  },
});

/** Asks a person, by a form with a field of every kind; what it says of itself its input says. */
export const payout = defineWorkflow({
  name: 'payout',
  version: 1,
  input: z.object({ title: z.string(), assignee: z.string().optional(), detail: z.json().default(null) }),
  belief: z.object({ answer: z.json().optional() }),
  output: z.object({ approved: z.boolean(), by: z.string() }),
  tasks: { ask: z.object({}), pay: z.object({}) },
  flow: { ask: ['pay'], pay: [] },
  approvals: {
    payout: z.object({
      cents: z.int().min(1).max(5_000_000).describe('What is paid out, in cents.'),
      by: z.enum(['bank', 'card', 'credit']).default('bank'),
      urgent: z.boolean(),
      due: z.iso.date().optional(),
      note: z.string().max(80).optional(),
      lines: z.array(z.object({ account: z.string().min(1), cents: z.int().min(0) })).optional(),
    }),
  },
  starts: ['ask', 'pay'],
  begin: ({ title, assignee, detail }) => ({
    belief: {},
    next: [task('pay', {}, { when: approval('payout', { assignee, title, detail }) })],
  }),
  steps: {
    ask: () => ({}),
    pay: ({ cause }) => ({
      done: { approved: cause?.kind === 'approval' && cause.approved, by: cause?.kind === 'approval' ? cause.by : '' },
    }),
  },
});

/** One district of a survey; some fail. */
export const district = defineWorkflow({
  name: 'survey-district',
  version: 2,
  input: z.object({ name: z.string(), fails: z.boolean().default(false), waits: z.boolean().default(false) }),
  belief: z.object({}),
  output: z.object({ houses: z.int() }),
  signals: { done: z.json() },
  tasks: { count: z.object({}), wait: z.object({}) },
  flow: { count: [], wait: [] },
  starts: ['count', 'wait'],
  begin: ({ waits }) => ({
    belief: {},
    next: [waits ? task('wait', {}, { when: signal('done') }) : task('count', {})],
  }),
  steps: {
    count({ input }) {
      if (input.fails) throw new Error(`no map of ${input.name}`);
      return { done: { houses: input.name.length * 31 }, lastAction: `counted ${input.name}` };
    },
    wait: () => ({ done: { houses: 0 } }),
  },
});

/** Sends a child into each district. */
export const survey = defineWorkflow({
  name: 'survey',
  version: 1,
  input: z.object({ districts: z.array(z.string()) }),
  belief: z.object({ told: z.int() }),
  output: z.object({ told: z.int() }),
  tasks: { spread: z.object({}), take: z.object({}), end: z.object({}) },
  flow: { spread: ['take', 'end'], take: [], end: [] },
  starts: ['spread'],
  children: { district },
  begin: () => ({ belief: { told: 0 }, next: [task('spread', {})] }),
  steps: {
    spread({ input }) {
      const takes = input.districts.map((name, at) =>
        task('take', {}, { when: child('district', { name, fails: at % 9 === 4, waits: at % 9 === 7 }) }),
      );
      return { next: [...takes, task('end', {}, { after: takes })], lastAction: `sent ${takes.length} out` };
    },
    take: ({ cause }) => ({
      belief: ({ told }) => ({ told: told + 1 }),
      lastAction: cause?.kind === 'child' ? `heard: ${cause.outcome}` : '',
    }),
    end: ({ belief }) => ({ done: { told: belief.told } }),
  },
});

/** Two phases, of which the second gets what the first hands over, and waits for a signal. */
export const essay = defineWorkflow({
  name: 'essay',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  signals: { go: z.json() },
  tasks: { research: z.object({}), write: z.object({}) },
  flow: { research: ['write'], write: [] },
  phases: { research: { next: ['text'], budgetTokens: 500 }, text: {} },
  begin: () => ({ belief: {}, next: [task('research', {})] }),
  steps: {
    research: () => ({
      memory: { notes: 'moon and sun', scratch: 'a dead end' },
      handOver: { to: 'text', carry: ['notes'], with: { style: 'short' }, summary: 'Two causes were found.' },
      next: [task('write', {}, { when: signal('go') })],
    }),
    write: () => ({ done: {} }),
  },
});

/** An ordinary function: it looks up, writes letters at once, asks, and waits. */
export const letters = defineFunction({
  name: 'letters',
  version: 1,
  input: z.object({ to: z.array(z.string()) }),
  output: z.object({ sent: z.int() }),
  approvals: { send: z.object({ note: z.string().default('') }) },
  async run(ctx, { to }) {
    const address = await ctx.run('look up', () => ({ street: 'Harbour Road 7' }));
    await ctx.all(to.map((name) => () => ctx.run('write', () => `Dear ${name} of ${address.street}`)));
    const { approved } = await ctx.approval('send', { title: 'Send the letters?' });
    return { sent: approved ? to.length : 0 };
  },
});
