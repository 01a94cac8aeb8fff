/**
 * Owns one simulated run from its seed: draws the fleet, its work and its faults, runs them, stops the faults, and judges. The same seed
 * gives the same transcript, event by event.
 */

import { type Envelope, nthOf } from '@tidemark/core';
import { Archive, Restorer, TieredLog } from '@tidemark/runtime';
import { SimulatedClock } from '../engine/simulated-ports.ts';
import { FAULT_KINDS, type FaultKind, Faults } from './faults.ts';
import { Fleet, type FleetOptions } from './fleet.ts';
import { FUNCTIONS } from './functions.ts';
import { checkDurability, checkEndings, checkHistory, checkLedger, checkRows, endingsOf } from './judge.ts';
import { checkArchive, checkSegments } from './judge-archive.ts';
import { checkDeaths, Suspects } from './judge-deaths.ts';
import { checkFunctions } from './judge-functions.ts';
import { checkSignals } from './judge-signals.ts';
import { checkCompensated, checkUndoWorkflows } from './judge-undo.ts';
import type { ArchivePlan } from './objects-view.ts';
import { SeededRandom } from './random.ts';
import { drawInput, type Start, WORKLOADS, type Workload } from './workloads.ts';

/** How long, in virtual milliseconds, everything may take to end once the faults are over, and rows to follow. */
const PROGRESS_MAX_MS = 150_000;
const ROWS_MAX_MS = 30_000;
/** After so long without any disturbance no living process may be taken for dead. */
const CALM_MS = 3_000;

export interface SimulationOptions {
  readonly seed: number;
  /** Uses these instead of the faults that the seed draws. */
  readonly faults?: readonly FaultKind[] | undefined;
  readonly workloads?: readonly Workload[] | undefined;
  /** Whether history is archived meanwhile; absent: as the seed draws. */
  readonly archives?: boolean | undefined;
}

export interface SimulationResult {
  readonly seed: number;
  readonly violations: readonly string[];
  readonly digest: string;
  readonly transcript: readonly string[];
  readonly virtualMs: number;
  readonly eventCount: number;
  /** Questions to people. */
  readonly parkedCount: number;
  readonly workflowCount: number;
  readonly callCount: number;
}

const ENDING: ReadonlySet<string> = new Set<Envelope['type']>([
  'WorkflowCompleted',
  'WorkflowFailed',
  'CompensationFinished',
  'WorkflowTerminated',
]);

export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const random = new SeededRandom(`seed ${options.seed}`);
  const longs = random.chance(0.15);
  const kinds = options.faults ?? drawKinds(random, longs);
  const durationMs = kinds.length === 0 ? 0 : random.between(1_500, 6_000);
  const fleet = drawFleet(random, drawWorkload(options, random), durationMs, {
    archive: drawArchive(options),
    trustsSilence: drawTrust(options.seed, kinds),
  });
  const faults = new Faults(fleet, random.fork('faults'), durationMs);
  if (kinds.length > 0) {
    drawUnreliability(fleet, random);
    faults.plan(kinds, random.count(2, 24));
  }
  const watch = watchOver(fleet, faults);
  fleet.transcript.add('faults', `${kinds.join(', ') || 'none'} over ${Math.round(durationMs)} ms`);
  const stopListening = onUnhandled((error) => fleet.violations.push(`unhandled rejection: ${String(error)}`));
  try {
    fleet.begin();
    await untilHealed(fleet, faults, watch);
    faults.heal();
    const { nowMs } = fleet.scheduler;
    await fleet.scheduler.run(() => watch.endedCount() === fleet.options.starts.length, nowMs + PROGRESS_MAX_MS);
    await fleet.scheduler.run(() => hasRows(fleet), fleet.scheduler.nowMs + ROWS_MAX_MS);
  } catch (error) {
    fleet.violations.push(`the simulation failed: ${error instanceof Error ? error.stack : String(error)}`);
  } finally {
    stopListening();
  }
  return judged(options.seed, fleet);
}

/** Share of the runs in which history is archived meanwhile. */
const ARCHIVING = 0.35;

/** Faults after which a run takes long. */
const LONG: readonly FaultKind[] = ['long-trap', 'late-call', 'lost-caller', 'frozen-caller', 'bane'];

