/**
 * Owns what is measured during a load run, a sample a second, each written to a file at once: a run that is interrupted leaves what it has.
 * Everything is looked at from outside: metrics endpoints, datagrams of workers, rows, and the operating system.
 */

import { appendFile } from 'node:fs/promises';
import os from 'node:os';
import type { Partition } from '@tidemark/core';
import { Random } from '../../chaos/random.ts';
import { residentBytes } from '../processes.ts';
import type { LoadDriver } from './driver.ts';
import type { LoadFleet } from './fleet.ts';
import {
  LAG_MAX_MS,
  LAG_PARTITIONS,
  LAG_POLL_MS,
  SAMPLE_PERIOD_MS,
  SCRAPE_MAX_MS,
  SLOW_SAMPLE_EVERY,
} from './limits.ts';
import {
  added,
  addedBuckets,
  type BucketCounts,
  byLabel,
  mergeBuckets,
  parseMetrics,
  type Series,
  sumOf,
} from './metrics-text.ts';
import type { Notes } from './notes.ts';
import { CpuMeter, type Room, room, rssBytes } from './usage.ts';

const COMMIT = 'checkpoint_commit_latency_seconds';

export interface Sample {
  /** From the beginning of what is measured, in milliseconds. */
  readonly atMs: number;
  /** Time since the sample before, in milliseconds. */
  readonly tookMs: number;
  readonly live: number;
  readonly checkpoints: number;
  /** Null: no process told anything. */
  readonly commit: BucketCounts | null;
  readonly stepToStep: readonly (readonly [number, number])[];
  readonly late: readonly (readonly [number, number])[];
  /** Events in the log that rows don't have; null: it could not be told. */
  readonly lagEvents: number | null;
  /** Until rows had what the log held at a moment; null: it was not looked at, or took longer than is waited. */
  readonly lagMs: number | null;
  readonly resumed: number;
  readonly rejected: Readonly<Record<string, number>>;
  readonly loadAverage: number;
  readonly slow: SlowSample | null;
}

/** What costs more to look at. */
export interface SlowSample {
  /** Resident memory by process, in bytes. */
  readonly rss: Readonly<Record<string, number>>;
  /** Memory by role, shared pages counted once, in bytes. */
  readonly pss: Readonly<Record<string, number>>;
  /** Processor seconds by role since the first sample. */
  readonly cpuS: Readonly<Record<string, number>>;
  readonly room: Room;
  /** Of the checkpoint log, as the compactor told within the last minute; null: it hasn't yet. */
  readonly logBytes: number | null;
}

export interface SamplerOptions {
  readonly fleet: LoadFleet;
  readonly driver: LoadDriver;
  readonly notes: Notes;
  /** Gets a line for each sample. */
  readonly file: string;
  readonly onSample: (sample: Sample) => void;
  readonly onSurprise: (what: string) => void;
}

export class Sampler {
  readonly samples: Sample[] = [];
  readonly #options: SamplerOptions;
  readonly #cpu = new CpuMeter();
  readonly #random = new Random(1);
  /** By process: what it last told. */
  readonly #before = new Map<number, Series>();
  /** Wall clock. */
  startedAtMs = 0;
  #startedMs = 0;
  #lastMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> = Promise.resolve();
  #lag: number | null = null;
  #lagRead: Promise<void> | undefined;
  #isBusy = false;
  #isStopped = false;

  constructor(options: SamplerOptions) {
    this.#options = options;
  }

  /** What was before is not counted. */
  async start(): Promise<void> {
    await this.#scrapeAll();
    this.#options.notes.take();
    this.startedAtMs = Date.now();
    this.#startedMs = performance.now();
    this.#lastMs = this.#startedMs;
    this.#timer = setInterval(() => {
      // A machine with too much to do gets fewer samples, and not more work.
      if (this.#isBusy) return;
      this.#isBusy = true;
      this.#work = this.#sample()
        .catch((error) => this.#options.onSurprise(`a sample is missing: ${error}`))
        .finally(() => {
          this.#isBusy = false;
        });
    }, SAMPLE_PERIOD_MS);
  }

  get elapsedMs(): number {
    return this.#startedMs === 0 ? 0 : performance.now() - this.#startedMs;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#work;
    await this.#lagRead;
  }

