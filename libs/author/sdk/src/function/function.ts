/**
 * Owns `defineFunction`: an ordinary async function as a workflow. It is a definition of one step that does tasks of every name, which any
 * worker, page and command treats as it does others: a task `run` calls the function, and each of its calls is a task of the call's name.
 * Decision 0081.
 */

import { toJson } from '@tidemark/codec';
import {
  canonicalJson,
  FencedError,
  InvalidError,
  type Json,
  messageOf,
  type Sequence,
  TidemarkError,
} from '@tidemark/core';
import {
  ANY_STEP,
  EffectError,
  FatalError,
  ParkError,
  type Progress,
  type StepContext,
  type StepDefinition,
  type StepResult,
  type TaskRequest,
  WorkflowCancelledError,
} from '@tidemark/runtime';
import { z } from 'zod';
import { type ContextRules, typedContext } from '../context.ts';
import type { ContextSpec } from '../context-spec.ts';
import type { Frozen, Given, Parsed, Schema, Schemas } from '../schema.ts';
import type { Tool } from '../tool.ts';
import { defineWorkflow } from '../workflow.ts';
import type { RunSpec, Workflow } from '../workflow-spec.ts';
import { CANCELLED, CallFailedError, CancelledError, failureOf } from './call-failed.ts';
import { type FunctionContext, functionContext } from './context.ts';
import { type Call, LiveRun, ROLLBACK } from './live-run.ts';
import {
  type CallId,
  type Chapter,
  type Failure,
  fromCheckpoint,
  newChapter,
  type Recorded,
  type Result,
  toCheckpoint,
} from './outcome.ts';
import { causeOf } from './waits.ts';

