/**
 * Owns `defineWorkflow`: it turns what a user writes into what the runtime consumes. Every value that crosses is validated here, so the
 * runtime never sees a schema. Must hold no state beyond the definition.
 */

import { toJson, wholeSchema } from '@tidemark/codec';
import { InvalidError, type Json } from '@tidemark/core';
import type {
  Beginning,
  Definition,
  EffectDefinition,
  FragmentDraft,
  Parse,
  RetryPolicy,
  SignalForm,
  StepDefinition,
} from '@tidemark/runtime';
import { checkedDuration, DEFAULT_RETRY, retryPolicy } from '@tidemark/runtime';
import { type ContextSpec, contextDefinition } from './context-spec.ts';
import { type AnySpec, checkSpec } from './definition-checks.ts';
import { warningsOf } from './definition-warnings.ts';
import { type DispatchSpec, dispatchDefinition } from './dispatch-spec.ts';
import { freeze, freezeAll } from './freeze.ts';
import { type Border, invalid, kindOf, parser } from './parse.ts';
import { refuseProblems } from './problem.ts';
import type { Flow } from './reach.ts';
import { retryProblems } from './retry.ts';
import type { Schema, Schemas } from './schema.ts';
import { hasSecrets } from './secret.ts';
import { type AnyStep, checkTasks, compensation, runStep, settingsOf } from './step.ts';
import { unknownFields } from './unknown-fields.ts';
import { upcasters } from './upcast.ts';
import type {
  ChildDefinitions,
  FlowOf,
  OutputsOf,
  StartsOf,
  VersionUpcast,
  Workflow,
  WorkflowSpec,
} from './workflow-spec.ts';

/** Default number of checkpoints after which the workflow asks a person whether to continue. */
const STEP_BUDGET_DEFAULT_COUNT = 100_000;
/** Default number of tasks of one workflow that run at once. */
const PARALLEL_DEFAULT_COUNT = 8;

/** Defines a workflow: belief, tasks and the steps that do them. Throws `InvalidError` (`definition-invalid`) that lists every mistake in the definition. */
export function defineWorkflow<
  Input extends Schema,
  Belief extends Schema,
  Output extends Schema,
  const Tasks extends Schemas,
  const F extends FlowOf<Tasks> & Flow,
  const Starts extends readonly (keyof Tasks & string)[] = StartsOf<F>,
  const Outputs extends OutputsOf<Tasks> = Record<never, never>,
  const Signals extends Schemas = Record<never, never>,
  const Approvals extends Schemas = Record<never, never>,
  const Children extends ChildDefinitions = Record<never, never>,
>(
  spec: WorkflowSpec<Input, Belief, Output, Tasks, F, Starts, Outputs, Signals, Approvals, Children>,
): Workflow<Input, Belief, Output, Tasks, Outputs, Signals> {
  return build(spec as unknown as CheckedSpec) as Workflow<Input, Belief, Output, Tasks, Outputs, Signals>;
}

/** A spec after the checks, its type parameters forgotten. */
interface CheckedSpec extends AnySpec, ContextSpec, DispatchSpec {
  readonly input: Schema;
  readonly belief: Schema;
  readonly output: Schema;
  readonly tasks: Schemas;
  readonly outputs?: Schemas | undefined;
  readonly signals?: Schemas | undefined;
  readonly approvals?: Schemas | undefined;
  readonly children?: ChildDefinitions | undefined;
  readonly begin: (input: Json, at: Beginning) => unknown;
  readonly durability?: 'durable' | 'staged' | undefined;
  readonly placement?: 'exclusive' | 'shared' | undefined;
  readonly onFailure?: Definition['onFailure'] | undefined;
  readonly onSecret?: Definition['onSecret'];
  readonly agent?: boolean | undefined;
  readonly upcast?: { readonly [from: number]: VersionUpcast } | undefined;
}

/** What the parts of one definition share. */
interface Parts {
  readonly spec: CheckedSpec;
  /** `refund v2`, to begin messages with. */
  readonly title: string;
  readonly starts: readonly string[];
  /** A belief parser whose errors name the source of the belief. */
  readonly beliefParser: (from: string, remedy: string) => Parse;
}

