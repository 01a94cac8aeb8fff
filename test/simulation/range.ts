/** Owns running many seeds, one after the other, and adding up what came of them. */

import { type SimulationOptions, simulate } from '@tidemark/testkit/simulation';

export interface Range extends Omit<SimulationOptions, 'seed'> {
  readonly from: number;
  readonly count: number;
  /** Ends at the first seed that fails. */
  readonly untilFailure?: boolean;
}

export interface SeedFailure {
  readonly seed: number;
  readonly violations: readonly string[];
}

export interface Totals {
  readonly failures: SeedFailure[];
  seedCount: number;
  workflowCount: number;
  parkedCount: number;
  callCount: number;
  eventCount: number;
  virtualMs: number;
}

export const noTotals = (): Totals => ({
  failures: [],
  seedCount: 0,
  workflowCount: 0,
  parkedCount: 0,
  callCount: 0,
  eventCount: 0,
  virtualMs: 0,
});

export async function runRange(range: Range, tell: (failure: SeedFailure) => void): Promise<Totals> {
  const { from, count, untilFailure = false, ...options } = range;
  // Errors are values here, and most are thrown by faults: their stacks cost more than all the rest.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const totals = noTotals();
  try {
    for (let seed = from; seed < from + count; seed++) {
      const result = await simulate({ seed, ...options });
      totals.seedCount++;
      for (const name of ['workflowCount', 'parkedCount', 'callCount', 'eventCount', 'virtualMs'] as const) {
        totals[name] += result[name];
      }
      if (result.violations.length === 0) continue;
      const failure = { seed, violations: result.violations };
      totals.failures.push(failure);
      tell(failure);
      if (untilFailure) break;
    }
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  return totals;
}
