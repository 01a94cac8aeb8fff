/**
 * Owns what each workflow of the run must end with and do to the ledger, computed from its input alone: no step of the
 * workload is run, so a mistake of the engine can't hide in both.
 */

import type { Json } from '@tidemark/core';
import { type Receiver, receiptOf, UNDONE } from './ledger.ts';
import type { Random } from './random.ts';

export type PaymentKind = 'deposit' | 'wire' | 'stamp' | 'cash';

export interface Payment {
  readonly by: PaymentKind;
  readonly amount: number;
}

/** One workflow that the run starts. */
export type Start =
  | { readonly definition: 'chaos-pace' | 'chaos-staged'; readonly input: { count: number; pauseMs: number } }
  | {
      readonly definition: 'chaos-transfer';
      readonly input: { payments: Payment[]; flakyAt: number; pauseMs: number };
    }
  | { readonly definition: 'chaos-script'; readonly input: { payments: Payment[]; pauseMs: number } }
  | { readonly definition: 'chaos-fan'; readonly input: { branches: Payment[]; pauseMs: number } }
  | { readonly definition: 'chaos-long'; readonly input: { stepsMs: number[]; amount: number } }
  | { readonly definition: 'chaos-trip'; readonly input: { amounts: number[]; pauseMs: number } };

export interface ExpectedAction {
  readonly action: string;
  readonly receiver: Receiver;
}

export interface Expected {
  readonly end: 'completed' | 'compensated';
  /** Null for one that is compensated. */
  readonly output: Json;
  /** Each is applied exactly once. */
  readonly actions: readonly ExpectedAction[];
  /** Those that undo others, in the order in which they must be applied. */
  readonly undone: readonly string[];
}

const receiverOf: Readonly<Record<PaymentKind, Receiver>> = {
  deposit: 'dedupe',
  stamp: 'dedupe',
  wire: 'probed',
  cash: 'blind',
};

/** By workflow, as it was started. */
export const expectationsOf = (starts: ReadonlyMap<string, Start>): ReadonlyMap<string, Expected> =>
  new Map([...starts].map(([workflow, start]) => [workflow, expectedOf(workflow, start)]));

export function expectedOf(workflow: string, start: Start): Expected {
  if (start.definition === 'chaos-trip') return expectedOfTrip(workflow, start.input.amounts);
  return { end: 'completed', undone: [], ...expectedOfCompleted(workflow, start) };
}

function expectedOfTrip(workflow: string, amounts: readonly number[]): Expected {
  const booked = amounts.map((_, n) => `${workflow}/book-${n}`);
  const undone = booked.toReversed().map((action) => `${action}${UNDONE}`);
  const actions = [
    ...booked.map((action) => ({ action, receiver: 'probed' as const })),
    ...undone.map((action) => ({ action, receiver: 'dedupe' as const })),
  ];
  return { end: 'compensated', output: null, actions, undone };
}

function expectedOfCompleted(
  workflow: string,
  start: Exclude<Start, { definition: 'chaos-trip' }>,
): Pick<Expected, 'output' | 'actions'> {
  switch (start.definition) {
    case 'chaos-pace':
    case 'chaos-staged': {
      let sum = 0;
      for (let n = 1; n <= start.input.count; n++) sum = (sum * 31 + n) % 1_000_003;
      return { output: { sum }, actions: [] };
    }
    case 'chaos-transfer': {
      const { payments } = start.input;
      const named = payments.map(({ by, amount }, n) => ({ by, amount, action: `${workflow}/pay-${n}` }));
      const fees = payments.reduce((sum, _, n) => sum + n, 0);
      const cents = payments.reduce((sum, { amount }) => sum + amount * 100, 0);
      return { output: { total: receipts(named) + fees, cents }, actions: named.map(actionOf) };
    }
    case 'chaos-script': {
      const { payments } = start.input;
      const named = payments.map(({ by, amount }, n) => ({ by, amount, action: `${workflow}/pay-${n}` }));
      return { output: { total: receipts(named) + payments.length }, actions: named.map(actionOf) };
    }
    case 'chaos-fan': {
      const named = start.input.branches.map(({ by, amount }, n) => ({
        by,
        amount,
        action: `${workflow}/branch-${n}`,
      }));
      return { output: { total: receipts(named), branchCount: named.length }, actions: named.map(actionOf) };
    }
    case 'chaos-long': {
      const { stepsMs, amount } = start.input;
      const named = stepsMs.flatMap((_, n) => [
        { by: 'wire' as const, amount, action: `${workflow}/before-${n}` },
        { by: 'deposit' as const, amount, action: `${workflow}/after-${n}` },
      ]);
      return { output: { total: receipts(named) }, actions: named.map(actionOf) };
    }
  }
}

interface Named extends Payment {
  readonly action: string;
}

const receipts = (named: readonly Named[]): number =>
  named.reduce((sum, { action, amount }) => sum + receiptOf(action, amount), 0);

const actionOf = ({ by, action }: Named): ExpectedAction => ({ action, receiver: receiverOf[by] });

const MIX = {
  'chaos-pace': 15,
  'chaos-staged': 5,
  'chaos-transfer': 25,
  'chaos-fan': 15,
  'chaos-long': 25,
  'chaos-trip': 15,
  'chaos-script': 30,
} as const;
const PAYMENT_MIX = { deposit: 40, wire: 35, stamp: 20, cash: 5 } as const;

/** The next workflow to start. */
export function randomStart(random: Random): Start {
  const definition = random.weighted(MIX);
  const payments = (min: number, max: number): Payment[] =>
    Array.from({ length: random.between(min, max) }, () => ({
      by: random.weighted(PAYMENT_MIX),
      amount: random.between(1, 10_000),
    }));
  switch (definition) {
    case 'chaos-trip':
      return {
        definition,
        input: {
          amounts: Array.from({ length: random.between(1, 4) }, () => random.between(1, 10_000)),
          pauseMs: random.between(50, 300),
        },
      };
    case 'chaos-pace':
    case 'chaos-staged':
      return { definition, input: { count: random.between(40, 80), pauseMs: 30 } };
    case 'chaos-transfer':
      return {
        definition,
        input: { payments: payments(3, 8), flakyAt: random.between(0, 9), pauseMs: random.between(100, 600) },
      };
    case 'chaos-script':
      return { definition, input: { payments: payments(2, 8), pauseMs: random.between(100, 600) } };
    case 'chaos-fan':
      return { definition, input: { branches: payments(2, 6), pauseMs: random.between(300, 1_800) } };
    case 'chaos-long':
      return {
        definition,
        input: {
          stepsMs: Array.from({ length: random.between(1, 3) }, () => random.between(1_000, 3_000)),
          amount: random.between(1, 10_000),
        },
      };
  }
}