function build(spec: CheckedSpec): Workflow {
  const { problems, starts } = checkSpec(spec);
  const title = `${spec.name} v${spec.version}`;
  refuseProblems('definition-invalid', `Workflow ${title}`, [...problems, ...allRetryProblems(spec)]);
  const parts: Parts = { spec, title, starts, beliefParser: beliefParsers(spec.belief, title) };
  const effects = allEffects(spec);
  return {
    name: spec.name,
    version: spec.version,
    parallel: spec.parallel ?? PARALLEL_DEFAULT_COUNT,
    ...(spec.placement !== undefined && { placement: spec.placement }),
    ...(spec.staging !== undefined && { staging: spec.staging }),
    ...(spec.recovery !== undefined && { recovery: spec.recovery }),
    ...(Object.keys(spec.models ?? {}).length > 0 && { agent: true }),
    steps: new Map(Object.keys(spec.steps).map((name) => [name, stepDefinition(name, parts)])),
    parseInput: parser(spec.input, inputBorder(title)),
    refuseUnknown: (input) => {
      const problems = unknownFields(spec.input, input);
      if (problems.length > 0) throw invalid(inputBorder(title), problems);
    },
    parseBelief: parts.beliefParser('belief', 'Fix what returns it, or the belief schema.'),
    parseOutput: parser(spec.output, {
      code: 'output-invalid',
      what: `${title}, output`,
      remedy: 'Fix what a step returns as done, or the output schema.',
    }),
    begin: beginning(parts),
    schemas: {
      input: spec.input,
      belief: spec.belief,
      output: spec.output,
      tasks: spec.tasks,
      outputs: spec.outputs ?? {},
      signals: spec.signals ?? {},
    },
    flow: spec.flow,
    starts,
    effects,
    onFailure: spec.onFailure ?? 'park',
    ...(spec.onSecret !== undefined && { onSecret: spec.onSecret }),
    ...(spec.timeout !== undefined && { timeoutMs: checkedDuration('timeout', spec.timeout) }),
    stepBudget: spec.stepBudget ?? STEP_BUDGET_DEFAULT_COUNT,
    upcasters: upcasters(spec.upcast, title),
    ...(spec.children !== undefined && { children: new Map(Object.entries(spec.children)) }),
    signals: signalForms(spec, title),
    ...(spec.approvals !== undefined && { approvals: formsOf(spec.approvals) }),
    context: contextDefinition(spec, title),
    dispatch: dispatchDefinition(spec),
    warnings: warningsOf(spec),
    hasSecrets: schemasOf(spec).some(hasSecrets) || effects.some((effect) => effect.hasSecrets === true),
  };
}

const inputBorder = (title: string): Border => ({
  code: 'input-invalid',
  what: `${title}, input`,
  remedy: 'Fix what is given to start the workflow.',
});

function stepDefinition(name: string, parts: Parts): StepDefinition {
  const { spec, title } = parts;
  const settings = settingsOf(spec.steps[name]!);
  const outputs = spec.outputs?.[name];
  const what = `${title}, output of step ${name}`;
  return {
    name,
    mayAdd: new Set(spec.flow[name]),
    durability: settings.durability ?? spec.durability ?? 'durable',
    retry: stepRetry(spec, spec.steps[name]!),
    ...(settings.plans === true && { plans: true }),
    parseInput: parser(spec.tasks[name]!, {
      code: 'task-input-invalid',
      what: `${title}, input of step ${name}`,
      remedy: `Fix the task('${name}', …) that adds it, or tasks.${name}.`,
    }),
    // A step without an output schema may leave any JSON, or nothing.
    parseOutput:
      outputs === undefined
        ? (value) => toJson(value ?? null, what)
        : parser(outputs, {
            code: 'step-output-invalid',
            what,
            remedy: `Fix what the step returns as output, or outputs.${name}.`,
          }),
    ...compensation(settings),
    run: runStep(settings.run, {
      definition: title,
      step: name,
      steps: new Set(Object.keys(spec.tasks)),
      operations: spec.effects && new Set(allEffects(spec).map((effect) => effect.operation)),
      models: spec.models ?? {},
      tools: spec.tools ?? {},
      parseSignal: signalParsers(spec, title),
      needsOutput: outputs !== undefined,
      gate: settings.gate,
      parseBelief: parts.beliefParser(
        `belief returned by step ${name}`,
        'Fix what its belief function returns, or the belief schema.',
      ),
    }),
  };
}

/**
 * Belief is validated where it is returned, so that the message names the step. The runtime validates it again at once: the last validated
 * value is frozen and remembered, so that this costs nothing.
 */
function beliefParsers(schema: Schema, title: string): Parts['beliefParser'] {
  let last: Json | undefined;
  return (from, remedy) => {
    const parse = parser(schema, { code: 'belief-invalid', what: `${title}, ${from}`, remedy });
    return (value, seal) => {
      if (seal !== undefined) return parse(value, seal);
      if (value === undefined || value !== last) last = freezeAll(parse(value));
      return last as Json;
    };
  };
}

