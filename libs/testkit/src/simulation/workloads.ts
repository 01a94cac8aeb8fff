/**
 * Owns the workflows that the fleet runs: small definitions, each with an output that follows from its input alone, however often it was
 * interrupted (I10). They report to the judge what their steps see of belief. Must not know of faults.
 */

import type { Json } from '@tidemark/core';
import {
  type Definition,
  FatalError,
  type StepContext,
  type StepDefinition,
  type StepResult,
  type TaskRequest,
} from '@tidemark/runtime';
import type { ReceiverKind } from './acceptance.ts';
import { effectOf, effectsOf, type Input, PATIENT, type StepHost } from './effects.ts';
import { expectedOfFunction, FUNCTIONS, type FunctionWorkload, functionsFor } from './functions.ts';
import { answerTo } from './outside.ts';
import type { SeededRandom } from './random.ts';

export type Workload = StepWorkload | FunctionWorkload;
type StepWorkload =
  | 'chain'
  | 'fan'
  | 'staged'
  | 'mixed'
  | 'pay'
  | 'spread'
  | 'flaky'
  | 'fickle'
  | 'turns'
  | 'await'
  | 'gather'
  | 'unroll'
  | 'scatter'
  | 'overlap';
export const WORKLOADS: readonly Workload[] = [
  'chain',
  'fan',
  'staged',
  'mixed',
  'pay',
  'spread',
  'flaky',
  'await',
  'gather',
  'unroll',
  'scatter',
];
/** Workflows that fail permanently, and are compensated. */
export const COMPENSATED: ReadonlySet<string> = new Set<Workload>(['unroll', 'scatter', 'retreat']);

const STEP_BUDGET = 1_000;

interface Belief {
  readonly sum: number;
  readonly seen: readonly number[];
}

type Run = (context: StepContext, input: Json, host: StepHost) => Promise<StepResult> | StepResult;

const asIs = (value: unknown): Json => (value ?? null) as Json;
const inputOf = (context: StepContext): Input => context.input as unknown as Input;
const add =
  (amount: number, at: number) =>
  (belief: Json): Belief => {
    const { sum, seen } = belief as unknown as Belief;
    return { sum: sum + amount, seen: [...seen, at].sort((a, b) => a - b) };
  };

interface Spec {
  readonly parallel?: number;
  readonly begin: (input: Input) => readonly TaskRequest[];
  readonly steps: Readonly<Record<string, Run | { readonly staged: Run }>>;
  readonly expected: (input: Input) => Json;
}

const total = (count: number): number => (count * (count + 1)) / 2;
const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);
const receiptsOf = ({ count, amount }: Input): Json[] => upTo(count).map((at) => answerTo({ amount: amount * at }));

/** One task after another; each adds the next, and the last one ends the workflow. */
const counted =
  (amountOf: (context: StepContext, at: number, host: StepHost) => Promise<number>, step: string): Run =>
  async (context, input, host) => {
    const { at } = input as { readonly at: number };
    const { count, stepMs } = inputOf(context);
    const amount = await amountOf(context, at, host);
    await host.process.sleep(host.process.random.between(0, stepMs), context.signal);
    if (at === count) {
      const { sum } = add(amount, at)(context.belief);
      return { belief: add(amount, at), done: { sum } };
    }
    return { belief: add(amount, at), next: [{ step, input: { at: at + 1 } }] };
  };

const oneByOne: Spec = {
  begin: () => [{ step: 'pay', input: { at: 1 } }],
  steps: { pay: (context, input, host) => pay(context, input, host) },
  expected: (input) => ({ receipts: receiptsOf(input) }),
};

const spread: Spec = {
  parallel: 3,
  begin: ({ count }) => [
    ...upTo(count).map((at) => ({ step: 'pay', input: { at } })),
    { step: 'sum', input: null, after: 'all' },
  ],
  steps: {
    pay: async (context, input, host) => ({ output: await payOne(context, input, host) }),
    sum: async (context) => ({ done: { receipts: [...(await context.outputs('pay'))] } }),
  },
  expected: (input) => ({ receipts: receiptsOf(input) }),
};

