/**
 * Owns a run for each fault of each family, whole and streamed, over real HTTP, in one world: what its records say afterwards. The provider
 * fails six times and then answers, unless it has no better answer, so that patience and a count of attempts differ.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { model } from '@tidemark/ai';
import { DEFAULT_TENANT } from '@tidemark/core';
import type { Model, Run } from '@tidemark/runtime';
import { defineWorkflow, task } from '@tidemark/sdk';
import { type TestWorld, testWorld } from '@tidemark/testkit';
import { z } from 'zod';
import { FAMILIES } from './families/index.ts';
import { type Act, FAULTS, type Family, type Fault } from './judge.ts';
import { listen, Provider } from './server.ts';

/** Failures before the answer: more than the attempts that a call has by default. */
const FAILURES_COUNT = 6;
/** How far time moves at once, and how often. */
const STRIDE_MS = 5_000;
const STRIDE_PERIOD_MS = 20;
const BUSY_FAULTS: readonly Fault[] = ['rate-limited', 'rate-limited-with-wait', 'unavailable', 'error-in-body'];
const OUTPUT_TOKENS = 500;
const HELLO: Act = { said: { text: 'All is well.' } };

export interface Case {
  readonly fault: Fault;
  readonly family: Family;
  readonly isStreamed: boolean;
}

/** What became of the run. */
export interface Outcome {
  /** The code of the errors that its model threw; null: none. */
  readonly code: string | null;
  readonly requests: number;
  readonly end: 'completed' | 'parked' | 'failed';
  /** Why the answer ended, where there is one. */
  readonly finish: string | null;
  readonly text: string | null;
  /** Shortest time between two calls, in seconds; null: there was one. */
  readonly waitS: number | null;
  /** Tokens that are booked as spent, those of them that were estimated, and those that may have been besides. */
  readonly tokens: number;
  readonly estimatedTokens: number;
  readonly unknownTokens: number;
  /** Rules that its requests broke. */
  readonly broken: number;
}

export const nameOf = ({ fault, family, isStreamed }: Case): string =>
  `${fault}.${family.name}.${isStreamed ? 'streamed' : 'whole'}`;

export const CASES: readonly Case[] = FAULTS.flatMap((fault) =>
  FAMILIES.flatMap((family) => [false, true].map((isStreamed) => ({ fault, family, isStreamed }))),
);

/** All runs, by their names. Those whose provider is busy hold up other calls of it, so they have a world for each way of asking. */
export async function faultRuns(cases: readonly Case[] = CASES): Promise<ReadonlyMap<string, Outcome>> {
  const worlds = Object.values(
    Object.groupBy(cases, ({ fault, isStreamed }) =>
      BUSY_FAULTS.includes(fault) ? `${fault} ${isStreamed}` : 'others',
    ),
  );
  const found = await Promise.all(worlds.map((group) => runsOf(group!)));
  return new Map(found.flat());
}

/** What the model of a case went through. */
interface Seen {
  readonly codes: string[];
  readonly askedMs: number[];
}

async function runsOf(cases: readonly Case[]): Promise<readonly (readonly [string, Outcome])[]> {
  const providers = new Map(cases.map((each) => [nameOf(each), providerOf(each)]));
  const seen = new Map(cases.map((each) => [nameOf(each), { codes: [], askedMs: [] } as Seen]));
  const listening = await listen(providers);
  const clock = { nowMs: (): number => 0 };
  const models = cases.map((each) => {
    const name = nameOf(each);
    return [
      name,
      watched(model(each.family.languageModel(fetch, listening.urlOf(name))), seen.get(name)!, clock),
    ] as const;
  });
  const asking = defineAsking(Object.fromEntries(models));
  const world = await testWorld({ workflows: [asking] });
  clock.nowMs = () => world.ports.clock.nowMs();
  try {
    const names = [...providers.keys()];
    const runs = await Promise.all(names.map((name) => world.start(asking, { name }, { user: name })));
    await inStrides(world, Promise.all(runs.map((run) => run.result().catch(() => {}))));
    return await Promise.all(
      names.map(
        async (name, at) => [name, await outcomeOf(world, runs[at]!, providers.get(name)!, seen.get(name)!)] as const,
      ),
    );
  } finally {
    await world.close();
    await listening.close();
  }
}

/** Waits of minutes, with time for calls over HTTP between the strides. */
async function inStrides(world: TestWorld, end: Promise<unknown>): Promise<void> {
  let isOver = false;
  const over = end.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    world.advance(STRIDE_MS);
    await Promise.race([over, wait(STRIDE_PERIOD_MS)]);
  }
  await over;
}

function watched(asked: Model, { codes, askedMs }: Seen, clock: { nowMs(): number }): Model {
  return {
    ...asked,
    answer: async (...request) => {
      askedMs.push(clock.nowMs());
      try {
        return await asked.answer(...request);
      } catch (error) {
        codes.push(String((error as { readonly code?: unknown }).code));
        throw error;
      }
    },
  };
}

function providerOf({ fault, family }: Case): Provider {
  const provider = new Provider(family);
  provider.script(...Array.from({ length: FAILURES_COUNT }, () => ({ fault })), HELLO);
  return provider;
}

function defineAsking(models: Readonly<Record<string, Model>>) {
  return defineWorkflow({
    name: 'asking',
    version: 1,
    input: z.object({ name: z.string() }),
    belief: z.object({}),
    output: z.object({ text: z.string(), finish: z.string() }),
    tasks: { ask: z.object({}) },
    flow: { ask: [] },
    models,
    begin: () => ({ belief: {}, next: [task('ask', {})] }),
    steps: {
      async ask(ctx) {
        const { text, finishReason } = await ctx.model({
          model: ctx.input.name,
          prompt: 'Where is order A-4411?',
          stream: ctx.input.name.endsWith('.streamed'),
          settings: { maxOutputTokens: OUTPUT_TOKENS },
        });
        return { done: { text, finish: finishReason } };
      },
    },
  });
}

async function outcomeOf(
  world: TestWorld,
  run: Run<{ text: string; finish: string }>,
  provider: Provider,
  { codes, askedMs }: Seen,
): Promise<Outcome> {
  const output = await run.result().catch(() => undefined);
  const { status, user } = (await run.summary())!;
  const { settled } = await world.client.memory.spent(DEFAULT_TENANT, user ?? null, 0);
  const { tokens, estimatedTokens = 0, unknownTokens = 0 } = settled;
  const waits = askedMs.slice(1).map((at, index) => at - askedMs[index]!);
  return {
    code: [...new Set(codes)].join() || null,
    requests: provider.bodies.length,
    end: status === 'parked' ? 'parked' : output === undefined ? 'failed' : 'completed',
    finish: output?.finish ?? null,
    text: output?.text ?? null,
    waitS: waits.length === 0 ? null : Math.floor(Math.min(...waits) / 1_000),
    tokens,
    estimatedTokens,
    unknownTokens,
    broken: provider.broken.length,
  };
}
