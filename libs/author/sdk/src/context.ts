/** Owns what a step sees, typed by its definition, in front of the runtime's untyped context. Must not journal, retry or decide: the runtime does. */

import { InvalidError, type Json, type TaskId, type WorkflowId } from '@tidemark/core';
import type {
  GivenApproval,
  MemoryEntry,
  MemoryQuery,
  Model,
  ModelAnswer,
  ModelRequest,
  ModelToolCall,
  Parse,
  PhaseMemory,
  Progress,
  RecalledMemories,
  RecallOptions,
  RunOptions,
  StepContext,
} from '@tidemark/runtime';
import { ParkError } from '@tidemark/runtime';
import type { Effect } from './effect.ts';
import { freeze } from './freeze.ts';
import { callModel, type ModelCallOptions, type ModelReply } from './model-call.ts';
import type { Frozen, Given, MemberOf, Parsed, ParsedOr, Schema, Schemas } from './schema.ts';
import { callTool, type ToolOutcome, type Tools } from './tool.ts';
import type { ApprovalName, ChildName } from './wait.ts';

/** What a journaled closure returns: undefined is stored as null. */
// biome-ignore lint/suspicious/noConfusingVoidType: a closure without a return statement has it
export type Recorded<T> = undefined extends T ? Exclude<T, undefined | void> | null : T;

/** What any step of any definition can do; for functions that steps share. */
export interface StepActions {
  readonly workflow: WorkflowId;
  readonly task: TaskId;
  readonly step: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Whether the step runs again when it throws this error: a fault that passes is waited out, any other has attempts left. */
  mayRetry(error: unknown): boolean;
  /** W3C `traceparent` of this attempt: pass it to the services that the step calls, and their spans are below the step. */
  readonly traceparent: string;
  /** Aborts when the lease is lost or the worker must end. Stop then: nothing of this attempt will count. */
  readonly signal: AbortSignal;
  /**
   * Runs a closure that changes nothing outside and records its result, which must be JSON (undefined becomes null): a later attempt at
   * this step gets the recorded value. Closures of one name in a step are told apart by the order that the code gives, or by
   * `options.name`. Without one, the second of two that overlap is refused (`calls-unordered`) before it runs, unless both began in
   * the same turn of the event loop, or each followed a different call.
   */
  run<T>(name: string, body: (signal: AbortSignal) => T | Promise<T>, options?: RunOptions): Promise<Recorded<T>>;
  /**
   * The time in milliseconds since 1970, a number from 0 to below 1, and a random UUID: each is recorded as the result of `run` is, so a later
   * attempt gets the same, and what a request is made of doesn't change. They go to the log with what follows, and are told apart as
   * closures are.
   */
  now(options?: RunOptions): Promise<number>;
  random(options?: RunOptions): Promise<number>;
  uuid(options?: RunOptions): Promise<string>;
  /**
   * Calls an effect at most once for its key, which derives from the workflow, the task, the operation and the effect's order in the step,
   * or `options.name`. A recorded outcome is not repeated, whichever worker continues the step. Calls that overlap may arrive in any order:
   * each is matched to what is recorded by its request. If a later attempt asks something else, a person is asked, unless the effect
   * declares `onChanged`.
   */
  effect<Request extends Schema, Response extends Schema>(
    effect: Effect<Request, Response>,
    request: NoInfer<Given<Request>>,
    options?: RunOptions,
  ): Promise<Parsed<Response>>;
  /** The session that the workflow is a part of, and its user. */
  readonly session: string | undefined;
  readonly user: string | undefined;
  /** Working memory of the phase that the step runs in, as it was when the step began; a step changes it by what it returns. */
  readonly memory: PhaseMemory;
  /**
   * Calls a model with what the agent knows (a bundle of the definition's), a prompt, or both. The request is recorded before the call and
   * the answer after it, so that it is paid once, and can be rebuilt byte for byte. A later attempt that asks something else gets what was
   * recorded, with a warning. Throws `InvalidError` (`model-unknown`, `bundle-unknown`, `tool-unknown`, `memory-out-of-scope`,
   * `answer-unfit`, `prompt-invalid`), `LimitError` (`bundle-directives-too-large`, `bundle-newest-too-large`, `prompt-too-long`).
   */
  model<Answer extends Schema | undefined = undefined>(options: ModelCallOptions<Answer>): Promise<ModelReply<Answer>>;
  /** Makes a call that a model requested; one that names no tool, or doesn't fit its input, returns an error for the model. */
  tool(call: ModelToolCall): Promise<ToolOutcome>;
  /** The runtime's model call: for `tidemark(ctx)` of @tidemark/ai. */
  modelCall(request: ModelRequest): Promise<ModelAnswer>;
  /** Reads long-term memory by key; a step changes it by the `memories` that it returns. */
  memories(query: MemoryQuery): Promise<readonly MemoryEntry[]>;
  /**
   * Finds entries of long-term memory that fit the question, by words, and by meaning where there is an embedder: of the workflow's user,
   * the definition's `domains` and the tenant, or of `about`. A later attempt at this step gets the same answer. Throws `InvalidError`
   * (`recall-invalid`).
   */
  recall(question: string, options?: RecallOptions): Promise<RecalledMemories>;
  /** Adds a line to the execution log, stored with the step's checkpoint. */
  log(action: string, detail?: unknown): void;
  /** Reports to watchers; not stored. */
  progress(progress: Progress): void;
}

