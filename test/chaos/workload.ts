/**
 * Owns the workflows of a chaos run. What each ends with, and what it does to the ledger, follows from its input alone
 * (see expected.ts, which computes both without running anything). In a worker `TIDEMARK_CHAOS_LEDGER` names the ledger's port.
 */

import { defineEffect, defineFunction, defineWorkflow, done, FatalError, notDone, task } from '@tidemark/sdk';
import { z } from 'zod';
import { type Receiver, UNDONE } from './ledger.ts';
import { LedgerClient } from './ledger-client.ts';
import { LEDGER_TIMEOUT_MS } from './limits.ts';

const port = process.env.TIDEMARK_CHAOS_LEDGER;
const ledger = new LedgerClient(Number(port ?? 0));
// Calls must be able to go out at once.
if (port !== undefined) await ledger.connected();

const request = z.object({ action: z.string(), amount: z.int() });
const response = z.object({ receipt: z.int() });
const POISON_DELAY_MS = 500;
const retry = { attempts: 12, firstDelayMs: 50, maxDelayMs: 1_000 };

interface Kind {
  readonly operation: string;
  readonly kind: 'idempotent' | 'irreversible';
  readonly receiver: Receiver;
  readonly isProbed: boolean;
}

function ledgerEffect({ operation, kind, receiver, isProbed }: Kind) {
  return defineEffect({
    operation,
    kind,
    request,
    response,
    retry,
    timeoutMs: LEDGER_TIMEOUT_MS,
    call: async ({ action, amount }, { key, signal }) => ({
      receipt: await ledger.apply({ receiver, key, action, amount }, signal),
    }),
    probe: isProbed
      ? async (key, { signal }) => {
          const found = await ledger.find(receiver, key, false, signal);
          return found === undefined ? notDone() : done({ receipt: found.receipt });
        }
      : undefined,
  });
}

/** Harmless to repeat, since the receiver deduplicates. */
export const deposit = ledgerEffect({
  operation: 'chaos.deposit',
  kind: 'idempotent',
  receiver: 'dedupe',
  isProbed: false,
});
/** Counts each time, and the receiver can be asked. */
export const wire = ledgerEffect({
  operation: 'chaos.wire',
  kind: 'irreversible',
  receiver: 'probed',
  isProbed: true,
});
/** Called irreversible although its receiver deduplicates and can be asked. */
export const stamp = ledgerEffect({
  operation: 'chaos.stamp',
  kind: 'irreversible',
  receiver: 'dedupe',
  isProbed: true,
});
/** Counts each time, and nobody can be asked: when in doubt, a person decides. */
export const cash = ledgerEffect({
  operation: 'chaos.cash',
  kind: 'irreversible',
  receiver: 'blind',
  isProbed: false,
});

/** Changes nothing outside. */
export const quote = defineEffect({
  operation: 'chaos.quote',
  kind: 'pure',
  request: z.object({ amount: z.int() }),
  response: z.object({ cents: z.int() }),
  call: async ({ amount }) => ({ cents: amount * 100 }),
});

const payments = { deposit, wire, stamp, cash } as const;
const payment = z.object({ by: z.enum(['deposit', 'wire', 'stamp', 'cash']), amount: z.int() });

