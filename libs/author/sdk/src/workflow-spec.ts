/**
 * Owns the types of a definition: what a user writes, and the resulting value. Schemas come first and functions after, so that every type
 * is inferred from the schemas; `NoInfer` keeps the results of functions from widening them.
 */

import type { Priority, RecoveryOptions } from '@tidemark/core';
import type { Beginning, Definition, EffectDefinition, FragmentDraft, OnSecret, RetryOptions } from '@tidemark/runtime';
import type { ContextSpec } from './context-spec.ts';
import type { Limit } from './dispatch-spec.ts';
import type { Effect } from './effect.ts';
import type { DefinitionWarning } from './problem.ts';
import type { Flow, Sources } from './reach.ts';
import type { Frozen, Given, MemberOf, Parsed, ParsedOr, Schema, Schemas } from './schema.ts';
import type { StepFunction, StepSettings } from './step.ts';
import type { AnyTask, ChildInput, TaskOf } from './task.ts';
import type { ApprovalName, ChildName } from './wait.ts';

/** For each step, the steps whose tasks it may add. */
export type FlowOf<Tasks> = { readonly [S in keyof Tasks]: readonly (keyof Tasks & string)[] };
/** For some steps, the schema of the output they leave for others. */
export type OutputsOf<Tasks> = { readonly [S in keyof Tasks]?: Schema };
/** What `begin` may add when `starts` is left out. */
export type StartsOf<F extends Flow> = readonly Sources<F>[];

type Refused<Given, Known> = { readonly [K in Exclude<keyof Given, keyof Known>]: never };

/** Everything that tasks wait for, by name; approvals under names of their own. */
export type Waited<Signals extends Schemas, Approvals extends Schemas, Children extends ChildDefinitions> = Signals & {
  readonly [Name in keyof Approvals & string as ApprovalName<Name>]: Approvals[Name];
} & {
  readonly [Name in keyof Children & string as ChildName<Name>]: Children[Name]['schemas']['output'] &
    ChildInput<Given<Children[Name]['schemas']['input']>>;
};

/** What a parent needs to know of its children. */
export type ChildDefinitions = {
  readonly [name: string]: Definition & { readonly schemas: { readonly input: Schema; readonly output: Schema } };
};

/** What any run has, whether its code is steps or a function. */
export interface RunSpec<Input extends Schema, Output extends Schema> {
  readonly name: string;
  /** 1, 2, 3 …; raise it when running workflows could not continue with the new code, and say in `upcast` how they can. */
  readonly version: number;
  /** A caller's input. */
  readonly input: Input;
  /** What the workflow ends with. */
  readonly output: Output;
  /**
   * Effects that steps call. Listed, they are checked at the start, and steps can call no others. Those with `compensate` must be listed:
   * compensation finds them here.
   */
  readonly effects?: readonly Effect[] | undefined;
  /** Durability of steps that set none; default `durable`. */
  readonly durability?: 'durable' | 'staged' | undefined;
  /**
   * How many `staged` checkpoints a crash may lose: so many (default 10, at most 1,000), or those of so many milliseconds (default 50, at
   * most 10,000), whichever is less. They are always flushed before anything irreversible.
   */
  readonly staging?: { readonly steps?: number | undefined; readonly delayMs?: number | undefined } | undefined;
  /**
   * How a workflow is run again after its workers crashed: `attempts` crashes (1..31) without progress within `windowMs` are survived before a
   * person is asked, with a wait of `delayMs` after the first, doubling up to an hour. Default: as `TIDEMARK_RECOVERY` says, else 3 within an
   * hour, at once.
   */
  readonly recovery?: RecoveryOptions | undefined;
  /** Retry of steps; default 5 attempts, 200 ms first, doubling, at most a minute. */
  readonly retry?: RetryOptions | undefined;
  /**
   * `exclusive`: it begins in a partition of its own; `shared`: in one together with others, once none is free. Default: one of its own, but
   * a child joins its parent's before the pool of partitions grows.
   */
  readonly placement?: 'exclusive' | 'shared' | undefined;
  /**
   * When a step fails permanently. `park` (default): the workflow waits for a person, who fixes the cause and resumes it (`retry`); a
   * failure that you name as final (`FatalError`, or `nonRetryable` of `retry`) ends it as failed. `retry-on-new-build`: the same, and the step resumes by
   * itself, once for each build, when workers of a build announce themselves on which it has not failed. `fail`: any failure ends it.
   * `compensate`: any failure first compensates what it did.
   */
  readonly onFailure?: 'park' | 'retry-on-new-build' | 'fail' | 'compensate' | undefined;
  /**
   * When a value to store holds what looks like a secret (a key, a token, a password: by its form or its name). `report`: it is stored,
   * counted and warned of. `mask`: `[masked KIND]` is stored in its place, and is what later steps read; an effect still receives the
   * original request, a model the stored one. `refuse`: nothing of it is stored: a start or a signal throws, a step fails permanently
   * (`secret-found`); the answer of an effect or a model is stored masked first. Fields in `secret()` are exempt. Default:
   * `TIDEMARK_ON_SECRET`, else `report`.
   */
  readonly onSecret?: OnSecret | undefined;
  /** 1 is served first, 5 last, over all tenants; default 3. Within one priority tenants take turns. */
  readonly priority?: Priority | ((input: Frozen<Parsed<NoInfer<Input>>>) => Priority) | undefined;
  /** What keeps a workflow waiting while too many others of the same key are at work, or began a moment ago. */
  readonly limits?: readonly Limit[] | ((input: Frozen<Parsed<NoInfer<Input>>>) => readonly Limit[]) | undefined;
  /**
   * Time from its opening after which a workflow is cancelled: `24h`, `7d`, or milliseconds. Neither a pause nor a recovery extends it. A
   * caller that starts one may set another. Default: none.
   */
  readonly timeout?: string | number | undefined;
  /** Checkpoints after which the workflow asks a person whether to continue; default 100,000. */
  readonly stepBudget?: number | undefined;
  /**
   * For each older version whose workflows this one can continue: how they become those of the next version. `{}` says that they already
   * are. One upcaster leads to the next, so there are no gaps: `upcast: { 1: …, 2: … }` in version 3.
   */
  readonly upcast?: { readonly [from: number]: VersionUpcast } | undefined;
}

