/**
 * Owns the definition of an agent that runs elsewhere and reports to Tidemark, and derives from it the definition by which its commits are
 * checked and written. A workflow's own definition can be used: reports are then checked against its schemas and its control flow. None of
 * its code runs here.
 */

import { toJson } from '@tidemark/codec';
import { InvalidError, type Json } from '@tidemark/core';
import { DEFAULT_RETRY } from '../kernel/index.ts';
import type { Beginning, Definition, StepDefinition, TaskRequest } from './definition.ts';
import { OWN_DEFINITION } from './own-definition.ts';
import { stepNamed } from './steps.ts';

/**
 * The step of a task that every shadow has pending. Work that the agent did not announce is committed for that task, and so is the agent's
 * end, so the record never stops at a surprise.
 */
export const REPORT_STEP = '~report';

type ShadowStep = Pick<StepDefinition, 'mayAdd' | 'parseInput' | 'parseOutput'>;

/** Checks throw `InvalidError`; absent ones check nothing. */
export interface ShadowDefinition {
  readonly name: string;
  readonly version: number;
  readonly steps?: ReadonlyMap<string, ShadowStep> | undefined;
  /** The definition has secret fields: it can't be used for a shadow, because an agent's reports are not sealed. */
  readonly hasSecrets?: boolean | undefined;
  readonly parseInput?: ((value: unknown) => Json) | undefined;
  readonly parseBelief?: ((value: unknown) => Json) | undefined;
  readonly parseOutput?: ((value: unknown) => Json) | undefined;
  /** What the agent begins with, where its report doesn't say. */
  readonly begin?:
    | ((input: Json, at: Beginning) => { readonly belief: unknown; readonly next: readonly TaskRequest[] })
    | undefined;
}

/** A task that a step of the agent added. */
export interface ShadowTask {
  readonly step: string;
  readonly input?: unknown;
  /** `all`: only after every task that was added earlier. */
  readonly after?: 'all' | undefined;
}

/** What a shadow begins with, as JSON. */
export interface ShadowOpening {
  readonly input: Json;
  /** Undefined: from the definition's `begin`, or null where it has none. */
  readonly belief: Json | undefined;
  readonly next: readonly ShadowTask[] | undefined;
}

const anyJson = (value: unknown): Json => toJson(value ?? null, 'report');

const notRun = (): never => {
  throw new InvalidError('shadow-not-run', 'The step of an agent that runs elsewhere is not run here.');
};

export const requestOf = ({ step, input, after }: ShadowTask): TaskRequest => ({ step, input: input ?? null, after });

/** The definition for commits of these steps; `isStrict`: with the declared checks and control flow. */
export function definitionOfShadow(
  shadow: ShadowDefinition,
  named: readonly string[],
  isStrict: boolean,
  opening?: ShadowOpening,
): Definition {
  const checked: Partial<ShadowDefinition> = isStrict ? shadow : {};
  const every = new Set([...named, REPORT_STEP]);
  const steps = new Map<string, StepDefinition>();
  for (const name of every) {
    const declared = checked.steps && stepNamed(checked.steps, name);
    if (checked.steps === undefined || declared !== undefined || name === REPORT_STEP) {
      steps.set(name, stepOfShadow(name, declared, every));
    }
  }
  return {
    // Shared partitions: many agents that are only observed must not make the pool grow.
    ...OWN_DEFINITION,
    name: shadow.name,
    version: shadow.version,
    steps,
    parseInput: checked.parseInput ?? anyJson,
    parseBelief: checked.parseBelief ?? anyJson,
    parseOutput: checked.parseOutput ?? anyJson,
    begin: (input, at) => beginningOf(shadow, input, at, opening),
  };
}

const stepOfShadow = (name: string, declared: ShadowStep | undefined, every: ReadonlySet<string>): StepDefinition => ({
  name,
  mayAdd: new Set([...(declared?.mayAdd ?? every), REPORT_STEP]),
  durability: 'durable',
  retry: DEFAULT_RETRY,
  parseInput: declared?.parseInput ?? anyJson,
  parseOutput: declared?.parseOutput ?? anyJson,
  run: notRun,
});

function beginningOf(
  shadow: ShadowDefinition,
  input: Json,
  at: Beginning,
  opening: ShadowOpening | undefined,
): ReturnType<Definition['begin']> {
  const isSaid = opening?.belief !== undefined && opening.next !== undefined;
  const begun = isSaid ? undefined : shadow.begin?.(input, at);
  return {
    belief: opening?.belief ?? begun?.belief ?? null,
    next: [...(opening?.next?.map(requestOf) ?? begun?.next ?? []), { step: REPORT_STEP, input: null }],
  };
}

/** Names of the tasks that a shadow begins with. */
export function firstSteps(shadow: ShadowDefinition, opening: ShadowOpening): readonly string[] {
  // The names alone are used, whatever the day.
  return beginningOf(shadow, opening.input, { day: '1970-01-01' }, opening).next.map(({ step }) => step);
}
