/**
 * Owns `defineFunction`: an ordinary async function as a workflow. It is a definition of two steps, which any worker, page and command
 * treats as they do others: `run` calls the function, and `call` makes one of its calls. Decision 0081.
 */

import { toJson } from '@tidemark/codec';
import { FencedError, InvalidError, type Json, messageOf, type Sequence, TidemarkError } from '@tidemark/core';
import {
  EffectError,
  FatalError,
  ParkError,
  type Progress,
  type RetryOptions,
  type StepContext,
  type StepDefinition,
  type StepResult,
  type TaskRequest,
  WorkflowCancelledError,
} from '@tidemark/runtime';
import { z } from 'zod';
import { type ContextRules, typedContext } from '../context.ts';
import type { ContextSpec } from '../context-spec.ts';
import type { Effect } from '../effect.ts';
import type { Frozen, Given, Parsed, Schema, Schemas } from '../schema.ts';
import type { Tool } from '../tool.ts';
import { defineWorkflow } from '../workflow.ts';
import type { Workflow } from '../workflow-spec.ts';
import { CANCELLED, CallFailedError, CancelledError, failureOf } from './call-failed.ts';
import { causeOf, type FunctionContext, functionContext } from './context.ts';
import { type Call, LiveRun } from './live-run.ts';
import {
  type Belief,
  beliefSchema,
  type CallId,
  type Chapter,
  callIdSchema,
  type Failure,
  newChapter,
  outcomeSchema,
  type Recorded,
  type Result,
} from './outcome.ts';

/** Characters of a checkpoint's action. */
const ACTION_MAX_CHARS = 200;
/** How long a cancelled function may await what nobody records, in milliseconds. */
const CANCELLED_WAIT_MS = 2_000;
/** Calls of one function that are made at once, by default. */
const PARALLEL_DEFAULT_COUNT = 64;

/** What a user writes. */
export interface FunctionSpec<
  Input extends Schema,
  Output extends Schema,
  Signals extends Schemas = Record<never, never>,
  Approvals extends Schemas = Record<never, never>,
> extends Omit<ContextSpec, 'phases'> {
  readonly name: string;
  readonly version: number;
  readonly input: Input;
  readonly output: Output;
  readonly signals?: Signals | undefined;
  /** Questions to people, by name, with the form of their answer. */
  readonly approvals?: Approvals | undefined;
  /** Workflows and functions that it starts. */
  readonly children?: readonly Workflow[] | undefined;
  readonly effects?: readonly Effect[] | undefined;
  readonly retry?: RetryOptions | undefined;
  readonly timeout?: string | number | undefined;
  /** The most calls of one run that are made at once. */
  readonly parallel?: number | undefined;
  readonly run: (
    ctx: FunctionContext<NoInfer<Signals>, NoInfer<Approvals>>,
    input: Frozen<Parsed<NoInfer<Input>>>,
  ) => Given<NoInfer<Output>> | Promise<Given<NoInfer<Output>>>;
}

export type DefinedFunction<Input extends Schema, Output extends Schema> = Workflow<Input, Schema, Output>;

/** An ordinary async function that survives its process. Throws `InvalidError` (`definition-invalid`). */
export function defineFunction<
  Input extends Schema,
  Output extends Schema,
  const Signals extends Schemas = Record<never, never>,
  const Approvals extends Schemas = Record<never, never>,
