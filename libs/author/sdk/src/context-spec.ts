/**
 * Owns the part of a definition about its agents' context: models, tools, bundles, phases, budgets. It turns what a user writes into what
 * the runtime consumes, and reports every mistake at the definition.
 */

import {
  type BundlePolicy,
  definePolicy,
  InvalidError,
  type Json,
  type PolicyOptions,
  type Tokenizer,
} from '@tidemark/core';
import type { Budget, ContextDefinition, Model, PhaseDefinition } from '@tidemark/runtime';
import { tokenizerFor } from '@tidemark/tokenizer';
import { freeze } from './freeze.ts';
import { parser } from './parse.ts';
import { type DefinitionProblem, unknownMembers } from './problem.ts';
import type { Schema } from './schema.ts';
import { type Tools, toolProblems } from './tool.ts';

/** Working memory of a phase by default, in tokens. */
const PHASE_BUDGET_DEFAULT_TOKENS = 4_000;
/** Default number of equal requests before the workflow is stopped as running in circles. */
const REPEATS_DEFAULT_COUNT = 10;
/** Fields of knowledge that a definition may name, and characters of one's name. */
const DOMAINS_MAX_COUNT = 8;
const DOMAIN_MAX_CHARS = 200;

/** Limits of spending. Tokens count input and output; money is in US dollars, by the models' price tables. */
export interface BudgetOptions {
  readonly tokens?: number | undefined;
  readonly usd?: number | undefined;
}

export interface PhaseOptions {
  /** Phases that it may hand over to; none by default. */
  readonly next?: readonly string[] | undefined;
  /** Schema of its working memory: an object; any JSON by key when absent. */
  readonly memory?: Schema | undefined;
  /** Tokens of its working memory; 4,000 by default. */
  readonly budgetTokens?: number | undefined;
}

/** The part of a definition about what its model calls see and may spend. */
export interface ContextSpec {
  /** For `ctx.model`; a call that names none uses `default`. */
  readonly models?: Readonly<Record<string, Model>> | undefined;
  /** What models may call, and `ctx.tool` executes. */
  readonly tools?: Tools | undefined;
  /** Bundle types, such as `triage`, `reply`, `investigate`: the content of a prompt, and what is dropped first when it doesn't fit. */
  readonly bundles?: Readonly<Record<string, Omit<PolicyOptions, 'type'>>> | undefined;
  /** Read-only context of every bundle, of this version of the definition. A function must give the same for the same input. */
  readonly system?: string | ((input: never) => string) | undefined;
  /** Stretches of the workflow with a working memory of their own; the first one is where it begins. */
  readonly phases?: Readonly<Record<string, PhaseOptions>> | undefined;
  readonly budget?:
    | {
        readonly call?: BudgetOptions | undefined;
        readonly step?: BudgetOptions | undefined;
        readonly workflow?: BudgetOptions | undefined;
      }
    | undefined;
  /** How often a model or a tool may get the same request before the workflow is stopped as running in circles; 10 by default. */
  readonly repeatsMax?: number | undefined;
  /** Fields of knowledge, such as a product or a repository, whose facts its bundles contain and `ctx.recall` finds. */
  readonly domains?: readonly string[] | undefined;
  /** Measures what recall is worth: into the bundles of this share of the sessions, chosen by their ids, nothing is recalled; 0 by default. */
  readonly recall?: { readonly controlShare?: number | undefined } | undefined;
  /** Which of `models` writes summaries; by rule when absent. */
  readonly summaryModel?: string | undefined;
}

export const CONTEXT_MEMBERS = [
  'models',
  'tools',
  'bundles',
  'system',
  'phases',
  'budget',
  'repeatsMax',
  'domains',
  'recall',
  'summaryModel',
] as const;

const problem = (code: string, message: string): DefinitionProblem => ({ code, message });

/** Returns every mistake in it. */
export function contextProblems(spec: ContextSpec): readonly DefinitionProblem[] {
  return [
    ...modelProblems(spec),
    ...toolProblems(spec.tools ?? {}),
    ...bundleProblems(spec.bundles ?? {}),
    ...phaseProblems(spec.phases ?? {}),
    ...budgetProblems(spec.budget ?? {}),
    ...settingProblems(spec),
  ];
}

function modelProblems({ models = {}, summaryModel }: ContextSpec): DefinitionProblem[] {
  const problems = Object.entries(models)
    .filter(([, model]) => typeof model?.answer !== 'function')
    .map(([name]) => problem('model-invalid', `models.${name} is not a model: make it with model(…) of @tidemark/ai.`));
  if (summaryModel !== undefined && !Object.hasOwn(models, summaryModel)) {
    problems.push(problem('model-unknown', `summaryModel '${summaryModel}' is not in models.`));
  }
  return problems;
}

function bundleProblems(bundles: NonNullable<ContextSpec['bundles']>): DefinitionProblem[] {
  return Object.entries(bundles).flatMap(([type, options]) => {
    try {
      definePolicy({ ...options, type });
      return unknownMembers(`bundles.${type}`, options, POLICY_MEMBERS);
    } catch (error) {
      if (!(error instanceof InvalidError)) throw error;
      return [problem('policy-invalid', `bundles.${type}: ${error.message}`)];
    }
  });
}

