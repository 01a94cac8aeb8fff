/**
 * Owns one rolling upgrade under load: a fleet of one release, every process of it replaced one by one by another release's and back, with a
 * stream of workflows whose effects an outside ledger books. Then everything finishes, and is judged from outside as chaos runs are.
 */

import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { configFromEnv, type Host, openCluster } from '@tidemark/host';
import {
  brokenInvariants,
  duplicateEffects,
  type Finding,
  falseCommits,
  lostCheckpoints,
  unfinished,
  wrongOutputs,
} from '../chaos/checks.ts';
import { Driver } from '../chaos/driver.ts';
import { expectationsOf } from '../chaos/expected.ts';
import { Fleet } from '../chaos/fleet.ts';
import { acceptedOf, accountOf, type History, judge, readLog } from '../chaos/history.ts';
import { Person } from '../chaos/person.ts';
import { Random } from '../chaos/random.ts';
import { Recorder } from '../chaos/recorder.ts';
import { FENCED, Openings } from '../chaos/rejections.ts';
import { entriesIn, finish } from '../chaos/run.ts';
import type { Slot } from '../chaos/slot.ts';
import {
  KEEP_UP_PERIOD_MS,
  PARTITIONS,
  PHASE_CHECKPOINTS_MIN,
  PHASE_MAX_MS,
  PHASE_PERIOD_MS,
  STILL_MAX_MS,
} from './limits.ts';
import { shortStart } from './load.ts';

export interface UpgradeOptions {
  /** Trees of the release that is there first, and of the one that comes and goes. */
  readonly from: string;
  readonly to: string;
  /** Of the newer of both: it knows what the tables were given. */
  readonly newest: string;
  readonly workerCount: number;
  /** Of each role, so many are replaced; the others stay of the first release. By default all are. */
  readonly replaced?: number;
  /** Processes that are replaced at once. */
  readonly atOnce: number;
  readonly liveMax: number;
  readonly seed: number;
  /** For logs of the processes and the ledger's file; must exist. */
  readonly folder: string;
  readonly onProgress: (line: string) => void;
  /** Runs while processes of both releases are there, after the first replacement. */
  readonly whenMixed?: (fleet: Fleet) => Promise<void>;
  /** Runs when all has been judged, with the fleet as it was at first. */
  readonly afterwards?: (fleet: Fleet, host: Host) => Promise<void>;
}

export const upgradeChecks = [
  'lost_checkpoints',
  'duplicate_effects',
  'wrong_outputs',
  'false_commits',
  'unfinished',
  'broken_invariants',
  'rejected',
  'rows',
] as const;
export type UpgradeCheck = (typeof upgradeChecks)[number];

export interface UpgradeResult {
  readonly findings: Readonly<Record<UpgradeCheck, readonly Finding[]>>;
  readonly surprises: readonly string[];
  readonly replacedCount: number;
  readonly workflowCount: number;
  readonly checkpointCount: number;
  readonly effectCount: number;
  readonly rejectedCounts: Readonly<Record<string, number>>;
  /** From each process's SIGTERM until its successor was up, in milliseconds. */
  readonly replacingMs: readonly number[];
  readonly account: (workflow: string) => string;
}

/** Where a holder's event was refused, its next one leaves a gap. */
const EXPECTED: ReadonlySet<string> = new Set([...FENCED, 'ordinal-gap']);

export async function runUpgrade(options: UpgradeOptions): Promise<UpgradeResult> {
  const { folder, from, seed, workerCount } = options;
  const surprises: string[] = [];
  const onSurprise = (what: string): void => {
    surprises.push(what);
    options.onProgress(`surprise: ${what}`);
  };
  const fleet = new Fleet({ workerCount, seed, folder, onSurprise, root: from, partitions: PARTITIONS });
  const onExit = (): void => fleet.killNow();
  process.once('exit', onExit);
  let host: Host | undefined;
  try {
    await fleet.start();
    options.onProgress('the fleet is up');
    host = await openCluster(configFromEnv(fleet.env));
    const ran = await run(options, fleet, host, onSurprise);
    const result = await judged(options, ran, fleet, host);
    options.onProgress('judged');
    await options.afterwards?.(fleet, host);
    return { ...result, surprises };
  } finally {
    await host?.close();
    await fleet.close();
    process.off('exit', onExit);
  }
}

interface Ran {
  readonly driver: Driver;
  readonly recorder: Recorder;
  readonly replacingMs: readonly number[];
}

async function run(
  options: UpgradeOptions,
  fleet: Fleet,
  host: Host,
  onSurprise: (what: string) => void,
): Promise<Ran> {
  const driver = new Driver(host, new Random(options.seed + 1), options.liveMax, onSurprise, shortStart);
  const recorder = new Recorder(fleet.databaseUrl.href, () => driver.live.flatMap((id) => [id, `${id}~undo`]));
  const person = new Person(host, fleet.ledgerPort, () => recorder.parked, onSurprise);
  const keepUp = setInterval(() => {
    for (const workflow of recorder.ends.keys()) driver.ended(workflow);
    driver.fill();
  }, KEEP_UP_PERIOD_MS);
  recorder.start();
  person.start();
  try {
    const replacingMs = await roll(options, fleet, recorder);
    options.onProgress('all replaced');
    await finish(fleet, driver, recorder, undefined, STILL_MAX_MS);
    options.onProgress('all ended');
    return { driver, recorder, replacingMs };
  } finally {
    clearInterval(keepUp);
    person.stop();
    await recorder.stop();
  }
}

