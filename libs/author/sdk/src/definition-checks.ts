/**
 * Owns the checks of a definition before it runs, for mistakes that would otherwise show when a workflow is already under way. It reports
 * all of them at once.
 */

import { wholeSchema } from '@tidemark/codec';
import { CRASH_TIMES_MAX, messageOf, type RecoveryOptions } from '@tidemark/core';
import { checkedDuration, type EffectDefinition } from '@tidemark/runtime';
import { CONTEXT_MEMBERS, type ContextSpec, contextProblems } from './context-spec.ts';
import { DISPATCH_MEMBERS } from './dispatch-spec.ts';
import { type DefinitionProblem, nameProblems, schemaProblems, unknownMembers } from './problem.ts';
import { type Flow, reach } from './reach.ts';
import type { Schema } from './schema.ts';
import { hasSecrets } from './secret.ts';
import { type AnyStep, settingsOf } from './step.ts';
import { upcastProblems } from './upcast.ts';

/** Tasks of one workflow under way at once, at most. */
const PARALLEL_MAX_COUNT = 256;
/** Most unflushed staged checkpoints of a definition, and for how many milliseconds. */
const STAGED_STEPS_MAX_COUNT = 1_000;
const STAGED_DELAY_MAX_MS = 10_000;

/** Longest time in which crashes count, and longest wait after one: 30 days. */
const RECOVERY_TIME_MAX_MS = 30 * 86_400_000;

/** A spec of any types, also from callers without types. */
export interface AnySpec extends ContextSpec {
  readonly name: string;
  readonly version: number;
  readonly input: unknown;
  readonly belief: unknown;
  readonly output: unknown;
  readonly tasks: { readonly [step: string]: unknown };
  readonly outputs?: { readonly [step: string]: unknown } | undefined;
  readonly signals?: { readonly [name: string]: unknown } | undefined;
  readonly approvals?: { readonly [name: string]: unknown } | undefined;
  readonly children?: { readonly [name: string]: unknown } | undefined;
  readonly flow: Flow;
  readonly starts?: readonly string[] | undefined;
  readonly effects?: readonly EffectDefinition[] | undefined;
  readonly begin: unknown;
  readonly steps: { readonly [step: string]: AnyStep };
  readonly parallel?: number | undefined;
  readonly recovery?: RecoveryOptions | undefined;
  readonly staging?: { readonly steps?: number | undefined; readonly delayMs?: number | undefined } | undefined;
  readonly durability?: string | undefined;
  readonly retry?: object | undefined;
  readonly placement?: string | undefined;
  readonly onFailure?: string | undefined;
  readonly onSecret?: string | undefined;
  readonly stepBudget?: number | undefined;
  readonly timeout?: string | number | undefined;
  readonly upcast?: object | undefined;
}

const KNOWN = [
  ...[
    'name',
    'version',
    'input',
    'belief',
    'output',
    'tasks',
    'outputs',
    'signals',
    'approvals',
    'children',
    'flow',
    'starts',
    'effects',
    'begin',
    'steps',
  ],
  ...[
    'parallel',
    'durability',
    'staging',
    'recovery',
    'retry',
    'placement',
    'onFailure',
    'onSecret',
    'stepBudget',
    'timeout',
    'upcast',
  ],
  ...CONTEXT_MEMBERS,
  ...DISPATCH_MEMBERS,
];
const STEP_KNOWN = ['run', 'durability', 'retry', 'compensate', 'gate', 'plans'];
const DURABILITIES: readonly unknown[] = ['durable', 'staged', undefined];
const PLACEMENTS: readonly unknown[] = ['exclusive', 'shared', undefined];
const ON_FAILURES: readonly unknown[] = ['park', 'retry-on-new-build', 'fail', 'compensate', undefined];
const ON_SECRETS: readonly unknown[] = ['report', 'mask', 'refuse', undefined];

/** Returns every mistake in a definition, and the starts that follow from it. */
export function checkSpec(spec: AnySpec): {
  readonly problems: readonly DefinitionProblem[];
  readonly starts: readonly string[];
} {
  const missing = ['tasks', 'flow', 'steps'].filter((key) => !isRecord(spec[key as 'tasks' | 'flow' | 'steps']));
  if (missing.length > 0) {
    return { starts: [], problems: missing.map((key) => problem('part-missing', `${key} must be an object.`)) };
  }
  const references = referenceProblems(spec);
  const reached = reach(spec.flow, spec.starts);
  return {
    starts: reached.starts,
    problems: [
      ...unknownMembers('defineWorkflow', spec, KNOWN),
      ...settingProblems(spec),
      ...allSchemaProblems(spec),
      ...stepProblems(spec),
      ...references,
      // Checking reachability over names that don't exist would only repeat those problems.
      ...(references.length === 0 ? reached.problems : []),
      ...effectProblems(spec.effects ?? []),
      ...upcastProblems(spec.upcast, spec.version),
      ...contextProblems(spec),
    ],
  };
}

