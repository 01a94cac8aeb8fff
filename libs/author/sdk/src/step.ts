/**
 * Owns the types of steps and of their results, and the border where a result enters Tidemark: no part of it is dropped silently. Must not
 * apply the result: the runtime does, at commit.
 */

import { InvalidError, type Json } from '@tidemark/core';
import { refuseSecrets } from '@tidemark/memory';
import type {
  EffectContext,
  FragmentDraft,
  HandOver,
  MemoryUpdate,
  RetryOptions,
  StepResult as RuntimeResult,
  StepContext,
  StepDefinition,
  WaitRequest,
} from '@tidemark/runtime';
import { type AnyContext, type Context, type ContextRules, typedContext } from './context.ts';
import { freeze } from './freeze.ts';
import { type Gate, passGate } from './gate.ts';
import { kindOf } from './parse.ts';
import type { Frozen, Given, MemberOf, Parsed, Schema, Schemas } from './schema.ts';
import type { AnyTask, TaskOf } from './task.ts';

/** All that a step changes. */
export type Change<Input extends Schema, Belief extends Schema, Output extends Schema, Next> = Changed<Belief, Next> &
  Ending<Input, Output>;

/** At most one of the two, and neither together with `next`. */
type Ending<Input extends Schema, Output extends Schema> =
  | {
      /** Ends the workflow with this output. */
      readonly done?: Given<Output>;
      readonly continueAsNew?: never;
    }
  | {
      readonly done?: never;
      /** Ends this run: the workflow continues as a new one, which begins with this input. */
      readonly continueAsNew?: Given<Input>;
    };

interface Changed<Belief extends Schema, Next> {
  /** The new belief, from the one at commit, so that parallel steps' updates compose. */
  readonly belief?: ((belief: Frozen<Parsed<Belief>>) => Given<Belief>) | undefined;
  /** Tasks to add; only those that `flow` allows this step. */
  readonly next?: readonly Next[] | undefined;
  /** What was done, in words; the step's name by default. */
  readonly lastAction?: string | undefined;
  /** Tokens that the step used, to be added to the run's total. */
  readonly tokens?: number | undefined;
  /** What the step cost, in millionths of a US dollar. */
  readonly costMicros?: number | undefined;
  /** Sequence of the earlier checkpoint of this workflow that this one corrects: both stay, and readers see which counts. */
  readonly supersedes?: number | undefined;
  /** What the agent heard, said or did, for later model calls to see. */
  readonly fragments?: readonly FragmentDraft[] | undefined;
  /** Keys of the phase's working memory to set; undefined removes one. Beyond the phase's budget they are refused. */
  readonly memory?: Readonly<Record<string, unknown>> | undefined;
  /** Ends the phase: the note for the next one, and the keys that go with it. All others are cleared. */
  readonly handOver?: HandOver | undefined;
  /** Changes of long-term memory: facts, preferences, records; without a value an entry is forgotten. */
  readonly memories?: readonly MemoryUpdate[] | undefined;
}

/** A step with an output schema must return one; without, it may return any JSON, or nothing at all. */
type Returned<Result, Out> = Out extends Schema
  ? Result & { readonly output: Given<Out> }
  : // biome-ignore lint/suspicious/noConfusingVoidType: a step without a return statement has it
    (Result & { readonly output?: unknown }) | void;

export type StepFunction<
  Input extends Schema,
  Belief extends Schema,
  Output extends Schema,
  Tasks extends Schemas,
  Outputs,
  Name extends keyof Tasks,
  Next extends string,
  Signals extends Schemas = Record<never, never>,
> = (
  ctx: Context<Parsed<Input>, Parsed<Belief>, Outputs, keyof Tasks & string, Signals>,
  input: Frozen<Parsed<Tasks[Name]>>,
) => Returning<Returned<Change<Input, Belief, Output, TaskOf<Tasks, Next, Signals>>, MemberOf<Outputs, Name>>>;

type Returning<T> = T | Promise<T>;

/** The record of a committed step, for compensating it. */
export interface DoneStep<Input, Output> {
  readonly input: Frozen<Input>;
  readonly output: Output;
}

