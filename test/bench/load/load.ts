/**
 * `npm run bench -- load [--minutes 60] [--rate 2000] [--workflows 1000] [--kill-every 60s] [--seed S] [--json] [--write]`: ten times the
 * expected load on a cluster of real processes, with kills all the time. Tells figures, and with --write makes docs/load.md and its plots.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { parseDuration } from '@tidemark/core';
import { rawLoopNs } from '../raw.ts';
import { quantile, type Report } from '../report.ts';
import {
  ACCOUNTS_MAX,
  COORDINATORS_DEFAULT,
  KILL_PERIOD_DEFAULT,
  LIVE_DEFAULT,
  MINUTES_DEFAULT,
  RATE_DEFAULT,
  WORKERS_DEFAULT,
} from './limits.ts';
import { writePage } from './page.ts';
import { type LoadOptions, type LoadResult, runLoad } from './run.ts';
import { figuresOf, type NamedFigure, rateInLog } from './summary.ts';

export const LOAD_USAGE =
  'npm run bench -- load [--minutes 60] [--rate 2000] [--workflows 1000] [--workers 3] [--coordinators 2] [--kill-every 60s|off] [--seed S] [--profile FOLDER] [--json] [--write]';
const DOCS = path.resolve(import.meta.dirname, '../../../docs');
const SEED_DEFAULT = 8;
const EXIT_USAGE = 64;
const EXIT_INTERRUPTED = 130;

type Given = Omit<LoadOptions, 'folder' | 'onProgress' | 'signal'>;

/** Undefined: something is wrong, which was told. */
function optionsOf(args: readonly string[]): (Given & { readonly write: boolean }) | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: String(MINUTES_DEFAULT) },
      rate: { type: 'string', default: String(RATE_DEFAULT) },
      workflows: { type: 'string', default: String(LIVE_DEFAULT) },
      workers: { type: 'string', default: String(WORKERS_DEFAULT) },
      coordinators: { type: 'string', default: String(COORDINATORS_DEFAULT) },
      'kill-every': { type: 'string', default: KILL_PERIOD_DEFAULT },
      seed: { type: 'string', default: String(SEED_DEFAULT) },
      profile: { type: 'string' },
      json: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
    },
  });
  const killPeriodMs = values['kill-every'] === 'off' ? undefined : parseDuration(values['kill-every']);
  const given = {
    durationMs: Number(values.minutes) * 60_000,
    ratePerS: Number(values.rate),
    liveCount: Number(values.workflows),
    workerCount: Number(values.workers),
    coordinatorCount: Number(values.coordinators),
    killPeriodMs: killPeriodMs ?? undefined,
    seed: Number(values.seed),
    flags: values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${path.resolve(values.profile)}`],
    write: values.write,
  };
  const counts = [given.liveCount, given.workerCount, given.coordinatorCount];
  const problem =
    (!(given.durationMs > 0) && '--minutes: expected a positive number') ||
    (!(given.ratePerS > 0) && '--rate: expected checkpoints a second, a positive number') ||
    (!counts.every((count) => Number.isSafeInteger(count) && count > 0) &&
      '--workflows, --workers, --coordinators: expected whole positive numbers') ||
    (values['kill-every'] !== 'off' && !killPeriodMs && '--kill-every: expected a duration such as 60s, or off') ||
    (killPeriodMs &&
      given.workerCount < 2 &&
      '--kill-every: needs two workers at least, since the first is never ended') ||
    (!Number.isSafeInteger(given.seed) && '--seed: expected a whole number') ||
    undefined;
  if (problem === undefined) return given;
  process.stderr.write(`${problem}\nusage: ${LOAD_USAGE}\n`);
  return undefined;
}

/** Returns the exit code. */
export async function measureLoad(args: readonly string[], report: Report): Promise<number> {
  const given = optionsOf(args);
  if (given === undefined) return EXIT_USAGE;
  const interrupted = new AbortController();
  const onSignal = (): void => {
    // The second time at once; what runs is ended by the hooks of exit.
    if (interrupted.signal.aborted) process.exit(EXIT_INTERRUPTED);
    report.note('interrupted: what was measured is kept; once more ends at once');
    interrupted.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-load-'));
  report.note(
    `load: ${given.ratePerS} checkpoints/s on ${given.liveCount} live workflows for ${given.durationMs / 60_000} min; data of broker, Postgres and Redis in memory; seed ${given.seed}; logs and samples in ${folder}`,
  );
  const beforeNs = rawLoopNs();
  report.add('machine.loop_ns', beforeNs, 'ns');
  const result = await runLoad({
    ...given,
    folder,
    onProgress: (line) => report.note(line),
    signal: interrupted.signal,
  });
  const figures = [
    ...figuresOf(
      result.samples,
      result.kills.map(({ atMs }) => atMs),
    ),
    ...countsOf(result),
  ];
  for (const { name, value, unit } of figures) report.add(name, value, unit);
  const afterNs = rawLoopNs();
  report.add('machine.loop_after_ns', afterNs, 'ns');
  printFindings(result, report);
  if (given.write) {
    const command = `npm run bench -- load ${args.join(' ')}`.trim();
    await writePage(DOCS, { result, figures, options: given, loopNs: [beforeNs, afterNs], command });
    report.note('docs/load.md and its plots are written');
  }
  // Gigabytes of archive are of no use to anybody afterwards.
  for (const name of ['archive', 'compiled']) await rm(path.join(folder, name), { recursive: true, force: true });
  if (interrupted.signal.aborted) return EXIT_INTERRUPTED;
  return isSound(result) ? 0 : 1;
}

function countsOf({
  kills,
  startedCount,
  startedAtMs,
  samples,
  surprises,
  judged,
}: LoadResult): readonly NamedFigure[] {
  const figures: NamedFigure[] = [];
  const add = (name: string, value: number, unit: string): void => {
    figures.push({ name: `load.${name}`, value, unit });
  };
  add('kills', kills.filter(({ how }) => how === 'SIGKILL').length, 'kills');
  add('sigterms', kills.filter(({ how }) => how === 'SIGTERM').length, 'processes');
  const backMs = kills.flatMap((kill) => kill.backMs ?? []);
  if (backMs.length > 0) add('replaced_median_ms', quantile(backMs, 0.5), 'ms');
  add('started', startedCount, 'workflows');
  add('surprises', surprises.length, 'cases');
  if (judged === undefined) return figures;
  const { history, effects, lost, rows } = judged;
  const endMs = samples.at(-1)?.atMs ?? 0;
  if (endMs > 0) add('rate_per_s', rateInLog(history.checkpointsBySecond, startedAtMs, endMs), 'checkpoints/s');
  add('lost', lost.length + effects.missing.length, 'cases');
  add('doubled', effects.doubled.length + effects.unasked.length, 'effects');
  add('broken_invariants', history.broken.length, 'cases');
  add('wrong_outputs', history.wrongOutputs.length, 'cases');
  add('false_commits', history.falseCommits.length, 'cases');
  add('wrong_rows', rows.wrong.length, 'cases');
  add('compared.outputs', history.outputCount, 'workflows');
  add('compared.workflow_rows', rows.workflowCount, 'workflows');
  add('compared.history_rows', rows.rowCount, 'rows');
  add('compared.history_rows_of', rows.sampleCount, 'workflows');
  add('judging_ms', judged.judgingMs, 'ms');
  add('effects', effects.count, 'effects');
  const checkpoints = [...history.checkpointsBySecond.values()].reduce((sum, count) => sum + count, 0);
  add('checkpoints', checkpoints, 'checkpoints');
  add('events', history.eventCount, 'events');
  add('event_bytes', history.bytes / Math.max(1, history.eventCount), 'bytes');
  add('finish_ms', judged.finishMs, 'ms');
  for (const [reason, count] of Object.entries(history.rejected)) add(`rejected.${reason}`, count, 'events');
  const strange = [...history.strange.values()].reduce((sum, count) => sum + count, 0);
  add('rejected_other', strange, 'events');
  add('take_overs', history.takeOversMs.length, 'workflows');
  if (history.takeOversMs.length > 0) {
    add('take_over.median_ms', quantile(history.takeOversMs, 0.5), 'ms');
    add('take_over.p99_ms', quantile(history.takeOversMs, 0.99), 'ms');
  }
  return figures;
}

/** It went on to its end, nothing was lost, done twice or came out otherwise, and nothing was refused but what fencing explains. */
function isSound({ judged, endedEarly }: LoadResult): boolean {
  if (judged === undefined || endedEarly !== undefined || judged.history.strange.size > 0) return false;
  const { lost, effects, history, rows } = judged;
  const { broken, wrongOutputs, falseCommits } = history;
  const all = [lost, effects.doubled, effects.missing, effects.unasked, broken, wrongOutputs, falseCommits, rows.wrong];
  return all.every(({ length }) => length === 0);
}

function printFindings({ judged, endedEarly }: LoadResult, report: Report): void {
  if (endedEarly !== undefined) report.note(`ended before its time: ${endedEarly}`);
  if (judged === undefined) {
    report.note('nothing is judged: the run was interrupted');
    return;
  }
  const { lost, effects, history, rows } = judged;
  const strange = [...history.strange].map(([what, count]) => `${what}, ${count} times`);
  const all = {
    ...{ lost, ...effects, broken: history.broken, rows: rows.wrong, outputs: history.wrongOutputs },
    'committed and unknown outside': history.falseCommits,
    'rejected otherwise than by fencing': strange,
  };
  for (const [name, found] of Object.entries(all)) {
    if (typeof found === 'number') continue;
    for (const what of found.slice(0, ACCOUNTS_MAX)) report.note(`${name}: ${what}`);
    if (found.length > ACCOUNTS_MAX) report.note(`${name}: ${found.length - ACCOUNTS_MAX} more`);
  }
}
