/**
 * Owns `pipeline`: named steps in order, plain functions, as a workflow. Each step is one durable checkpoint, so a crash loses at most one
 * step's work; keys, dedupe, hand-overs, log and last success are built in.
 */

import { isDeepStrictEqual } from 'node:util';
import { wholeSchema } from '@tidemark/codec';
import { InvalidError, type Json, LimitError, messageOf, TidemarkError, UnavailableError } from '@tidemark/core';
import { EffectError, FatalError, NotDoneError } from '@tidemark/runtime';
import { z } from 'zod';
import type { AnyContext } from './context.ts';
import { GateError } from './gate.ts';
import {
  checksumOf,
  handoffSchema,
  inputDigestOf,
  type LastSuccess,
  type StepRecord,
  stepRecord,
  stepRecordSchema,
} from './pipeline-record.ts';
import {
  lastSuccessOf,
  lastSuccessWrite,
  type PlacedStep,
  performStep,
  spentBefore,
  stepRecordOf,
} from './pipeline-step.ts';
import type {
  Fed,
  Pipeline,
  PipelineBuilder,
  PipelineFunction,
  PipelineInput,
  PipelineOptions,
  PipelineOutput,
  PipelineStep,
  PipelineSteps,
} from './pipeline-types.ts';
import { refuseProblems, unknownMembers } from './problem.ts';
import { task } from './task.ts';
import { defineWorkflow } from './workflow.ts';
import type { Workflow } from './workflow-spec.ts';

const beliefSchema = z.object({
  /** Of the run: part of its steps' keys. */
  date: z.string(),
  /** The step that failed permanently, where the run ends with the last success instead, and whose that is. */
  fellBack: z.object({ step: z.string(), error: z.string(), to: z.string() }).nullable(),
});
type Belief = z.infer<typeof beliefSchema>;

const OPTIONS = ['version', 'key', 'date', 'onFailure', 'effects', 'retry'];
const SETTINGS = ['run', 'key', 'gate', 'retry'];

/**
 * Named steps in order, or (with a name alone) a builder that checks each step against the one before it. Throws
 * `InvalidError` (`pipeline-invalid`, `definition-invalid`).
 */
export function pipeline<const Steps extends PipelineSteps>(
  name: string,
  steps: Steps & Fed<Steps>,
  options?: PipelineOptions,
): Pipeline<PipelineInput<Steps>, PipelineOutput<Steps>>;
export function pipeline<Input = Json>(name: string): PipelineBuilder<Input, Input>;
export function pipeline(name: string, steps?: PipelineSteps, options: PipelineOptions = {}): unknown {
  return steps === undefined ? builder(name, []) : define(name, Object.entries(steps), options);
}

function builder(name: string, steps: readonly (readonly [string, PipelineStep])[]): PipelineBuilder<never, never> {
  return {
    step: (step, run, settings = {}) =>
      builder(name, [...steps, [step, { ...settings, run: run as PipelineFunction } as PipelineStep]]),
    build: (options = {}) => define(name, steps, options) as Pipeline<never, never>,
  };
}

type Named = readonly (readonly [string, PipelineStep])[];

function define(name: string, steps: Named, options: PipelineOptions): Pipeline<unknown, Json> {
  refuseProblems('pipeline-invalid', `Pipeline ${name}`, problemsOf(steps, options));
  const placed = placedSteps(name, steps, options);
  const names = placed.map((step) => step.name);
  const bySteps = <T>(make: (step: PlacedStep) => T): Record<string, T> =>
    Object.fromEntries(placed.map((step) => [step.name, make(step)]));
  const workflow = defineWorkflow({
    name,
    version: options.version ?? 1,
    input: z.json(),
    belief: beliefSchema,
    output: z.json(),
    tasks: bySteps(() => z.object({})),
    outputs: bySteps(() => stepRecordSchema),
    // Writers to its files hand over by it; steps read the records of these.
    signals: { handoff: handoffSchema },
    flow: bySteps(({ after }) => (after === undefined ? [] : [after])),
    starts: names.slice(0, 1),
    // The next run with the same key begins where this one failed.
    onFailure: 'fail',
    ...(options.effects === undefined ? {} : { effects: options.effects }),
    ...(options.retry === undefined ? {} : { retry: options.retry }),
    begin: (input, { day }) => ({
      belief: { date: dateOf(input, day, options), fellBack: null },
      next: [task(names[0]!, {})],
    }),
    steps: bySteps((step) => ({
      run: stepFunction(step, placed, options) as never,
      ...(step.retry === undefined ? {} : { retry: step.retry }),
    })),
  });
  return workflow as unknown as Pipeline<unknown, Json>;
}

function problemsOf(steps: Named, options: PipelineOptions) {
  const names = steps.map(([name]) => name);
  const empty = [{ code: 'steps-empty', message: 'name at least one step.' }];
  const twice = names.filter((name, at) => names.indexOf(name) !== at);
  return [
    ...(steps.length === 0 ? empty : []),
    ...twice.map((name) => ({ code: 'step-twice', message: `step ${name} is named twice.` })),
    ...unknownMembers('options', options, OPTIONS),
    ...steps.flatMap(([name, step]) =>
      typeof step === 'object' && step !== null ? unknownMembers(name, step, SETTINGS) : [],
    ),
    ...steps
      .filter(([, step]) => typeof (typeof step === 'object' ? step?.run : step) !== 'function')
      .map(([name]) => ({ code: 'step-invalid', message: `${name} must be a function, or an object with run.` })),
  ];
}