>(spec: FunctionSpec<Input, Output, Signals, Approvals>): DefinedFunction<Input, Output> {
  const { run, children = [], parallel = PARALLEL_DEFAULT_COUNT, ...own } = spec;
  const nothing = () => ({});
  const tools = Object.fromEntries(
    Object.entries(own.tools ?? {}).map(([name, each]) => [name, answerable(name, each)]),
  );
  const workflow = defineWorkflow({
    ...(own as Omit<typeof own, 'bundles'>),
    tools,
    parallel,
    belief: beliefSchema,
    tasks: { run: z.object({}), call: callIdSchema, rollback: callIdSchema },
    outputs: { run: outcomeSchema, call: outcomeSchema, rollback: outcomeSchema },
    flow: { run: STEPS, call: STEPS, rollback: STEPS },
    starts: ['run'],
    children: Object.fromEntries(children.map((child) => [child.name, child])),
    begin: () => ({ belief: { holds: null, chapter: newChapter(1, 0, null) }, next: [RUN] }),
    steps: { run: nothing as never, call: nothing as never, rollback: nothing as never },
  } as never) as unknown as Workflow;
  const body = run as (ctx: unknown, input: Json) => Promise<unknown>;
  const made = new FunctionSteps(body, {
    definition: `${spec.name} v${spec.version}`,
    steps: new Set(STEPS),
    operations: spec.effects && new Set(workflow.effects.map(({ operation }) => operation)),
    models: spec.models ?? {},
    tools,
    parseSignal: new Map(Array.from(workflow.signals ?? [], ([name, { parse }]) => [name, parse])),
  });
  const call: StepDefinition['run'] = (context, input) => made.call(context, input as unknown as CallId);
  const compensate: StepDefinition['compensate'] = async ({ output }, context) => {
    const { result } = output as unknown as Recorded;
    // The run was cancelled before it was registered.
    if (result === null || 'error' in result) return;
    const { operation, request } = result.value as { readonly operation: string; readonly request: Json };
    const effect = workflow.effects.find((each) => each.operation === operation);
    if (effect === undefined) throw new FatalError(`${operation} is not in effects of ${spec.name} any more.`);
    await effect.call(request, context);
  };
  const steps = new Map<string, StepDefinition>([
    ['run', { ...workflow.steps.get('run')!, run: (context) => made.run(context) }],
    ['call', { ...workflow.steps.get('call')!, run: call }],
    ['rollback', { ...workflow.steps.get('rollback')!, run: call, compensate }],
  ]);
  return { ...workflow, steps, unwinds: true } as unknown as DefinedFunction<Input, Output>;
}

/** A tool that has neither an effect nor `run` is answered by the function, in `ctx.tool`. */
const answerable = (name: string, tool: Tool): Tool =>
  tool.effect !== undefined || tool.run !== undefined
    ? tool
    : {
        ...tool,
        run: () => {
          throw new FatalError(
            `Tool ${name} has neither an effect nor run: answer it in ctx.tool(call, { ${name}: … }).`,
          );
        },
      };

class FunctionSteps {
  readonly #body: (ctx: unknown, input: Json) => Promise<unknown>;
  readonly #rules: ContextRules;
  /** By claim. */
  readonly #live = new WeakMap<object, Promise<LiveRun>>();

  constructor(body: (ctx: unknown, input: Json) => Promise<unknown>, rules: ContextRules) {
    this.#body = body;
    this.#rules = rules;
  }

  /** The function as far as it has come; called anew where this worker has just claimed the workflow. */
  async #liveOf(context: StepContext): Promise<LiveRun> {
    const known = this.#live.get(context.claim);
    if (known !== undefined) {
      const live = await known.catch(() => undefined);
      if (live !== undefined && !live.isVoid) return live;
      if (this.#live.get(context.claim) !== known) return this.#liveOf(context);
    }
    const begun = this.#begin(context);
    this.#live.set(context.claim, begun);
    return begun;
  }

