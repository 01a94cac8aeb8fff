/**
 * Owns one chaos run: starts the fleet and the load, lets faults come in phases, then stops them and waits until everything is
 * finished, and judges the result from outside. What it leaves behind on its way out: nothing but the folder it was given.
 */

import { readFile } from 'node:fs/promises';
import { configFromEnv, type Host, openCluster } from '@tidemark/host';
import {
  brokenInvariants,
  duplicateEffects,
  type Finding,
  falseCommits,
  handedToPerson,
  lostCheckpoints,
  unfinished,
  wrongOutputs,
} from './checks.ts';
import { Driver } from './driver.ts';
import { expectationsOf } from './expected.ts';
import { Family } from './family.ts';
import { brokenFamily, isOfFamily } from './family-checks.ts';
import { type FaultKind, Faults, faultKinds, isKill } from './faults.ts';
import { Fleet } from './fleet.ts';
import { acceptedOf, accountOf, type History, judge, readLog } from './history.ts';
import type { LedgerEntry } from './ledger.ts';
import { LedgerClient } from './ledger-client.ts';
import { CALM_MS, PROGRESS_PERIOD_MS, RECORD_PERIOD_MS, STILL_MAX_MS, STORM_MS } from './limits.ts';
import { Person } from './person.ts';
import { Random } from './random.ts';
import { Recorder } from './recorder.ts';
import { type TakeOver, takeOvers } from './resume.ts';

export interface ChaosOptions {
  readonly durationMs: number;
  /** Faults begin beyond that time as well, until so many kinds have come and somebody was killed; by default none do. */
  readonly kindsMin?: number;
  readonly workerCount: number;
  /** Workflows alive at once. */
  readonly liveMax: number;
  readonly seed: number;
  /** For logs of the processes and the ledger's file; must exist. */
  readonly folder: string;
  readonly onProgress: (line: string) => void;
  /** Ends the run early, without a judgement. */
  readonly signal?: AbortSignal;
}

export const checkNames = [
  'lost_checkpoints',
  'duplicate_effects',
  'wrong_outputs',
  'false_commits',
  'unfinished',
  'broken_invariants',
  'broken_family',
] as const;
export type CheckName = (typeof checkNames)[number];

export interface ChaosResult {
  readonly findings: Readonly<Record<CheckName, readonly Finding[]>>;
  readonly handed: readonly Finding[];
  /** What nobody asked for and yet broke no promise: a process that ended by itself, a fault that could not be made. */
  readonly surprises: readonly string[];
  readonly faultCounts: Readonly<Record<FaultKind, number>>;
  readonly killCount: number;
  readonly workflowCount: number;
  readonly checkpointCount: number;
  readonly acknowledgedCount: number;
  readonly effectCount: number;
  readonly rejectedCounts: Readonly<Record<string, number>>;
  readonly kill9: readonly TakeOver[];
  readonly sigterm: readonly TakeOver[];
  /** How long the last workflow took after the last fault, in milliseconds. */
  readonly finishMs: number;
  /** The history of a workflow in words. */
  readonly account: (workflow: string) => string;
}

export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { seed, folder, workerCount, signal } = options;
  const surprises: string[] = [];
  const onSurprise = (what: string): void => {
    surprises.push(what);
    options.onProgress(`surprise: ${what}`);
  };
  const fleet = new Fleet({ workerCount, seed, folder, onSurprise });
  const onExit = (): void => fleet.killNow();
  process.once('exit', onExit);
  let host: Host | undefined;
  try {
    signal?.throwIfAborted();
    await untilAborted(fleet.start(), signal);
    host = await openCluster(configFromEnv(fleet.env));
    const ran = await untilAborted(run(options, fleet, host, onSurprise), signal);
    return { ...(await judged(ran, fleet, host)), surprises };
  } finally {
    await host?.close();
    await fleet.close();
    process.off('exit', onExit);
  }
}

/** The work's end, or the signal's reason as soon as it aborts: whoever interrupts a run must not wait for a fault's end. */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal?.removeEventListener('abort', onAbort);
    work.catch(() => {});
  }
}

interface Ran {
  readonly driver: Driver;
  readonly family: Family;
  readonly recorder: Recorder;
  readonly faults: Faults;
  readonly finishMs: number;
}

async function run(options: ChaosOptions, fleet: Fleet, host: Host, onSurprise: (what: string) => void): Promise<Ran> {
  const { seed, liveMax, durationMs, kindsMin = 0 } = options;
  const driver = new Driver(host, new Random(seed + 1), liveMax, onSurprise);
  const recorder: Recorder = new Recorder(fleet.databaseUrl.href, () => [
    ...driver.live.flatMap((id) => [id, `${id}~undo`]),
    ...family.ids.filter((id) => !recorder.ends.has(id)),
  ]);
  const family = new Family(host, new Random(seed + 2), (id) => recorder.ends.has(id), onSurprise);
  const person = new Person(host, fleet.ledgerPort, () => recorder.parked, onSurprise);
  const over = new AbortController();
  const faults = new Faults(fleet, new Random(seed), over.signal, onSurprise);
  const giveUp = (): void => over.abort();
  options.signal?.addEventListener('abort', giveUp, { once: true });
  const startedMs = performance.now();
  const keepUp = setInterval(() => {
    for (const workflow of recorder.ends.keys()) driver.ended(workflow);
    driver.fill();
    if (performance.now() - startedMs >= durationMs && isWorthTheName(faults.records, kindsMin)) giveUp();
  }, RECORD_PERIOD_MS);
  const progressTimer = setInterval(
    () => options.onProgress(progress(startedMs, { driver, recorder, faults })),
    PROGRESS_PERIOD_MS,
  );
  recorder.start();
  person.start();
  family.begin();
  try {
    await phases(faults, durationMs, over.signal);
    const calmedMs = performance.now();
    await finish(fleet, driver, recorder, options.signal);
    await family.finish(() => recorder.stillSinceMs(calmedMs) < STILL_MAX_MS);
    return { driver, family, recorder, faults, finishMs: performance.now() - calmedMs };
  } finally {
    clearInterval(keepUp);
    clearInterval(progressTimer);
    family.stop();
    person.stop();
    await recorder.stop();
  }
}