/** What a user writes. */
export interface WorkflowSpec<
  Input extends Schema,
  Belief extends Schema,
  Output extends Schema,
  Tasks extends Schemas,
  F extends FlowOf<Tasks> & Flow,
  Starts extends readonly (keyof Tasks & string)[],
  Outputs extends OutputsOf<Tasks>,
  Signals extends Schemas = Record<never, never>,
  Approvals extends Schemas = Record<never, never>,
  Children extends ChildDefinitions = Record<never, never>,
> extends RunSpec<Input, Output>,
    ContextSpec {
  /** The working model: what the agent holds true. */
  readonly belief: Belief;
  /** Every step's input, by name. */
  readonly tasks: Tasks;
  /** Outputs that steps leave for others to read with `ctx.outputs`; a step named here must return one. */
  readonly outputs?: (Outputs & Refused<Outputs, NoInfer<Tasks>>) | undefined;
  /** Signals that it takes, by name: tasks wait for one with `when: signal(name)`, and find its value in `ctx.cause`. */
  readonly signals?: Signals | undefined;
  /** Questions to people, by name, with the form of their answer: tasks wait for one with `when: approval(name)`. */
  readonly approvals?: Approvals | undefined;
  /** Workflows that its tasks start and wait for, by name: `when: child(name, input)`. */
  readonly children?: Children | undefined;
  /** What each step may add. */
  readonly flow: F & Refused<F, NoInfer<Tasks>>;
  /** What `begin` may add; by default the one step that no other step names. */
  readonly starts?: Starts | undefined;
  /** Read-only context of every bundle, of this version of the definition. A function must give the same for the same input. */
  readonly system?: string | ((input: Frozen<Parsed<NoInfer<Input>>>) => string) | undefined;
  /** The first belief and the first tasks. It runs in the process that starts the workflow, so work belongs in a step. */
  readonly begin: (
    input: Parsed<NoInfer<Input>>,
    at: Beginning,
  ) => {
    readonly belief: Given<NoInfer<Belief>>;
    readonly next: readonly TaskOf<
      NoInfer<Tasks>,
      NoInfer<Starts>[number],
      NoInfer<Waited<Signals, Approvals, Children>>
    >[];
    /** What the agent knows before its first step: goal, constraints, the user's words. */
    readonly fragments?: readonly FragmentDraft[] | undefined;
  };
  readonly steps: {
    readonly [S in keyof NoInfer<Tasks>]: StepEntry<
      StepFunction<
        NoInfer<Input>,
        NoInfer<Belief>,
        NoInfer<Output>,
        NoInfer<Tasks>,
        NoInfer<Outputs>,
        S,
        NoInfer<F>[S][number],
        NoInfer<Waited<Signals, Approvals, Children>>
      >,
      Parsed<NoInfer<Tasks>[S]>,
      ParsedOr<MemberOf<NoInfer<Outputs>, S>>
    >;
  };
  /** Tasks of one workflow under way at once; default 8, at most 256. */
  readonly parallel?: number | undefined;
}

type StepEntry<Run, Input, Output> = Run | StepSettings<Run, Input, Output>;

/**
 * From one version to the next. Arguments are what the older version stored; annotate them with its types. The result is validated by this
 * version's schemas once the chain of upcasters ends.
 */
export interface VersionUpcast {
  /** The workflow's input, as the next version takes it; left out: the same. */
  input?(input: unknown): unknown;
  /** The next version's belief; left out: the same. */
  belief?(belief: unknown): unknown;
  /** For steps with another name or input now: the task to do instead; left out: the same. */
  readonly tasks?: { readonly [step: string]: TaskUpcast } | undefined;
}

/** Method syntax, so that the argument may be annotated with its old type. */
export type TaskUpcast = { of(input: unknown): AnyTask }['of'];

/** A workflow as a worker and a client take it. */
export interface Workflow<
  Input extends Schema = Schema,
  Belief extends Schema = Schema,
  Output extends Schema = Schema,
  Tasks extends Schemas = Schemas,
  Outputs = unknown,
  Signals extends Schemas = Schemas,
> extends Definition<Given<Input>, Parsed<Output>> {
  readonly schemas: {
    readonly input: Input;
    readonly belief: Belief;
    readonly output: Output;
    readonly tasks: Tasks;
    readonly outputs: Outputs;
    readonly signals: Signals;
  };
  /** What each step may add. */
  readonly flow: Flow;
  /** What `begin` may add. */
  readonly starts: readonly string[];
  /** The listed effects, if there is a list. */
  readonly effects: readonly EffectDefinition[];
  /** What works, but has a consequence to know of. */
  readonly warnings: readonly DefinitionWarning[];
}

/** A caller's input at the start. */
export type InputOf<W extends Workflow> = Given<W['schemas']['input']>;
/** Output of its run. */
export type OutputOf<W extends Workflow> = Parsed<W['schemas']['output']>;
/** Its belief, as a reader sees it. */
export type BeliefOf<W extends Workflow> = Parsed<W['schemas']['belief']>;
