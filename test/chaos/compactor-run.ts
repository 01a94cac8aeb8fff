/**
 * Owns one run that kills compactors: workflows run all the time, what ended goes into segments, and compactors are killed until there were
 * as many kills as asked for. Then everything may finish, and the result is judged from outside. Leaves nothing but its folder.
 */

import type { WorkflowId } from '@tidemark/core';
import { configFromEnv, type Host, openCluster } from '@tidemark/host';
import { recordedDeletions, verifyArchive } from '@tidemark/runtime';
import { borrowCredentials } from '../bench/archive-bucket.ts';
import { brokenInvariants, duplicateEffects, unfinished, wrongOutputs } from './checks.ts';
import { checkTiers, doubledAccepted, restoredOtherwise } from './compactor-checks.ts';
import { type Collected, collect } from './compactor-evidence.ts';
import { CompactorFaults, type Disturbance } from './compactor-faults.ts';
import { CompactorFleet, type CompactorServers } from './compactor-fleet.ts';
import { COMPACTOR_PARTITIONS, RESTORED_SAMPLE_COUNT } from './compactor-limits.ts';
import { freshRows, rowsOf } from './compactor-rows.ts';
import { Witness } from './compactor-witness.ts';
import { Driver } from './driver.ts';
import { expectationsOf } from './expected.ts';
import { dropDatabase } from './faults.ts';
import { acceptedOf, judge } from './history.ts';
import { PROGRESS_PERIOD_MS, RECORD_PERIOD_MS, STILL_MAX_MS } from './limits.ts';
import { Person } from './person.ts';
import { Random } from './random.ts';
import { Recorder } from './recorder.ts';
import { entriesIn, finish, untilAborted } from './run.ts';

export interface CompactorRunOptions {
  readonly killsMax: number;
  /** There are more kills when so many segments were not archived meanwhile. */
  readonly segmentsMin?: number;
  readonly seed: number;
  /** Workflows alive at once. */
  readonly liveMax: number;
  readonly servers: CompactorServers;
  /** For logs of the processes; must exist. */
  readonly folder: string;
  /** A guard that compactors run without: the control. */
  readonly without?: string;
  readonly stillMaxMs?: number;
  readonly onProgress: (line: string) => void;
  /** Ends the run early, without a judgement. */
  readonly signal?: AbortSignal;
}

export const compactorCheckNames = [
  'lost_events',
  'doubled_events',
  'changed_events',
  'archive_problems',
  'restored_otherwise',
  'wrong_outputs',
  'unfinished',
  'duplicate_effects',
  'broken_invariants',
] as const;
export type CompactorCheckName = (typeof compactorCheckNames)[number];

export interface CompactorRunResult {
  readonly findings: Readonly<Record<CompactorCheckName, readonly string[]>>;
  /** Why the run proves nothing; none: it does. */
  readonly invalid: readonly string[];
  readonly surprises: readonly string[];
  readonly killCount: number;
  /** In which step compactors were when they were killed. */
  readonly killedIn: ReadonlyMap<string, number>;
  readonly disturbanceCounts: Readonly<Record<Disturbance, number>>;
  readonly workflowCount: number;
  /** What the witness saw, what of it is in segments, and how many those are. */
  readonly eventCount: number;
  readonly archivedCount: number;
  readonly trimmedCount: number;
  readonly segmentCount: number;
  /** Segments' objects that no manifest names: what a kill left. */
  readonly orphanCount: number;
  readonly restoredCount: number;
  /** Rows of all history, rebuilt from log and segments. */
  readonly rebuiltMs: number;
  readonly killingMs: number;
}

interface Ran {
  readonly driver: Driver;
  readonly faults: CompactorFaults;
  readonly witness: Witness;
  readonly killedIn: ReadonlyMap<string, number>;
  readonly killingMs: number;
}