  async #begin(context: StepContext): Promise<LiveRun> {
    const { chapter } = context.belief as unknown as Belief;
    const journal = await journalOf(context, chapter);
    const live = new LiveRun(chapter.beganAtMs);
    const progress = (of: Progress): void => context.progress(of);
    const ctx = functionContext(live, context, this.#rules, chapter, progress);
    await live.begin(() => this.#body(ctx, context.input), journal);
    return live;
  }

  /** Begins what the function asks for, or ends the workflow with what it returned. */
  async run(context: StepContext): Promise<StepResult> {
    const live = await this.#liveOf(context);
    await live.moved(context.signal, context.cancelled === undefined ? Number.POSITIVE_INFINITY : CANCELLED_WAIT_MS);
    if (live.next !== undefined) return chapterOf(context, live, live.next.state);
    const [only, ...others] = live.fresh;
    if (only === undefined || live.end !== undefined) return ending(context, live);
    const { perform, step } = only;
    if (others.length === 0 && perform !== undefined && step === undefined && live.pendingCount === 1) {
      return this.#decided(context, only);
    }
    const { made, settled } = await live.begun(context.signal, () => {
      const { begins } = live;
      const lastAction = `began ${begins.map(({ name }) => name).join(', ')}`.slice(0, ACTION_MAX_CHARS);
      return { ...recorded(context, live, Date.now()), next: begins.map(taskOf), lastAction };
    });
    return noted(context, live, { ...made, settled });
  }

  async call(context: StepContext, id: CallId): Promise<StepResult> {
    const live = await this.#liveOf(context);
    return this.#decided(context, await live.awaited(id));
  }

  async #decided(context: StepContext, asked: Call): Promise<StepResult> {
    const result = await this.#resultOf(context, asked);
    const live = await this.#liveOf(context);
    const atMs = Date.now();
    const { made, settled } = await live.decide(asked, result, atMs, context.signal, (call) =>
      checkpointOf(context, live, call, result, atMs),
    );
    return noted(context, live, { ...made, settled });
  }

  async #resultOf(context: StepContext, call: Call): Promise<Result> {
    // What it had called before counts; what it waits for comes no more.
    if (context.cancelled !== undefined && !context.hasCalled && !(call.knowsCancel && call.waits === undefined)) {
      return { error: cancelledBy(context.cancelled) };
    }
    if (call.waits !== undefined) {
      const { cause } = typedContext(context, this.#rules);
      const came = causeOf({ cause: cause as never, waits: call.waits }, context.cause?.name ?? '') as {
        index: number;
        value: Json;
        failed?: string;
      };
      return came.failed === undefined
        ? { value: { index: came.index, value: came.value } }
        : { error: { code: 'child-failed', message: came.failed } };
    }
    try {
      return { value: toJson((await call.perform!(context)) ?? null, `result of ctx.${call.name}`) };
    } catch (error) {
      if (isOfTheEngine(error) || isInDoubt(error)) throw error;
      const { aborted, reason } = context.signal;
      if (aborted && reason instanceof WorkflowCancelledError) return { error: failureOf(reason) };
      if (aborted || context.mayRetry(error)) throw error;
      return { error: failureOf(error) };
    }
  }
}

/** Nobody knows whether the call was made: that is no answer, so the recovery table decides, or a person. */
const isInDoubt = (error: unknown): boolean => error instanceof EffectError && !error.isSettled;

const isOfTheEngine = (error: unknown): boolean =>
  error instanceof FencedError ||
  error instanceof ParkError ||
  (error instanceof TidemarkError && error.code === 'suspended');

const idOf = ({ name, place, asks }: CallId): CallId => ({ name, place, asks });

const taskOf = ({ waits, step = 'call', ...call }: Call): TaskRequest => ({
  step,
  input: idOf(call),
  ...(waits !== undefined && { when: { anyOf: waits } }),
});

const STEPS = ['run', 'call', 'rollback'];
const RUN: TaskRequest = { step: 'run', input: {} };

function noted(context: StepContext, { notes }: LiveRun, result: StepResult): StepResult {
  for (const { action, detail } of notes) context.log(action, detail);
  return result;
}

