/** Owns how one system is measured: the same work, in the same order, of each. */

import { setTimeout as wait } from 'node:timers/promises';
import { familyOf, livingCpuSeconds, residentBytes } from '../processes.ts';
import { median } from '../report.ts';
import type { System, Worker } from './contender.ts';
import { EndedError, type Notes } from './process.ts';
import { type Given, givenOf, type Mode, type Note } from './workspace/protocol.ts';

/** How much is done; the smoke test does little. */
export interface Sizes {
  /** Milliseconds of load before anything is measured: a JVM that has just begun compiles with half a core for so long. */
  readonly warmUpMs: number;
  readonly sequentialSteps: number;
  readonly sequentialRuns: number;
  readonly counts: readonly number[];
  readonly stepsEach: number;
  /** Other lengths of workflows, in steps. */
  readonly lengths: readonly number[];
  /** How many workflows are woken at once. */
  readonly wakeCounts: readonly number[];
  readonly rounds: number;
  readonly storageSteps: number;
  readonly longSteps: number;
  /** Of the text of a step, beside the usual 1 KB. */
  readonly largeBytes: readonly number[];
  readonly largeWorkflows: number;
  readonly kills: number;
}

export const fullSizes: Sizes = {
  warmUpMs: 45_000,
  sequentialSteps: 300,
  sequentialRuns: 2,
  counts: [64, 256, 1_000],
  stepsEach: 10,
  lengths: [1, 60],
  wakeCounts: [1, 64, 1_000],
  rounds: 3,
  storageSteps: 10_000,
  longSteps: 1_000,
  largeBytes: [10_240, 102_400],
  largeWorkflows: 64,
  kills: 3,
};

/** To see that all of it works, in a few seconds a system; what it finds says little. */
export const quickSizes: Sizes = {
  warmUpMs: 0,
  sequentialSteps: 20,
  sequentialRuns: 1,
  counts: [4, 16],
  stepsEach: 5,
  lengths: [1],
  wakeCounts: [1, 4],
  rounds: 1,
  storageSteps: 200,
  longSteps: 100,
  largeBytes: [10_240],
  largeWorkflows: 4,
  kills: 1,
};

const PACED_WORKFLOWS = 4;
const PACED_STEPS = 300;
/** How many steps of each workflow are done when the worker is killed. */
const STEPS_BEFORE_KILL = 50;
/** The slowest default found among the peers goes on after about a minute. */
const GO_ON_TIMEOUT_MS = 180_000;
const WARM_UP_WORKFLOWS = 16;
const WARM_UP_STEPS = 2;
/** No round begins after this much time of its shape: slow systems get fewer. */
const SHAPE_BUDGET_MS = 60_000;
/** A length of which one round would take longer by the rate of the one before is left out. */
const LENGTH_MAX_MS = 120_000;
/** Workflows that were woken, at least, over all rounds of a count. */
const WOKEN_MIN = 16;
/** After the last step before the wait, until a workflow sleeps in every system. */
const FALL_ASLEEP_MS = 500;
const SETTLE_ROUNDS_MAX = 8;
const SETTLE_PERIOD_MS = 1_000;
/** Of what is written for 10,000 steps, less than a hundredth. */
const SETTLED_BYTES = 65_536;

export interface Usage {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
}

/** Bytes a step, of short workflows and of long ones. */
export interface Stored {
  readonly short: number;
  readonly long: number;
}

/** Of steps with a large text. */
export interface Large {
  readonly stepsPerS: number;
  readonly bytesPerStep: number;
}

/** Of many workflows of one length at once. */
export interface Rates {
  /** Steps/s of each round, by how many workflows ran at once. */
  readonly stepsPerS: Map<number, number[]>;
  /** By process, over the rounds of the most workflows: processor time for a step. */
  readonly cpuMsPerStep: Map<string, number>;
}

/** Of workflows that waited for a signal. */
export interface Wakes {
  /** From the signals to the step of each, in milliseconds, by how many were woken at once. */
  readonly tookMs: Map<number, number[]>;
  /** By process, of the most at once: processor time for a wake, with the step and the end that follow. */
  readonly cpuMsPerWake: Map<string, number>;
}

