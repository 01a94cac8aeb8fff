/** Owns the measured shapes of work, on whatever host they are run: one workflow of many steps, and many of ten. */

import type { Host } from '@tidemark/host';
import type { Definition } from '@tidemark/runtime';
import { median, type Report } from './report.ts';
import { durableSteps, stagedSteps } from './workflows.ts';

export const SEQUENTIAL_STEPS = 500;
export const STEPS_EACH = 10;
export const STEP_BYTES = 1_024;
/** Commits whose percentiles are told: enough that p99.9 rests on several. */
const COMMITS_COUNT = 5_000;
/** Rounds of each shape; the median is told. */
const ROUNDS = 5;
const LOOK_PERIOD_MS = 5;

let ids = 0;
const nextId = (): string => `bench-${process.pid}-${Date.now()}-${ids++}`;

/** Any of `workflows.ts`. */
export type Steps = Definition<
  { readonly steps: number; readonly bytes: number; readonly timed: boolean },
  { readonly startedMs: readonly number[] }
>;

/** Milliseconds from each step's start to the next one's. */
export async function sequential(
  host: Host,
  workflow: Steps,
  steps: number = SEQUENTIAL_STEPS,
): Promise<readonly number[]> {
  const given = { steps, bytes: STEP_BYTES, timed: true };
  const run = await host.client.start(workflow, given, { id: nextId() });
  const { startedMs } = await run.result();
  return startedMs.slice(1).map((at, index) => at - startedMs[index]!);
}

/** Steps per second of `count` workflows at once, from the first start until all are closed in the rows. */
export async function concurrent(host: Host, workflow: Steps, count: number): Promise<number> {
  const given = { steps: STEPS_EACH, bytes: STEP_BYTES, timed: false };
  const start = performance.now();
  await Promise.all(Array.from({ length: count }, () => host.client.start(workflow, given, { id: nextId() })));
  await caughtUp(host);
  return (count * STEPS_EACH) / ((performance.now() - start) / 1_000);
}

/** Resolves when the rows know of no open workflow and no opening is missing from the log. */
export async function caughtUp(host: Host): Promise<void> {
  for (;;) {
    const counts = await host.ports.store.counts();
    if (counts.openCount === 0 && counts.unappendedCount === 0) return;
    await host.ports.clock.sleep(LOOK_PERIOD_MS);
  }
}

/**
 * Percentiles of the time from one step's begin to the next one's, which begins when its checkpoint is accepted by the log (durable) or
 * staged. A step itself takes microseconds.
 */
export async function measureCommits(host: Host, name: string, report: Report): Promise<void> {
  const kinds = { durable: durableSteps, staged: stagedSteps };
  for (const [kind, workflow] of Object.entries(kinds)) {
    await sequential(host, workflow);
    const times: number[] = [];
    while (times.length < COMMITS_COUNT) times.push(...(await sequential(host, workflow)));
    report.add(`${name}.commits.${kind}.p50_ms`, median(times), 'ms');
    report.addTail(`${name}.commits.${kind}.p99_ms`, times, 'ms');
  }
}

export async function measureSteps(host: Host, name: string, report: Report): Promise<void> {
  report.note(`${name}: warming up`);
  // As many as in the largest shape, so that the pool of partitions has grown before anything is measured.
  for (let round = 0; round < 2; round++) await concurrent(host, durableSteps, 1_000);
  await sequential(host, durableSteps);
  const durable = await sequential(host, durableSteps);
  report.add(`${name}.sequential.median_ms`, median(durable), 'ms');
  report.addTail(`${name}.sequential.p99_ms`, durable, 'ms');
  await sequential(host, stagedSteps);
  const staged = await sequential(host, stagedSteps);
  report.add(`${name}.staged.median_ms`, median(staged), 'ms');
  for (const count of [64, 256, 1_000]) {
    const rates: number[] = [];
    for (let round = 0; round < ROUNDS; round++) rates.push(await concurrent(host, durableSteps, count));
    report.note(`${name}: ${count} workflows, steps/s by round: ${rates.map((rate) => rate.toFixed(0)).join(', ')}`);
    report.add(`${name}.c${count}.steps_per_s`, median(rates), 'steps/s');
  }
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round++) rates.push(await concurrent(host, stagedSteps, 1_000));
  report.note(`${name}: 1000 workflows staged, steps/s by round: ${rates.map((rate) => rate.toFixed(0)).join(', ')}`);
  report.add(`${name}.c1000.staged_steps_per_s`, median(rates), 'steps/s');
}
