/**
 * Owns the functions that the fleet runs. Every call asks for something that its result names, so a function notices an outcome that was
 * given to another call, and says so in its output. Must not know of faults.
 */

import type { Json } from '@tidemark/core';
import type { Definition } from '@tidemark/runtime';
import { CallFailedError, defineFunction, type Effect, type FunctionSpec, type Workflow } from '@tidemark/sdk';
import { z } from 'zod';
import { effectOf, effectsOf, type Input, PATIENT, type StepHost } from './effects.ts';

export type FunctionWorkload = 'script' | 'retreat' | 'stray';
export const FUNCTIONS: readonly FunctionWorkload[] = ['script', 'retreat', 'stray'];
/** A child of `script`. */
const PART = 'part';
/** Names of all definitions that are functions. */
export const FUNCTION_NAMES: ReadonlySet<string> = new Set([...FUNCTIONS, PART]);
/** The signal that functions take. Its value has its number, from 1. */
export const PAID = 'paid';
/** Signals of one function, at least as many as `script` reads. */
export const PAID_COUNT = 8;
/** Ends the name of what `retreat` does once it is cancelled. */
export const TIDIED = '/tidied';

const CHAPTERS = 2;

/** The output that a function must have when it has completed. */
export const expectedOfFunction = (): Json => ({ wrong: [] });

type Schema = typeof json;
const json = z.json();

/** An effect as the SDK takes it. */
const payment = (...of: Parameters<typeof effectOf>): Effect => ({ ...effectOf(...of), request: json, response: json });
type Run = FunctionSpec<Schema, Schema, { readonly paid: Schema }, { readonly sure: Schema }>['run'];
type Context = Parameters<Run>[0];

/** All functions, as a process runs them. */
export function functionsFor(host: StepHost): readonly Definition[] {
  const define = (name: string, run: Run, isUndone = false, children: readonly Workflow[] = []): Workflow =>
    defineFunction({
      ...{ name, version: 1, input: json, output: json, run, children },
      signals: { [PAID]: json },
      approvals: { sure: json },
      effects: effectsOf(host, isUndone) as readonly Effect[],
    });
  const part = define(PART, async (ctx, input) => {
    const { ref } = input as unknown as { readonly ref: string };
    const wrong = await wrongIn((check) => new Calls(ctx, input as never, host, check).pay(1, `${ref}/part`));
    return { ref, wrong };
  });
  const script = define('script', (ctx, input) => runScript(ctx, input as unknown as Input, host, part), false, [part]);
  const retreat = define('retreat', (ctx, input) => runRetreat(ctx, input as unknown as Input, host), true);
  const stray = define('stray', (ctx, input) => runStray(ctx, input as unknown as Input, host));
  return [part, script, retreat, stray].map((workflow) => observed(workflow, host));
}

/** Reports each task that begins to the judge, and is patient. */
const observed = (workflow: Workflow, { process, onBegun }: StepHost): Definition => ({
  ...(workflow as Definition),
  steps: new Map(
    [...workflow.steps].map(([name, step]) => [
      name,
      {
        ...step,
        retry: PATIENT,
        run: (context, input) => {
          if (process.isDead) return new Promise(() => {});
          onBegun({ workflow: context.workflow, task: context.task, durable: true });
          return step.run(context, input);
        },
      },
    ]),
  ),
});

type Check = (what: string, got: unknown, wanted: unknown) => void;

async function wrongIn(body: (check: Check) => Promise<unknown>): Promise<string[]> {
  const wrong: string[] = [];
  await body((what, got, wanted) => {
    if (got !== wanted) wrong.push(`${what} got ${JSON.stringify(got)}`);
  });
  return wrong;
}

/** What functions do again and again. */
class Calls {
  readonly #ctx: Context;
  readonly #input: Input;
  readonly #host: StepHost;
  readonly #check: Check;

  constructor(ctx: Context, input: Input, host: StepHost, check: Check) {
    this.#ctx = ctx;
    this.#input = input;
    this.#host = host;
    this.#check = check;
  }