/** What one pass over a system found. Values of the same kind are kept apart, so that passes can be put together. */
export interface Findings extends Rates {
  sequentialMs: number[];
  /** By process, at the end of the rounds of the most workflows. */
  residentBytes: Map<string, number>;
  /** The rates of other lengths, by the steps of a workflow. */
  lengths: Map<number, Rates>;
  readonly wakes: Wakes;
  bytesPerStep: Stored | undefined;
  /** Steps/s and bytes a step, by the bytes of its text. */
  large: Map<number, Large>;
  killMs: number[];
}

export const emptyFindings = (): Findings => ({
  sequentialMs: [],
  stepsPerS: new Map(),
  cpuMsPerStep: new Map(),
  residentBytes: new Map(),
  lengths: new Map(),
  wakes: { tookMs: new Map(), cpuMsPerWake: new Map() },
  bytesPerStep: undefined,
  large: new Map(),
  killMs: [],
});

export class Measurement {
  readonly #system: System;
  readonly #notes: Notes;
  readonly #sizes: Sizes;
  #runs = 0;
  readonly findings: Findings;

  constructor(system: System, notes: Notes, sizes: Sizes, findings: Findings) {
    this.#system = system;
    this.#notes = notes;
    this.#sizes = sizes;
    this.findings = findings;
  }

  async #run(count: number, steps: number, mode: Mode = 'quiet', bytes?: number): Promise<number> {
    const start = performance.now();
    const request = { prefix: this.#prefix(), count, steps, mode, ...(bytes !== undefined && { bytes }) };
    await this.#system.run(request, this.#system.worker);
    return performance.now() - start;
  }

