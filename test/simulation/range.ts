/** Owns running many seeds, one after the other, and adding up what came of them. */

import { simulate } from '@tidemark/testkit/simulation';

export interface Range {
  readonly from: number;
  readonly count: number;
}

export interface SeedFailure {
  readonly seed: number;
  readonly violations: readonly string[];
}

export interface Totals {
  readonly failures: SeedFailure[];
  workflowCount: number;
  parkedCount: number;
  callCount: number;
  eventCount: number;
  virtualMs: number;
}

export const noTotals = (): Totals => ({
  failures: [],
  workflowCount: 0,
  parkedCount: 0,
  callCount: 0,
  eventCount: 0,
  virtualMs: 0,
});

export async function runRange({ from, count }: Range, tell: (failure: SeedFailure) => void): Promise<Totals> {
  // Errors are values here, and most are thrown by faults: their stacks cost more than all the rest.
  Error.stackTraceLimit = 0;
  const totals = noTotals();
  for (let seed = from; seed < from + count; seed++) {
    const result = await simulate({ seed });
    for (const name of ['workflowCount', 'parkedCount', 'callCount', 'eventCount', 'virtualMs'] as const) {
      totals[name] += result[name];
    }
    if (result.violations.length === 0) continue;
    const failure = { seed, violations: result.violations };
    totals.failures.push(failure);
    tell(failure);
  }
  return totals;
}
