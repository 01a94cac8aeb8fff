/** Owns what the samples of a load run come to: pure functions from samples to figures. Must read nothing. */

import { median, quantile } from '../report.ts';
import { DISTURBED_MS } from './limits.ts';
import { type BucketCounts, bucketQuantileMs, mergeBuckets, shareAbove } from './metrics-text.ts';
import type { Sample } from './sampler.ts';
import { mergeTimes, type Times, timeQuantile } from './times.ts';

export interface NamedFigure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
}

const MEGABYTE = 1_048_576;
const COMMIT_TARGET_S = 0.05;
/** Seconds over which the lowest rate is looked for. */
const RATE_WINDOW_S = 10;

/** `killsMs`: when processes were ended. */
export function figuresOf(samples: readonly Sample[], killsMs: readonly number[]): readonly NamedFigure[] {
  const figures: NamedFigure[] = [];
  const add = (name: string, value: number, unit: string): void => {
    if (!Number.isNaN(value)) figures.push({ name: `load.${name}`, value, unit });
  };
  if (samples.length === 0) return figures;
  add('minutes', samples.at(-1)!.atMs / 60_000, 'min');
  const seconds = sum(samples.map(({ tookMs }) => tookMs)) / 1_000;
  add('rate_told_per_s', sum(samples.map(({ checkpoints }) => checkpoints)) / seconds, 'checkpoints/s');
  add('rate_lowest_10s_per_s', Math.min(...ratesOver(samples, RATE_WINDOW_S)), 'checkpoints/s');
  add('live', median(samples.map(({ live }) => live)), 'workflows');
  latencies(samples, killsMs, add);
  const lags = samples.flatMap(({ lagEvents }) => lagEvents ?? []);
  if (lags.length > 0) {
    add('lag.median', median(lags), 'events');
    add('lag.p99', quantile(lags, 0.99), 'events');
  }
  const lagsMs = samples.flatMap(({ lagMs }) => lagMs ?? []);
  if (lagsMs.length > 0) {
    add('lag.median_ms', median(lagsMs), 'ms');
    add('lag.p99_ms', quantile(lagsMs, 0.99), 'ms');
  }
  add('resumed', sum(samples.map(({ resumed }) => resumed)), 'workflows');
  memory(samples, add);
  costs(samples, add);
  return figures;
}

/** Checkpoints a second over the measured time, as the log has them: what a killed worker didn't live to tell is among them. */
export function rateInLog(bySecond: ReadonlyMap<number, number>, startedAtMs: number, endMs: number): number {
  const [from, to] = [Math.ceil(startedAtMs / 1_000), Math.floor((startedAtMs + endMs) / 1_000)];
  let count = 0;
  for (let second = from; second < to; second++) count += bySecond.get(second) ?? 0;
  return count / (to - from);
}

type Add = (name: string, value: number, unit: string) => void;

export const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Mean rates of stretches of so many samples. */
export function ratesOver(samples: readonly Sample[], count: number): readonly number[] {
  const rates: number[] = [];
  for (let from = 0; from + count <= samples.length; from += count) {
    const some = samples.slice(from, from + count);
    rates.push((sum(some.map(({ checkpoints }) => checkpoints)) * 1_000) / sum(some.map(({ tookMs }) => tookMs)));
  }
  return rates.length === 0 ? [Number.NaN] : rates;
}

export function commitsOf(samples: readonly Sample[]): BucketCounts {
  return samples.reduce<BucketCounts>((all, { commit }) => (commit === null ? all : mergeBuckets(all, commit)), {
    boundsS: [],
    counts: [],
  });
}

export function stepsOf(samples: readonly Sample[], of: 'stepToStep' | 'late'): Times {
  const times: Times = new Map();
  for (const sample of samples) mergeTimes(times, sample[of]);
  return times;
}

export const isDisturbed = ({ atMs }: Sample, killsMs: readonly number[]): boolean =>
  killsMs.some((killMs) => atMs >= killMs && atMs - killMs <= DISTURBED_MS);