const isWorthTheName = (records: Faults['records'], kindsMin: number): boolean =>
  kindsMin === 0 ||
  (new Set(records.map(({ kind }) => kind)).size >= kindsMin && records.some(({ kind }) => isKill(kind)));

/** Calm and storm by turns; a short run has short phases, so that it sees both. */
async function phases(faults: Faults, durationMs: number, signal: AbortSignal): Promise<void> {
  const calmMs = Math.min(CALM_MS, durationMs / 3);
  const stormMs = Math.min(STORM_MS, (durationMs * 2) / 3);
  while (!signal.aborted) {
    await faults.calm(calmMs);
    if (!signal.aborted) await faults.storm(stormMs);
  }
  await faults.settled();
}

/** Resolves when every workflow has ended, or when nothing has moved for too long. */
export async function finish(
  fleet: Pick<Fleet, 'ledgerPort'>,
  driver: Driver,
  recorder: Recorder,
  signal?: AbortSignal,
  stillMaxMs = STILL_MAX_MS,
): Promise<void> {
  const ledger = new LedgerClient(fleet.ledgerPort);
  await ledger.calm();
  ledger.close();
  const calmedMs = performance.now();
  const isDone = (): boolean => driver.live.every((id) => recorder.ends.has(id));
  const stopped = driver.stop();
  let isStopped = false;
  void stopped.then(() => {
    isStopped = true;
  });
  while (recorder.stillSinceMs(calmedMs) < stillMaxMs && !(isStopped && isDone())) {
    signal?.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, RECORD_PERIOD_MS));
  }
}

function progress(startedMs: number, { driver, recorder, faults }: Omit<Ran, 'finishMs' | 'family'>): string {
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
  const kills = faults.records.filter(({ kind }) => isKill(kind)).length;
  const live = driver.live.length;
  return `${seconds} s: ${driver.starts.size} started, ${driver.starts.size - live} ended, ${live} alive, ${recorder.parked.size} parked, ${kills} kills, ${faults.records.length} faults, ${faults.underWayCount} under way, ${recorder.headCount} checkpoints seen`;
}

async function judged(
  { driver, family, recorder, faults, finishMs }: Ran,
  fleet: Fleet,
  host: Host,
): Promise<Omit<ChaosResult, 'surprises'>> {
  const history = judge(await readLog(host.ports.log));
  const streams = acceptedOf(history);
  const ledger = await entriesIn(fleet.ledgerFile);
  const others = ledger.filter(({ action }) => !isOfFamily(family.start, action));
  const { starts } = driver;
  const expectations = expectationsOf(starts);
  // Of the family some wait for a person: when they go on says nothing about a take-over.
  const driven = new Map([...streams].filter(([id]) => !isOfFamily(family.start, id)));
  const { records } = faults;
  const paced = new Set([...starts].flatMap(([id, start]) => (start.definition === 'chaos-pace' ? [id] : [])));
  return {
    findings: {
      lost_checkpoints: lostCheckpoints(recorder.heads, recorder.ends, streams),
      duplicate_effects: duplicateEffects(ledger),
      wrong_outputs: wrongOutputs(expectations, streams, others),
      false_commits: falseCommits(expectations, streams, ledger),
      unfinished: unfinished(starts, streams),
      broken_invariants: brokenInvariants(history),
      broken_family: brokenFamily(family.start, history, ledger),
    },
    handed: handedToPerson(streams),
    faultCounts: countsOf(faultKinds, records),
    killCount: records.filter(({ kind }) => isKill(kind)).length,
    workflowCount: starts.size,
    checkpointCount: [...streams.values()].flat().filter(({ envelope }) => envelope.type === 'CheckpointCommitted')
      .length,
    acknowledgedCount: recorder.headCount,
    effectCount: ledger.length,
    rejectedCounts: rejectedIn(history),
    kill9: takeOvers('kill9_worker', records, driven, paced),
    sigterm: takeOvers('sigterm', records, driven, paced),
    finishMs,
    account: (workflow) => accountOf(workflow, history),
  };
}

function countsOf(kinds: readonly FaultKind[], records: Faults['records']): Record<FaultKind, number> {
  const counts = kinds.map((kind) => [kind, records.filter((record) => record.kind === kind).length]);
  return Object.fromEntries(counts) as Record<FaultKind, number>;
}

function rejectedIn(history: History): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { verdict } of history.flat()) {
    if (verdict.kind === 'rejected') counts[verdict.reason] = (counts[verdict.reason] ?? 0) + 1;
  }
  return counts;
}

/** What was applied, from the file that the ledger wrote before each answer. */
export async function entriesIn(file: string): Promise<readonly LedgerEntry[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as LedgerEntry]));
}