const POLICY_MEMBERS = ['budgetTokens', 'lanes', 'trimOrder', 'traceEntries', 'summary', 'session', 'phases'];
const PHASE_MEMBERS = ['next', 'memory', 'budgetTokens'];

function phaseProblems(phases: NonNullable<ContextSpec['phases']>): DefinitionProblem[] {
  return Object.entries(phases).flatMap(([name, options]) => {
    const { next = [], budgetTokens = PHASE_BUDGET_DEFAULT_TOKENS } = options;
    const problems = [...unknownMembers(`phases.${name}`, options, PHASE_MEMBERS)];
    for (const to of next) {
      if (!Object.hasOwn(phases, to))
        problems.push(problem('phase-unknown', `phases.${name}.next names '${to}', which is not a phase.`));
    }
    if (!Number.isSafeInteger(budgetTokens) || budgetTokens < 1) {
      problems.push(problem('phase-invalid', `phases.${name}.budgetTokens must be a whole number, 1 or more.`));
    }
    return problems;
  });
}

function budgetProblems(budget: NonNullable<ContextSpec['budget']>): DefinitionProblem[] {
  const problems = [...unknownMembers('budget', budget, ['call', 'step', 'workflow'])];
  for (const [of, limits] of Object.entries(budget)) {
    if (limits === undefined) continue;
    problems.push(...unknownMembers(`budget.${of}`, limits, ['tokens', 'usd']));
    for (const [unit, value] of Object.entries(limits as BudgetOptions)) {
      if (value === undefined || (typeof value === 'number' && Number.isFinite(value) && value >= 0)) continue;
      problems.push(problem('budget-invalid', `budget.${of}.${unit} must be a number from 0.`));
    }
  }
  return problems;
}

function settingProblems({ system, repeatsMax = 1, domains = [], recall = {} }: ContextSpec): DefinitionProblem[] {
  const problems = [...unknownMembers('recall', recall, ['controlShare'])];
  const { controlShare = 0 } = recall;
  if (typeof controlShare !== 'number' || !(controlShare >= 0 && controlShare <= 1)) {
    problems.push(problem('recall-invalid', 'recall.controlShare must be a number from 0 to 1, such as 0.1.'));
  }
  if (system !== undefined && typeof system !== 'string' && typeof system !== 'function') {
    problems.push(problem('system-invalid', 'system must be a text, or a function of the input that gives one.'));
  }
  if (!Number.isSafeInteger(repeatsMax) || repeatsMax < 1) {
    problems.push(problem('repeats-invalid', 'repeatsMax must be a whole number, 1 or more.'));
  }
  if (!Array.isArray(domains) || domains.length > DOMAINS_MAX_COUNT || !domains.every(isDomain)) {
    problems.push(
      problem('domains-invalid', `domains must be an array of at most ${DOMAINS_MAX_COUNT} names, such as ['food'].`),
    );
  }
  return problems;
}

/** As the runtime takes it. `title`: `refund v2`. */
export function contextDefinition(spec: ContextSpec, title: string): ContextDefinition {
  const { models = {}, bundles = {}, phases = {}, system, budget = {}, summaryModel } = spec;
  const policies = Object.entries(bundles).map(([type, options]): [string, BundlePolicy] => [
    type,
    definePolicy({ ...options, type }),
  ]);
  return {
    bundles: new Map(policies),
    system: systemOf(system),
    phases: new Map(Object.entries(phases).map(([name, options]) => [name, phaseDefinition(name, options, title)])),
    firstPhase: Object.keys(phases)[0],
    // Built on first use: loading a tokenizer takes a moment, and most definitions never count.
    get tokenizer(): Tokenizer {
      return models.default?.tokenizer ?? Object.values(models)[0]?.tokenizer ?? tokenizerFor();
    },
    budgets: { call: limits(budget.call), step: limits(budget.step), workflow: limits(budget.workflow) },
    repeatsMax: spec.repeatsMax ?? REPEATS_DEFAULT_COUNT,
    domains: spec.domains ?? [],
    recallControlShare: spec.recall?.controlShare,
    summaryModel: summaryModel === undefined ? undefined : models[summaryModel],
  };
}

const isDomain = (name: unknown): boolean =>
  typeof name === 'string' && new RegExp(`^(?!\\s*$)[^\\p{Cc}]{1,${DOMAIN_MAX_CHARS}}$`, 'u').test(name);

function systemOf(system: ContextSpec['system']): ContextDefinition['system'] {
  if (system === undefined) return undefined;
  return typeof system === 'string' ? () => system : (input) => system(freeze(input) as never);
}

const limits = ({ tokens, usd }: BudgetOptions = {}): Budget => ({
  tokens,
  costMicros: usd === undefined ? undefined : Math.floor(usd * 1_000_000),
});

function phaseDefinition(
  name: string,
  { next = [], memory, budgetTokens }: PhaseOptions,
  title: string,
): PhaseDefinition {
  const parse =
    memory === undefined
      ? undefined
      : parser(memory, {
          code: 'phase-memory-invalid',
          what: `${title}, working memory of phase ${name}`,
          remedy: `Fix what the step returns as memory or handOver, or phases.${name}.memory.`,
        });
  return {
    next,
    budgetTokens: budgetTokens ?? PHASE_BUDGET_DEFAULT_TOKENS,
    ...(parse && { parseMemory: (value: Readonly<Record<string, Json>>) => void parse(value) }),
  };
}