function latencies(samples: readonly Sample[], killsMs: readonly number[], add: Add): void {
  const addFigures = (name: string, some: readonly Sample[]): void => {
    const commits = commitsOf(some);
    add(`${name}.p50_ms`, bucketQuantileMs(commits, 0.5), 'ms');
    add(`${name}.p99_ms`, bucketQuantileMs(commits, 0.99), 'ms');
    add(`${name}.p99_9_ms`, bucketQuantileMs(commits, 0.999), 'ms');
    add(`${name}.over_50ms_percent`, shareAbove(commits, COMMIT_TARGET_S) * 100, '%');
  };
  addFigures('commit', samples);
  addFigures(
    'commit_undisturbed',
    samples.filter((sample) => !isDisturbed(sample, killsMs)),
  );
  const steps = stepsOf(samples, 'stepToStep');
  add('step_to_step.p50_ms', timeQuantile(steps, 0.5), 'ms');
  add('step_to_step.p99_ms', timeQuantile(steps, 0.99), 'ms');
  add('step_to_step.p99_9_ms', timeQuantile(steps, 0.999), 'ms');
  add('late.p99_ms', timeQuantile(stepsOf(samples, 'late'), 0.99), 'ms');
}

/** Memory by role at one moment: of those who were never ended, and, where several stood, of all of them. */
export function memorySeries(
  samples: readonly Sample[],
): ReadonlyMap<string, readonly { atMs: number; bytes: number }[]> {
  const series = new Map<string, { atMs: number; bytes: number }[]>();
  const put = (name: string, atMs: number, bytes: number): void => {
    const of = series.get(name) ?? [];
    series.set(name, of);
    of.push({ atMs, bytes });
  };
  for (const { atMs, slow } of samples) {
    if (slow === null) continue;
    const byRole = Map.groupBy(Object.entries(slow.rss), ([name]) => name.slice(0, name.lastIndexOf('-')));
    for (const [role, entries] of byRole) {
      const spared = entries.find(([name]) => name.endsWith('-0'));
      if (spared !== undefined) put(role, atMs, spared[1]);
      if (entries.length > 1) put(`${role}_mean`, atMs, sum(entries.map(([, bytes]) => bytes)) / entries.length);
    }
    for (const role of ['kafka', 'postgres', 'redis']) {
      const bytes = slow.pss[role] ?? 0;
      if (bytes > 0) put(role, atMs, bytes);
    }
  }
  return series;
}

function memory(samples: readonly Sample[], add: Add): void {
  const endMs = samples.at(-1)!.atMs;
  for (const [name, series] of memorySeries(samples)) {
    const quarter = (n: number): number[] =>
      series.flatMap(({ atMs, bytes }) => (atMs > (endMs * (n - 1)) / 4 && atMs <= (endMs * n) / 4 ? [bytes] : []));
    const [second, last] = [quarter(2), quarter(4)];
    if (second.length === 0 || last.length === 0) continue;
    add(`memory.${name}.q2_mb`, median(second) / MEGABYTE, 'MB');
    add(`memory.${name}.q4_mb`, median(last) / MEGABYTE, 'MB');
    add(`memory.${name}.q4_over_q2`, median(last) / median(second), 'ratio');
  }
  const slow = samples.flatMap((sample) => sample.slow ?? []);
  add('shm_peak_mb', Math.max(...slow.map(({ room }) => room.shmUsedBytes)) / MEGABYTE, 'MB');
  const logBytes = slow.flatMap((each) => each.logBytes ?? []);
  if (logBytes.length > 0) add('log_peak_mb', Math.max(...logBytes) / MEGABYTE, 'MB');
}

/** Processor time by role for one checkpoint: what a model of capacity begins with. */
function costs(samples: readonly Sample[], add: Add): void {
  const slow = samples.filter((sample) => sample.slow !== null);
  const [first, last] = [slow.at(0), slow.at(-1)];
  if (first === undefined || last === undefined || first === last) return;
  const between = samples.filter(({ atMs }) => atMs > first.atMs && atMs <= last.atMs);
  const checkpoints = sum(between.map((sample) => sample.checkpoints));
  for (const [role, seconds] of Object.entries(last.slow!.cpuS)) {
    const used = seconds - (first.slow!.cpuS[role] ?? 0);
    add(`cpu.${role}.us_per_checkpoint`, (used * 1e6) / checkpoints, 'µs');
  }
}