/** A step with settings of its own. */
export interface StepSettings<Run, Input = Json, Output = Json> {
  readonly run: Run;
  /**
   * Undoes the committed step as a whole, in addition to its effects' own compensations, and before them. `context.key` is that of the
   * compensation: it may be called again with the same one.
   */
  readonly compensate?: ((done: DoneStep<Input, Output>, context: EffectContext) => unknown) | undefined;
  /** `staged` continues before the log has the checkpoint; a crash then runs the step again. For pure steps. */
  readonly durability?: 'durable' | 'staged' | undefined;
  /** The step plans what to do next: its span in a trace is a `plan`. */
  readonly plans?: boolean | undefined;
  /** Overrides the workflow's. */
  readonly retry?: RetryOptions | undefined;
  /**
   * A check that must pass before the step counts as done: of its `output`, else of the value with which it ends the workflow or its run.
   * Its findings are kept in the execution log; one that doesn't pass fails the attempt (`gate-failed`), and nothing of it counts.
   */
  readonly gate?: Gate<Output> | undefined;
}

/** A step of some definition, once its types are checked. */
export type AnyStepFunction = (ctx: AnyContext, input: Json) => unknown;
export type AnyStep = AnyStepFunction | StepSettings<AnyStepFunction>;

export const settingsOf = (step: AnyStep): StepSettings<AnyStepFunction> =>
  typeof step === 'function' ? { run: step } : step;

/** How the runtime compensates the step, where it can. */
export function compensation({ compensate }: StepSettings<AnyStepFunction>): Pick<StepDefinition, 'compensate'> {
  if (compensate === undefined) return {};
  return { compensate: async (done, context) => void (await compensate(freeze({ ...done }), context)) };
}

/** What a step's own result is checked against. */
export interface StepRules extends ContextRules {
  readonly step: string;
  readonly needsOutput: boolean;
  /** Validates the belief that the step returns. */
  readonly parseBelief: (value: unknown) => Json;
  readonly gate: Gate<Json> | undefined;
}

/** The step as the runtime runs it. */
export function runStep(run: AnyStepFunction, rules: StepRules) {
  return async (context: StepContext, input: Json): Promise<RuntimeResult> => {
    try {
      const ctx = typedContext(context, rules);
      const result = checkedResult(await run(ctx, freeze(input)), rules);
      const { output, done, continueAsNew } = result;
      if (rules.gate !== undefined) await passGate(ctx, rules.gate, (output ?? done ?? continueAsNew ?? null) as Json);
      return result;
    } catch (error) {
      throw explained(error, rules);
    }
  };
}

const MEMBERS = [
  ...['belief', 'next', 'output', 'done', 'continueAsNew', 'lastAction', 'tokens', 'costMicros', 'supersedes'],
  ...['fragments', 'memory', 'handOver', 'memories'],
];

function checkedResult(value: unknown, rules: StepRules): RuntimeResult {
  const refuse: Refuse = (problem, remedy) => refuseResult(rules, problem, remedy);
  if (value === undefined && !rules.needsOutput) return {};
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuse(`it returned ${kindOf(value)}`, `Return an object of ${MEMBERS.join(', ')}.`);
  }
  const stray = Object.keys(value).find((key) => !MEMBERS.includes(key));
  if (stray !== undefined)
    refuse(`it returned ${stray}, which is not a member of a step's result`, `Known: ${MEMBERS.join(', ')}.`);
  const result: RuntimeResult = value;
  if (result.next !== undefined) checkTasks(result.next, rules.parseSignal, refuse);
  checkEnding(result, refuse);
  if (rules.needsOutput && result.output === undefined) {
    refuse('it returned no output', `outputs.${rules.step} has a schema: return { output }.`);
  }
  checkCount('tokens', result.tokens, refuse);
  checkCount('costMicros', result.costMicros, refuse);
  checkSupersedes(result.supersedes, refuse);
  if (result.memories !== undefined) checkMemories(result.memories, refuse);
  if (result.lastAction !== undefined && typeof result.lastAction !== 'string') {
    refuse(`lastAction is ${kindOf(result.lastAction)}`, 'Return a string.');
  }
  return result.belief === undefined ? result : { ...result, belief: checkedUpdate(result.belief, rules, refuse) };
}

/** Refuses the result of a step or the opening: names the mistake, and what to do. */
export type Refuse = (problem: string, remedy: string) => never;

function checkEnding(result: RuntimeResult, refuse: Refuse): void {
  for (const [member, what] of [
    ['done', 'output'],
    ['continueAsNew', 'input'],
  ] as const) {
    if (!(member in result)) continue;
    if (result[member] === undefined) refuse(`${member} is undefined`, `Return the ${what}, or leave ${member} out.`);
    if (result.next === undefined || result.next.length === 0) continue;
    const remedy = 'No task follows in a history that ends: return one of them.';
    refuse(`it returned both ${member} and next`, remedy);
  }
  if ('done' in result && 'continueAsNew' in result) {
    refuse('it returned both done and continueAsNew', 'A workflow either ends or continues: return one of them.');
  }
}