function settingProblems(spec: AnySpec): DefinitionProblem[] {
  const problems = [...nameProblems('name', spec.name)];
  if (!Number.isSafeInteger(spec.version) || spec.version < 1) {
    problems.push(problem('version-invalid', 'version must be a whole number, 1 or more.'));
  }
  if (typeof spec.begin !== 'function') problems.push(problem('begin-missing', 'begin must be a function.'));
  problems.push(...stagingProblems(spec.staging), ...recoveryProblems(spec.recovery));
  problems.push(...countProblems('parallel-invalid', 'parallel', spec.parallel, PARALLEL_MAX_COUNT));
  if (!PLACEMENTS.includes(spec.placement)) {
    problems.push(problem('placement-invalid', "placement must be 'exclusive' or 'shared'."));
  }
  if (!DURABILITIES.includes(spec.durability)) problems.push(durabilityProblem(''));
  if (!ON_FAILURES.includes(spec.onFailure)) {
    problems.push(
      problem('on-failure-invalid', "onFailure must be 'park', 'retry-on-new-build', 'fail' or 'compensate'."),
    );
  }
  if (!ON_SECRETS.includes(spec.onSecret)) {
    problems.push(problem('on-secret-invalid', "onSecret must be 'report', 'mask' or 'refuse'."));
  }
  if (spec.onFailure === 'compensate' && spec.effects === undefined) {
    const message =
      "onFailure is 'compensate', so list the workflow's effects in effects: what isn't listed can't be compensated.";
    problems.push(problem('effects-unlisted', message));
  }
  problems.push(...timeoutProblems(spec.timeout));
  const stepBudget = spec.stepBudget ?? 1;
  if (!Number.isSafeInteger(stepBudget) || stepBudget < 1) {
    problems.push(problem('step-budget-invalid', 'stepBudget must be a whole number, 1 or more.'));
  }
  return problems;
}

function timeoutProblems(timeout: unknown): DefinitionProblem[] {
  if (timeout === undefined) return [];
  try {
    checkedDuration('timeout', timeout as string);
    return [];
  } catch (error) {
    return [problem('timeout-invalid', (error as Error).message)];
  }
}

function allSchemaProblems(spec: AnySpec): DefinitionProblem[] {
  return [
    ...schemaProblems('input', spec.input),
    ...schemaProblems('belief', spec.belief),
    ...schemaProblems('output', spec.output),
    ...Object.entries(spec.tasks).flatMap(([step, schema]) => schemaProblems(`tasks.${step}`, schema)),
    ...Object.entries(spec.outputs ?? {}).flatMap(([step, schema]) => schemaProblems(`outputs.${step}`, schema)),
    ...Object.entries(spec.signals ?? {}).flatMap(([name, schema]) => [
      ...nameProblems('signal', name),
      ...schemaProblems(`signals.${name}`, schema),
    ]),
    ...Object.entries(spec.approvals ?? {}).flatMap(([name, schema]) => [
      ...nameProblems('approval', name),
      ...schemaProblems(`approvals.${name}`, schema),
      ...formProblems(name, schema),
    ]),
  ];
}

function stagingProblems(staging: AnySpec['staging']): DefinitionProblem[] {
  if (staging === undefined) return [];
  if (!isRecord(staging)) return [problem('staging-invalid', 'staging must be an object with steps, delayMs or both.')];
  return [
    ...unknownMembers('staging', staging, ['steps', 'delayMs']),
    ...countProblems('staging-invalid', 'staging.steps', staging.steps, STAGED_STEPS_MAX_COUNT),
    ...countProblems('staging-invalid', 'staging.delayMs', staging.delayMs, STAGED_DELAY_MAX_MS),
  ];
}

function recoveryProblems(recovery: AnySpec['recovery']): DefinitionProblem[] {
  if (recovery === undefined) return [];
  const code = 'recovery-invalid';
  if (!isRecord(recovery)) return [problem(code, 'recovery must be an object with attempts, windowMs or delayMs.')];
  const { attempts, windowMs, delayMs } = recovery;
  return [
    ...unknownMembers('recovery', recovery, ['attempts', 'windowMs', 'delayMs']),
    ...countProblems(code, 'recovery.attempts', attempts, CRASH_TIMES_MAX - 1),
    ...countProblems(code, 'recovery.windowMs', windowMs, RECOVERY_TIME_MAX_MS),
    ...countProblems(code, 'recovery.delayMs', delayMs === 0 ? undefined : delayMs, RECOVERY_TIME_MAX_MS),
  ];
}

