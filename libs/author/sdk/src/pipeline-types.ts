/**
 * Owns the types of pipelines: what a user writes, what a step sees, and the resulting value. In the object form TypeScript doesn't know
 * the order of the members, so it checks that each step's input is some step's output (one begins); the builder form checks each against
 * the one before it.
 */

import type { Json } from '@tidemark/core';
import type { Definition, RetryOptions } from '@tidemark/runtime';
import type { StepActions } from './context.ts';
import type { Effect } from './effect.ts';
import type { Gate } from './gate.ts';
import type { LastSuccess, NamedHandoff } from './pipeline-record.ts';
import type { Workflow } from './workflow-spec.ts';

/** What a step of a pipeline can do, beside what any step can (`run`, `effect`, `log`, `progress`, `signal`). */
export interface PipelineContext extends StepActions {
  readonly pipeline: string;
  /** The key of this step's output: `{step}_{date}` by default, such as `2_filter_20261122`. */
  readonly key: string;
  /** Of the run, not of today: `2026-11-22`. */
  readonly date: string;
  /** Input of the run. */
  readonly input: Json;
  /** Output of an earlier step of this run. */
  outputs<T = Json>(step: string): Promise<T>;
  /** Records a note for the next step (or `to`). Without a call, a note says that the step is done. */
  handoff(message: string, artifacts?: readonly string[], to?: string): void;
  /** Notes for this step from earlier steps of this run, and from outside through its hand-over file. */
  handoffs(): Promise<readonly NamedHandoff[]>;
  /** Adds tokens that the step used, and their cost in millionths of a US dollar. */
  tokens(count: number, costMicros?: number): void;
  /** The outputs of the newest run that succeeded. */
  lastSuccess(): Promise<LastSuccess | undefined>;
}

/** A plain function. Method syntax, so that its input may be annotated with the previous step's output. */
export type PipelineFunction = { step(input: unknown, ctx: PipelineContext): unknown }['step'];

/** The parts of a key. */
export interface KeyParts {
  readonly pipeline: string;
  readonly step: string;
  readonly date: string;
  readonly input: Json;
  readonly workflow: string;
}

/** A step with settings of its own. */
export interface PipelineStepSettings<Run = PipelineFunction, Output = never> {
  readonly run: Run;
  /** Overrides the pipeline's. */
  readonly key?: ((parts: KeyParts) => string) | undefined;
  /** Must pass before the step counts as done. */
  readonly gate?: Gate<Output> | undefined;
  readonly retry?: RetryOptions | undefined;
}

export type PipelineStep = PipelineFunction | PipelineStepSettings;
export type PipelineSteps = { readonly [step: string]: PipelineStep };

export interface PipelineOptions {
  /** Default 1; raise it when runs under way could not continue with the new code. */
  readonly version?: number | undefined;
  /** The key of a step; default `{step}_{yyyymmdd}`, which counts for one input. A key that is done is skipped, in later runs too. */
  readonly key?: ((parts: KeyParts) => string) | undefined;
  /** The date of a run, recorded at its start; default the day of its slot in its schedule's time zone, or today where the run is started. */
  readonly date?: ((input: Json) => string) | undefined;
  /** When a step fails permanently: `fail` (default), or end with the output of the newest run that succeeded. */
  readonly onFailure?: 'fail' | 'last-success' | undefined;
  readonly effects?: readonly Effect[] | undefined;
  readonly retry?: RetryOptions | undefined;
}

/** A pipeline as a worker and a client take it: a workflow. */
export interface Pipeline<Input = Json, Output = Json>
  extends Definition<Input, Output>,
    Pick<Workflow, 'schemas' | 'flow' | 'starts' | 'warnings'> {
  readonly effects: Workflow['effects'];
}

type RunOf<S> = S extends { readonly run: infer Run } ? Run : S;
type TakenBy<S> = RunOf<S> extends (...args: infer Args) => unknown ? (Args extends [] ? unknown : Args[0]) : never;
/** A step's output as the next one gets it: nothing becomes null. */
type MadeBy<S> =
  RunOf<S> extends (...args: never[]) => infer Made
    ? // biome-ignore lint/suspicious/noConfusingVoidType: a step without a return statement has it
      Awaited<Made> extends undefined | void
      ? null
      : Awaited<Made>
    : never;

/** Steps whose input is no other step's output: one at most, the first. */
type Unfed<Steps> = {
  [S in keyof Steps]: true extends { [T in keyof Steps]: T extends S ? false : Fits<Steps[T], Steps[S]> }[keyof Steps]
    ? never
    : unknown extends TakenBy<Steps[S]>
      ? never
      : S;
}[keyof Steps];
/** Steps whose output no other step takes: the last among them. */
type Untaken<Steps> = {
  [S in keyof Steps]: true extends { [T in keyof Steps]: T extends S ? false : Fits<Steps[S], Steps[T]> }[keyof Steps]
    ? never
    : S;
}[keyof Steps];
type Fits<From, To> = [MadeBy<From>] extends [TakenBy<To>] ? true : false;
type IsUnion<T, Each = T> = T extends unknown ? ([Each] extends [T] ? false : true) : never;

/** Names a step that nothing feeds, where that isn't the first. */
export type Fed<Steps> =
  true extends IsUnion<Unfed<Steps>>
    ? { readonly [S in Unfed<Steps>]: `no step's output is what this step takes` }
    : unknown;

export type PipelineInput<Steps> = [Unfed<Steps>] extends [never] ? Json : TakenBy<Steps[Unfed<Steps>]>;
export type PipelineOutput<Steps> = MadeBy<
  [Untaken<Steps>] extends [never] ? Steps[keyof Steps] : Steps[Untaken<Steps>]
>;

/** Adds one step after the other: each takes the output of the one before it. */
export interface PipelineBuilder<Input, Last> {
  step<const Name extends string, Made>(
    name: Name,
    run: (input: NoInfer<Last>, ctx: PipelineContext) => Made,
    settings?: Omit<PipelineStepSettings<never, Awaited<NoInfer<Made>>>, 'run'>,
  ): PipelineBuilder<Input, MadeBy<() => Made>>;
  build(options?: PipelineOptions): Pipeline<Input, Last>;
}
