/** Owns the arithmetic of the comparison: what passes come to, and what Tidemark comes to beside the best of its like. */

import { median, quantile, type Report } from '../report.ts';
import type { Contender, ContenderName } from './contender.ts';
import type { Findings, Large, Rates, Sizes, Stored } from './measure.ts';
import { STEP_BYTES } from './workspace/protocol.ts';

const MEGABYTE = 1_048_576;
/** What the text of a step takes however well it is compressed: 6 bits a letter. */
export const STEP_LEAST_BYTES = (STEP_BYTES * 6) / 8;
/** It only starts workflows and waits, except of libraries, where it is the worker. */
const NOT_COUNTED = 'client';

/** Undefined is what was not measured. */
export interface RatesSummary {
  readonly stepsPerS: ReadonlyMap<number, number>;
  readonly cpuMsPerStep: ReadonlyMap<string, number>;
}

export interface Summary extends RatesSummary {
  readonly name: ContenderName;
  readonly sequential: { readonly medianMs: number; readonly p99Ms: number; readonly p999Ms: number } | undefined;
  /** Of other lengths than the usual one, by the steps of a workflow. */
  readonly lengths: ReadonlyMap<number, RatesSummary>;
  /** By how many were woken at once. */
  readonly wakes: ReadonlyMap<number, { readonly medianMs: number; readonly p99Ms: number }>;
  readonly cpuMsPerWake: ReadonlyMap<string, number>;
  readonly memoryMb: { readonly worker: number; readonly servers: number } | undefined;
  readonly bytesPerStep: Stored | undefined;
  readonly large: ReadonlyMap<number, Large>;
  readonly kill: { readonly medianMs: number; readonly maxMs: number; readonly count: number } | undefined;
}

/** Rounds of all passes count alike. */
export function summaryOf(name: ContenderName, passes: readonly Findings[]): Summary {
  const sequentialMs = passes.flatMap((pass) => pass.sequentialMs);
  const killMs = passes.flatMap((pass) => pass.killMs);
  const lengths = new Set(passes.flatMap((pass) => [...pass.lengths.keys()]));
  const wakeCounts = new Set(passes.flatMap((pass) => [...pass.wakes.tookMs.keys()]));
  const resident = together(passes.map((pass) => pass.residentBytes));
  return {
    name,
    sequential:
      sequentialMs.length === 0
        ? undefined
        : {
            medianMs: median(sequentialMs),
            p99Ms: quantile(sequentialMs, 0.99),
            p999Ms: quantile(sequentialMs, 0.999),
          },
    ...ratesOf(passes),
    lengths: new Map(
      [...lengths].map((steps) => [steps, ratesOf(passes.flatMap((pass) => pass.lengths.get(steps) ?? []))]),
    ),
    wakes: new Map(
      [...wakeCounts].map((count) => {
        const tookMs = passes.flatMap((pass) => pass.wakes.tookMs.get(count) ?? []);
        return [count, { medianMs: median(tookMs), p99Ms: quantile(tookMs, 0.99) }];
      }),
    ),
    cpuMsPerWake: together(passes.map((pass) => pass.wakes.cpuMsPerWake)),
    memoryMb: resident.size === 0 ? undefined : memoryOf(resident),
    bytesPerStep: passes.find((pass) => pass.bytesPerStep !== undefined)?.bytesPerStep,
    large: new Map(passes.flatMap((pass) => [...pass.large])),
    kill:
      killMs.length === 0 ? undefined : { medianMs: median(killMs), maxMs: Math.max(...killMs), count: killMs.length },
  };
}