/** The opening: `starts` restricts it as `flow` restricts steps. */
function beginning({ spec, title, starts, beliefParser }: Parts): Definition['begin'] {
  const signals = signalParsers(spec, title);
  const parseBelief = beliefParser('belief returned by begin', 'Fix what begin returns, or the belief schema.');
  const refuse = (problem: string, remedy: string): never => {
    throw new InvalidError('begin-invalid', `${title}, begin: ${problem}. ${remedy}`, { definition: title });
  };
  return (input, at) => {
    const opening = spec.begin(freeze(input), at);
    if (opening instanceof Promise) {
      refuse('it is async', 'It runs in the process that starts the workflow; do the work in the first step.');
    }
    if (typeof opening !== 'object' || opening === null || !('belief' in opening) || !('next' in opening)) {
      return refuse(`it returned ${kindOf(opening)}`, "Return { belief, next: [task('name', input)] }.");
    }
    const next = checkTasks(opening.next, signals, refuse);
    if (next.length === 0) refuse('it adds no task', 'A workflow without tasks would never end; add at least one.');
    const stray = next.find((added) => !starts.includes(added.step));
    if (stray !== undefined) {
      refuse(`it adds a task for ${stray.step}`, `It may add: ${starts.join(', ')}. Name others in starts.`);
    }
    const { fragments } = opening as { readonly fragments?: readonly FragmentDraft[] };
    return { belief: parseBelief(opening.belief), next, ...(fragments !== undefined && { fragments }) };
  };
}

/** Parsers of what tasks wait for, by name; approvals as `approval {name}`. */
const signalParsers = (
  { signals = {}, approvals = {}, children = {} }: CheckedSpec,
  title: string,
): ReadonlyMap<string, Parse> =>
  new Map([
    ...Object.entries(signals).map(([name, schema]) => [name, signalParser(name, schema, title)] as const),
    ...Object.entries(approvals).map(([name, schema]) => {
      const what = `${title}, approval ${name}`;
      const remedy = 'Fix what is answered, or approvals.';
      return [`approval ${name}`, parser(schema, { code: 'approval-unfit', what, remedy })] as const;
    }),
    ...Object.entries(children).map(([name, { schemas }]) => {
      const what = `${title}, output of the child ${name}`;
      const remedy = 'Fix the output of that workflow, or raise its version.';
      return [`child ${name}`, parser(schemas.output, { code: 'child-unfit', what, remedy })] as const;
    }),
  ]);

function signalParser(name: string, schema: Schema, title: string): Parse {
  const what = `${title}, signal ${name}`;
  return parser(schema, { code: 'signal-unfit', what, remedy: 'Fix what is sent, or signals.' });
}

const signalForms = ({ signals = {} }: CheckedSpec, title: string): ReadonlyMap<string, SignalForm> =>
  new Map(
    Object.entries(signals).map(([name, schema]) => [
      name,
      { schema: wholeSchema(schema, 'input', 'any'), parse: signalParser(name, schema, title) },
    ]),
  );

/** The JSON Schema of answers, for programs that show and check a form without the definition. */
const formsOf = (approvals: Schemas): ReadonlyMap<string, Json> =>
  new Map(Object.entries(approvals).map(([name, schema]) => [name, wholeSchema(schema, 'input')]));

const schemasOf = ({ input, belief, output, tasks, outputs = {}, signals = {} }: CheckedSpec): readonly Schema[] => [
  ...[input, belief, output],
  ...[...Object.values(tasks), ...Object.values(outputs), ...Object.values(signals)],
];

/** The definition's effects and those of its tools, since compensation looks up both. */
function allEffects({ effects = [], tools = {} }: CheckedSpec): readonly EffectDefinition[] {
  const found = new Map<string, EffectDefinition>(effects.map((effect) => [effect.operation, effect]));
  for (const { effect } of Object.values(tools)) if (effect !== undefined) found.set(effect.operation, effect);
  return [...found.values()];
}

const stepRetry = (spec: CheckedSpec, step: AnyStep): RetryPolicy =>
  retryPolicy(settingsOf(step).retry, retryPolicy(spec.retry, DEFAULT_RETRY));

function allRetryProblems(spec: CheckedSpec) {
  const own = retryProblems(spec.retry, retryPolicy(spec.retry, DEFAULT_RETRY));
  const ofSteps = Object.entries(spec.steps ?? {}).flatMap(([name, step]) =>
    typeof step === 'object' && step?.retry !== undefined
      ? retryProblems(step.retry, stepRetry(spec, step)).map((message) => `steps.${name}.${message}`)
      : [],
  );
  return [...own, ...ofSteps].map((message) => ({ code: 'retry-invalid', message: `${message}.` }));
}