/** Characters of a checkpoint's action. */
const ACTION_MAX_CHARS = 200;
/** Outcomes of one chapter at which the run's log warns. */
const LONG_COUNT = 1_000;
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
> extends RunSpec<Input, Output>,
    Omit<ContextSpec, 'phases'> {
  readonly signals?: Signals | undefined;
  /** Questions to people, by name, with the form of their answer. */
  readonly approvals?: Approvals | undefined;
  /** Workflows and functions that it starts. */
  readonly children?: readonly Workflow[] | undefined;
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
  const tools = Object.fromEntries(
    Object.entries(own.tools ?? {}).map(([name, each]) => [name, answerable(name, each)]),
  );
  const workflow = defineWorkflow({
    ...(own as Omit<typeof own, 'bundles'>),
    tools,
    parallel,
    belief: z.json(),
    tasks: { run: z.json() },
    flow: { run: [] },
    children: Object.fromEntries(children.map((child) => [child.name, child])),
    begin: () => ({ belief: null, next: [runTask(newChapter(1, 0, null))] }),
    steps: { run: () => ({}) },
  } as never) as unknown as Workflow;
  const body = run as (ctx: unknown, input: Json) => Promise<unknown>;
  const made = new FunctionSteps(body, {
    definition: `${spec.name} v${spec.version}`,
    steps: new Set(['run']),
    operations: spec.effects && new Set(workflow.effects.map(({ operation }) => operation)),
    models: spec.models ?? {},
    tools,
    parseSignal: new Map(Array.from(workflow.signals ?? [], ([name, { parse }]) => [name, parse])),
  });
  const compensate: StepDefinition['compensate'] = async ({ output }, context) => {
    const { operation, request } = output as unknown as { operation: string; request: Json };
    const effect = workflow.effects.find((each) => each.operation === operation);
    if (effect === undefined) throw new FatalError(`${operation} is not in effects of ${spec.name} any more.`);
    await effect.call(request, context);
  };
  const any: StepDefinition = {
    ...workflow.steps.get('run')!,
    ...{ name: ANY_STEP, mayAdd: new Set([ANY_STEP]) },
    run: (context, input) => made.perform(context, input as unknown as TaskInput),
  };
  const steps = new Map([
    [ANY_STEP, any],
    [ROLLBACK, { ...any, name: ROLLBACK, compensate }],
  ]);
  return { ...workflow, flow: {}, steps, unwinds: true } as unknown as DefinedFunction<Input, Output>;
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
  readonly #live = new WeakMap<object, LiveRun | Promise<LiveRun>>();

  constructor(body: (ctx: unknown, input: Json) => Promise<unknown>, rules: ContextRules) {
    this.#body = body;
    this.#rules = rules;
  }

  /** The function as far as it has come; called anew where this worker has just claimed the workflow. */
  async #liveOf(context: StepContext, input: TaskInput): Promise<LiveRun> {
    const known = this.#live.get(context.claim);
    if (known instanceof LiveRun) {
      if (!known.isVoid) return known;
    } else if (known !== undefined) {
      await known.catch(() => undefined);
      if (this.#live.get(context.claim) !== known) return this.#liveOf(context, input);
    }
    const begun = this.#begin(context, input);
    this.#live.set(context.claim, begun);
    const live = await begun;
    this.#live.set(context.claim, live);
    return live;
  }

  async #begin(context: StepContext, input: TaskInput): Promise<LiveRun> {
    const journal = await journalOf(context, input);
    // The first task of a chapter runs alone, and its first checkpoint has what the task has.
    const live = new LiveRun(journal[0]?.opens ?? (input as Chapter));
    const progress = (of: Progress): void => context.progress(of);
    const ctx = functionContext(live, context, this.#rules, progress);
    await live.begin(() => this.#body(ctx, context.input), journal);
    return live;
  }

  /** Makes one call; or begins what the function asks for, or ends the workflow with what it returned. */
  async perform(context: StepContext, input: TaskInput): Promise<StepResult> {
    const live = await this.#liveOf(context, input);
    const { place } = input;
    if (place !== undefined) return this.#decided(context, input, callOf(live, { name: context.step, place }));
    await live.moved(context.signal, context.cancelled === undefined ? Number.POSITIVE_INFINITY : CANCELLED_WAIT_MS);
    if (live.next !== undefined) return { ...recorded(live, input), ...chapterOf(context, live, live.next.state) };
    const [only, ...others] = live.fresh;
    if (only === undefined || live.end !== undefined) return ending(context, live, input);
    const { perform, isRollback } = only;
    const isAlone = others.length === 0 && live.pendingCount === 1 && live.fragments.length === 0;
    if (isAlone && perform !== undefined && isRollback !== true) return this.#decided(context, input, only);
    const { made, settled } = await live.begun(context.signal, () => {
      const lastAction = `began ${live.begins.map(({ name }) => name).join(', ')}`.slice(0, ACTION_MAX_CHARS);
      return { ...recorded(live, input), next: tasksOf(live), lastAction };
    });
    return noted(context, live, { ...made, settled });
  }

  async #decided(context: StepContext, input: TaskInput, asked: Call): Promise<StepResult> {
    const result = await this.#resultOf(context, asked);
    const live = await this.#liveOf(context, input);
    const call = callOf(live, asked);
    const atMs = Date.now();
    const { made, settled } = await live.decide(call, result, atMs, context.signal, () =>
      checkpointOf(context, live, input, { call, result, atMs }),
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
        ? { value: call.waits.length === 1 ? came.value : { index: came.index, value: came.value } }
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

/** Of a call: its name is the task's. `since`: see `Chapter`. */
type TaskInput = Pick<Chapter, 'chapter' | 'since'> & {
  /** Set, with the rest of the chapter, in the first task of one. */
  readonly seed?: string;
  /** Absent: the task calls the function, or carries on with it. */
  readonly place?: number;
};

/** What the next checkpoint begins. */
const tasksOf = ({ begins, chapter: { chapter, since } }: LiveRun): TaskRequest[] =>
  begins.map(({ name, place, waits }) => ({
    step: name,
    input: { chapter, since, place },
    ...(waits !== undefined && { when: { anyOf: waits } }),
  }));

const runTask = (input: TaskInput): TaskRequest => ({ step: 'run', input });

function callOf(live: LiveRun, id: Pick<CallId, 'name' | 'place'>): Call {
  const call = live.find(id);
  if (call !== undefined) return call;
  throw new InvalidError('call-unknown', `The function doesn't wait for ${id.name} any more.`, { call: id.name });
}

function noted(context: StepContext, { notes, decidedCount }: LiveRun, result: StepResult): StepResult {
  for (const { action, detail } of notes) context.log(action, detail);
  if (decidedCount === LONG_COUNT) context.log('warning', chapterLong(context));
  return result;
}

const chapterLong = ({ workflow }: StepContext) => ({
  code: 'chapter-long',
  result: `Run ${workflow} has ${LONG_COUNT} recorded outcomes in this chapter, and each is given again when the run changes hands or has waited. Begin a new chapter: await ctx.chapter(state).`,
});

interface Decided extends Pick<Recorded, 'atMs'> {
  readonly call: Call;
  readonly result: Result;
}

/** What the checkpoint says; `decided`: of the call whose outcome it has. */
function recorded(live: LiveRun, { seed }: TaskInput, decided?: Decided): StepResult {
  const { chapter, belief, drops, fragments } = live;
  return {
    ...toCheckpoint({
      chapter: chapter.chapter,
      call: decided === undefined ? null : idOf(decided.call),
      result: decided?.result ?? null,
      atMs: decided?.atMs ?? Date.now(),
      begins: live.begins.map(idOf),
      ...(Object.keys(live.versions).length > 0 && { versions: live.versions }),
      ...(seed !== undefined && { opens: chapter }),
    }),
    ...(belief !== undefined && { belief: () => belief }),
    ...(drops !== undefined && { drops }),
    ...(fragments.length > 0 && { fragments: [...fragments] }),
  };
}

function checkpointOf(context: StepContext, live: LiveRun, input: TaskInput, decided: Decided): StepResult {
  const { end, next } = live;
  const { call, result } = decided;
  const lastAction = 'error' in result ? `${call.name} failed (${result.error.code})` : call.name;
  const committed = { ...recorded(live, input, decided), lastAction };
  if (next !== undefined) return { ...committed, ...chapterOf(context, live, next.state) };
  if (end !== undefined && 'output' in end) {
    const { underWay } = live;
    if (underWay.length === 0) return { ...committed, done: end.output };
    // Whoever lost a race is recorded too, before the end.
    if (underWay.every(({ hasLost }) => hasLost)) return { ...committed, next: tasksOf(live) };
  }
  // What is left of a cancelled run is decided one by one, and nothing follows.
  if (end !== undefined && 'error' in end && context.cancelled !== undefined) return committed;
  // It waits for something that nobody records, or it has failed: then nothing else says so.
  const isAlone = live.pendingCount === 0 || end !== undefined;
  const { chapter, since } = live.chapter;
  return { ...committed, next: [...tasksOf(live), ...(isAlone ? [runTask({ chapter, since })] : [])] };
}

/** A chapter begins with its state, and no call goes from one to the next. Belief is that state where the function sets none. */
function chapterOf({ sequence }: StepContext, live: LiveRun, state: Json): StepResult {
  if (live.pendingCount > 0)
    throw new FatalError('ctx.chapter was called while other calls were under way: await them first.');
  live.isVoid = true;
  const { belief, chapter: before } = live;
  const isOwn = (held: Json): boolean => canonicalJson(held) !== canonicalJson(before.state);
  return {
    belief: (held) => belief ?? (isOwn(held) ? held : state),
    next: [runTask(newChapter(before.chapter + 1, sequence, state))],
  };
}

function ending(context: StepContext, live: LiveRun, input: TaskInput): StepResult {
  const { end, underWay } = live;
  if (end === undefined) return context.cancelled === undefined ? { next: [runTask(input)] } : {};
  // Another attempt calls the function anew.
  if ('error' in end) live.isVoid = true;
  if ('output' in end && underWay.length > 0) {
    const names = underWay.map(({ name }) => name).join(', ');
    throw new FatalError(
      `The function returned while calls that it had begun were under way: ${names}. Await each of them; use ctx.race where only the first counts.`,
    );
  }
  if ('output' in end) {
    return noted(context, live, { ...recorded(live, input), done: end.output, lastAction: 'returned' });
  }
  const { error } = end;
  if (context.cancelled !== undefined && error instanceof CancelledError) return {};
  if (error instanceof CallFailedError) throw new FatalError(error.named, { cause: error });
  throw error instanceof Error ? error : new FatalError(`The function threw ${messageOf(error)}`);
}

const cancelledBy = ({ code, by }: NonNullable<StepContext['cancelled']>): Failure => ({
  code: CANCELLED,
  message: `The run is cancelled (${code}) by ${by}.`,
});

/** What the chapter has recorded. */
async function journalOf(context: StepContext, { chapter, since }: TaskInput): Promise<readonly Recorded[]> {
  const after = since as Sequence;
  // A run that has just begun has nothing to read, and needn't wait for rows.
  if (context.sequence === after) return [];
  return (await context.journal(after)).map(fromCheckpoint).filter((record) => record.chapter === chapter);
}