/** Checks the shape of the returned tasks; the runtime, which adds them, checks names and inputs. */
export function checkTasks(next: unknown, signals: StepRules['parseSignal'], refuse: Refuse): readonly AnyTask[] {
  if (!Array.isArray(next)) return refuse(`next is ${kindOf(next)}`, "Return an array: next: [task('name', input)].");
  for (const [at, item] of next.entries()) {
    if (typeof item !== 'object' || item === null || typeof item.step !== 'string' || !('input' in item)) {
      refuse(`next[${at}] is ${kindOf(item)}, not a task`, "Make it with task('name', input).");
    }
    checkWait(item.when, signals, `next[${at}]`, refuse);
  }
  return next;
}

/** For callers without types. */
function checkWait(when: unknown, signals: StepRules['parseSignal'], where: string, refuse: Refuse): void {
  if (when === undefined) return;
  const { anyOf } = (when ?? {}) as { readonly anyOf?: unknown };
  const isWait = (wait: unknown): wait is WaitRequest => typeof wait === 'object' && wait !== null && 'kind' in wait;
  if (!Array.isArray(anyOf) || anyOf.length === 0 || !anyOf.every(isWait)) {
    const remedy = "Make it with signal('name'), timer('2h'), at(date) or anyOf(…).";
    refuse(`${where}.when is ${kindOf(when)}, not what a task can wait for`, remedy);
  }
  for (const wait of anyOf) {
    if (wait.kind === 'timer' || wait.kind === 'at') continue;
    const prefix = wait.kind === 'signal' ? '' : `${wait.kind} `;
    if (signals.has(`${prefix}${wait.name}`)) continue;
    const names = [...signals.keys()].filter((name) => (/^(approval|child) /.exec(name)?.[0] ?? '') === prefix);
    const known = names.map((name) => name.slice(prefix.length)).join(', ') || 'none';
    refuse(`${where}.when names the ${wait.kind} ${wait.name}, which the definition doesn't have`, `Known: ${known}.`);
  }
}

function checkCount(name: string, value: unknown, refuse: Refuse): void {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0)) return;
  refuse(`${name} is ${typeof value === 'number' ? value : kindOf(value)}`, 'Return a whole number, 0 or more.');
}

/** No secret is stored: every later model call would see it. */
function checkMemories(memories: unknown, refuse: Refuse): void {
  if (!Array.isArray(memories))
    refuse(`memories is ${kindOf(memories)}`, 'Return an array of { subject, kind, key, value }.');
  for (const [at, write] of (memories as readonly MemoryUpdate[]).entries()) {
    refuseSecrets(`memories[${at}]`, { value: write?.value ?? null, words: write?.words ?? '' });
  }
}

function checkSupersedes(value: unknown, refuse: Refuse): void {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= 1)) return;
  const given = typeof value === 'number' ? value : kindOf(value);
  refuse(`supersedes is ${given}`, 'Return the sequence of an earlier checkpoint: a whole number, 1 or more.');
}

function checkedUpdate(update: unknown, rules: StepRules, refuse: Refuse): (belief: Json) => Json {
  if (typeof update !== 'function') {
    return refuse(`belief is ${kindOf(update)}`, 'Return a function of the belief: belief: (b) => ({ ...b, … }).');
  }
  return (belief) => {
    const after = attempt(() => update(freeze(belief)), rules);
    if (after instanceof Promise) refuse('its belief function is async', 'Await first, then return { belief }.');
    return rules.parseBelief(after);
  };
}

function attempt<T>(body: () => T, rules: StepRules): T {
  try {
    return body();
  } catch (error) {
    throw explained(error, rules);
  }
}

/** An error of changing something frozen gets advice on what to do instead; any other is the user's own and stays as it is. */
function explained(error: unknown, { definition, step }: StepRules): unknown {
  const inPlace = /read only property|object is not extensible|Cannot (?:delete|redefine) property/;
  if (!(error instanceof TypeError) || !inPlace.test(error.message)) return error;
  return new InvalidError(
    'changed-in-place',
    `${definition}, step ${step}: something readonly was changed in place (${error.message}). What a step receives is readonly: copy it, and return belief: (b) => ({ ...b, … }).`,
    { definition, step, cause: error },
  );
}

function refuseResult({ definition, step }: StepRules, problem: string, remedy: string): never {
  throw new InvalidError('step-result-invalid', `${definition}, step ${step}: ${problem}. ${remedy}`, {
    definition,
    step,
  });
}