/** Some kinds only. Long stops come in few seeds, since they take long. */
function drawKinds(random: SeededRandom, longs: boolean): readonly FaultKind[] {
  const usual = FAULT_KINDS.filter((kind) => !LONG.includes(kind));
  const count = random.pick([1, 2, 3, 5, usual.length]);
  const drawn = Array.from({ length: count }, () => random.pick(usual));
  return longs ? [random.pick(LONG), ...drawn] : drawn;
}

/** Share of the runs with functions, and of their workflows that are. */
const FUNCTIONAL = 0.5;

/** Functions are drawn apart, so that seeds without them are the same as before there were any. */
function drawWorkload({ seed, workloads }: SimulationOptions, random: SeededRandom): () => Workload {
  const apart = new SeededRandom(`functions ${seed}`);
  const share = workloads === undefined && apart.chance(FUNCTIONAL) ? FUNCTIONAL : 0;
  return () => {
    const workload = random.pick(workloads ?? WORKLOADS);
    return apart.chance(share) ? apart.pick(FUNCTIONS) : workload;
  };
}

/** Drawn apart, so that seeds without an archive are the same as before there was any. */
function drawArchive({ seed, archives }: SimulationOptions): ArchivePlan | undefined {
  const random = new SeededRandom(`archive ${seed}`);
  const isDrawn = random.chance(ARCHIVING);
  if (!(archives ?? isDrawn)) return undefined;
  return {
    compactorCount: random.count(1, 2),
    hotMs: random.pick([1, 200, 1_000]),
    segmentMinBytes: random.pick([1, 2_000, 20_000]),
    segmentMaxBytes: random.pick([1_000, 6_000, 1_000_000]),
    isShared: random.chance(0.5),
    periodMs: random.pick([30, 200]),
  };
}

/**
 * Whether effects take silent holders for gone: never where one stops within its call, the risk that this takes. Elsewhere the call window
 * alone keeps late calls away. Drawn apart as well.
 */
const drawTrust = (seed: number, kinds: readonly FaultKind[]): boolean =>
  !kinds.includes('frozen-caller') && new SeededRandom(`silence ${seed}`).chance(0.5);

function drawFleet(
  random: SeededRandom,
  nextWorkload: () => Workload,
  durationMs: number,
  apart: Pick<FleetOptions, 'archive' | 'trustsSilence'>,
): Fleet {
  const count = random.count(2, 5);
  const starts = Array.from({ length: count }, (_, at): Start => {
    const workload = nextWorkload();
    return {
      id: `w${at + 1}`,
      workload,
      input: drawInput(workload, random),
      atMs: random.between(0, durationMs * 0.7),
      isAcknowledged: false,
      result: undefined,
    };
  });
  return new Fleet({
    random,
    workerCount: random.count(1, 3),
    coordinatorCount: random.count(1, 2),
    partitionCount: random.pick([1, 2, 4]),
    partitionsMax: random.pick([2, 4, 8]),
    starts,
    ...apart,
  });
}

function drawUnreliability(fleet: Fleet, random: SeededRandom): void {
  const share = (): number => random.pick([0, 0, 0.05, 0.3]);
  Object.assign(fleet.redis.unreliability, { lost: share(), repeated: share(), late: share() });
  Object.assign(fleet.outside.faults, { refused: share() / 2, slow: share(), answerLost: share() / 2 });
  fleet.ambiguous = share();
}

interface Watch {
  readonly endedCount: () => number;
}

/** Follows the log: which workflows have ended, and whether a process was taken for dead without a reason. */
function watchOver(fleet: Fleet, faults: Faults): Watch {
  const starts = new Set(fleet.options.starts.map(({ id }) => id));
  const ended = new Set<string>();
  const suspects = new Suspects();
  fleet.outside.onProbed = (key) => suspects.asked(key);
  fleet.witness.onAccepted = (envelope) => {
    faults.onAccepted(envelope);
    suspects.follow(envelope, fleet.witness.stream(envelope.workflow));
    fleet.violations.push(...suspects.violations.splice(0));
    const { first } = nthOf(envelope.workflow);
    const isUnfinished = envelope.type === 'WorkflowCompleted' && envelope.control.continued !== undefined;
    if (ENDING.has(envelope.type) && !isUnfinished && starts.has(first)) ended.add(first);
    if (envelope.type === 'LeaseRevoked') checkRevocation(fleet, envelope);
  };
  fleet.witness.onTrim = (history, before) => {
    const { end, violations } = checkSegments(fleet.objects, history);
    fleet.violations.push(...violations);
    if (end < before) fleet.violations.push(`I7: ${history.partition} is trimmed to ${before}, segments end at ${end}`);
  };
  return { endedCount: () => ended.size };
}