  async #sample(): Promise<void> {
    const { driver, notes, file, onSample } = this.#options;
    const isSlow = this.samples.length % SLOW_SAMPLE_EVERY === 0;
    const [scraped, lagEvents, slow] = await Promise.all([
      this.#scrapeAll(),
      this.#lagEvents(),
      isSlow ? this.#slow() : null,
    ]);
    const nowMs = performance.now();
    const { stepToStep, late } = notes.take();
    this.#lagRead ??= this.#lagMs().finally(() => {
      this.#lagRead = undefined;
    });
    const sample: Sample = {
      atMs: Math.round(nowMs - this.#startedMs),
      tookMs: Math.round(nowMs - this.#lastMs),
      live: driver.liveCount,
      ...scraped,
      stepToStep: [...stepToStep],
      late: [...late],
      lagEvents,
      lagMs: this.#lag,
      loadAverage: os.loadavg()[0]!,
      slow,
    };
    this.#lag = null;
    this.#lastMs = nowMs;
    this.samples.push(sample);
    await appendFile(file, `${JSON.stringify(sample)}\n`);
    onSample(sample);
  }

  async #scrapeAll(): Promise<Pick<Sample, 'checkpoints' | 'commit' | 'resumed' | 'rejected'>> {
    let [checkpoints, resumed] = [0, 0];
    let commit: BucketCounts | undefined;
    const rejected: Record<string, number> = {};
    await Promise.all(
      this.#options.fleet.slots.map(async ({ role, name, pid, isUp }) => {
        if (!isUp || pid === undefined || role === 'compactor') return;
        const now = await scrape(this.#options.fleet.metricsPorts.get(name)!);
        if (now === undefined) return;
        const before = this.#before.get(pid);
        this.#before.set(pid, now);
        checkpoints += added(now, before, 'tidemark_steps_total');
        resumed += added(now, before, 'tidemark_checkpoint_resumes_total');
        // Of the projector alone: a holder meets the same events again.
        if (role === 'coordinator') count(rejected, now, before);
        commit = mergeBuckets(commit, addedBuckets(now, before, COMMIT));
      }),
    );
    return { checkpoints, commit: commit ?? null, resumed, rejected };
  }

  /** Reads rows first, so that the lag is never told too small. */
  async #lagEvents(): Promise<number | null> {
    const { log, store } = this.#options.fleet.host.ports;
    try {
      const positions = await store.positions();
      const bounds = await log.bounds();
      let lag = 0;
      for (const [partition, { end }] of bounds) lag += Math.max(0, end - (positions.get(partition) ?? end));
      return lag;
    } catch {
      return null;
    }
  }

  /** How long it takes until the rows of some partitions have what their logs held at one moment. */
  async #lagMs(): Promise<void> {
    const { log, store, clock } = this.#options.fleet.host.ports;
    try {
      const partitionCount = await log.partitionCount();
      const some = new Set(
        Array.from({ length: LAG_PARTITIONS }, () => this.#random.between(0, partitionCount - 1) as Partition),
      );
      const bounds = await log.bounds([...some]);
      const startedMs = performance.now();
      while (performance.now() - startedMs < LAG_MAX_MS && !this.#isStopped) {
        const positions = await store.positions([...some]);
        if ([...bounds].every(([partition, { end }]) => (positions.get(partition) ?? 0) >= end)) {
          this.#lag = Math.round(performance.now() - startedMs);
          return;
        }
        await clock.sleep(LAG_POLL_MS);
      }
      if (!this.#isStopped) this.#options.onSurprise(`rows were more than ${LAG_MAX_MS} ms behind the log`);
    } catch {
      // The sample has none.
    }
  }

  async #slow(): Promise<SlowSample> {
    const { fleet } = this.#options;
    const members = await fleet.members();
    const rss: Record<string, number> = {};
    for (const { name, pid, isUp } of fleet.slots) {
      const bytes = isUp && pid !== undefined ? await rssBytes(pid).catch(() => 0) : 0;
      if (bytes > 0) rss[name] = bytes;
    }
    const pss: Record<string, number> = {};
    for (const [role, pids] of members) {
      pss[role] = await residentBytes(pids);
    }
    const cpuS = await this.#cpu.look(members);
    const compactor = await scrape(fleet.metricsPorts.get('compactor-0')!);
    return { rss, pss, cpuS, room: await room(), logBytes: compactor?.get('tidemark_log_size_bytes') ?? null };
  }
}

function count(rejected: Record<string, number>, now: Series, before: Series | undefined): void {
  for (const [reason, value] of byLabel(now, 'tidemark_events_rejected_total', 'reason')) {
    const earlier =
      before === undefined ? 0 : (byLabel(before, 'tidemark_events_rejected_total', 'reason').get(reason) ?? 0);
    const more = value >= earlier ? value - earlier : value;
    if (more > 0) rejected[reason] = (rejected[reason] ?? 0) + more;
  }
  const malformed =
    sumOf(now, 'tidemark_records_malformed_total') - (before ? sumOf(before, 'tidemark_records_malformed_total') : 0);
  if (malformed > 0) rejected.malformed = (rejected.malformed ?? 0) + malformed;
}

/** Undefined: it doesn't answer just now. */
async function scrape(port: number): Promise<Series | undefined> {
  try {
    const signal = AbortSignal.timeout(SCRAPE_MAX_MS);
    return parseMetrics(await (await fetch(`http://127.0.0.1:${port}/metrics`, { signal })).text());
  } catch {
    return undefined;
  }
}