/** There and back. Work goes on in each mixture before the next process is replaced. */
async function roll(options: UpgradeOptions, fleet: Fleet, recorder: Recorder): Promise<readonly number[]> {
  const { from, to, replaced, atOnce, onProgress, whenMixed } = options;
  const times: number[] = [];
  const [coordinators, workers] = [fleet.coordinators.slice(0, replaced), fleet.workers.slice(0, replaced)];
  const there = alternately(coordinators, workers);
  const back = alternately(workers.toReversed(), coordinators.toReversed());
  await progress(recorder);
  for (const [root, slots] of [
    [to, there],
    [from, back],
  ] as const) {
    for (let at = 0; at < slots.length; at += atOnce) {
      await Promise.all(
        slots.slice(at, at + atOnce).map(async (slot) => {
          const startedMs = performance.now();
          await slot.replaceBy(root);
          times.push(performance.now() - startedMs);
          onProgress(`${slot.name} is of ${path.basename(root)} after ${times.at(-1)!.toFixed(0)} ms`);
        }),
      );
      await progress(recorder);
      if (at === 0 && root === to) await whenMixed?.(fleet);
    }
  }
  return times;
}

const alternately = (some: readonly Slot[], others: readonly Slot[]): readonly Slot[] =>
  Array.from({ length: Math.max(some.length, others.length) }, (_, at) => [some[at], others[at]])
    .flat()
    .filter((slot) => slot !== undefined);

/** Resolves when so many checkpoints were seen that weren't before. */
async function progress(recorder: Recorder): Promise<void> {
  const wanted = recorder.headCount + PHASE_CHECKPOINTS_MIN;
  const untilMs = performance.now() + PHASE_MAX_MS;
  while (recorder.headCount < wanted) {
    if (performance.now() > untilMs) {
      throw new Error(`the fleet stands still: ${recorder.headCount} checkpoints, ${wanted} were waited for`);
    }
    await new Promise((resolve) => setTimeout(resolve, PHASE_PERIOD_MS));
  }
}

async function judged(
  { newest }: UpgradeOptions,
  { driver, recorder, replacingMs }: Ran,
  fleet: Fleet,
  host: Host,
): Promise<Omit<UpgradeResult, 'surprises'>> {
  const history = judge(await readLog(host.ports.log));
  const streams = acceptedOf(history);
  const ledger = await entriesIn(fleet.ledgerFile);
  const { starts } = driver;
  const expectations = expectationsOf(starts);
  const rejectedCounts = rejectedIn(history);
  return {
    findings: {
      lost_checkpoints: lostCheckpoints(recorder.heads, recorder.ends, streams),
      duplicate_effects: duplicateEffects(ledger),
      wrong_outputs: wrongOutputs(expectations, streams, ledger),
      false_commits: falseCommits(expectations, streams, ledger),
      unfinished: unfinished(starts, streams),
      broken_invariants: brokenInvariants(history),
      rejected: wrongRejections(history),
      rows: await wrongRows(newest, fleet),
    },
    replacedCount: replacingMs.length,
    replacingMs,
    workflowCount: starts.size,
    checkpointCount: [...streams.values()].flat().filter(({ envelope }) => envelope.type === 'CheckpointCommitted')
      .length,
    effectCount: ledger.length,
    rejectedCounts,
    account: (workflow) => accountOf(workflow, history),
  };
}

function rejectedIn(history: History): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { verdict } of history.flat()) {
    if (verdict.kind === 'accepted') continue;
    const reason = verdict.kind === 'rejected' ? verdict.reason : verdict.kind;
    counts[reason] = (counts[reason] ?? 0) + 1;
  }
  return counts;
}

/** Events that one release wrote and another can't take: of a writer that was fenced, or came too late, there may be any number. */
const wrongRejections = (history: History): readonly Finding[] =>
  history.flatMap((events) => {
    const openings = new Openings();
    return events.flatMap(({ partition, offset, entry, verdict }) => {
      if (verdict.kind === 'accepted') {
        if (entry.kind === 'event') openings.saw(entry.envelope);
        return [];
      }
      const isOvertaken =
        entry.kind === 'event' && verdict.kind === 'rejected' && openings.isOvertaken(verdict.reason, entry.envelope);
      const reason = verdict.kind === 'rejected' ? verdict.reason : verdict.kind;
      if (EXPECTED.has(reason) || isOvertaken) return [];
      const [workflow, what] =
        entry.kind === 'event'
          ? [entry.envelope.workflow, entry.envelope.type]
          : ['', `an entry that is ${entry.kind}`];
      return [{ workflow, what: `${what} at ${partition}/${offset} was not accepted: ${reason}` }];
    });
  });

/** Rows, belief and all, that differ from what the newest release makes of the log. */
async function wrongRows(newest: string, fleet: Fleet): Promise<readonly Finding[]> {
  const { code, out } = await command(newest, fleet, 'admin', 'doctor', '--rows', '--json');
  const { checks } = JSON.parse(out) as {
    readonly checks: readonly { readonly check: string; readonly level: string; readonly message: string }[];
  };
  const found = checks.filter(({ check }) => check === 'Fold');
  if (found.length === 0) return [{ workflow: '', what: `rows were not compared (${code}): ${out}` }];
  return found.flatMap((check) => (check.level === 'ok' ? [] : [{ workflow: '', what: JSON.stringify(check) }]));
}

export interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** The command of a release, against the fleet. */
export async function command(root: string, fleet: Fleet, ...args: readonly string[]): Promise<CommandResult> {
  const env = { ...process.env, ...fleet.env };
  const main = path.join(root, 'node_modules/@tidemark/cli/src/main.ts');
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [main, ...args], { cwd: root, env });
    return { code: 0, out: stdout, err: stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, out: stdout, err: stderr };
  }
}