/** A flushed Redis alone is no reason: the marker exists for that. */
function checkRevocation(fleet: Fleet, { workflow, control }: Envelope<'LeaseRevoked'>): void {
  const holder = fleet.holders.get(control.holder);
  if (control.isGone === true && holder?.isDead === false) {
    fleet.violations.push(`false alarm: ${holder.name} lives, and ${workflow} has it as gone`);
  }
  if (control.reason !== 'holder-dead' || holder === undefined || holder.isDead) return;
  const disturbed = [...fleet.living().map(({ disturbedMs }) => disturbedMs), ...fleet.network.disturbedMs.values()];
  if (disturbed.every((ms) => ms + CALM_MS < fleet.scheduler.nowMs)) {
    fleet.violations.push(`false alarm: ${holder.name} lives, and lost ${workflow} as if it were dead`);
  }
}

/** Runs to the end of the last fault; a fault may be prolonged. It also ends when nothing is left to harm. */
async function untilHealed(fleet: Fleet, faults: Faults, watch: Watch): Promise<void> {
  const allEnded = (): boolean => watch.endedCount() === fleet.options.starts.length;
  while (fleet.scheduler.nowMs < faults.untilMs && !allEnded()) await fleet.scheduler.run(allEnded, faults.untilMs);
}

function hasRows({ store, witness }: Fleet): boolean {
  if (!store.isThere) return false;
  for (const [partition, { naive }] of witness.histories) {
    if (store.partitions.get(partition)?.next !== naive.next) return false;
  }
  return true;
}

/** Restores the rows of archived workflows, so that all rows can be compared with those of the whole history. */
async function restoreRows({ store, objects, options, witness }: Fleet): Promise<string[]> {
  if (options.archive === undefined) return [];
  const clock = new SimulatedClock();
  const archive = new Archive({ warm: objects });
  const restorer = new Restorer({ log: new TieredLog(witness.log, archive), store, clock }, archive);
  try {
    await restorer.restoreMissing([...store.rows.keys()]);
    return [];
  } catch (error) {
    return [`I1: archived history can't be put back: ${String(error)}`];
  }
}

async function judged(seed: number, fleet: Fleet): Promise<SimulationResult> {
  const { witness, store, outside, options } = fleet;
  const endings = endingsOf(witness.histories.values());
  const violations = [
    ...fleet.violations,
    ...outside.violations,
    ...[...witness.histories.values()].flatMap(checkHistory),
    ...[...witness.histories.values()].flatMap(checkDeaths),
    ...checkDurability(witness, witness.acknowledged, store.seen, fleet.begun, endings),
    ...checkLedger(outside.ledger, witness.effects),
    ...checkCompensated(compensatedOf(endings), outside.ledger, witness.effects),
    ...checkUndoWorkflows(witness.histories.values()),
    ...checkEndings(options.starts, endings),
    ...checkSignals(witness.histories.values()),
    ...checkFunctions(witness.histories.values(), outside.ledger),
    ...(await checkArchive(witness.log, fleet.objects, witness.histories)),
    ...(await restoreRows(fleet)),
    ...(await checkRows(store, witness.histories)),
  ];
  const distinct = [...new Set(violations)];
  for (const violation of distinct) fleet.transcript.add('judge', violation);
  return {
    seed,
    violations: distinct,
    digest: fleet.transcript.digest,
    transcript: fleet.transcript.lines,
    virtualMs: fleet.scheduler.nowMs,
    eventCount: fleet.scheduler.eventCount,
    parkedCount: [...endings.values()].reduce((sum, { asked }) => sum + asked.length, 0),
    workflowCount: options.starts.length,
    callCount: outside.callCount,
  };
}

const compensatedOf = (endings: ReturnType<typeof endingsOf>): readonly string[] =>
  [...endings.values()].flatMap(({ workflow, status }) => (status === 'compensated' ? [workflow] : []));

function onUnhandled(report: (error: unknown) => void): () => void {
  process.on('unhandledRejection', report);
  return () => void process.off('unhandledRejection', report);
}
