/**
 * Owns one load run: servers and processes, the ramp, the measured time with its kills, the end of everything, the judgement. An interrupted
 * run, or one for which the machine has no room left, keeps what it measured. Leaves nothing but its folder.
 */

import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { LoadDriver } from './driver.ts';
import { LoadFleet } from './fleet.ts';
import { type Effects, type History, judgeEffects, ledgersIn, lostWorkflows, readHistory } from './judge.ts';
import { type DoneKill, Kills, killPlan } from './kills.ts';
import {
  FINISH_STALL_MAX_MS,
  MEMORY_AVAILABLE_MIN_BYTES,
  PROGRESS_PERIOD_MS,
  SETTLE_MS,
  SHM_FREE_MIN_BYTES,
} from './limits.ts';
import { bucketQuantileMs } from './metrics-text.ts';
import { Notes } from './notes.ts';
import { type ComparedRows, compareRows, sampleOf } from './rows.ts';
import { type Sample, Sampler } from './sampler.ts';
import { commitsOf } from './summary.ts';

export interface LoadOptions {
  readonly durationMs: number;
  readonly ratePerS: number;
  readonly liveCount: number;
  readonly coordinatorCount: number;
  readonly workerCount: number;
  /** Undefined: nobody is ended. */
  readonly killPeriodMs: number | undefined;
  readonly seed: number;
  readonly flags: readonly string[];
  /** Must exist. */
  readonly folder: string;
  readonly onProgress: (line: string) => void;
  /** Ends the measuring early; what was measured is kept. */
  readonly signal: AbortSignal;
}

export interface LoadResult {
  readonly samples: readonly Sample[];
  readonly kills: readonly DoneKill[];
  readonly surprises: readonly string[];
  /** Why it ended before its time; undefined: it didn't. */
  readonly endedEarly: string | undefined;
  readonly startedCount: number;
  /** Wall clock of the first sample's beginning, in milliseconds. */
  readonly startedAtMs: number;
  /** Undefined: the run was interrupted, and nothing can be said of losses. */
  readonly judged: Judged | undefined;
}

export interface Judged {
  readonly history: History;
  readonly lost: readonly string[];
  readonly effects: Effects;
  readonly rows: ComparedRows;
  /** From the end of the load until rows said of everything that it had ended, in milliseconds. */
  readonly finishMs: number;
  /** What reading and comparing all of it took, in milliseconds. */
  readonly judgingMs: number;
}

export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const surprises: string[] = [];
  const onSurprise = (what: string): void => {
    surprises.push(what);
    options.onProgress(`surprise: ${what}`);
  };
  const fleet = new LoadFleet({ ...options, onSurprise });
  const onExit = (): void => fleet.killNow();
  process.once('exit', onExit);
  let driver: LoadDriver | undefined;
  const notes = new Notes((workflow) => driver?.ended(workflow));
  try {
    await fleet.start(await notes.listen());
    const { host, postgresUrl } = fleet;
    driver = new LoadDriver({ ...options, host, postgresUrl, onSurprise });
    const kills = new Kills(fleet.slots, onSurprise);
    const sampler = new Sampler({
      ...{ fleet, driver, notes, onSurprise },
      file: path.join(options.folder, 'samples.jsonl'),
      onSample: () => {},
    });
    const endedEarly = await measured(options, { fleet, driver, sampler, kills });
    await sampler.stop();
    const { samples } = sampler;
    const startedCount = driver.starts.size;
    const judged = options.signal.aborted ? undefined : await judgedAfter(options, fleet, driver, onSurprise);
    const { startedAtMs } = sampler;
    return { startedAtMs, samples, kills: kills.done, surprises, endedEarly, startedCount, judged };
  } finally {
    await driver?.stop();
    notes.close();
    await fleet.close();
    process.off('exit', onExit);
  }
}

interface Parts {
  readonly fleet: LoadFleet;
  readonly driver: LoadDriver;
  readonly sampler: Sampler;
  readonly kills: Kills;
}

