/**
 * `npm run bench -- peers`: the same work on Tidemark and on its peers, in one run on one machine. Passes over all systems follow one
 * another, so that a machine that changes under the run changes for all.
 */

import os from 'node:os';
import { messageOf } from '@tidemark/core';
import { rawLoopNs } from '../raw.ts';
import { median, type Report } from '../report.ts';
import type { Contender, ContenderName } from './contender.ts';
import { contenderNames } from './contender.ts';
import { printFigures, type Summary, summaryOf } from './figures.ts';
import { installPackages } from './install.ts';
import { emptyFindings, type Findings, fullSizes, Measurement, type Sizes } from './measure.ts';
import { peers } from './others.ts';
import { writePage } from './page.ts';
import { type Notes, openNotes } from './process.ts';
import { cluster, embedded, embeddedFunctions, functions, plainCluster } from './tidemark.ts';

const all: readonly Contender[] = [cluster, plainCluster, embedded, functions, embeddedFunctions, ...peers];

/** A single look at how quick the machine is may meet a moment that says little of the minutes after it. */
const LOOP_LOOKS = 5;

export const peerParts = ['sequential', 'concurrent', 'lengths', 'wake', 'storage', 'large', 'kill'] as const;
export type PeerPart = (typeof peerParts)[number];
/** The others take minutes. */
const QUICK_PARTS: ReadonlySet<PeerPart> = new Set(['sequential', 'concurrent', 'lengths', 'wake']);

export interface PeersOptions {
  /** Names of systems, with commas between them; all where none is named. */
  readonly only?: string | undefined;
  readonly passes?: number;
  readonly dataIn?: 'memory' | 'disk';
  readonly parts?: readonly PeerPart[];
  readonly sizes?: Sizes;
  /** Writes docs/benchmarks.md. */
  readonly write?: boolean;
}

export interface Measured {
  readonly summaries: readonly Summary[];
  /** Who did not come through, and why. */
  readonly failures: ReadonlyMap<ContenderName, string>;
  /** What the bare loop took a turn, at each system of each pass. */
  readonly loopNs: readonly number[];
}

export function chosen(only: string | undefined): readonly Contender[] {
  const names = only?.split(',') ?? contenderNames;
  return names.map((name) => {
    const found = all.find((contender) => contender.name === name);
    if (found === undefined)
      throw new RangeError(`--only ${name}: no such system; there are ${contenderNames.join(', ')}`);
    return found;
  });
}

export async function measurePeers(report: Report, options: PeersOptions = {}): Promise<Measured> {
  const { passes = 2, dataIn = 'memory', parts = peerParts, sizes = fullSizes } = options;
  const contenders = chosen(options.only);
  if (contenders.some((contender) => peers.includes(contender))) await installPackages();
  const found = new Map<ContenderName, Findings[]>(contenders.map(({ name }) => [name, []]));
  const failures = new Map<ContenderName, string>();
  const [loopNs, loads]: number[][] = [[], []];
  const notes = await openNotes();
  try {
    for (let pass = 0; pass < passes; pass++) {
      for (const contender of contenders) {
        loopNs!.push(median(Array.from({ length: LOOP_LOOKS }, rawLoopNs)));
        loads!.push(os.loadavg()[0]!);
        const state = `loop ${loopNs!.at(-1)!.toFixed(2)} ns, load ${loads!.at(-1)!.toFixed(1)}`;
        report.note(`${contender.name}, pass ${pass + 1} of ${passes}: ${state}`);
        // What takes minutes is measured once.
        const wanted = pass === 0 ? parts : parts.filter((part) => QUICK_PARTS.has(part));
        const findings = emptyFindings();
        found.get(contender.name)!.push(findings);
        try {
          await measureOne(contender, { notes, dataIn, parts: wanted, sizes }, findings, report);
        } catch (error) {
          // The others are measured all the same; what it came to until then is told with the reason.
          failures.set(contender.name, messageOf(error));
          report.note(`${contender.name} failed: ${failures.get(contender.name)}`);
        }
      }
    }
  } finally {
    notes.close();
  }
  const summaries = contenders.map(({ name }) => summaryOf(name, found.get(name)!));
  const entrants = contenders.map((traits, at) => ({ traits, summary: summaries[at]! }));
  printFigures(entrants, sizes, report);
  const load = { least: Math.min(...loads!), most: Math.max(...loads!) };
  if (options.write)
    await writePage({ contenders, summaries, failures, loopNs: loopNs!, load, dataIn, passes, sizes }, parts);
  return { summaries, failures, loopNs: loopNs! };
}

interface Plan {
  readonly notes: Notes;
  readonly dataIn: 'memory' | 'disk';
  readonly parts: readonly PeerPart[];
  readonly sizes: Sizes;
}

async function measureOne(contender: Contender, plan: Plan, findings: Findings, report: Report): Promise<void> {
  const { notes, dataIn, parts, sizes } = plan;
  const system = await contender.open({ dataIn, notesPort: notes.port });
  const measurement = new Measurement(system, notes, sizes, findings);
  try {
    await measurement.warmUp();
    if (parts.includes('sequential')) {
      await measurement.sequential();
      report.note(`  sequential: median ${median(findings.sequentialMs).toFixed(3)} ms a step`);
    }
    if (parts.includes('concurrent')) {
      await measurement.concurrent();
      for (const [count, rates] of findings.stepsPerS) {
        report.note(`  ${count} at once: ${rates.map((rate) => rate.toFixed(0)).join(', ')} steps/s`);
      }
      const spent = [...findings.cpuMsPerStep].map(([name, ms]) => `${name} ${ms.toFixed(3)}`);
      report.note(`  processor ms a step: ${spent.join(', ')}`);
    }
    if (parts.includes('lengths')) {
      await measurement.lengths();
      for (const [steps, { stepsPerS, cpuMsPerStep }] of findings.lengths) {
        const rates = [...stepsPerS].map(([count, each]) => `${count} at once ${median(each).toFixed(0)}`).join(', ');
        const spent = [...cpuMsPerStep].map(([name, ms]) => `${name} ${ms.toFixed(3)}`).join(', ');
        report.note(`  of ${steps} steps: ${rates} steps/s; processor ms a step: ${spent}`);
      }
    }
    if (parts.includes('wake') && contender.wakes !== undefined) {
      await measurement.wakes();
      const { tookMs, cpuMsPerWake } = findings.wakes;
      const times = [...tookMs].map(([count, each]) => `${count} at once ${median(each).toFixed(1)}`).join(', ');
      const spent = [...cpuMsPerWake].map(([name, ms]) => `${name} ${ms.toFixed(3)}`).join(', ');
      report.note(`  signal to step: ${times} ms; processor ms a wake: ${spent}`);
    }
    if (parts.includes('storage')) {
      await measurement.storage();
      const { short, long } = findings.bytesPerStep!;
      report.note(
        `  bytes a step: ${short.toFixed(0)} in workflows of ${sizes.stepsEach}, ${long.toFixed(0)} of ${sizes.longSteps}`,
      );
    }
    if (parts.includes('large')) {
      await measurement.large();
      for (const [bytes, { stepsPerS, bytesPerStep }] of findings.large) {
        report.note(
          `  ${bytes / 1_024} KB a step: ${stepsPerS.toFixed(0)} steps/s, ${bytesPerStep.toFixed(0)} bytes a step`,
        );
      }
    }
    if (parts.includes('kill')) {
      await measurement.kills();
      report.note(`  kill -9 to next step: ${findings.killMs.map((ms) => ms.toFixed(0)).join(', ')} ms`);
    }
  } finally {
    await system.close();
  }
}