const SPECS: Readonly<Record<StepWorkload, Spec>> = {
  chain: {
    begin: () => [{ step: 'link', input: { at: 1 } }],
    steps: {
      link: counted(async (context, at) => (await context.run('weigh', () => at)) as number, 'link'),
    },
    expected: ({ count }) => ({ sum: total(count) }),
  },
  fan: {
    parallel: 3,
    begin: ({ count }) => [
      ...upTo(count).map((at) => ({ step: 'part', input: { at } })),
      { step: 'join', input: null, after: 'all' },
    ],
    steps: {
      part: async (context, input, { process }) => {
        const { at } = input as { readonly at: number };
        await process.sleep(process.random.between(0, inputOf(context).stepMs), context.signal);
        return { belief: add(at, at), output: at * 2 };
      },
      join: async (context) => {
        const outputs = (await context.outputs('part')) as readonly number[];
        const { sum, seen } = context.belief as unknown as Belief;
        return { done: { sum, seen: [...seen], outputs: [...outputs] } };
      },
    },
    expected: ({ count }) => ({
      sum: total(count),
      seen: upTo(count),
      outputs: upTo(count).map((at) => at * 2),
    }),
  },
  staged: {
    begin: () => [{ step: 'tick', input: { at: 1 } }],
    steps: { tick: { staged: counted(async (_, at) => at, 'tick') } },
    expected: ({ count }) => ({ sum: total(count) }),
  },
  mixed: {
    parallel: 4,
    begin: ({ count }) => [
      ...upTo(count).map((at) => ({ step: at % 2 === 0 ? 'light' : 'heavy', input: { at } })),
      { step: 'end', input: null, after: 'all' },
    ],
    steps: {
      light: { staged: async (_, input) => mix(input) },
      heavy: async (context, input, { process }) => {
        const { at } = input as { readonly at: number };
        if (at === 1 && context.attempt < 2) throw new Error('the first attempt fails');
        await process.sleep(process.random.between(0, inputOf(context).stepMs), context.signal);
        return mix(input);
      },
      end: ({ belief }) => ({ done: { sum: (belief as unknown as Belief).sum } }),
    },
    expected: ({ count }) => ({ sum: total(count) }),
  },
  pay: oneByOne,
  spread,
  /** As `pay` and `spread`, at receivers that confirm later. */
  await: oneByOne,
  gather: spread,
  /** One effect after another, and then a permanent failure. */
  unroll: {
    begin: () => [{ step: 'book', input: { at: 1 } }],
    steps: {
      book: async (context, input, host) => {
        const { at } = input as { readonly at: number };
        await book(context, input, host);
        const isLast = at === inputOf(context).count;
        return { next: [isLast ? { step: 'break', input: null } : { step: 'book', input: { at: at + 1 } }] };
      },
      break: () => broken(),
    },
    expected: () => null,
  },
  /** Several at once, and the failure amid them. */
  scatter: {
    parallel: 3,
    begin: ({ count }) => [
      ...upTo(count).map((at) => ({ step: 'book', input: { at } })),
      { step: 'break', input: null },
    ],
    steps: {
      book: async (context, input, host) => {
        await book(context, input, host);
        return {};
      },
      break: async (context, _, { process }) => {
        await process.sleep(process.random.between(0, 200), context.signal);
        return broken();
      },
    },
    expected: () => null,
  },
  flaky: {
    begin: () => [{ step: 'try', input: { at: 1 } }],
    steps: {
      try: counted(async (context, at) => {
        if (context.attempt <= at % 3) throw new Error(`attempt ${context.attempt} of ${at} fails`);
        return at;
      }, 'try'),
    },
    expected: ({ count }) => ({ sum: total(count) }),
  },
  /** One run after another, each a step; two more tasks wait for signals that anybody may send, and are dropped before they can run. */
  turns: {
    begin: () => [
      { step: 'turn', input: null },
      ...['go', 'stop'].map((name) => ({
        step: 'hear',
        input: null,
        after: 'all' as const,
        when: { anyOf: [{ kind: 'signal' as const, name }] },
      })),
    ],
    steps: {
      turn: async (context, _, { process }) => {
        const input = inputOf(context);
        const { at = 1, sum = 0 } = input as Input & { readonly at?: number; readonly sum?: number };
        const weight = (await context.run('weigh', () => at)) as number;
        await process.sleep(process.random.between(0, input.stepMs), context.signal);
        if (at === input.count) return { done: { sum: sum + weight } };
        return { continueAsNew: { ...input, at: at + 1, sum: sum + weight } };
      },
      hear: async () => ({}),
    },
    expected: ({ count }) => ({ sum: total(count) }),
  },
  /** Calls of one step overlap, and arrive in an order that each attempt draws anew. */
  overlap: {
    begin: () => [{ step: 'all', input: null }],
    steps: {
      all: async (context, _, host) => {
        const { process } = host;
        const { count, stepMs } = inputOf(context);
        const bring = async (at: number): Promise<Json> => {
          await process.sleep(process.random.between(0, stepMs), context.signal);
          const receipt = await payOne(context, { at }, host);
          await process.sleep(process.random.between(0, stepMs), context.signal);
          return { receipt, weight: await context.run('weigh', () => at) };
        };
        return { done: { brought: await Promise.all(upTo(count).map(bring)) } };
      },
    },
    expected: (input) => ({ brought: receiptsOf(input).map((receipt, at) => ({ receipt, weight: at + 1 })) }),
  },
  /** Sends another request under the same key at its second attempt: must be parked, never answered from the journal. */
  fickle: {
    begin: () => [{ step: 'ask', input: { at: 1 } }],
    steps: {
      ask: async (context, _, host) => {
        const { amount } = inputOf(context);
        const request = { amount: amount + context.attempt };
        const receipt = await context.effect(effectOf('probed', host), request);
        if (context.attempt === 1) throw new Error('the first attempt fails after its effect');
        return { done: { receipt } };
      },
    },
    expected: () => null,
  },
};