export async function runCompactorChaos(options: CompactorRunOptions): Promise<CompactorRunResult> {
  const { servers, signal } = options;
  const surprises: string[] = [];
  const onSurprise = (what: string): void => {
    surprises.push(what);
    options.onProgress(`surprise: ${what}`);
  };
  const fleet = new CompactorFleet({ ...options, onSurprise });
  const onExit = (): void => fleet.killNow();
  process.once('exit', onExit);
  let giveBack = (): void => {};
  let host: Host | undefined;
  let witness: Witness | undefined;
  try {
    await fleet.prepare();
    giveBack = borrowCredentials(fleet.env);
    host = await openCluster(configFromEnv(fleet.env));
    witness = new Witness(servers.kafka, fleet.topic, COMPACTOR_PARTITIONS, fleet.witnessFile);
    await witness.start();
    await untilAborted(fleet.start(), signal);
    const ran = await untilAborted(run(options, fleet, { host, witness }, onSurprise), signal);
    // Nobody writes any more, and nothing more is archived.
    await fleet.close();
    await witness.caughtUp();
    await witness.stop();
    return { ...(await judged(options, ran, fleet, host)), surprises };
  } finally {
    await witness?.stop();
    await host?.close();
    await fleet.close();
    for (const name of fleet.databaseNames) await dropDatabase(servers.postgres, name);
    giveBack();
    process.off('exit', onExit);
  }
}

async function run(
  options: CompactorRunOptions,
  fleet: CompactorFleet,
  { host, witness }: { readonly host: Host; readonly witness: Witness },
  onSurprise: (what: string) => void,
): Promise<Ran> {
  const { seed, liveMax, killsMax, segmentsMin = 0, servers } = options;
  const driver = new Driver(host, new Random(seed + 1), liveMax, onSurprise);
  const recorder = new Recorder(fleet.databaseUrl.href, () => driver.live.flatMap((id) => [id, `${id}~undo`]));
  const person = new Person(host, fleet.ledgerPort, () => recorder.parked, onSurprise);
  const signal = options.signal ?? new AbortController().signal;
  const faults = new CompactorFaults(fleet, servers, { seed, killsMax, segmentsMin, signal }, onSurprise);
  const keepUp = setInterval(() => {
    for (const workflow of recorder.ends.keys()) driver.ended(workflow);
    driver.fill();
  }, RECORD_PERIOD_MS);
  const progressTimer = setInterval(() => {
    const { segmentCount, eventCount } = fleet.steps;
    options.onProgress(
      `${faults.killCount} kills; ${driver.starts.size} workflows started, ${driver.live.length} alive; ${witness.recordCount} events, ${eventCount} archived in ${segmentCount} segments`,
    );
  }, PROGRESS_PERIOD_MS);
  recorder.start();
  person.start();
  try {
    const startedMs = performance.now();
    options.onProgress('every process is up');
    await faults.run();
    options.onProgress(`${faults.killCount} kills were enough`);
    const killingMs = performance.now() - startedMs;
    const killedIn = new Map(fleet.steps.killed);
    await finish(fleet, driver, recorder, options.signal, options.stillMaxMs ?? STILL_MAX_MS);
    options.onProgress('no workflow is waited for any more');
    return { driver, faults, witness, killedIn, killingMs };
  } finally {
    clearInterval(keepUp);
    clearInterval(progressTimer);
    person.stop();
    await recorder.stop();
  }
}