/** What the checkpoint says; `decided`: of the call whose outcome it has. */
function recorded(
  { belief: before }: StepContext,
  live: LiveRun,
  atMs: number,
  decided?: { readonly call: Call; readonly result: Result },
): Pick<StepResult, 'output' | 'belief' | 'drops'> {
  const { chapter } = before as unknown as Belief;
  const { belief, drops } = live;
  const output: Recorded = {
    chapter: chapter.number,
    order: live.decidedCount,
    call: decided === undefined ? null : idOf(decided.call),
    result: (decided?.result ?? null) as Recorded['result'],
    atMs,
    begins: live.begins.map(idOf),
    ...(Object.keys(live.versions).length > 0 && { versions: live.versions }),
  };
  return {
    output,
    ...(belief !== undefined && { belief: (now: Json) => ({ ...(now as unknown as Belief), holds: belief }) }),
    ...(drops !== undefined && { drops }),
  };
}

function checkpointOf(context: StepContext, live: LiveRun, call: Call, result: Result, atMs: number): StepResult {
  const { end, begins, next } = live;
  const committed = { ...recorded(context, live, atMs, { call, result }), lastAction: call.name };
  if (next !== undefined) return { ...committed, ...chapterOf(context, live, next.state) };
  if (end !== undefined && 'output' in end) {
    const { underWay } = live;
    if (underWay.length === 0) return { ...committed, done: end.output };
    // Whoever lost a race is recorded too, before the end.
    if (underWay.every(({ hasLost }) => hasLost)) return { ...committed, next: begins.map(taskOf) };
  }
  // What is left of a cancelled run is decided one by one, and nothing follows.
  if (end !== undefined && 'error' in end && context.cancelled !== undefined) return committed;
  // It waits for something that nobody records, or it has failed: then nothing else says so.
  const isAlone = live.pendingCount === 0 || end !== undefined;
  return { ...committed, next: [...begins.map(taskOf), ...(isAlone ? [RUN] : [])] };
}

/** A chapter begins with its state, and no call goes from one to the next. */
function chapterOf({ sequence, belief }: StepContext, live: LiveRun, state: Json): StepResult {
  if (live.pendingCount > 0)
    throw new FatalError('ctx.chapter was called while other calls were under way: await them first.');
  const before = belief as unknown as Belief;
  const chapter = newChapter(before.chapter.number + 1, sequence, state);
  live.isVoid = true;
  return { belief: () => ({ holds: live.belief ?? before.holds, chapter }), next: [RUN] };
}

function ending(context: StepContext, live: LiveRun): StepResult {
  const { end, underWay } = live;
  if (end === undefined) return context.cancelled === undefined ? { next: [RUN] } : {};
  // Another attempt calls the function anew.
  if ('error' in end) live.isVoid = true;
  if ('output' in end && underWay.length > 0) {
    const names = underWay.map(({ name }) => name).join(', ');
    throw new FatalError(
      `The function returned while calls that it had begun were under way: ${names}. Await each of them; use ctx.race where only the first counts.`,
    );
  }
  if ('output' in end) return noted(context, live, { ...recorded(context, live, Date.now()), done: end.output });
  const { error } = end;
  if (context.cancelled !== undefined && error instanceof CancelledError) return {};
  if (error instanceof CallFailedError) throw new FatalError(error.message, { cause: error });
  throw error instanceof Error ? error : new FatalError(`The function threw ${messageOf(error)}`);
}

const cancelledBy = ({ code, by }: NonNullable<StepContext['cancelled']>): Failure => ({
  code: CANCELLED,
  message: `The run is cancelled (${code}) by ${by}.`,
});

/** What the function began of its own comes after the outcome before it. */
async function journalOf(context: StepContext, { number, since }: Chapter): Promise<readonly Recorded[]> {
  const after = since as Sequence;
  // A run that has just begun has nothing to read, and needn't wait for rows.
  if (context.sequence === after) return [];
  const found = (await Promise.all(STEPS.map((step) => context.outputs(step, after)))).flat() as unknown as Recorded[];
  return found
    .filter((record) => record !== null && record.chapter === number)
    .sort((a, b) => a.order - b.order || Number(a.call === null) - Number(b.call === null));
}
