/** Owns running many seeds, one after the other, and adding up what came of them. */

import { type SimulationOptions, type SimulationResult, simulate } from '@tidemark/testkit/simulation';

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

const SUMS = ['workflowCount', 'parkedCount', 'callCount', 'eventCount', 'virtualMs'] as const;
type Sums = { [name in (typeof SUMS)[number]]: number };

/** What is kept of a seed's run. */
export interface SeedResult extends SeedFailure, Readonly<Sums> {
  /** Wall clock, in milliseconds. */
  readonly tookMs: number;
}

export interface Totals extends Sums {
  readonly failures: SeedFailure[];
  seedCount: number;
  slowest: { readonly seed: number; readonly tookMs: number };
}

export const noTotals = (): Totals => ({
  failures: [],
  seedCount: 0,
  slowest: { seed: 0, tookMs: 0 },
  workflowCount: 0,
  parkedCount: 0,
  callCount: 0,
  eventCount: 0,
  virtualMs: 0,
});

export const summaryOf = (result: SimulationResult, tookMs: number): SeedResult => {
  const { seed, violations, workflowCount, parkedCount, callCount, eventCount, virtualMs } = result;
  return { seed, violations, tookMs, workflowCount, parkedCount, callCount, eventCount, virtualMs };
};

/** Adds one seed's run. */
export function add(totals: Totals, result: SeedResult, onFailure: (failure: SeedFailure) => void): void {
  const { seed, violations, tookMs } = result;
  totals.seedCount++;
  for (const name of SUMS) totals[name] += result[name];
  if (tookMs > totals.slowest.tookMs) totals.slowest = { seed, tookMs };
  if (violations.length === 0) return;
  const failure = { seed, violations };
  totals.failures.push(failure);
  onFailure(failure);
}

export async function runRange(range: Range, totals: Totals, onFailure: (failure: SeedFailure) => void): Promise<void> {
  const { from, count, untilFailure = false, ...options } = range;
  // Errors are values here, and most are thrown by faults: their stacks cost more than all the rest.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    for (let seed = from; seed < from + count; seed++) {
      const beganMs = performance.now();
      const result = await simulate({ seed, ...options });
      add(totals, summaryOf(result, performance.now() - beganMs), onFailure);
      if (untilFailure && result.violations.length > 0) break;
    }
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
