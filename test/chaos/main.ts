/**
 * `npm run chaos -- --minutes M --workers W [--live N] [--json] [--seed S] [--keep]`: real servers and processes, random
 * faults, and a judgement from outside. Exits with 1 when any promise was broken, with an account of each case.
 * Other runs are `npm run chaos -- pipeline` (pipeline.ts), `compactor` (compactor.ts), `poison` and `short-lives` (deaths.ts).
 */

import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { quantile, Report } from '../bench/report.ts';
import type { Finding } from './checks.ts';
import { compactorChaos } from './compactor.ts';
import { deathsChaos } from './deaths.ts';
import { LIVE_DEFAULT, SLOW_RESUME_MS, SLOW_SHOWN_MAX } from './limits.ts';
import { pipelineChaos } from './pipeline.ts';
import { checkpointTimes, type TakeOver } from './resume.ts';
import { type ChaosResult, checkNames, runChaos } from './run.ts';

const USAGE = 'usage: npm run chaos -- --minutes M --workers W [--live N] [--json] [--seed S] [--keep]';
const EXIT_USAGE = 64;
const EXIT_INTERRUPTED = 130;
/** Cases of one kind that are told in full. */
const ACCOUNTS_MAX = 5;

if (process.argv[2] === 'pipeline') process.exit(await pipelineChaos(process.argv.slice(3)));
if (process.argv[2] === 'poison' || process.argv[2] === 'short-lives') {
  process.exit(await deathsChaos(process.argv[2], process.argv.slice(3)));
}
if (process.argv[2] === 'compactor') process.exit(await compactorChaos(process.argv.slice(3)));

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    workers: { type: 'string', default: '3' },
    live: { type: 'string', default: String(LIVE_DEFAULT) },
    seed: { type: 'string' },
    json: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});

function addResumeTimes(report: Report, kind: string, found: readonly TakeOver[]): readonly Finding[] {
  const add = (name: string, times: readonly number[]): void => {
    report.add(`chaos.resume.${name}_count`, times.length, 'workflows');
    if (times.length === 0) return;
    report.add(`chaos.resume.${name}_median_ms`, quantile(times, 0.5), 'ms');
    report.add(`chaos.resume.${name}_p99_ms`, quantile(times, 0.99), 'ms');
  };
  add(kind, checkpointTimes(found));
  const claims = found.map(({ claimMs }) => claimMs);
  add(`${kind}_claim`, claims);
  const slow = found.filter(({ claimMs }) => claimMs > SLOW_RESUME_MS).sort((a, b) => b.claimMs - a.claimMs);
  return slow.slice(0, SLOW_SHOWN_MAX).map(({ workflow, endMs, claimMs }) => {
    const what = `was claimed ${claimMs} ms after the ${kind} at ${new Date(endMs).toISOString()}`;
    report.note(`slow: ${workflow} ${what}`);
    return { workflow, what };
  });
}

/** What is no finding, and yet somebody may want to understand, lies beside the logs. */
function writeAccounts(file: string, cases: readonly Finding[], { account }: ChaosResult): void {
  writeFileSync(file, cases.map(({ workflow, what }) => `${workflow}: ${what}\n${account(workflow)}\n`).join('\n'));
}

function printResult(result: ChaosResult, report: Report): boolean {
  report.add('chaos.kills', result.killCount, 'kills');
  for (const name of checkNames) report.add(`chaos.${name}`, result.findings[name].length, 'cases');
  report.add('chaos.handed_to_person', result.handed.length, 'workflows');
  report.add('chaos.surprises', result.surprises.length, 'cases');
  for (const [kind, count] of Object.entries(result.faultCounts)) report.add(`chaos.faults.${kind}`, count, 'faults');
  report.add('chaos.workflows', result.workflowCount, 'workflows');
  report.add('chaos.checkpoints', result.checkpointCount, 'checkpoints');
  report.add('chaos.acknowledged', result.acknowledgedCount, 'checkpoints');
  report.add('chaos.effects', result.effectCount, 'effects');
  for (const [reason, count] of Object.entries(result.rejectedCounts)) {
    report.add(`chaos.rejected.${reason}`, count, 'events');
  }
  report.add('chaos.finish_ms', result.finishMs, 'ms');
  const slow = [...addResumeTimes(report, 'kill9', result.kill9), ...addResumeTimes(report, 'sigterm', result.sigterm)];
  writeAccounts(path.join(folder, 'slow.txt'), slow, result);
  writeAccounts(path.join(folder, 'handed.txt'), result.handed, result);
  for (const { workflow, what } of result.handed) report.note(`handed to a person: ${workflow}: ${what}`);
  for (const name of checkNames) {
    const findings = result.findings[name];
    for (const { workflow, what } of findings.slice(0, ACCOUNTS_MAX)) {
      report.note(`${name}: ${workflow}: ${what}\n${result.account(workflow)}`);
    }
    if (findings.length > ACCOUNTS_MAX) report.note(`${name}: ${findings.length - ACCOUNTS_MAX} more`);
  }
  report.print();
  return checkNames.every((name) => result.findings[name].length === 0);
}

const minutes = Number(values.minutes);
const workerCount = Number(values.workers);
const liveMax = Number(values.live);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const isWhole = (count: number): boolean => Number.isSafeInteger(count) && count > 0;

if (!(minutes > 0) || !isWhole(workerCount) || !isWhole(liveMax) || !Number.isSafeInteger(seed)) {
  process.stderr.write(`${USAGE}\n`);
  process.exit(EXIT_USAGE);
}

const report = new Report(values.json);
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort(signal));
const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-chaos-'));
report.note(`seed ${seed}, ${minutes} min, ${workerCount} workers, ${liveMax} workflows at once; logs in ${folder}`);
try {
  const result = await runChaos({
    durationMs: minutes * 60_000,
    workerCount,
    liveMax,
    seed,
    folder,
    onProgress: (line) => report.note(line),
    signal: interrupted.signal,
  });
  const isSound = printResult(result, report);
  if (isSound && !values.keep) await rm(folder, { recursive: true });
  // At once: after hundreds of child processes Node may not come to the end of its own clean-up.
  process.exit(isSound ? 0 : 1);
} catch (error) {
  if (!interrupted.signal.aborted) throw error;
  report.note('interrupted; everything was ended');
  // Faults under way still wait for what has just been ended.
  process.exit(EXIT_INTERRUPTED);
}