function placedSteps(pipeline: string, steps: Named, options: PipelineOptions): readonly PlacedStep[] {
  return steps.map(([name, step], at) => {
    const settings = typeof step === 'function' ? { run: step } : step;
    return {
      ...settings,
      name,
      pipeline,
      version: options.version ?? 1,
      steps: steps.map(([each]) => each),
      before: steps[at - 1]?.[0],
      after: steps[at + 1]?.[0],
      keyOf: settings.key ?? options.key,
    };
  });
}

/** Recorded with the opening, so that a run that lasts past midnight keeps its keys. */
function dateOf(input: Json, day: string, { date }: PipelineOptions): string {
  const given: unknown = date === undefined ? day : date(input);
  if (typeof given === 'string' && given !== '') return given;
  throw new InvalidError('date-invalid', 'date of a pipeline must return a text, such as 2026-11-22.');
}

/** A definition, or what a service says of one. */
type Declared = Partial<Pick<Workflow, 'flow' | 'signals'>> & { readonly starts?: readonly string[] | null };
type Card = Omit<Declared, 'signals'> & { readonly signals: Readonly<Record<string, unknown>> | null };

/** Its steps in order; undefined for what is no pipeline: nothing else takes hand-overs of this form. */
export function pipelineSteps({ starts, flow, signals }: Declared | Card): readonly string[] | undefined {
  const form = signals instanceof Map ? signals.get('handoff')?.schema : (signals as Card['signals'])?.handoff;
  if (starts == null || flow === undefined || !isDeepStrictEqual(form, wholeSchema(handoffSchema, 'input', 'any')))
    return undefined;
  const names: string[] = [];
  for (let name = starts[0]; name !== undefined; name = flow[name]?.[0]) {
    // Another workflow may take the same form.
    if (names.includes(name) || (flow[name] ?? []).length > 1) return undefined;
    names.push(name);
  }
  return names;
}

type Change = Readonly<Record<string, unknown>>;

function stepFunction(step: PlacedStep, placed: readonly PlacedStep[], options: PipelineOptions) {
  return async (ctx: AnyContext): Promise<Change> => {
    try {
      return await done(step, placed, ctx);
    } catch (error) {
      const instead = options.onFailure === 'last-success' && isFinal(error, ctx);
      const change = instead ? await fallenBack(step, placed, ctx, error) : undefined;
      if (change === undefined) throw error;
      return change;
    }
  };
}

async function done(step: PlacedStep, placed: readonly PlacedStep[], ctx: AnyContext): Promise<Change> {
  const { record, memories, costMicros, isWithheld, note } = await performStep(step, ctx, (ctx.belief as Belief).date);
  const lastAction = `${record.skipped === null ? record.key : `skipped, ${record.key} is done${note}`}${isWithheld ? ', not kept for later runs: it looks like a secret' : ''}`;
  const made = { output: record, lastAction, tokens: record.tokens, costMicros };
  if (step.after !== undefined) return { ...made, memories, next: [task(step.after, {})] };
  const all: StepRecord[] = [];
  for (const { name } of placed.slice(0, -1)) all.push(await stepRecordOf(ctx, name));
  all.push(record);
  const success: LastSuccess = {
    workflow: ctx.workflow,
    totalTokens: all.reduce((sum, { tokens }) => sum + tokens, await spentBefore(ctx, step.pipeline)),
    output: record.output,
    outputs: Object.fromEntries(placed.map(({ name }, at) => [name, all[at]!.output])),
  };
  return { ...made, memories: [...memories, ...lastSuccessWrite(step, ctx, success)], done: record.output };
}

const OWN_FAULTS = [FatalError, LimitError, InvalidError, UnavailableError, GateError, NotDoneError];

/** Whether no further attempt will be made; false for a failure that isn't the step's own. */
function isFinal(error: unknown, ctx: AnyContext): boolean {
  if (ctx.signal.aborted) return false;
  const cause = error instanceof EffectError ? error.cause : error;
  const isOwn = OWN_FAULTS.some((kind) => cause instanceof kind) || !(cause instanceof TidemarkError);
  return isOwn && !ctx.mayRetry(error);
}

/** Ends the run with the output of the newest one that succeeded; undefined where none has. Throws `FatalError` where that is withheld. */
async function fallenBack(
  step: PlacedStep,
  placed: readonly PlacedStep[],
  ctx: AnyContext,
  error: unknown,
): Promise<Change | undefined> {
  const last = await lastSuccessOf(ctx, step.pipeline);
  if (last === undefined) return undefined;
  const message = messageOf(error);
  if (last.withheld?.includes(placed.at(-1)!.name)) {
    throw new FatalError(
      `${message} (The last success, ${last.workflow}, can't be used instead: its output looks like a secret and was not kept.)`,
    );
  }
  const output = last.outputs[step.name] ?? null;
  ctx.log('fall-back', { result: message, to: last.workflow });
  return {
    output: stepRecord({
      ...NOTHING_DONE,
      ...{ output, checksum: checksumOf(output), failure: message, input: inputDigestOf(ctx.input as Json) },
    }),
    lastAction: `failed, ends with the output of ${last.workflow}`,
    belief: (belief: Belief) => ({ ...belief, fellBack: { step: step.name, error: message, to: last.workflow } }),
    done: last.output,
  };
}

const NOTHING_DONE = { key: '', tokens: 0, handoffs: [], gate: null, skipped: null };
