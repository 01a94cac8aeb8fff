/**
 * Owns what archiving costs those who commit: the time of a worker's checkpoints under a steady load, in phases with and without a compactor
 * at work, by turns, in one run. Coordinator and worker are processes of their own; the compactor runs in this one.
 */

import os from 'node:os';
import { COMPACTOR_BYTES_PER_S, configFromEnv, giveWay, openCluster, stopGivingWay } from '@tidemark/host';
import { startService } from '@tidemark/testkit/processes';
import { quantile, type Report } from '../report.ts';
import { BulkLog, type Filling } from './log.ts';
import { pulse } from './pulse.ts';
import type { TierServers } from './servers.ts';

const PARTITIONS = 64;
const PULSES = 16;
const PAUSE_MS = 20;
const STEP_BYTES = 700;
const PHASES = 4;
const PHASE_MS = 5_000;
/** A phase may last so much longer, in milliseconds: a segment that was begun is finished. */
const PHASE_SLACK_MS = 2_000;
/** Of the beginning of each phase, in milliseconds: it still has what was before. */
const SETTLE_MS = 500;
const WARM_UP_MS = 8_000;
/** More than all phases together archive. */
const FILLING: Filling = { workflows: 30_000, steps: 10, outputBytes: 700 };

export interface Phase {
  readonly isArchiving: boolean;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Beats {
  readonly endedMs: readonly number[];
  readonly beganMs: readonly number[];
}

/** Times from a step's end to the next one's beginning, in milliseconds, of those that ended within phases of the kind. */
export function commitTimes(
  beats: readonly Beats[],
  phases: readonly Phase[],
  isArchiving: boolean,
): readonly number[] {
  const ours = phases.filter((phase) => phase.isArchiving === isArchiving);
  return beats.flatMap(({ endedMs, beganMs }) =>
    endedMs.flatMap((endMs, index) => {
      const isWithin = ours.some(({ fromMs, toMs }) => endMs >= fromMs + SETTLE_MS && endMs < toMs);
      // The first began before any ended.
      return isWithin ? [beganMs[index + 1]! - endMs] : [];
    }),
  );
}

export async function measureCommits(servers: TierServers, report: Report): Promise<void> {
  const env = { ...(await servers.fresh(PARTITIONS)), TIDEMARK_WORKFLOWS: './test/bench/tiers/pulse.ts' };
  const config = configFromEnv(env);
  const coordinator = await startService('coordinator', env);
  const worker = await startService('worker', env);
  const host = await openCluster(config);
  try {
    const log = new BulkLog(host);
    report.note(`commits: filling the log with ${FILLING.workflows} workflows that have ended`);
    const filledCount = await log.fill(PARTITIONS, FILLING);
    const untilMs = Date.now() + WARM_UP_MS + 2 * PHASES * (PHASE_MS + PHASE_SLACK_MS);
    const given = { pauseMs: PAUSE_MS, untilMs, bytes: STEP_BYTES };
    const ids = Array.from({ length: PULSES }, (_, n) => `pulse-${n}`);
    const runs = await Promise.all(ids.map((id) => host.client.start(pulse, given, { id })));
    // As the compactor's own process does.
    giveWay();
    const { phases, archivedCount } = await runPhases(log, COMPACTOR_BYTES_PER_S).finally(stopGivingWay);
    report.note(`commits: ${archivedCount} of ${filledCount} events were archived meanwhile; load ${os.loadavg()[0]}`);
    if (archivedCount >= filledCount) report.note('commits: there was too little to archive: the figure is too small');
    const beats = (await Promise.all(runs.map((run) => run.result()))) as readonly Beats[];
    const [without, during] = [commitTimes(beats, phases, false), commitTimes(beats, phases, true)];
    const [before, after] = [quantile(without, 0.99), quantile(during, 0.99)];
    report.note(`commits: ${without.length} without and ${during.length} with a compactor at work`);
    report.add('tiers.commit_median_ms', quantile(without, 0.5), 'ms');
    report.add('tiers.commit_archiving_median_ms', quantile(during, 0.5), 'ms');
    report.add('tiers.commit_p99_ms', before, 'ms');
    report.add('tiers.commit_archiving_p99_ms', after, 'ms');
    report.add('tiers.commit_p99_increase_percent', (after / before - 1) * 100, '%');
  } finally {
    await host.close();
    await worker.stop();
    await coordinator.stop();
  }
}

async function runPhases(
  log: BulkLog,
  pace: number,
): Promise<{ readonly phases: readonly Phase[]; readonly archivedCount: number }> {
  const phases: Phase[] = [];
  let archivedCount = 0;
  await sleep(WARM_UP_MS);
  for (let index = 0; index < 2 * PHASES; index++) {
    const isArchiving = index % 2 === 1;
    const fromMs = Date.now();
    if (isArchiving) archivedCount += await log.archiveUntil(fromMs + PHASE_MS, pace);
    await sleep(fromMs + PHASE_MS - Date.now());
    phases.push({ isArchiving, fromMs, toMs: Date.now() });
  }
  return { phases, archivedCount };
}

const sleep = (durationMs: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, Math.max(0, durationMs)));