  #prefix(): string {
    return `peers-${process.pid}-${Date.now()}-${this.#runs++}`;
  }

  async warmUp(): Promise<void> {
    const { counts, stepsEach, sequentialSteps, warmUpMs } = this.#sizes;
    // The most at once, for what grows with them; some that go on for a while; and one alone.
    await this.#run(counts.at(-1)!, WARM_UP_STEPS);
    const endMs = performance.now() + warmUpMs;
    do {
      await this.#run(counts[0]!, stepsEach);
      await this.#run(1, sequentialSteps);
    } while (performance.now() < endMs);
  }

  /** Milliseconds from each step's beginning to the next one's. */
  async sequential(): Promise<void> {
    for (let round = 0; round < this.#sizes.sequentialRuns; round++) {
      const noted = Promise.withResolvers<Note>();
      const stop = this.#notes.listen((note) => noted.resolve(note));
      await this.#run(1, this.#sizes.sequentialSteps, 'timed');
      const { startedMs } = await noted.promise;
      stop();
      this.findings.sequentialMs.push(...startedMs.slice(1).map((at, index) => at - startedMs[index]!));
    }
  }

  async concurrent(): Promise<void> {
    await this.#rates(this.#sizes.stepsEach, this.findings);
    for (const [name, { residentBytes: bytes }] of await this.#usage()) this.findings.residentBytes.set(name, bytes);
  }

  /** The same of workflows of other lengths, for what a run costs besides its steps. */
  async lengths(): Promise<void> {
    const most = this.#sizes.counts.at(-1)!;
    let lastPerS = Number.POSITIVE_INFINITY;
    for (const steps of this.#sizes.lengths) {
      if ((most * steps * 1_000) / lastPerS > LENGTH_MAX_MS) return;
      const rates: Rates = { stepsPerS: new Map(), cpuMsPerStep: new Map() };
      this.findings.lengths.set(steps, rates);
      await this.#run(most, steps);
      await this.#rates(steps, rates);
      lastPerS = median(rates.stepsPerS.get(most)!);
    }
  }

  /** Workflows that have done a step wait for a signal, which all get at once, and each does its last step. */
  async wakes(): Promise<void> {
    const { wakeCounts, rounds } = this.#sizes;
    const { tookMs, cpuMsPerWake } = this.findings.wakes;
    // Its like has not run yet.
    await this.#wake(wakeCounts.at(-1)!);
    for (const count of wakeCounts) {
      const isLast = count === wakeCounts.at(-1);
      const took: number[] = [];
      const spent = new Map<string, number>();
      for (let round = 0; round < Math.max(rounds, WOKEN_MIN / count); round++) {
        const woken = await this.#wake(count);
        took.push(...woken.tookMs);
        for (const [name, seconds] of woken.cpuSeconds) spent.set(name, (spent.get(name) ?? 0) + seconds);
      }
      tookMs.set(count, took);
      if (isLast) for (const [name, seconds] of spent) cpuMsPerWake.set(name, (seconds * 1_000) / took.length);
    }
  }

  async #wake(count: number): Promise<{ tookMs: readonly number[]; cpuSeconds: ReadonlyMap<string, number> }> {
    const request = { prefix: this.#prefix(), count, steps: 2, mode: 'woken' as const };
    const given = givenOf(request);
    const watch = new Watch(this.#notes, given);
    const running = this.#system.run(request, this.#system.worker);
    await watch.until(() => true, 'come so far');
    await wait(FALL_ASLEEP_MS);
    const before = await this.#usage();
    const sentMs = performance.timeOrigin + performance.now();
    await Promise.all([
      this.#system.wake(request, this.#system.worker),
      running,
      watch.until(({ isLast }) => isLast, 'end'),
    ]);
    const cpuSeconds = [...(await this.#usage())].map(
      ([name, usage]) => [name, usage.cpuSeconds - before.get(name)!.cpuSeconds] as const,
    );
    watch.stop();
    const tookMs = given.map(({ id }) => watch.last.get(id)!.startedMs[0]! - sentMs);
    return { tookMs, cpuSeconds: new Map(cpuSeconds) };
  }

  async #rates(stepsEach: number, into: Rates): Promise<void> {
    const { counts, rounds } = this.#sizes;
    for (const count of counts) {
      const isLast = count === counts.at(-1);
      const before = isLast ? await this.#usage() : new Map<string, Usage>();
      const rates: number[] = [];
      const beganMs = performance.now();
      while (rates.length < rounds && (rates.length === 0 || performance.now() - beganMs < SHAPE_BUDGET_MS)) {
        rates.push((count * stepsEach) / ((await this.#run(count, stepsEach)) / 1_000));
      }
      into.stepsPerS.set(count, rates);
      if (!isLast) continue;
      for (const [name, { cpuSeconds }] of await this.#usage()) {
        const spent = cpuSeconds - before.get(name)!.cpuSeconds;
        into.cpuMsPerStep.set(name, (spent * 1_000) / (rates.length * count * stepsEach));
      }
    }
  }

  async #usage(): Promise<ReadonlyMap<string, Usage>> {
    const usage = new Map<string, Usage>();
    const { servers, worker } = this.#system;
    for (const [name, pid] of Object.entries({ ...servers, worker: worker.pid })) {
      const family = await familyOf(pid);
      usage.set(name, { cpuSeconds: await livingCpuSeconds(family), residentBytes: await residentBytes(family) });
    }
    return usage;
  }

  /** The same number of steps, in many short workflows and in few long ones. */
  async storage(): Promise<void> {
    const { storageSteps, stepsEach, longSteps } = this.#sizes;
    const added = async (count: number, steps: number): Promise<number> => {
      const before = await this.#settledBytes();
      await this.#run(count, steps);
      return ((await this.#settledBytes()) - before) / (count * steps);
    };
    const short = await added(storageSteps / stepsEach, stepsEach);
    const long = await added(storageSteps / longSteps, longSteps);
    this.findings.bytesPerStep = { short, long };
  }

  async large(): Promise<void> {
    const { largeBytes, largeWorkflows, stepsEach, rounds } = this.#sizes;
    for (const bytes of largeBytes) {
      const before = await this.#settledBytes();
      const rates: number[] = [];
      const beganMs = performance.now();
      while (rates.length < rounds && (rates.length === 0 || performance.now() - beganMs < SHAPE_BUDGET_MS)) {
        const tookMs = await this.#run(largeWorkflows, stepsEach, 'quiet', bytes);
        rates.push((largeWorkflows * stepsEach * 1_000) / tookMs);
      }
      const added = (await this.#settledBytes()) - before;
      const bytesPerStep = added / (rates.length * largeWorkflows * stepsEach);
      this.findings.large.set(bytes, { stepsPerS: median(rates), bytesPerStep });
    }
  }

  /** Stores that write in the background are given a moment: until two looks find about the same. */
  async #settledBytes(): Promise<number> {
    let bytes = await this.#system.storedBytes();
    for (let round = 1; round < SETTLE_ROUNDS_MAX; round++) {
      const last = bytes;
      await wait(SETTLE_PERIOD_MS);
      bytes = await this.#system.storedBytes();
      if (Math.abs(bytes - last) < SETTLED_BYTES) break;
    }
    return bytes;
  }

  /** From the kill −9 of a worker until another's first step is done, of each workflow that the dead one ran. */
  async kills(): Promise<void> {
    let active = this.#system.worker;
    for (let round = 0; round < this.#sizes.kills; round++) {
      const standby = await this.#system.startWorker();
      if (standby.takeOver === undefined) await this.#run(WARM_UP_WORKFLOWS, this.#sizes.stepsEach);
      const { survivor, tookMs } = await this.#kill(active, standby);
      active = survivor;
      this.findings.killMs.push(...tookMs);
    }
  }

  async #kill(active: Worker, standby: Worker): Promise<{ survivor: Worker; tookMs: readonly number[] }> {
    const given = givenOf({ prefix: this.#prefix(), count: PACED_WORKFLOWS, steps: PACED_STEPS, mode: 'paced' });
    const watch = new Watch(this.#notes, given);
    const prefix = given[0]!.id.slice(0, given[0]!.id.lastIndexOf('-'));
    const running = this.#system
      .run({ prefix, count: PACED_WORKFLOWS, steps: PACED_STEPS, mode: 'paced' }, active)
      // Of a library, the process that was asked is the one that is killed.
      .catch((error: unknown) => {
        if (!(error instanceof EndedError)) throw error;
      });
    await watch.until(({ n }) => n >= STEPS_BEFORE_KILL, 'come so far');
    const victim = watch.countOf(active.pid) >= watch.countOf(standby.pid) ? active : standby;
    const survivor = victim === active ? standby : active;
    const held = given.filter(({ id }) => watch.last.get(id)?.pid === victim.pid);
    const killedMs = performance.timeOrigin + performance.now();
    await victim.kill();
    const taken = survivor.takeOver?.(held);
    // The second step of the successor has begun: its first one is durable.
    await watch.until(({ isLast }) => isLast, 'end');
    await Promise.all([running, taken]);
    watch.stop();
    const tookMs = held.map(({ id }) => watch.startedAfter(killedMs, id, survivor.pid)[1]! - killedMs);
    return { survivor, tookMs };
  }
}

/** Sees the steps of some workflows, in whatever process they run. */
class Watch {
  readonly last = new Map<string, Note>();
  readonly #all: Note[] = [];
  readonly #given: readonly Given[];
  readonly stop: () => void;
  #wake: () => void = () => undefined;

  constructor(notes: Notes, given: readonly Given[]) {
    this.#given = given;
    const ids = new Set(given.map(({ id }) => id));
    this.stop = notes.listen((note) => {
      if (!ids.has(note.workflow)) return;
      this.#all.push(note);
      this.last.set(note.workflow, note);
      this.#wake();
    });
  }

  /** Of how many workflows the process ran the newest step. */
  countOf(pid: number): number {
    return [...this.last.values()].filter((note) => note.pid === pid).length;
  }

  /** When the process began each of its steps of the workflow after that moment. */
  startedAfter(momentMs: number, workflow: string, pid: number): readonly number[] {
    return this.#all
      .filter((note) => note.workflow === workflow && note.pid === pid)
      .map((note) => note.startedMs[0]!)
      .filter((startedMs) => startedMs > momentMs);
  }

  /** Until the newest step of each workflow is so. */
  async until(isMet: (note: Note) => boolean, what: string): Promise<void> {
    const late = AbortSignal.timeout(GO_ON_TIMEOUT_MS);
    const met = ({ id }: Given): boolean => this.last.has(id) && isMet(this.last.get(id)!);
    while (!this.#given.every(met)) {
      if (late.aborted) throw new Error(`in ${GO_ON_TIMEOUT_MS} ms not all workflows ${what}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await Promise.race([promise, wait(1_000)]);
    }
  }
}