  /** An effect whose answer has its request's name. */
  async pay(at: number, ref: string, isUndone = false): Promise<void> {
    const { amount, receivers = ['probed'] } = this.#input;
    const effect = payment(receivers[at % receivers.length]!, this.#host, isUndone);
    const answer = (await this.#ctx.effect(effect, { amount: (amount ?? 1) * at, ref })) as { readonly ref?: string };
    this.#check(ref, answer.ref, ref);
  }

  /** A closure, which takes a while. */
  async weigh(weight: number): Promise<void> {
    const { process } = this.#host;
    const weighed = await this.#ctx.run('weigh', async (signal) => {
      await process.sleep(process.random.between(0, this.#input.stepMs), signal);
      return weight;
    });
    this.#check(`weight ${weight}`, weighed, weight);
  }
}

interface State {
  readonly chapter: number;
  /** Signals that were read. */
  readonly heard: number;
  readonly wrong: readonly string[];
}

async function runScript(ctx: Context, input: Input, host: StepHost, part: Workflow): Promise<Json> {
  const { count, stepMs } = input;
  const { chapter, wrong: before, ...then } = (ctx.state ?? { chapter: 1, heard: 0, wrong: [] }) as unknown as State;
  let { heard } = then;
  const ref = (name: string | number): string => `${ctx.workflow}/${chapter}/${name}`;
  const wrong = await wrongIn(async (check) => {
    const calls = new Calls(ctx, input, host, check);
    const hear = (signal: Json): void => check(`signal ${++heard}`, (signal as { readonly paid: number }).paid, heard);
    await calls.pay(1, ref(1));
    const several = Array.from({ length: count }, (_, at) => at + 2);
    await ctx.all(several.map((at) => () => (at % 2 === 0 ? calls.pay(at, ref(at)) : calls.weigh(at))));
    for (let at = 0; at < 2; at++) {
      const paid = ctx.signal(PAID);
      const first = await ctx.race({ paid, late: ctx.sleep(stepMs * 3 + 1), call: () => calls.weigh(100 + at) });
      if (first.name === 'paid') hear(first.value);
    }
    // The end, also that of a chapter, waits for a loser that has called.
    await ctx.race({ pay: () => calls.pay(1, ref('raced')), late: ctx.sleep(stepMs + 1), weigh: () => calls.weigh(7) });
    hear(await ctx.signal(PAID));
    for (let at = 0; at < count; at++) {
      const drawn = await ctx.run('draw', () => host.process.random.int(3));
      if (drawn === 1) await calls.pay(at, ref(`drawn ${at}`));
      if (drawn === 2) await ctx.all([() => ctx.sleep(stepMs + 1), () => calls.weigh(at)]);
    }
    const asked = ctx.approval('sure', { title: ref('sure') });
    const [answer] = await Promise.all([asked, child(ctx, part, ref('child'), check)]);
    check(ref('sure'), answer.value, ref('sure'));
  });
  const all = [...before, ...wrong];
  return chapter < CHAPTERS ? ctx.chapter({ chapter: chapter + 1, heard, wrong: all }) : { wrong: all };
}

/** A person may decide that a child fails. */
async function child(ctx: Context, of: Workflow, ref: string, check: Check): Promise<void> {
  try {
    const done = (await ctx.child(of, { ref, stepMs: 0 } as never)) as {
      readonly ref: string;
      readonly wrong: string[];
    };
    check(ref, done.ref, ref);
    check(`${ref}, child`, done.wrong.length, 0);
  } catch (error) {
    if (!(error instanceof CallFailedError)) throw error;
  }
}

/** Somebody cancels it, at any moment, and nobody answers it. */
async function runRetreat(ctx: Context, input: Input, host: StepHost): Promise<Json> {
  await ctx.onRollback(payment('deduplicates', host), { amount: 1, ref: `${ctx.workflow}/rollback` });
  const wrong = await wrongIn(async (check) => {
    const calls = new Calls(ctx, input, host, check);
    try {
      for (let at = 1; at <= input.count; at++) {
        await ctx.all([() => calls.pay(at, `${ctx.workflow}/${at}`, true), () => calls.weigh(at)]);
      }
      await ctx.race({ sure: ctx.approval('sure'), late: ctx.sleep('9d') });
    } finally {
      await calls.pay(1, `${ctx.workflow}${TIDIED}`, true);
    }
  });
  return { wrong };
}

/** Depends on what nobody records: a person must be asked as soon as it is called anew. */
async function runStray(ctx: Context, input: Input, host: StepHost): Promise<Json> {
  const amount = host.process.random.count(1, 1_000_000);
  const answer = await ctx.effect(payment('probed', host), { amount });
  await ctx.sleep(input.stepMs + 1);
  const { receipt } = answer as { readonly receipt: number };
  return { wrong: receipt === amount * 7 ? [] : [`${amount} got ${receipt}`] };
}
