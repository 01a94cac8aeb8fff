/**
 * Owns a view of a definition in which everything that its workflows store passes the policy on secrets (kernel/secret-guard.ts): inputs,
 * belief, tasks, outputs, requests and answers of effects and models, fragments, working memory and notes. It lies outside the view that
 * seals secret fields, which are exempt. It does not know what a secret looks like.
 *
 * G1 The recorded request depends on the request alone, so every attempt has the same digest; the call itself gets the original request.
 * G2 An answer that has arrived is recorded, masked, before it is refused: it was paid for or has happened, and is neither lost nor
 *    requested again.
 */

import { toJson } from '@tidemark/codec';
import { InvalidError, isSystemDefinition, type Json } from '@tidemark/core';
import { holdsMark } from '@tidemark/secrets';
import {
  type ContextDefinition,
  type Definition,
  type EffectDefinition,
  type Model,
  type ModelRequest,
  type Parse,
  PendingResult,
  type StepContext,
  type StepDefinition,
  type StepResult,
  type TaskRequest,
  type WaitRequest,
} from '../definition/index.ts';
import { guardOf, overridden, type SecretGuard, type SecretPorts } from '../kernel/index.ts';

/**
 * An undo stores only what was stored before, and the system's own steps nothing that a caller wrote but their input. Errors pass the policy
 * where the run records them.
 */
export function guardedDefinition(definition: Definition, ports: SecretPorts): Definition {
  if (definition.undoFor !== undefined) return definition;
  const guard = guardOf(definition.name, [definition], ports);
  const parsing = (where: 'input' | 'belief' | 'output', parse: Parse): Parse => taking(guard, where, where, parse);
  if (isSystemDefinition(definition.name))
    return { ...definition, parseInput: parsing('input', definition.parseInput) };
  return {
    ...definition,
    parseInput: parsing('input', definition.parseInput),
    parseBelief: parsing('belief', definition.parseBelief),
    parseOutput: parsing('output', definition.parseOutput),
    begin: (input, at) => {
      const begun = definition.begin(input, at);
      return { ...begun, next: guardedTasks(begun.next, guard), ...taken(begun, ['fragments'], guard) };
    },
    steps: new Map(Array.from(definition.steps, ([name, step]) => [name, guardedStep(step, guard)])),
    effects: definition.effects.map((effect) => guardedEffect(effect, guard)),
    context: definition.context && guardedRules(definition.context, guard),
    ...(definition.children !== undefined && {
      children: new Map(Array.from(definition.children, ([name, child]) => [name, guardedDefinition(child, ports)])),
    }),
  };
}

/** A masked value must still fit the schema. */
const taking =
  (guard: SecretGuard, where: 'input' | 'belief' | 'task' | 'output', field: string, parse: Parse): Parse =>
  (value, seal) => {
    const parsed = parse(value, seal);
    const stored = guard.take(where, field, parsed);
    return stored === parsed ? parsed : parse(stored, seal);
  };

function guardedStep(step: StepDefinition, guard: SecretGuard): StepDefinition {
  const { name } = step;
  return {
    ...step,
    parseInput: taking(guard, 'task', `input of step ${name}`, step.parseInput),
    parseOutput: taking(guard, 'output', `output of step ${name}`, step.parseOutput),
    run: async (context, input) => guardedResult((await step.run(guardedContext(context, guard), input)) ?? {}, guard),
  };
}

const PLACES = {
  fragments: 'fragment',
  memory: 'memory',
  handOver: 'memory',
  lastAction: 'note',
  journal: 'output',
} as const;
type Placed = Pick<StepResult, keyof typeof PLACES>;

/** Those of these members that are present, after the policy. */
function taken<K extends keyof Placed>(of: Pick<Placed, K>, names: readonly K[], guard: SecretGuard): Pick<Placed, K> {
  const members = names.filter((name) => of[name] !== undefined);
  const stored = Object.fromEntries(members.map((name) => [name, guard.take(PLACES[name], name, of[name])])) as Placed;
  const given: Partial<Placed> = of;
  if (stored.fragments === given.fragments) return stored as Pick<Placed, K>;
  return {
    ...stored,
    fragments: stored.fragments?.map((one, at) => unlessMasked(one, given.fragments?.[at])),
  } as Placed;
}

/** Without parts that a mask has changed: a provider refuses what it did not sign. */
function unlessMasked<T extends { readonly parts?: { readonly text: string } | undefined }>(stored: T, given?: T): T {
  if (stored.parts?.text === given?.parts?.text) return stored;
  const { parts: _, ...rest } = stored;
  return rest as T;
}

/** Belief and outputs pass the policy where they are parsed. */
const guardedResult = (result: StepResult, guard: SecretGuard): StepResult => ({
  ...result,
  ...(result.next !== undefined && { next: guardedTasks(result.next, guard) }),
  ...taken(result, ['fragments', 'memory', 'handOver', 'lastAction', 'journal'], guard),
});

/** Guards approvals of tasks. A changed task is a copy, so later tasks that name it are changed as well. */
function guardedTasks(tasks: readonly TaskRequest[], guard: SecretGuard): readonly TaskRequest[] {
  const changed = new Map<TaskRequest, TaskRequest>();
  const all = tasks.map((task) => {
    const after = Array.isArray(task.after)
      ? task.after.map((other) => (typeof other === 'string' ? other : (changed.get(other) ?? other)))
      : task.after;
    const isMoved = Array.isArray(after) && after.some((other, at) => other !== task.after?.[at]);
    const anyOf = task.when?.anyOf.map((wait) => guardedWait(wait, guard));
    const isAsked = anyOf?.some((wait, at) => wait !== task.when?.anyOf[at]) === true;
    if (!isMoved && !isAsked) return task;
    const copy = { ...task, ...(isMoved && { after }), ...(isAsked && { when: { anyOf: anyOf! } }) };
    changed.set(task, copy);
    return copy;
  });
  return changed.size === 0 ? tasks : all;
}

