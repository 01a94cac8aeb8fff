/** Owns an agent that runs elsewhere, for the tests of shadow mode: it plans, acts some times, and ends. Must not be used outside tests. */

import type { ShadowDefinition, ShadowRun, StepReport } from '@tidemark/runtime';

export const AGENT: ShadowDefinition = { name: 'agent', version: 1 };

export const BEGINNING = {
  input: { goal: 'sum' },
  belief: { total: 0, seen: [] as number[] },
  next: [{ step: 'plan' }],
};

/** The reports of a run of `count` acts, step by step, as it happened. */
export function reportsOf(count: number): readonly StepReport[] {
  const planned = Array.from({ length: count }, (_, n) => ({ step: 'act', input: { n } }));
  const pending = (left: number): string[] => Array.from({ length: left }, () => 'act');
  const plan: StepReport = { key: 'plan', step: 'plan', next: planned, pending: pending(count), output: count };
  const acts = planned.map(({ input: { n } }): StepReport => {
    const seen = Array.from({ length: n + 1 }, (_, at) => at);
    const total = seen.reduce((sum, value) => sum + value, 0);
    return {
      key: `act ${n}`,
      step: 'act',
      input: { n },
      change: { total, seen },
      belief: { total, seen },
      pending: pending(count - n - 1),
      output: { n },
      lastAction: `acted ${n}`,
      tokens: 10,
    };
  });
  return [plan, ...acts];
}

export const outputOf = (count: number): { readonly total: number } => ({ total: (count * (count - 1)) / 2 });

/** Reports a whole run. */
export function reportAll(run: ShadowRun, count: number): void {
  for (const report of reportsOf(count)) run.step(report);
  run.done(outputOf(count));
}