/** Returns why it ended before its time. */
async function measured(options: LoadOptions, parts: Parts): Promise<string | undefined> {
  const { fleet, driver, sampler, kills } = parts;
  const { signal, durationMs, killPeriodMs, seed, onProgress } = options;
  const over = new AbortController();
  let why: string | undefined;
  const end = (reason: string): void => {
    why ??= reason;
    over.abort();
  };
  const onAbort = (): void => end('interrupted');
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const progressTimer = setInterval(() => {
    onProgress(progress(parts));
    const full = fullness(sampler.samples);
    if (full !== undefined) end(full);
  }, PROGRESS_PERIOD_MS);
  try {
    driver.begin();
    onProgress(`every process is up; starting ${options.liveCount} workflows`);
    while (!driver.isRamped && !over.signal.aborted) await pause(200, over.signal);
    await pause(SETTLE_MS, over.signal);
    await sampler.start();
    onProgress('measuring');
    const targets = killPeriodMs === undefined ? [] : fleet.targets;
    const plan = killPeriodMs === undefined ? [] : killPlan(seed, durationMs, killPeriodMs, targets);
    await Promise.all([kills.run(plan, over.signal), pause(durationMs, over.signal)]);
    return why;
  } finally {
    clearInterval(progressTimer);
    signal.removeEventListener('abort', onAbort);
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> => wait(ms, undefined, { signal }).catch(() => {});

/** Why the run must end for want of room; undefined: it need not. */
export function fullness(samples: readonly Sample[]): string | undefined {
  const last = samples.findLast(({ slow }) => slow !== null)?.slow;
  if (last === undefined || last === null) return undefined;
  const { shmFreeBytes, availableBytes } = last.room;
  if (shmFreeBytes < SHM_FREE_MIN_BYTES) return `/dev/shm has only ${gigabytes(shmFreeBytes)} left`;
  if (availableBytes < MEMORY_AVAILABLE_MIN_BYTES)
    return `the machine has only ${gigabytes(availableBytes)} of memory left`;
  return undefined;
}

const gigabytes = (bytes: number): string => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;

function progress({ driver, sampler, kills }: Parts): string {
  const last = sampler.samples.slice(-10);
  const seconds = (sampler.elapsedMs / 1_000).toFixed(0);
  const rate =
    last.reduce((sum, { checkpoints }) => sum + checkpoints, 0) /
    (last.reduce((sum, { tookMs }) => sum + tookMs, 0) / 1_000);
  const p99 = bucketQuantileMs(commitsOf(last), 0.99);
  const lag = last.findLast(({ lagEvents }) => lagEvents !== null)?.lagEvents ?? '?';
  const slow = last.findLast((sample) => sample.slow !== null)?.slow;
  const shm = slow === undefined || slow === null ? '' : `, /dev/shm ${gigabytes(slow.room.shmUsedBytes)}`;
  return `${seconds} s: ${driver.liveCount} live of ${driver.starts.size} started, ${rate.toFixed(0)} checkpoints/s, commit p99 ${p99.toFixed(1)} ms, ${lag} events behind, ${kills.done.length} ended${shm}, load ${last.at(-1)?.loadAverage.toFixed(1)}`;
}

async function judgedAfter(
  { onProgress, signal }: LoadOptions,
  fleet: LoadFleet,
  driver: LoadDriver,
  onSurprise: (what: string) => void,
): Promise<Judged | undefined> {
  const startedMs = performance.now();
  onProgress('the time is over; waiting for everything to end');
  await driver.stopStarting();
  let [left, shrankMs] = [Number.POSITIVE_INFINITY, startedMs];
  while (!driver.isFinished && performance.now() - shrankMs < FINISH_STALL_MAX_MS && !signal.aborted) {
    await pause(500, signal);
    if (driver.unfinished.length < left) [left, shrankMs] = [driver.unfinished.length, performance.now()];
  }
  if (signal.aborted) return undefined;
  const finishMs = performance.now() - startedMs;
  if (!driver.isFinished)
    onSurprise(`${driver.unfinished.length} workflows have not ended, ${driver.unfinished[0]} among them`);
  await driver.stop();
  await fleet.endProcesses();
  onProgress(`everything has ended after ${(finishMs / 1_000).toFixed(0)} s; reading the whole history`);
  const judgingFromMs = performance.now();
  const { starts } = driver;
  const ledgers = await ledgersIn(fleet.ledgerFile);
  const known = { starts, ledgers, sample: sampleOf([...starts.keys()]) };
  const history = await readHistory(fleet.host, known, (done, of) => {
    if (done % 256 === 0) onProgress(`${done} of ${of} partitions are read`);
  });
  onProgress('comparing rows with it');
  const rows = await compareRows(fleet.host.ports.store, starts, history.streams, history.kept);
  return {
    ...{ history, rows, finishMs },
    lost: lostWorkflows(starts, history.streams),
    effects: judgeEffects(starts, ledgers),
    judgingMs: performance.now() - judgingFromMs,
  };
}