async function judged(
  { servers, onProgress }: CompactorRunOptions,
  { driver, faults, witness, killedIn, killingMs }: Ran,
  fleet: CompactorFleet,
  host: Host,
): Promise<Omit<CompactorRunResult, 'surprises'>> {
  onProgress('reading every tier');
  const collected = await collect({ host, broker: servers.kafka, topic: fleet.topic }, witness);
  const archive = host.tiers!.archive;
  const verdict = await verifyArchive(host.tiers!.hot, archive, {
    deletions: (tenant) => recordedDeletions(host.ports, tenant),
  });
  const { evidence, problems } = collected;
  // Rows of what is not to be had would be waited for in vain.
  const rows = problems.length === 0 ? await compared(host, fleet, [...driver.starts.keys()], onProgress) : undefined;
  const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
  return {
    findings: {
      ...(await findingsOf(collected, driver, fleet)),
      archive_problems: [
        ...problems,
        ...verdict.problems.map(({ partition, from, code, message }) => `${partition}/${from} ${code}: ${message}`),
      ],
      restored_otherwise: rows?.otherwise ?? ['no rows were put back, since a tier is wrong'],
    },
    invalid: [
      ...witness.gaps.map((gap) => `the witness was overtaken: ${gap}`),
      ...witness.seen.flatMap(({ start }, partition) =>
        start === 0 ? [] : [`partition ${partition} began at ${start}`],
      ),
    ],
    killCount: faults.killCount,
    killedIn,
    disturbanceCounts: faults.counts,
    workflowCount: driver.starts.size,
    eventCount: witness.recordCount,
    archivedCount: sum(evidence.segments.map(({ digests }) => digests.length)),
    trimmedCount: sum(evidence.log.map(({ start }) => start)),
    segmentCount: verdict.segmentCount,
    orphanCount: (await objectCount(host)) - verdict.segmentCount,
    restoredCount: rows?.count ?? 0,
    rebuiltMs: rows?.rebuiltMs ?? Number.NaN,
    killingMs,
  };
}

interface ComparedRows {
  readonly count: number;
  readonly otherwise: readonly string[];
  readonly rebuiltMs: number;
}

/** Rows of archived workflows, put back from segments, beside those of a fresh fold of everything. */
async function compared(
  host: Host,
  fleet: CompactorFleet,
  started: readonly string[],
  onProgress: (line: string) => void,
): Promise<ComparedRows> {
  onProgress('putting rows back, and making those of all history anew');
  const sample = await archivedSample(host, started);
  const restored = await rowsOf(host.ports.store, sample);
  const onError = (where: string, error: unknown): void => onProgress(`fresh rows: ${where}: ${error}`);
  const { rows, tookMs } = await freshRows(fleet.freshEnv, sample, onError);
  return { count: sample.length, otherwise: restoredOtherwise(restored, rows), rebuiltMs: tookMs };
}

type Judged = 'archive_problems' | 'restored_otherwise';

async function findingsOf(
  { evidence, entries }: Collected,
  { starts }: Driver,
  { ledgerFile }: CompactorFleet,
): Promise<Omit<CompactorRunResult['findings'], Judged>> {
  const tiers = checkTiers(evidence);
  const history = judge(entries);
  const streams = acceptedOf(history);
  const ledger = await entriesIn(ledgerFile);
  const textsOf = (findings: readonly { readonly workflow: string; readonly what: string }[]): readonly string[] =>
    findings.map(({ workflow, what }) => `${workflow}: ${what}`);
  return {
    ...tiers,
    doubled_events: [...tiers.doubled_events, ...doubledAccepted(streams)],
    wrong_outputs: textsOf(wrongOutputs(expectationsOf(starts), streams, ledger)),
    unfinished: textsOf(unfinished(starts, streams)),
    duplicate_effects: textsOf(duplicateEffects(ledger)),
    broken_invariants: textsOf(brokenInvariants(history)),
  };
}

/** Some of those whose rows of history are in segments alone, from the first to the last. */
async function archivedSample(host: Host, started: readonly string[]): Promise<readonly WorkflowId[]> {
  const gone = new Set<string>(await host.ports.store.withoutRows(started as readonly WorkflowId[]));
  const archived = started.filter((workflow) => gone.has(workflow)) as WorkflowId[];
  const step = Math.max(1, Math.floor(archived.length / RESTORED_SAMPLE_COUNT));
  return archived.filter((_, index) => index % step === 0).slice(0, RESTORED_SAMPLE_COUNT);
}

async function objectCount(host: Host): Promise<number> {
  let count = 0;
  for await (const name of host.tiers!.archive.warm.list('segments/')) if (name !== '') count++;
  return count;
}