/** Checks an optional number from 1. */
function countProblems(code: string, name: string, value: number | undefined, most: number): DefinitionProblem[] {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 1 && value <= most)) return [];
  return [problem(code, `${name} must be a whole number between 1 and ${most}.`)];
}

/** A form is shown to the person who answers it, and its answer to readers of the history. */
function formProblems(name: string, schema: unknown): DefinitionProblem[] {
  // Another check refuses what is no schema.
  if (schemaProblems(name, schema).length > 0) return [];
  if (hasSecrets(schema as Schema)) {
    const message = `approvals.${name} has a secret field: anyone who may read the history can read an answer. Ask for secrets elsewhere.`;
    return [problem('approval-secret', message)];
  }
  try {
    wholeSchema(schema as Schema, 'input');
    return [];
  } catch (error) {
    const message = `approvals.${name} can't be shown as a form (${messageOf(error)}). Use types that JSON has.`;
    return [problem('approval-form', message)];
  }
}

function stepProblems(spec: AnySpec): DefinitionProblem[] {
  const problems: DefinitionProblem[] = [];
  const tasks = Object.keys(spec.tasks);
  if (tasks.length === 0) problems.push(problem('tasks-empty', 'tasks must name at least one step.'));
  for (const name of tasks) {
    problems.push(...nameProblems('step', name));
    if (!Object.hasOwn(spec.steps, name)) {
      problems.push(problem('step-missing', `no step handles task ${name}: add steps.${name}.`));
    }
  }
  for (const [name, step] of Object.entries(spec.steps)) {
    if (!Object.hasOwn(spec.tasks, name)) {
      problems.push(problem('step-unknown', `steps.${name} has no input schema: add tasks.${name}.`));
    }
    problems.push(...settingsProblems(name, step));
  }
  return problems;
}

function settingsProblems(name: string, step: AnyStep): DefinitionProblem[] {
  const settings = isRecord(step) ? step : settingsOf(step);
  const problems = [...unknownMembers(`steps.${name}`, settings, STEP_KNOWN)];
  if (typeof settings.run !== 'function') {
    problems.push(problem('step-invalid', `steps.${name} must be a function, or an object with run.`));
  }
  if (!DURABILITIES.includes(settings.durability)) problems.push(durabilityProblem(`steps.${name}.`));
  if (settings.compensate !== undefined && typeof settings.compensate !== 'function') {
    problems.push(problem('step-invalid', `steps.${name}.compensate must be a function.`));
  }
  const { gate } = settings;
  if (gate !== undefined && (typeof gate?.name !== 'string' || typeof gate.check !== 'function')) {
    problems.push(problem('step-invalid', `steps.${name}.gate must be { name, check }.`));
  }
  return problems;
}

/** Names in flow, starts and outputs that are no step, and steps without a flow. */
function referenceProblems(spec: AnySpec): DefinitionProblem[] {
  const isStep = (name: string) => Object.hasOwn(spec.tasks, name);
  const known = Object.keys(spec.tasks).join(', ');
  const unknown = (where: string, names: readonly string[]) =>
    names
      .filter((name) => !isStep(name))
      .map((name) => problem('reference-unknown', `${where} names ${name}, which is not a step. Steps: ${known}.`));
  return [
    ...unknown('flow', Object.keys(spec.flow)),
    ...Object.entries(spec.flow).flatMap(([step, next]) => unknown(`flow.${step}`, next)),
    ...unknown('starts', spec.starts ?? []),
    ...unknown('outputs', Object.keys(spec.outputs ?? {})),
    ...Object.keys(spec.tasks)
      .filter((step) => !Object.hasOwn(spec.flow, step))
      .map((step) => problem('flow-missing', `flow.${step} is missing: list what it may add, or [] for nothing.`)),
  ];
}

/** Two different effects of one operation would answer each other's keys. */
export function effectProblems(effects: readonly EffectDefinition[]): DefinitionProblem[] {
  const byOperation = new Map<string, EffectDefinition>();
  const twice = new Set<string>();
  for (const effect of effects) {
    const other = byOperation.get(effect.operation);
    if (other !== undefined && other !== effect) twice.add(effect.operation);
    byOperation.set(effect.operation, effect);
  }
  return [...twice].map((operation) =>
    problem(
      'effect-duplicate',
      `two effects have the operation ${operation}: define it once and share it, or rename one.`,
    ),
  );
}

const problem = (code: string, message: string): DefinitionProblem => ({ code, message });
const durabilityProblem = (where: string): DefinitionProblem =>
  problem('durability-invalid', `${where}durability must be 'durable' or 'staged'.`);
const isRecord = (value: unknown): value is Record<string, never> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