/** Resolves after the time; rejects when the step must stop. */
async function work(durationMs: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = (): void => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  const timer = setTimeout(resolve, durationMs);
  try {
    signal.throwIfAborted();
    await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

/** Many short pure steps: whoever takes it over shows at once that it goes on. */
function pacing(name: string, durability: 'durable' | 'staged') {
  return defineWorkflow({
    name,
    version: 1,
    durability,
    input: z.object({ count: z.int().positive(), pauseMs: z.int() }),
    belief: z.object({ sum: z.int() }),
    output: z.object({ sum: z.int() }),
    tasks: { pace: z.object({ n: z.int() }) },
    flow: { pace: ['pace'] },
    starts: ['pace'],
    begin: () => ({ belief: { sum: 0 }, next: [task('pace', { n: 1 })] }),
    steps: {
      async pace(ctx, { n }) {
        const { count, pauseMs } = ctx.input;
        await work(pauseMs, ctx.signal);
        const sum = (ctx.belief.sum * 31 + n) % 1_000_003;
        if (n === count) return { belief: () => ({ sum }), done: { sum } };
        return { belief: () => ({ sum }), next: [task('pace', { n: n + 1 })] };
      },
    },
  });
}

export const pace = pacing('chaos-pace', 'durable');
export const staged = pacing('chaos-staged', 'staged');

/** Payments one after the other, of all kinds; the step of `flakyAt` fails the first time it runs. */
export const transfer = defineWorkflow({
  name: 'chaos-transfer',
  version: 1,
  input: z.object({ payments: z.array(payment).min(1), flakyAt: z.int(), pauseMs: z.int() }),
  belief: z.object({ total: z.int(), cents: z.int() }),
  output: z.object({ total: z.int(), cents: z.int() }),
  tasks: { pay: z.object({ n: z.int() }) },
  flow: { pay: ['pay'] },
  starts: ['pay'],
  effects: [deposit, wire, stamp, cash, quote],
  begin: () => ({ belief: { total: 0, cents: 0 }, next: [task('pay', { n: 0 })] }),
  steps: {
    async pay(ctx, { n }) {
      const { by, amount } = ctx.input.payments[n]!;
      if (n === ctx.input.flakyAt && ctx.attempt === 1) throw new Error('flaky at first');
      await work(ctx.input.pauseMs, ctx.signal);
      const { cents } = await ctx.effect(quote, { amount });
      const fee = await ctx.run('fee', () => n);
      const { receipt } = await ctx.effect(payments[by], { action: `${ctx.workflow}/pay-${n}`, amount });
      const after = { total: ctx.belief.total + receipt + fee, cents: ctx.belief.cents + cents };
      if (n + 1 === ctx.input.payments.length) return { belief: () => after, done: after };
      return { belief: () => after, next: [task('pay', { n: n + 1 })] };
    },
  },
});

/** Branches side by side under one lease, and a join that reads what they left. */
export const fan = defineWorkflow({
  name: 'chaos-fan',
  version: 1,
  input: z.object({ branches: z.array(payment).min(1), pauseMs: z.int() }),
  belief: z.object({ branchCount: z.int() }),
  output: z.object({ total: z.int(), branchCount: z.int() }),
  outputs: { branch: z.object({ receipt: z.int() }) },
  tasks: { split: z.object({}), branch: z.object({ n: z.int() }), join: z.object({}) },
  flow: { split: ['branch', 'join'], branch: [], join: [] },
  effects: [deposit, wire, stamp, cash],
  begin: () => ({ belief: { branchCount: 0 }, next: [task('split', {})] }),
  steps: {
    split: (ctx) => ({
      next: [...ctx.input.branches.map((_, n) => task('branch', { n })), task('join', {}, { after: 'all' })],
    }),
    async branch(ctx, { n }) {
      await work(ctx.input.pauseMs, ctx.signal);
      const { by, amount } = ctx.input.branches[n]!;
      const output = await ctx.effect(payments[by], { action: `${ctx.workflow}/branch-${n}`, amount });
      return { belief: ({ branchCount }) => ({ branchCount: branchCount + 1 }), output };
    },
    async join(ctx) {
      const outputs = await ctx.outputs('branch');
      const total = outputs.reduce((sum, { receipt }) => sum + receipt, 0);
      return { done: { total, branchCount: ctx.belief.branchCount } };
    },
  },
});

/** Steps of seconds, with an effect before and one after the work: what is done before must not be done again. */
export const long = defineWorkflow({
  name: 'chaos-long',
  version: 1,
  input: z.object({ stepsMs: z.array(z.int()).min(1), amount: z.int() }),
  belief: z.object({ total: z.int() }),
  output: z.object({ total: z.int() }),
  tasks: { toil: z.object({ n: z.int() }) },
  flow: { toil: ['toil'] },
  starts: ['toil'],
  effects: [deposit, wire],
  begin: () => ({ belief: { total: 0 }, next: [task('toil', { n: 0 })] }),
  steps: {
    async toil(ctx, { n }) {
      const { stepsMs, amount } = ctx.input;
      const before = await ctx.effect(wire, { action: `${ctx.workflow}/before-${n}`, amount });
      await work(stepsMs[n]!, ctx.signal);
      const after = await ctx.effect(deposit, { action: `${ctx.workflow}/after-${n}`, amount });
      const total = ctx.belief.total + before.receipt + after.receipt;
      if (n + 1 === stepsMs.length) return { belief: () => ({ total }), done: { total } };
      return { belief: () => ({ total }), next: [task('toil', { n: n + 1 })] };
    },
  },
});

/** Counts each time, can be asked about, and can be undone by a receiver that deduplicates undoings by their own key. */
export const booking = defineEffect({
  operation: 'chaos.booking',
  kind: 'irreversible',
  request,
  response: z.object({ receipt: z.int(), action: z.string() }),
  retry,
  timeoutMs: LEDGER_TIMEOUT_MS,
  call: async ({ action, amount }, { key, signal }) => ({
    receipt: await ledger.apply({ receiver: 'probed', key, action, amount }, signal),
    action,
  }),
  probe: async (key, { signal }) => {
    const found = await ledger.find('probed', key, false, signal);
    return found === undefined ? notDone() : done({ receipt: found.receipt, action: found.action });
  },
  compensate: async ({ action }, { key, signal }) => {
    await ledger.apply({ receiver: 'dedupe', key, action: `${action}${UNDONE}`, amount: 0 }, signal);
  },
});

/** Books one thing after the other and then fails for good, so that all of it must be undone, the last first. */
export const trip = defineWorkflow({
  name: 'chaos-trip',
  version: 1,
  input: z.object({ amounts: z.array(z.int()).min(1), pauseMs: z.int() }),
  belief: z.object({ bookedCount: z.int() }),
  output: z.object({}),
  tasks: { book: z.object({ n: z.int() }), collapse: z.object({}) },
  flow: { book: ['book', 'collapse'], collapse: [] },
  starts: ['book'],
  effects: [booking],
  onFailure: 'compensate',
  begin: () => ({ belief: { bookedCount: 0 }, next: [task('book', { n: 0 })] }),
  steps: {
    async book(ctx, { n }) {
      const { amounts, pauseMs } = ctx.input;
      await work(pauseMs, ctx.signal);
      await ctx.effect(booking, { action: `${ctx.workflow}/book-${n}`, amount: amounts[n]! });
      const belief = () => ({ bookedCount: n + 1 });
      return { belief, next: n + 1 === amounts.length ? [task('collapse', {})] : [task('book', { n: n + 1 })] };
    },
    collapse: () => {
      throw new FatalError('the trip is off');
    },
  },
});

/** A function: calls in turn and at once, races that either side may win, and a chapter for each half of the payments. */
export const script = defineFunction({
  name: 'chaos-script',
  version: 1,
  input: z.object({ payments: z.array(payment).min(2), pauseMs: z.int() }),
  output: z.object({ total: z.int() }),
  effects: [deposit, wire, stamp, cash],
  async run(ctx, { payments: all, pauseMs }) {
    const { from, total: before } = (ctx.state ?? { from: 0, total: 0 }) as {
      readonly from: number;
      readonly total: number;
    };
    const half = Math.ceil(all.length / 2);
    let total = before;
    const pay = async (n: number): Promise<number> => {
      const { by, amount } = all[n]!;
      return (await ctx.effect(payments[by], { action: `${ctx.workflow}/pay-${n}`, amount })).receipt;
    };
    if (from === 0) {
      for (let n = 0; n < half; n++) {
        const toil = () => ctx.run('toil', (signal) => work(pauseMs, signal));
        await ctx.race({ toil, late: ctx.sleep(pauseMs) });
        total += await pay(n);
      }
      return ctx.chapter({ from: half, total });
    }
    try {
      const receipts = await ctx.all(all.slice(half).map((_, at) => () => pay(half + at)));
      for (const receipt of receipts) total += receipt;
    } finally {
      total += await ctx.run('fee', () => all.length);
    }
    return { total };
  },
});

/** Kills each worker that runs it. */
export const poison = defineWorkflow({
  name: 'chaos-poison',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  tasks: { kill: z.object({}) },
  flow: { kill: [] },
  starts: ['kill'],
  begin: () => ({ belief: {}, next: [task('kill', {})] }),
  steps: {
    async kill(ctx) {
      // Its neighbours are under way by then.
      await work(POISON_DELAY_MS, ctx.signal);
      process.kill(process.pid, 'SIGKILL');
      return { done: {} };
    },
  },
});