/** What a step of a definition sees. All of it is readonly: a step changes only what it returns. */
export interface Context<Input, Belief, Outputs, Names extends string, Signals extends Schemas = Record<never, never>>
  extends StepActions {
  /** The workflow's own input. */
  readonly input: Frozen<Input>;
  /** Belief as it was when the step began. */
  readonly belief: Frozen<Belief>;
  /** What ended the task's wait; null: it waited for nothing. */
  readonly cause: CauseOf<Signals> | null;
  /** Outputs of all committed tasks of a step of this workflow, in order of the tasks' creation. */
  outputs<Name extends Names>(step: Name): Promise<readonly ParsedOr<MemberOf<Outputs, Name>>[]>;
}

/** A signal with its value, a person's answer, or a timer. */
export type CauseOf<Signals extends Schemas> =
  | { readonly kind: 'timer' }
  | {
      [Name in keyof Signals & string]: Name extends ApprovalName<infer Approval>
        ? ApprovalCause<Approval, Frozen<Parsed<Signals[Name]>>>
        : Name extends ChildName<infer Child>
          ? ChildCause<Child, Frozen<Parsed<Signals[Name]>>>
          : {
              readonly kind: 'signal';
              readonly name: Name;
              readonly value: Frozen<Parsed<Signals[Name]>>;
            };
    }[keyof Signals & string];

/** How a child ended. */
export type ChildCause<Name extends string, Output> = {
  readonly kind: 'child';
  readonly name: Name;
  /** Its id. */
  readonly workflow: string;
} & (
  | { readonly outcome: 'completed'; readonly output: Output }
  | { readonly outcome: 'failed' | 'compensated'; readonly reason: string | null; readonly message: string | null }
);

/** A person's answer. */
export type ApprovalCause<Name extends string, Value> = {
  readonly kind: 'approval';
  readonly name: Name;
  /** Who answered. */
  readonly by: string;
  readonly why: string | null;
} & ({ readonly approved: true; readonly value: Value } | { readonly approved: false; readonly value: null });

/** A context of some definition, once its types are checked. */
export type AnyContext = Context<unknown, unknown, unknown, string, Schemas>;

/** The definition's own restrictions: names of all steps, and operations where they are declared. */
export interface ContextRules {
  /** `refund v2`. */
  readonly definition: string;
  readonly steps: ReadonlySet<string>;
  /** Undefined: the definition doesn't list its effects. */
  readonly operations: ReadonlySet<string> | undefined;
  readonly models: Readonly<Record<string, Model>>;
  readonly tools: Tools;
  /** Schemas of the values of signals, by name. */
  readonly parseSignal: ReadonlyMap<string, Parse>;
}

