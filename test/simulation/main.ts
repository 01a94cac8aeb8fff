/**
 * `npm run simulate -- --seeds N [--from S] [--seed S] [--json]`: runs simulated fleets, and prints the seeds that fail with
 * the first one's transcript. `--seed S` runs one and prints its transcript. Exits with 1 when any failed. With `--focus GUARD`
 * seeds have only the faults and workflows that need that guard; `--without GUARD` does so where it was taken out (see
 * without-guard.ts), and ends at the first seed that fails.
 */

import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { simulate } from '@tidemark/testkit/simulation';
import { GUARDS } from './guards.ts';
import { noTotals, runRange, type SeedFailure, type Totals } from './range.ts';
import { runShared } from './share.ts';

const USAGE =
  'usage: npm run simulate -- --seeds N [--from S] [--processes P] [--json]\n       npm run simulate -- --seed S';
const DEFAULT_SEEDS = 1_000;
/** How often it is told how far the run has come, in milliseconds. */
const PROGRESS_PERIOD_MS = 5_000;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    from: { type: 'string' },
    seed: { type: 'string' },
    processes: { type: 'string' },
    focus: { type: 'string' },
    without: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const whole = (text: string | undefined, otherwise: number): number => {
  const value = text === undefined ? otherwise : Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  process.stderr.write(`'${text}' is no whole number.\n${USAGE}\n`);
  process.exit(64);
};

const guard = values.without ?? values.focus;
const focus = guard === undefined ? {} : focusOf(guard);

function focusOf(name: string) {
  const found = GUARDS[name];
  if (found !== undefined) return { faults: found.faults, workloads: found.workloads, archives: found.archives };
  process.stderr.write(`'${name}' is no guard; known: ${Object.keys(GUARDS).join(', ')}.\n`);
  process.exit(64);
}

if (values.help) process.stdout.write(`${USAGE}\n`);
else if (values.seed !== undefined) await showSeed(whole(values.seed, 0));
else await showRange();

async function showSeed(seed: number): Promise<void> {
  const result = await simulate({ seed, ...focus });
  process.stdout.write(`${result.transcript.join('\n')}\n`);
  process.stdout.write(`\nseed ${seed}, transcript ${result.digest}: ${result.violations.length} violations\n`);
  process.exitCode = result.violations.length > 0 ? 1 : 0;
}

async function showRange(): Promise<void> {
  const from = whole(values.from, 1);
  const count = whole(values.seeds, DEFAULT_SEEDS);
  // What is taken out of the source is taken out of this process alone.
  const processes = guard !== undefined ? 1 : Math.max(1, whole(values.processes, Math.min(2, availableParallelism())));
  const startedMs = performance.now();
  const range = { from, count, ...focus, untilFailure: values.without !== undefined };
  const total = noTotals();
  const progressTimer = setInterval(
    () => printProgress(total, count, performance.now() - startedMs),
    PROGRESS_PERIOD_MS,
  );
  await (processes === 1 ? runRange(range, total, printFailure) : runShared(range, processes, total, printFailure));
  clearInterval(progressTimer);
  const seconds = (performance.now() - startedMs) / 1_000;
  const { failures, slowest, ...sums } = total;
  const figures = {
    'simulate.seeds': sums.seedCount,
    'simulate.violations': failures.length,
    'simulate.seeds_per_s': Number((sums.seedCount / seconds).toFixed(1)),
    'simulate.workflows': sums.workflowCount,
    'simulate.parked': sums.parkedCount,
    'simulate.effect_calls': sums.callCount,
    'simulate.events': sums.eventCount,
    'simulate.slowest_seed': slowest.seed,
    'simulate.slowest_ms': Math.round(slowest.tookMs),
    'simulate.virtual_hours': Number((sums.virtualMs / 3_600_000).toFixed(2)),
  };
  if (values.json) process.stdout.write(`${JSON.stringify(figures)}\n`);
  else {
    const [first] = failures.toSorted((a, b) => a.seed - b.seed);
    if (first !== undefined) await showSeed(first.seed);
    for (const [name, value] of Object.entries(figures)) process.stdout.write(`${name.padEnd(24)} ${value}\n`);
    if (failures.length > 0) {
      process.stdout.write(
        `failing seeds: ${failures
          .map(({ seed }) => seed)
          .sort((a, b) => a - b)
          .join(' ')}\n`,
      );
    }
  }
  process.exitCode = failures.length > 0 ? 1 : 0;
}

function printProgress({ seedCount, failures, slowest }: Totals, count: number, tookMs: number): void {
  const rate = ((seedCount * 1_000) / tookMs).toFixed(1);
  const slow = `slowest ${slowest.seed} with ${Math.round(slowest.tookMs)} ms`;
  process.stderr.write(`${seedCount} of ${count} seeds, ${rate}/s, ${failures.length} failed, ${slow}\n`);
}

function printFailure({ seed, violations }: SeedFailure): void {
  process.stderr.write(
    `seed ${seed} fails: ${violations[0]}${violations.length > 1 ? ` (and ${violations.length - 1} more)` : ''}\n`,
  );
}
