/** Owns docs/load.md and its plots: generated from one run, and from nothing else. What it says of a target, the run decides. */

import { mkdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { BROKER_FILE_BYTES, HOT, STEP_BYTES, STEPS_EACH, STEPS_PER_EFFECT } from './limits.ts';
import { bucketQuantileMs } from './metrics-text.ts';
import type { Plot } from './plot.ts';
import { plotSvg } from './plot.ts';
import type { LoadOptions, LoadResult } from './run.ts';
import type { Sample } from './sampler.ts';
import { commitsOf, memorySeries, type NamedFigure, stepsOf, sum } from './summary.ts';
import { timeQuantile } from './times.ts';

export interface Page {
  readonly result: LoadResult;
  readonly figures: readonly NamedFigure[];
  readonly options: Pick<
    LoadOptions,
    'durationMs' | 'ratePerS' | 'liveCount' | 'coordinatorCount' | 'workerCount' | 'seed'
  >;
  readonly loopNs: readonly [before: number, after: number];
  /** As it was given. */
  readonly command: string;
}

/** Points of a plot: each is a window of so many seconds. */
const WINDOW_SAMPLES = 10;
const PLOT_FOLDER = 'load';
const MEGABYTE = 1_048_576;

/** Writes into the folder of docs. */
export async function writePage(docs: string, page: Page): Promise<void> {
  await mkdir(path.join(docs, PLOT_FOLDER), { recursive: true });
  for (const [name, plot] of Object.entries(plotsOf(page.result))) {
    await writeFile(path.join(docs, PLOT_FOLDER, `${name}.svg`), plotSvg(plot));
  }
  await writeFile(path.join(docs, 'load.md'), pageText(page));
}

/** The plots by file name. */
export function plotsOf({ samples, kills }: Pick<LoadResult, 'samples' | 'kills'>): Readonly<Record<string, Plot>> {
  const minutes = (how: string): number[] => kills.flatMap((kill) => (kill.how === how ? [kill.atMs / 60_000] : []));
  const marks = [
    { name: 'kill -9', atMin: minutes('SIGKILL') },
    { name: 'SIGTERM', atMin: minutes('SIGTERM') },
  ];
  const windows = windowsOf(samples);
  const over = (value: (some: readonly Sample[]) => number): [number, number][] =>
    windows.flatMap((some) => {
      const at = value(some);
      return Number.isNaN(at) ? [] : [[some.at(-1)!.atMs / 60_000, at] as [number, number]];
    });
  const commit = (q: number) => over((some) => bucketQuantileMs(commitsOf(some), q));
  const steps = (q: number) => over((some) => timeQuantile(stepsOf(some, 'stepToStep'), q));
  const most = (value: (sample: Sample) => number | null) =>
    over((some) => {
      const values = some.flatMap((sample) => value(sample) ?? []);
      return values.length === 0 ? Number.NaN : Math.max(...values);
    });
  return {
    latency: {
      ...{ title: 'Latency by windows of 10 s', unit: 'ms', marks, target: 50, isLogarithmic: true },
      series: [
        { name: 'commit p99', points: commit(0.99) },
        { name: 'commit p50', points: commit(0.5) },
        { name: 'step to step p99', points: steps(0.99) },
        { name: 'step to step p50', points: steps(0.5) },
      ],
    },
    rate: {
      ...{ title: 'Checkpoints', unit: 'a second, windows of 10 s', marks },
      series: [
        {
          name: 'committed',
          points: over((some) => (sum(some.map((s) => s.checkpoints)) * 1_000) / sum(some.map((s) => s.tookMs))),
        },
      ],
    },
    lag: {
      ...{ title: 'Rows behind the log, most in 10 s', unit: 'events; ms', marks, isLogarithmic: true },
      series: [
        { name: 'events', points: most(({ lagEvents }) => lagEvents) },
        { name: 'ms until rows have what the log had', points: most(({ lagMs }) => lagMs) },
      ],
    },
    memory: {
      ...{ title: 'Memory', unit: 'MB', marks },
      series: [...memorySeries(samples)].flatMap(([name, points]) => [
        {
          name: MEMORY_NAMES[name] ?? name,
          points: points.map(({ atMs, bytes }) => [atMs / 60_000, bytes / MEGABYTE] as [number, number]),
        },
      ]),
    },
    storage: {
      ...{ title: 'What the broker and the memory file system hold', unit: 'MB', marks },
      series: [
        { name: 'log', points: most(({ slow }) => (slow?.logBytes == null ? null : slow.logBytes / MEGABYTE)) },
        {
          name: '/dev/shm in use',
          points: most(({ slow }) => (slow === null ? null : slow.room.shmUsedBytes / MEGABYTE)),
        },
      ],
    },
  };
}

/** Roles as `memorySeries` names them. */
const MEMORY_NAMES: Readonly<Record<string, string>> = {
  coordinator: 'coordinator, never ended',
  coordinator_mean: 'coordinators, mean',
  worker: 'worker, never ended',
  worker_mean: 'workers, mean',
  compactor: 'compactor',
};

function windowsOf(samples: readonly Sample[]): readonly (readonly Sample[])[] {
  const windows: Sample[][] = [];
  for (let from = 0; from < samples.length; from += WINDOW_SAMPLES)
    windows.push(samples.slice(from, from + WINDOW_SAMPLES));
  return windows;
}

interface Target {
  readonly what: string;
  readonly name: string;
  readonly wanted: string;
  readonly isMet: (value: number) => boolean;
}

export const targetsOf = (ratePerS: number): readonly Target[] => [
  {
    ...{
      what: 'checkpoints a second, as the log has them',
      name: 'load.rate_per_s',
      wanted: `${ratePerS} (98 % of it)`,
    },
    isMet: (value) => value >= ratePerS * 0.98,
  },
  { what: 'commit p99', name: 'load.commit.p99_ms', wanted: '≤ 50 ms', isMet: (value) => value <= 50 },
  ...['coordinator', 'worker', 'compactor'].map((role) => ({
    ...{ what: `memory of the ${role} that is never ended, last quarter to second`, wanted: '≤ 1.1' },
    ...{ name: `load.memory.${role}.q4_over_q2`, isMet: (value: number) => value <= 1.1 },
  })),
  ...['lost', 'doubled', 'broken_invariants', 'wrong_outputs', 'false_commits', 'wrong_rows', 'rejected_other'].map(
    (name) => ({
      ...{ what: name.replaceAll('_', ' '), name: `load.${name}`, wanted: '0', isMet: (value: number) => value === 0 },
    }),
  ),
];

function killsText(kills: LoadResult['kills'], seed: number): string {
  if (kills.length === 0) return '**Nothing was killed.**';
  const count = (signal: string): number => kills.filter(({ how }) => how === signal).length;
  return `Workers and coordinators are killed with \`kill -9\` (${count('SIGKILL')} times) and asked to end with SIGTERM (${count('SIGTERM')} times), by seed ${seed}, and replaced at once, on the same two cores; the first of each role is never ended, so that what a process gathers shows.`;
}

function comparedText(figureOf: (name: string) => NamedFigure | undefined): string {
  const count = (name: string): string | undefined => figureOf(`load.compared.${name}`)?.value.toLocaleString('en-GB');
  const [own, rows, of] = [count('workflow_rows'), count('history_rows'), count('history_rows_of')];
  if (own === undefined) return 'Rows were not compared.';
  return `Rows are compared with that fold: the own row (status, sequence, output) of each of ${own} workflows, and of ${of} of them, evenly from the first to the last, each checkpoint and effect, ${rows} rows, put back from segments where they are there alone.`;
}

function pageText({ result, figures, options, loopNs, command }: Page): string {
  const figureOf = (name: string): NamedFigure | undefined => figures.find((figure) => figure.name === name);
  const targets = new Set(targetsOf(options.ratePerS).map(({ name }) => name));
  const rows = targetsOf(options.ratePerS).map(({ what, name, wanted, isMet }) => {
    const found = figureOf(name);
    if (found === undefined) return `| ${what} | \`${name}\` | not measured | ${wanted} | no |`;
    return `| ${what} | \`${name}\` | ${shown(found)} | ${wanted} | ${isMet(found.value) ? 'yes' : '**no**'} |`;
  });
  const minutes = (result.samples.at(-1)?.atMs ?? 0) / 60_000;
  const early = result.endedEarly === undefined ? '' : `\n**It ended before its time: ${result.endedEarly}.**\n`;
  return `# Ten times the expected load

Generated by \`${command}\`; do not edit. One run of ${minutes.toFixed(1)} minutes on ${os.availableParallelism()} cores (${os.cpus()[0]?.model ?? 'unknown'}, ${Math.round(os.totalmem() / 1024 ** 3)} GiB), on which a bare loop turned in ${loopNs[0].toFixed(1)} ns before and ${loopNs[1].toFixed(1)} ns after it (an idle core of 2 GHz takes about 2).
${early}
Expected are 1,000 live workflows and 200 checkpoints a second. Here ${options.liveCount} workflows are live all the time and are to make ${options.ratePerS} durable checkpoints a second together: each begins a step every ${Math.round((options.liveCount / options.ratePerS) * 1_000)} ms, as if it waited for a model in between, leaves ${STEP_BYTES} bytes, and ends after about ${STEPS_EACH} steps, when another starts. Every ${STEPS_PER_EFFECT}th step calls an effect in a ledger outside, irreversible and idempotent by turns.

${options.coordinatorCount} coordinators, ${options.workerCount} workers, a compactor, Kafka, Postgres, Redis, the ledger and the measuring process share the machine. **Data of Kafka, Postgres and Redis is in memory**, so a disk is not measured; one broker, so replication isn't either. Closed workflows are hot for ${HOT} and are then archived into a folder on disk and trimmed; files of the broker's log are ${BROKER_FILE_BYTES / MEGABYTE} MB, since only whole files leave it. Payloads are not encrypted. ${killsText(result.kills, options.seed)}

## Targets

| what | figure | measured | target | reached |
| --- | --- | --- | --- | --- |
${rows.join('\n')}

Commit is \`checkpoint_commit_latency_seconds\` of the workers: from the end of a step to the acknowledged append of its checkpoint, over the whole run, kills included; it misses what a killed worker committed in its last second. A take-over (\`load.take_over\`) is from the last checkpoint of a worker that was killed to the first of its workflow's next holder: what was left of the pause between two steps, and the step, are in it beside the notice and the claim. Lost, doubled and broken are judged afterwards: the whole history is read from segments and log, folded by a second fold written for tests, and compared with what was started and with the ledger: every workflow's output, and every effect that a checkpoint relies on. ${comparedText(figureOf)}

## Over time

${Object.keys(plotsOf(result))
  .map((name) => `![${name}](${PLOT_FOLDER}/${name}.svg)`)
  .join('\n\n')}

## Other figures

${memoryText(figures)}

| figure | value |
| --- | --- |
${figures
  .filter(({ name }) => !(targets.has(name) || MEMORY.test(name) || name.startsWith('load.compared.')))
  .map((figure) => `| \`${figure.name}\` | ${shown(figure)} |`)
  .join('\n')}
`;
}

const MEMORY = /^load\.memory\.(\w+)\.(q2_mb|q4_mb|q4_over_q2)$/;

/** A row for each process; empty where memory was not sampled. */
function memoryText(figures: readonly NamedFigure[]): string {
  const rows = new Map<string, Map<string, number>>();
  for (const { name, value } of figures) {
    const [, role = '', part = ''] = MEMORY.exec(name) ?? [];
    if (role !== '') rows.set(role, (rows.get(role) ?? new Map()).set(part, value));
  }
  const cell = (of: ReadonlyMap<string, number>, part: string): string => {
    const value = of.get(part);
    return value === undefined ? '–' : String(Number(value.toPrecision(4)));
  };
  const lines = [...rows].map(
    ([role, of]) =>
      `| ${MEMORY_NAMES[role] ?? role} | ${cell(of, 'q2_mb')} | ${cell(of, 'q4_mb')} | ${cell(of, 'q4_over_q2')} |`,
  );
  return ['| memory of | second quarter, MB | last quarter, MB | ratio |', '| --- | --- | --- | --- |', ...lines].join(
    '\n',
  );
}

const shown = ({ value, unit }: NamedFigure): string => `${Number(value.toPrecision(4))} ${unit}`;
