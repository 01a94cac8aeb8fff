/** Owns the arithmetic of the comparison: what passes come to, and what Tidemark comes to beside its best peer. */

import type { ContenderName } from './peers-contender.ts';
import type { Findings } from './peers-measure.ts';
import { median, quantile, type Report } from './report.ts';

const MEGABYTE = 1_048_576;
/** It only starts workflows and waits, except of libraries, where it is the worker. */
const NOT_COUNTED = 'client';

/** Undefined is what was not measured. */
export interface Summary {
  readonly name: ContenderName;
  readonly sequential: { readonly medianMs: number; readonly p99Ms: number } | undefined;
  readonly stepsPerS: ReadonlyMap<number, number>;
  readonly cpuMsPerStep: ReadonlyMap<string, number>;
  readonly memoryMb: { readonly worker: number; readonly servers: number } | undefined;
  readonly bytesPerStep: { readonly short: number; readonly long: number } | undefined;
  readonly kill: { readonly medianMs: number; readonly maxMs: number; readonly count: number } | undefined;
}

/** Rounds of all passes count alike. */
export function summaryOf(name: ContenderName, passes: readonly Findings[]): Summary {
  const sequentialMs = passes.flatMap((pass) => pass.sequentialMs);
  const killMs = passes.flatMap((pass) => pass.killMs);
  const counts = new Set(passes.flatMap((pass) => [...pass.stepsPerS.keys()]));
  const resident = together(passes.map((pass) => pass.residentBytes));
  return {
    name,
    sequential:
      sequentialMs.length === 0 ? undefined : { medianMs: median(sequentialMs), p99Ms: quantile(sequentialMs, 0.99) },
    stepsPerS: new Map(
      [...counts].map((count) => [count, median(passes.flatMap((pass) => pass.stepsPerS.get(count) ?? []))]),
    ),
    cpuMsPerStep: together(passes.map((pass) => pass.cpuMsPerStep)),
    memoryMb: resident.size === 0 ? undefined : memoryOf(resident),
    bytesPerStep: passes.find((pass) => pass.bytesPerStep !== undefined)?.bytesPerStep,
    kill:
      killMs.length === 0 ? undefined : { medianMs: median(killMs), maxMs: Math.max(...killMs), count: killMs.length },
  };
}

function together(passes: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const names = new Set(passes.flatMap((pass) => [...pass.keys()]));
  return new Map(
    [...names].map((name) => [name, median(passes.flatMap((pass) => (pass.has(name) ? [pass.get(name)!] : [])))]),
  );
}

function memoryOf(resident: ReadonlyMap<string, number>): { worker: number; servers: number } {
  let servers = 0;
  for (const [name, bytes] of resident) if (name !== NOT_COUNTED && name !== 'worker') servers += bytes;
  return { worker: (resident.get('worker') ?? 0) / MEGABYTE, servers: servers / MEGABYTE };
}

export interface Ratio {
  readonly value: number;
  readonly peer: ContenderName;
}

const isPeer = ({ name }: Summary): boolean => !name.startsWith('tidemark');

/** Tidemark's cluster beside the best peer: `more` is better, or `less`. Undefined where one of the two was not measured. */
export function ratioToBest(
  summaries: readonly Summary[],
  read: (summary: Summary) => number | undefined,
  better: 'more' | 'less',
): Ratio | undefined {
  const ours = summaries.find(({ name }) => name === 'tidemark');
  const value = ours === undefined ? undefined : read(ours);
  const measured = summaries.filter((summary) => isPeer(summary) && read(summary) !== undefined);
  if (value === undefined || measured.length === 0) return undefined;
  const best = measured.reduce((a, b) => (read(a)! < read(b)! === (better === 'less') ? a : b));
  return { value: value / read(best)!, peer: best.name };
}

/** Processor milliseconds of all processes for a step. What else the machine does shows less here than in a rate. */
export function cpuOf({ cpuMsPerStep }: Summary): number | undefined {
  if (cpuMsPerStep.size === 0) return undefined;
  return [...cpuMsPerStep.values()].reduce((sum, ms) => sum + ms, 0);
}

export function tell(summaries: readonly Summary[], report: Report): void {
  for (const summary of summaries) tellOne(summary, report);
  const counts = [...(summaries[0]?.stepsPerS.keys() ?? [])];
  for (const count of counts) {
    tellRatio(
      `c${count}`,
      ratioToBest(summaries, ({ stepsPerS }) => stepsPerS.get(count), 'more'),
      report,
    );
  }
  tellRatio(
    'sequential',
    ratioToBest(summaries, ({ sequential }) => sequential?.medianMs, 'less'),
    report,
  );
  tellRatio('cpu', ratioToBest(summaries, cpuOf, 'less'), report);
  tellRatio(
    'storage1000',
    ratioToBest(summaries, ({ bytesPerStep }) => bytesPerStep?.long, 'less'),
    report,
  );
  tellRatio(
    'kill',
    ratioToBest(summaries, ({ kill }) => kill?.medianMs, 'less'),
    report,
  );
}

function tellRatio(name: string, ratio: Ratio | undefined, report: Report): void {
  if (ratio === undefined) return;
  report.note(`${name}: the best peer is ${ratio.peer}`);
  report.add(`peers.ratio.${name}`, ratio.value, 'ratio');
}

function tellOne(summary: Summary, report: Report): void {
  const add = (what: string, value: number, unit: string): void =>
    report.add(`peers.${summary.name}.${what}`, value, unit);
  const { sequential, stepsPerS, cpuMsPerStep, memoryMb, bytesPerStep, kill } = summary;
  if (sequential !== undefined) {
    add('sequential.median_ms', sequential.medianMs, 'ms');
    add('sequential.p99_ms', sequential.p99Ms, 'ms');
  }
  for (const [count, rate] of stepsPerS) add(`c${count}.steps_per_s`, rate, 'steps/s');
  for (const [name, ms] of cpuMsPerStep) add(`cpu.${name}_ms_per_step`, ms, 'ms');
  if (memoryMb !== undefined) {
    add('memory_mb', memoryMb.worker + memoryMb.servers, 'MB');
    add('worker.memory_mb', memoryMb.worker, 'MB');
  }
  if (bytesPerStep !== undefined) {
    add('storage10.bytes_per_step', bytesPerStep.short, 'bytes');
    add('storage1000.bytes_per_step', bytesPerStep.long, 'bytes');
    add('storage.growth', bytesPerStep.long / bytesPerStep.short, 'ratio');
  }
  if (kill !== undefined) {
    add('kill.median_ms', kill.medianMs, 'ms');
    add('kill.max_ms', kill.maxMs, 'ms');
  }
}