function ratesOf(passes: readonly Rates[]): RatesSummary {
  const counts = new Set(passes.flatMap((pass) => [...pass.stepsPerS.keys()]));
  return {
    stepsPerS: new Map(
      [...counts].map((count) => [count, median(passes.flatMap((pass) => pass.stepsPerS.get(count) ?? []))]),
    ),
    cpuMsPerStep: together(passes.map((pass) => pass.cpuMsPerStep)),
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

/** A system among those compared, with what it came to. */
export interface Entrant {
  readonly traits: Pick<Contender, 'name' | 'death' | 'isDurableExecution' | 'sequentialWithheld' | 'wakes'>;
  readonly summary: Summary;
}

/** What one figure comes to beside the peers; `absent`: why nothing can be said, such as that a peer did not come through. */
export type Comparison =
  | { readonly best: Ratio; readonly bestDurable: Ratio | undefined }
  | { readonly absent: { readonly unmeasured: readonly ContenderName[] } };

export interface Line {
  /** As in `peers.ratio.NAME`. */
  readonly name: string;
  readonly better: 'more' | 'less';
  readonly read: (summary: Summary) => number | undefined;
  /** Whose ratio it is: the cluster's, unless said otherwise. */
  readonly ours?: 'tidemark' | 'tidemark-plain' | 'tidemark-embedded';
  /** Beside all peers, unless said otherwise. */
  readonly among?: (traits: Entrant['traits']) => boolean;
}

const isPeer = (name: ContenderName): boolean => !name.startsWith('tidemark');

/** The lines that are compared. Times after a kill only with those to whom the same happens. */
export function linesOf({
  counts,
  lengths,
  wakeCounts,
}: Pick<Sizes, 'counts' | 'lengths' | 'wakeCounts'>): readonly Line[] {
  const killMs = ({ kill }: Summary): number | undefined => kill?.medianMs;
  return [
    {
      ...{ name: 'sequential', better: 'less', read: ({ sequential }) => sequential?.medianMs },
      among: ({ sequentialWithheld }) => sequentialWithheld === undefined,
    },
    ...counts.flatMap((count) => linesOfCluster(`c${count}`, 'more', ({ stepsPerS }) => stepsPerS.get(count))),
    ...lengths.flatMap((steps) =>
      counts.flatMap((count) =>
        linesOfCluster(`len${steps}.c${count}`, 'more', (summary) => summary.lengths.get(steps)?.stepsPerS.get(count)),
      ),
    ),
    ...wakeCounts.flatMap((count) =>
      linesOfCluster(`wake.c${count}`, 'less', ({ wakes }) => wakes.get(count)?.medianMs).map((line) => ({
        ...line,
        among: ({ wakes }: Entrant['traits']) => wakes !== undefined,
      })),
    ),
    { name: 'cpu', better: 'less', read: cpuOf },
    { name: 'storage1000', better: 'less', read: (summary) => storedOf(summary)?.long },
    { name: 'kill', better: 'less', read: killMs, among: ({ death }) => death === 'noticed' },
    {
      ...{ name: 'kill_told', better: 'less', read: killMs, among: ({ death }) => death === 'told' },
      ours: 'tidemark-embedded',
    },
  ];
}

const linesOfCluster = (name: string, better: Line['better'], read: Line['read']): Line[] => [
  { name, better, read },
  { name: `plain_${name}`, better, read, ours: 'tidemark-plain' },
];

/**
 * Ours beside the best peer, and beside the best that is durable execution. Undefined where nobody asked: of all, ours included, none was
 * measured, or there is no peer. Absent where one of them has no figure, since the best may be whoever lacks it.
 */
export function compared(entrants: readonly Entrant[], line: Line): Comparison | undefined {
  const { read, better, ours = 'tidemark', among = () => true } = line;
  const own = entrants.find(({ summary }) => summary.name === ours);
  const peers = entrants.filter(({ traits }) => isPeer(traits.name) && among(traits));
  if (own === undefined || peers.length === 0) return undefined;
  const all = [own, ...peers];
  const unmeasured = all.filter(({ summary }) => read(summary) === undefined).map(({ traits }) => traits.name);
  if (unmeasured.length === all.length) return undefined;
  if (unmeasured.length > 0) return { absent: { unmeasured } };
  const bestOf = (some: readonly Entrant[]): Ratio | undefined => {
    if (some.length === 0) return undefined;
    const values = some.map(({ summary }) => summary);
    const best = values.reduce((a, b) => (read(a)! < read(b)! === (better === 'less') ? a : b));
    return { value: read(own.summary)! / read(best)!, peer: best.name };
  };
  return { best: bestOf(peers)!, bestDurable: bestOf(peers.filter(({ traits }) => traits.isDurableExecution)) };
}

/** Undefined also where it can't be: what was deleted before it was looked at, or wasn't in the files yet, is no measure of anything. */
export function storedOf({ bytesPerStep }: Summary): (Stored & { readonly growth: number }) | undefined {
  if (bytesPerStep === undefined || isStoredInPart(bytesPerStep)) return undefined;
  return { ...bytesPerStep, growth: bytesPerStep.long / bytesPerStep.short };
}

/** The same of steps whose text has so many bytes. */
export const storedOfLarge = (summary: Summary, bytes: number): number | undefined => {
  const stored = summary.large.get(bytes)?.bytesPerStep;
  return stored === undefined || stored < (bytes * 6) / 8 ? undefined : stored;
};

export const isStoredInPart = ({ short, long }: Stored): boolean => Math.min(short, long) < STEP_LEAST_BYTES;

/** Processor milliseconds of all processes for a step. What else the machine does shows less here than in a rate. */
export const cpuOf = ({ cpuMsPerStep }: RatesSummary): number | undefined => sumOf(cpuMsPerStep);

export function sumOf(ofProcesses: ReadonlyMap<string, number>): number | undefined {
  if (ofProcesses.size === 0) return undefined;
  return [...ofProcesses.values()].reduce((sum, ms) => sum + ms, 0);
}

/** Milliseconds of processor time that a run takes, and each of its steps: the line that fits all measured lengths best. */
export function costsOf(summary: Summary, stepsEach: number): { perRun: number; perStep: number } | undefined {
  const measured = new Map<number, RatesSummary>([...summary.lengths, [stepsEach, summary]]);
  const points = [...measured].flatMap(([steps, rates]) => {
    const ms = cpuOf(rates);
    return ms === undefined ? [] : [{ steps, ms: ms * steps }];
  });
  if (points.length < 2) return undefined;
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [steps, ms] = [mean(points.map((point) => point.steps)), mean(points.map((point) => point.ms))];
  const spread = points.reduce((sum, point) => sum + (point.steps - steps) ** 2, 0);
  const perStep = points.reduce((sum, point) => sum + (point.steps - steps) * (point.ms - ms), 0) / spread;
  return { perRun: ms - perStep * steps, perStep };
}

export function printFigures(entrants: readonly Entrant[], sizes: Sizes, report: Report): void {
  for (const { summary } of entrants) printOne(summary, sizes.stepsEach, report);
  for (const line of linesOf(sizes)) printComparison(line.name, compared(entrants, line), report);
}

function printComparison(name: string, comparison: Comparison | undefined, report: Report): void {
  if (comparison === undefined) return;
  if ('absent' in comparison) {
    report.note(`${name}: no ratio, since there is no figure of ${comparison.absent.unmeasured.join(', ')}`);
    return;
  }
  const { best, bestDurable } = comparison;
  report.note(`${name}: the best peer is ${best.peer}; of those with durable execution ${bestDurable?.peer ?? 'none'}`);
  report.add(`peers.ratio.${name}`, best.value, 'ratio');
  if (bestDurable !== undefined) report.add(`peers.ratio_durable.${name}`, bestDurable.value, 'ratio');
}

function printOne(summary: Summary, stepsEach: number, report: Report): void {
  const add = (what: string, value: number, unit: string): void =>
    report.add(`peers.${summary.name}.${what}`, value, unit);
  const { sequential, stepsPerS, cpuMsPerStep, memoryMb, kill } = summary;
  const stored = storedOf(summary);
  if (sequential !== undefined) {
    add('sequential.median_ms', sequential.medianMs, 'ms');
    add('sequential.p99_ms', sequential.p99Ms, 'ms');
    add('sequential.p99_9_ms', sequential.p999Ms, 'ms');
  }
  for (const [count, rate] of stepsPerS) add(`c${count}.steps_per_s`, rate, 'steps/s');
  for (const [name, ms] of cpuMsPerStep) add(`cpu.${name}_ms_per_step`, ms, 'ms');
  for (const [steps, rates] of summary.lengths) {
    for (const [count, rate] of rates.stepsPerS) add(`len${steps}.c${count}.steps_per_s`, rate, 'steps/s');
    for (const [name, ms] of rates.cpuMsPerStep) add(`len${steps}.cpu.${name}_ms_per_step`, ms, 'ms');
  }
  for (const [count, { medianMs, p99Ms }] of summary.wakes) {
    add(`wake.c${count}.median_ms`, medianMs, 'ms');
    add(`wake.c${count}.p99_ms`, p99Ms, 'ms');
  }
  for (const [name, ms] of summary.cpuMsPerWake) add(`wake.cpu.${name}_ms_per_wake`, ms, 'ms');
  const costs = costsOf(summary, stepsEach);
  if (costs !== undefined) {
    add('cpu.ms_per_run', costs.perRun, 'ms');
    add('cpu.ms_per_step', costs.perStep, 'ms');
  }
  if (memoryMb !== undefined) {
    add('memory_mb', memoryMb.worker + memoryMb.servers, 'MB');
    add('worker.memory_mb', memoryMb.worker, 'MB');
  }
  if (stored !== undefined) {
    add('storage10.bytes_per_step', stored.short, 'bytes');
    add('storage1000.bytes_per_step', stored.long, 'bytes');
    add('storage.growth', stored.growth, 'ratio');
  }
  for (const [bytes, large] of summary.large) {
    add(`kb${bytes / 1_024}.steps_per_s`, large.stepsPerS, 'steps/s');
    const largeStored = storedOfLarge(summary, bytes);
    if (largeStored !== undefined) add(`kb${bytes / 1_024}.bytes_per_step`, largeStored, 'bytes');
  }
  if (kill !== undefined) {
    add('kill.median_ms', kill.medianMs, 'ms');
    add('kill.max_ms', kill.maxMs, 'ms');
    add('kill.count', kill.count, 'workflows');
  }
}
