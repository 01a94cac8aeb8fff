/**
 * Owns what definitions of the system's own workflows share: undos, schedules, bulk jobs, streams. Their values are the system's own, so
 * no schema checks them, and they are the same in every version.
 */

import type { Json } from '@tidemark/core';
import { DEFAULT_RETRY, type RetryPolicy } from '../kernel/index.ts';
import type { Definition, StepDefinition, Upcaster } from './definition.ts';

export const asIs = (value: unknown): Json => (value ?? null) as Json;

export const OWN_DEFINITION = {
  parallel: 1,
  placement: 'shared',
  effects: [],
  onFailure: 'fail',
  stepBudget: Number.MAX_SAFE_INTEGER,
  upcasters: new Map(),
  parseInput: asIs,
  parseBelief: asIs,
  parseOutput: asIs,
} as const satisfies Partial<Definition>;

const UNCHANGED: Upcaster = { belief: (belief) => belief, task: (step, input) => ({ step, input }) };

/** Keeps belief and tasks from every version from which the definition can be upcast. */
export const unchangedUpcasters = ({ upcasters }: Pick<Definition, 'upcasters'>): Definition['upcasters'] =>
  new Map(Array.from(upcasters.keys(), (version) => [version, UNCHANGED]));

export const ownStep = (
  name: string,
  mayAdd: readonly string[],
  retry: Partial<RetryPolicy>,
  run: StepDefinition['run'],
): StepDefinition => ({
  ...{ name, mayAdd: new Set(mayAdd), durability: 'durable', retry: { ...DEFAULT_RETRY, ...retry } },
  ...{ parseInput: asIs, parseOutput: asIs, run },
});