function guardedWait(wait: WaitRequest, guard: SecretGuard): WaitRequest {
  if (wait.kind !== 'approval') return wait;
  const { kind, name, ...asked } = wait;
  const stored = guard.take('approval', `approval ${name}`, asked);
  return stored === asked ? wait : { kind, name, ...stored };
}

/** A summary is made outside the step, where there is nobody to refuse it to, so it is masked. */
function guardedRules(rules: ContextDefinition, guard: SecretGuard): ContextDefinition {
  const { summaryModel } = rules;
  if (summaryModel === undefined) return rules;
  const recorded = (answer: Answer): Answer => guard.answered('answer', 'summary', answer).value;
  // A copy would load the tokenizer.
  return overridden<ContextDefinition>(rules, { summaryModel: answering(summaryModel, recorded) });
}

/** The model, with its answers in the form that is stored. */
const answering = (model: Model, recorded: (answer: Answer) => Answer): Model =>
  overridden(model, { answer: storing(model.answer, recorded) });
const storing =
  (answer: Model['answer'], recorded: (answer: Answer) => Answer): Model['answer'] =>
  async (...of) => {
    const given = await answer(...of);
    return unlessMasked(recorded(given), given);
  };
type Answer = Awaited<ReturnType<Model['answer']>>;

/** A raw prompt was sent as it was asked, so the record lacks what a mark in it stands for. */
function sendable<T>(recorded: T): T {
  if (!holdsMark(recorded)) return recorded;
  throw new InvalidError(
    'request-unsendable',
    "What is recorded can't be sent again: what looked like a secret in it is masked.",
  );
}

const guardedContext = (context: StepContext, guard: SecretGuard): StepContext =>
  overridden<StepContext>(context, {
    stored: (value) => guard.take('output', `output of step ${context.step}`, context.stored(value)),
    run: (name, body, options) => {
      const field = `result of ctx.run('${name}')`;
      const stored = async (signal: AbortSignal): Promise<Json> =>
        guard.take('closure', field, toJson((await body(signal)) ?? null, field));
      return context.run(name, stored, options);
    },
    effect: async (effect, request, options) => {
      const asked = effect.parseRequest(request);
      const stored = guard.take('request', `request of ${effect.operation}`, asked);
      const call = new GuardedCall(guard);
      return call.passed(context.effect(call.effect(effect, asked, stored), stored, options));
    },
    modelCall: async ({ model, answerRecorded, ...asked }: ModelRequest) => {
      const stored = guard.take('prompt', 'prompt', asked);
      const call = new GuardedCall(guard);
      const recorded = (answer: Answer): Answer => call.answered('answer', 'answer', answer);
      const again: ModelRequest['answerRecorded'] =
        answerRecorded && ((prompt) => storing(answerRecorded(sendable(prompt)), recorded));
      return call.passed(context.modelCall({ ...stored, model: answering(model, recorded), answerRecorded: again }));
    },
    log: (action, detail) => {
      const note = guard.take('note', 'log', { action, detail });
      context.log(note.action, note.detail);
    },
  });

/** One call of an effect or a model, and the error about its answer, to be thrown once the answer is recorded (G2). */
class GuardedCall {
  readonly #guard: SecretGuard;
  #problem: InvalidError | undefined;

  constructor(guard: SecretGuard) {
    this.#guard = guard;
  }

  answered<T>(where: 'response' | 'answer', field: string, given: T): T {
    const { value, problem } = this.#guard.answered(where, field, given);
    this.#problem = problem;
    return value;
  }

  /** The outcome, unless it is refused. */
  async passed<T>(outcome: Promise<T>): Promise<T> {
    const value = await outcome;
    if (this.#problem !== undefined) throw this.#problem;
    return value;
  }

  /** G1. */
  effect(effect: EffectDefinition, asked: Json, stored: Json): EffectDefinition {
    return {
      ...guardedEffect(effect, this.#guard),
      ...(stored !== asked && { asked }),
      parseRequest: () => stored,
      recorded: (response) => {
        const value = this.answered('response', `response of ${effect.operation}`, response);
        if (value !== response) this.#problem ??= misfit(effect, value);
        // A pure effect has done nothing outside that could be lost.
        if (effect.kind === 'pure' && this.#problem !== undefined) throw this.#problem;
        return value;
      },
    };
  }
}

/** Recovery uses this form too: without a step there is nobody to refuse an answer to, so it is masked. */
function guardedEffect(effect: EffectDefinition, guard: SecretGuard): EffectDefinition {
  const { operation } = effect;
  return {
    ...effect,
    call: async (request, context) => {
      const answer = await effect.call(request, context);
      if (!(answer instanceof PendingResult)) return answer;
      const { value } = guard.answered('response', `detail of ${operation}`, answer.detail);
      return value === answer.detail ? answer : new PendingResult(answer.token, value);
    },
    recorded: (response) => guard.answered('response', `response of ${operation}`, response).value,
  };
}

/** The error when the masked response no longer fits the effect's schema: a person then gives the right answer. */
function misfit(effect: EffectDefinition, value: Json): InvalidError | undefined {
  try {
    effect.parseResponse(value);
    return undefined;
  } catch (error) {
    if (error instanceof InvalidError) return error;
    throw error;
  }
}