export function typedContext(context: StepContext, rules: ContextRules): AnyContext {
  return {
    workflow: context.workflow,
    task: context.task,
    step: context.step,
    attempt: context.attempt,
    mayRetry: (error) => context.mayRetry(error),
    get traceparent() {
      return context.traceparent;
    },
    get signal() {
      return context.signal;
    },
    input: freeze(context.input),
    belief: freeze(context.belief),
    cause: causeOf(context, rules),
    run: async <T>(name: string, body: (signal: AbortSignal) => T | Promise<T>, options?: RunOptions) =>
      (await context.run(name, async (signal) => (await body(signal)) ?? null, options)) as Recorded<T>,
    now: (options) => context.now(options),
    random: (options) => context.random(options),
    uuid: (options) => context.uuid(options),
    effect: async (effect, request, options) => {
      if (!isCallable(effect, rules)) refuseEffect(effect, context, rules);
      return (await context.effect(effect, request, options)) as never;
    },
    session: context.session,
    user: context.user,
    memory: context.memory,
    model: (options) =>
      callModel(context, options, {
        where: `${rules.definition}, step ${context.step}`,
        models: rules.models,
        tools: rules.tools,
      }),
    tool: (call) => callTool(rules.tools, context, call),
    modelCall: (request) => context.modelCall(request),
    memories: (query) => context.memories(query),
    recall: (question, options) => context.recall(question, options),
    log: (action, detail) => context.log(action, detail),
    progress: (progress) => context.progress(progress),
    outputs: async (step) => {
      if (!rules.steps.has(step)) refuseOutputs(step, context, rules);
      return (await context.outputs(step)) as never;
    },
  };
}

/** The step can't correct a value that doesn't fit, and the workflow should not end because of it: it waits for a person. */
function causeOf({ cause, step }: StepContext, { definition, parseSignal }: ContextRules): CauseOf<Schemas> | null {
  if (cause === null) return null;
  if (cause.kind === 'timer') return { kind: 'timer' };
  const { name, value, event } = cause;
  const code = `${cause.kind}-unfit`;
  try {
    if (cause.kind === 'child') return childCause(value as unknown as EndedChild, parseSignal);
    if (cause.kind === 'approval') return approvalCause(name, value as unknown as GivenApproval, parseSignal);
    return { kind: 'signal', name, value: freeze((parseSignal.get(name)?.(value) ?? value) as Json) as never };
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    throw new ParkError(code, `${definition}, step ${step}: ${error.message}`, null, {
      [cause.kind]: name,
      event,
    });
  }
}

interface EndedChild {
  readonly name: string;
  readonly workflow: string;
  readonly outcome: 'completed' | 'failed' | 'compensated';
  readonly output: Json;
  readonly reason: string | null;
  readonly message: string | null;
}

function childCause(
  { name, workflow, outcome, output, reason, message }: EndedChild,
  parsers: ContextRules['parseSignal'],
): CauseOf<Schemas> {
  const about = { kind: 'child', name, workflow, outcome };
  if (outcome !== 'completed') return { ...about, reason, message } as never;
  const parse = parsers.get(`child ${name}`);
  return { ...about, output: freeze(parse === undefined ? output : parse(output)) } as never;
}

function approvalCause(name: string, given: GivenApproval, parsers: ContextRules['parseSignal']): CauseOf<Schemas> {
  const parse = parsers.get(`approval ${name}`);
  const value = given.approved && parse !== undefined ? parse(given.value) : given.value;
  return { kind: 'approval', name, ...given, value: freeze(value) } as never;
}

/** If the definition lists its effects, only those may be called. If not, any effect may be called that recovery needn't look up. */
function isCallable(effect: Effect, { operations }: ContextRules): boolean {
  if (operations !== undefined) return operations.has(effect.operation);
  return !mustBeListed(effect);
}

/**
 * Such an effect must be listed: recovery, compensation and the granting of keys for secret fields look it up in the definition's
 * `effects`.
 */
const mustBeListed = ({ compensate, compensateUnknown, hasSecrets }: Effect): boolean =>
  compensate !== undefined || compensateUnknown !== undefined || hasSecrets === true;

function refuseEffect(effect: Effect, { step }: StepContext, { definition, operations }: ContextRules): never {
  const remedy =
    operations === undefined
      ? `It declares ${effect.hasSecrets ? 'a secret field' : 'compensate'}, which is looked up in that list only: add effects: [${effect.operation}, …].`
      : 'Add it there, or leave that list out.';
  throw new InvalidError(
    'effect-unlisted',
    `${definition}, step ${step}: effect ${effect.operation} is not in the definition's effects. ${remedy}`,
    { definition, step, operation: effect.operation },
  );
}

function refuseOutputs(named: string, { step }: StepContext, { definition, steps }: ContextRules): never {
  throw new InvalidError(
    'step-unknown',
    `${definition}, step ${step}: ctx.outputs names ${named}, which is not a step. Steps: ${[...steps].join(', ')}.`,
    { definition, step, named },
  );
}
