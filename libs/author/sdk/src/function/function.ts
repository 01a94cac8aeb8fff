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
import { typedContext } from '../context.ts';
import type { ContextSpec } from '../context-spec.ts';
import type { Frozen, Given, Parsed, Schema, Schemas } from '../schema.ts';
import type { Tool } from '../tool.ts';
import { defineWorkflow } from '../workflow.ts';
import type { RunSpec, Workflow } from '../workflow-spec.ts';
import { CANCELLED, CallFailedError, CancelledError, failureOf } from './call-failed.ts';
import { type FunctionContext, type FunctionRules, functionContext } from './context.ts';
import { type Call, LiveRun, ROLLBACK } from './live-run.ts';
import {
  type CallId,
  type Chapter,
  type Failure,
  fromCheckpoint,
  type Recorded,
  type Result,
  sealResponse,
  toCheckpoint,
} from './outcome.ts';
import { causeOf } from './waits.ts';

/** Characters of a checkpoint's action. */
const ACTION_MAX_CHARS = 200;
/** Outcomes of one chapter at which the run's log warns. */
const LONG_COUNT = 1_000;
/** How long a cancelled function may await what nobody records, in milliseconds; calls in a row that are refused to it. */
const CANCELLED_WAIT_MS = 10_000;
const CANCELLED_MAX_COUNT = 100;
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
  const names = children.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined)
    throw new InvalidError('definition-invalid', `Function ${spec.name}: two of its children are named ${twice}.`);
  const tools = Object.fromEntries(
    Object.entries(own.tools ?? {}).map(([name, each]) => [name, answerable(name, each)]),
  );
  const workflow = defineWorkflow({
    ...(own as Omit<typeof own, 'bundles'>),
    tools,
    parallel,
    belief: z.json(),
    // The function makes them itself: nothing is left to check.
    tasks: { run: z.unknown() },
    flow: { run: [] },
    children: Object.fromEntries(children.map((child) => [child.name, child])),
    begin: () => ({ belief: null, next: [runTask({ chapter: 1, since: 0, state: null })] }),
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
    approvals: [...(workflow.approvals?.keys() ?? [])],
  });
  const compensate: StepDefinition['compensate'] = async ({ output }, context) => {
    const { operation, request } = output as unknown as { readonly operation?: string; readonly request: Json };
    // The run was cancelled before it was registered.
    if (operation === undefined) return;
    const effect = workflow.effects.find((each) => each.operation === operation);
    if (effect === undefined) throw new FatalError(`${operation} is not in effects of ${spec.name} any more.`);
    await effect.call(request, context);
  };
  const { parseOutput } = workflow.steps.get('run')!;
  const any: StepDefinition = {
    ...workflow.steps.get('run')!,
    ...{ name: ANY_STEP, mayAdd: new Set([ANY_STEP]) },
    // The secret fields of a response are sealed as in its effect's own record.
    parseOutput: (output, seal) => sealResponse(parseOutput(output), workflow.effects, seal),
    run: (context, input) => made.perform(context, input as unknown as TaskInput),
  };
  const steps = new Map([
    [ANY_STEP, any],
    // Without effects there is nothing to register, and a cancel needs no compensation.
    [ROLLBACK, { ...any, name: ROLLBACK, ...(spec.effects !== undefined && { compensate }) }],
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
  readonly #rules: FunctionRules;
  /** By claim. */
  readonly #live = new WeakMap<object, LiveRun | Promise<LiveRun>>();

  constructor(body: (ctx: unknown, input: Json) => Promise<unknown>, rules: FunctionRules) {
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
    const opened = { seed: context.chance(), beganAtMs: context.clockMs(), ...input };
    const live = new LiveRun(journal[0]?.opens ?? (opened as Chapter), context);
    const progress = (of: Progress): void => context.progress(of);
    const ctx = functionContext(live, context, this.#rules, progress);
    await live.begin(() => this.#body(ctx, context.input), journal);
    return live;
  }

  /** Makes one call; or begins what the function asks for, or ends the workflow with what it returned. */
  async perform(context: StepContext, input: TaskInput): Promise<StepResult> {
    const live = await this.#liveOf(context, input);
    const { place, member } = input;
    if (place !== undefined) {
      return this.#decided(context, input, await live.awaited({ name: context.step, place, member }));
    }
    await live.moved(context.signal, context.cancelled === undefined ? Number.POSITIVE_INFINITY : CANCELLED_WAIT_MS);
    if (live.next !== undefined) {
      return noted(context, live, chapterOf(context, live, live.next.state, recorded(live, input)));
    }
    const [only, ...others] = live.fresh;
    if (only === undefined || live.end !== undefined) return ending(context, live, input);
    // A closure alone is made in this task. What calls something outside has a task that a checkpoint names: a crash finds it there.
    const isAlone = others.length === 0 && live.pendingCount === 1 && live.fragments.length === 0;
    if (isAlone && only.isClosure === true) return this.#decided(context, input, only);
    const turn = await live.begun(context.signal, () => {
      const lastAction = `began ${live.begins.map(({ name }) => name).join(', ')}`.slice(0, ACTION_MAX_CHARS);
      return { ...recorded(live, input), next: tasksOf(live), lastAction };
    });
    if (turn === undefined) return this.perform(context, input);
    return noted(context, live, { ...turn.made, settled: turn.settled });
  }

  async #decided(context: StepContext, input: TaskInput, asked: Call): Promise<StepResult> {
    const outcome = { result: await this.#resultOf(context, input, asked), atMs: context.clockMs() };
    for (;;) {
      const live = await this.#liveOf(context, input);
      // Something that nobody records has won a race against it, so no checkpoint has dropped it.
      if (input.place === undefined && live.isLost(asked)) return this.perform(context, input);
      const turn = await live.decide(asked, outcome, context.signal, (call) =>
        checkpointOf(context, live, input, { call, ...outcome }),
      );
      if (turn !== undefined) return noted(context, live, { ...turn.made, settled: turn.settled });
    }
  }

  async #resultOf(context: StepContext, input: TaskInput, call: Call): Promise<Result> {
    // What it had called before counts; what it waits for comes no more.
    if (context.cancelled !== undefined && !context.hasCalled && !(call.knowsCancel && call.waits === undefined)) {
      const { cancelledCount } = await this.#liveOf(context, input);
      if (cancelledCount >= CANCELLED_MAX_COUNT) throw new FatalError('It waits on and on, although it is cancelled.');
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
      const result = toJson((await call.perform!(context)) ?? null, `result of call ${call.name}`);
      // The function may change what it is given before the record is written.
      const value = structuredClone(context.stored(result));
      return { value, secretOf: call.secretOf };
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

const idOf = ({ name, place, member, asks }: CallId): CallId => ({
  ...{ name, place, asks },
  ...(member !== undefined && { member }),
});

/** Of a call: its name is the task's. `since`: see `Chapter`. */
type TaskInput = Pick<Chapter, 'chapter' | 'since'> & {
  /** Set in the first task of a chapter. */
  readonly state?: Json;
  /** Absent: the task calls the function, or carries on with it. */
  readonly place?: number;
  readonly member?: string;
};

/** What the next checkpoint begins. */
const tasksOf = ({ begins, chapter: { chapter, since } }: LiveRun): TaskRequest[] =>
  begins.map(({ name, place, member, waits }) => ({
    step: name,
    input: { chapter, since, place, ...(member !== undefined && { member }) },
    ...(waits !== undefined && { when: { anyOf: waits } }),
  }));

const runTask = (input: TaskInput): TaskRequest => ({ step: 'run', input });

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
function recorded(live: LiveRun, { state }: TaskInput, decided?: Decided): StepResult {
  const { chapter, belief, drops, fragments } = live;
  return {
    ...toCheckpoint({
      chapter: chapter.chapter,
      call: decided === undefined ? null : idOf(decided.call),
      result: decided?.result ?? null,
      atMs: decided?.atMs ?? live.nowMs,
      begins: live.begins.map(idOf),
      ...(live.versions.size > 0 && { versions: Object.fromEntries(live.versions) }),
      ...(state !== undefined && { opens: chapter }),
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
  if (next !== undefined) return chapterOf(context, live, next.state, committed);
  if (end !== undefined && 'output' in end) {
    const { underWay } = live;
    if (underWay.length === 0) return { ...committed, done: end.output };
    // Whoever lost a race is recorded too, before the end.
    if (underWay.every(({ hasLost }) => hasLost)) return { ...committed, next: tasksOf(live) };
  }
  // What is left of a cancelled run is decided one by one, and nothing follows.
  if (isCancelled(context, end)) return committed;
  // It waits for something that nobody records, or it has failed: then nothing else says so.
  const isAlone = live.pendingCount === 0 || end !== undefined;
  const { chapter, since } = live.chapter;
  return { ...committed, next: [...tasksOf(live), ...(isAlone ? [runTask({ chapter, since })] : [])] };
}

/**
 * A chapter begins with its state, and no call goes from one to the next: what lost a race is recorded before. Belief is that state where the
 * function sets none.
 */
function chapterOf(
  { sequence, cancelled }: StepContext,
  live: LiveRun,
  state: Json,
  committed: StepResult,
): StepResult {
  if (cancelled !== undefined) return committed;
  if (live.awaitsLosers) return { ...committed, next: tasksOf(live) };
  if (live.pendingCount > 0)
    throw new FatalError('ctx.chapter was called while other calls were under way: await them first.');
  live.isVoid = true;
  const { belief, chapter: before } = live;
  const isOwn = (held: Json): boolean => canonicalJson(held) !== canonicalJson(before.state);
  return {
    ...committed,
    belief: (held) => belief ?? (isOwn(held) ? held : state),
    next: [runTask({ chapter: before.chapter + 1, since: sequence, state })],
  };
}

function ending(context: StepContext, live: LiveRun, input: TaskInput): StepResult {
  const { end, underWay } = live;
  // It is cancelled, and awaits what nobody records.
  if (end === undefined) return {};
  // Another attempt calls the function anew.
  if ('error' in end) live.isVoid = true;
  if ('output' in end && underWay.length > 0) {
    const names = underWay.map(({ name }) => name).join(', ');
    live.isVoid = true;
    throw new ParkError(
      'function-ended-early',
      `The function returned while calls that it had begun were under way: ${names}. Await each of them (use ctx.race where only the first counts), and answer with retry.`,
      null,
      null,
    );
  }
  if ('output' in end) {
    return noted(context, live, { ...recorded(live, input), done: end.output, lastAction: 'returned' });
  }
  const { error } = end;
  if (isCancelled(context, end)) return {};
  if (error instanceof CallFailedError) throw new FatalError(error.named, { cause: error });
  throw error instanceof Error ? error : new FatalError(`The function threw ${messageOf(error)}`);
}

/** Whether the function has ended as a cancelled one does. */
const isCancelled = ({ cancelled }: StepContext, end: LiveRun['end']): boolean =>
  cancelled !== undefined && end !== undefined && 'error' in end && end.error instanceof CancelledError;

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