const mix = (input: Json): StepResult => {
  const { at } = input as { readonly at: number };
  return { belief: add(at, at) };
};

function broken(): never {
  throw new FatalError('it can not go on');
}

/** An effect whose compensation uses its name outside. */
async function book(context: StepContext, input: Json, host: StepHost): Promise<Json> {
  const { at } = input as { readonly at: number };
  const { amount, receivers } = inputOf(context);
  const request = { amount: amount * at, ref: `${context.workflow}/${at}` };
  return context.effect(effectOf(receivers[at % receivers.length]!, host, true), request);
}

async function payOne(context: StepContext, input: Json, host: StepHost): Promise<Json> {
  const { at } = input as { readonly at: number };
  const { amount, receivers } = inputOf(context);
  return context.effect(effectOf(receivers[at % receivers.length]!, host), { amount: amount * at });
}

async function pay(context: StepContext, input: Json, host: StepHost): Promise<StepResult> {
  const { at } = input as { readonly at: number };
  const receipt = await payOne(context, input, host);
  const receipts = [...((context.belief as { readonly receipts?: readonly Json[] }).receipts ?? []), receipt];
  if (at === inputOf(context).count) return { done: { receipts } };
  const belief = (before: Json): Json => ({ ...(before as object), receipts });
  return { belief, next: [{ step: 'pay', input: { at: at + 1 } }] };
}

/** All definitions, as a process runs them. */
export const definitionsFor = (host: StepHost): readonly Definition[] => [
  ...(Object.keys(SPECS) as StepWorkload[]).map((name) => definitionOf(name, SPECS[name], host)),
  ...functionsFor(host),
];

const isFunction = (workload: Workload): workload is FunctionWorkload => FUNCTIONS.some((name) => name === workload);

function definitionOf(name: StepWorkload, spec: Spec, host: StepHost): Definition {
  const names = Object.keys(spec.steps);
  return {
    name,
    version: 1,
    parallel: spec.parallel ?? 1,
    placement: 'exclusive',
    effects: effectsOf(host, COMPENSATED.has(name)),
    onFailure: COMPENSATED.has(name) ? 'compensate' : 'fail',
    stepBudget: STEP_BUDGET,
    upcasters: new Map(),
    parseInput: asIs,
    parseBelief: asIs,
    parseOutput: asIs,
    begin: (input) => ({ belief: { sum: 0, seen: [] }, next: spec.begin(input as unknown as Input) }),
    steps: new Map(names.map((step) => [step, stepOf(step, spec.steps[step]!, names, host)])),
  };
}

function stepOf(
  name: string,
  spec: Run | { readonly staged: Run },
  names: readonly string[],
  host: StepHost,
): StepDefinition {
  const staged = typeof spec !== 'function';
  const run = staged ? spec.staged : spec;
  return {
    name,
    mayAdd: new Set(names),
    durability: staged ? 'staged' : 'durable',
    retry: PATIENT,
    parseInput: asIs,
    parseOutput: asIs,
    run: (context, input) => {
      if (host.process.isDead) return new Promise(() => {});
      host.onBegun({ workflow: context.workflow, task: context.task, durable: !staged });
      return run(context, input, host);
    },
  };
}

/** The output that a workflow must have when it has completed. */
export const expectedOutput = (workload: Workload, input: Input): Json =>
  isFunction(workload) ? expectedOfFunction() : SPECS[workload].expected(input);

const AT_ONCE: readonly (readonly ReceiverKind[])[] = [
  ['probed'],
  ['deduplicates'],
  ['deduplicates', 'probed'],
  ['deduplicates', 'probed', 'blind'],
];
const LATER: readonly (readonly ReceiverKind[])[] = [
  ['confirms'],
  ['announces'],
  ['confirms', 'announces'],
  ['confirms', 'silent', 'probed'],
];

export const drawInput = (workload: Workload, random: SeededRandom): Input => ({
  count: workload === 'staged' ? random.count(8, 24) : random.count(2, 5),
  amount: random.count(1, 50),
  receivers: random.pick(
    workload === 'await' ||
      workload === 'gather' ||
      ((COMPENSATED.has(workload) || workload === 'script') && random.chance(0.3))
      ? LATER
      : AT_ONCE,
  ),
  stepMs: random.pick([0, 5, 60, 300]),
});

/** One workflow that the client starts. */
export interface Start {
  readonly id: string;
  readonly workload: Workload;
  readonly input: Input;
  readonly atMs: number;
  /** The client received the start. */
  isAcknowledged: boolean;
  /** What the client received of its end. */
  result: { readonly output: unknown } | { readonly error: string } | undefined;
}
