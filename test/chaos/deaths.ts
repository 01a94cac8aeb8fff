/**
 * Owns `npm run chaos -- poison` and `npm run chaos -- short-lives`: workflows beside one that kills each worker that runs it, and workers that are
 * killed with -9 after 3 to 9 s each. Real servers and processes, judged by the log and the ledger. Exits with 1 when a neighbour waited for a
 * person, or anything was lost or done twice.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { configFromEnv, openCluster } from '@tidemark/host';
import { Report } from '../bench/report.ts';
import { duplicateEffects, falseCommits, handedToPerson, lostCheckpoints, unfinished, wrongOutputs } from './checks.ts';
import { Driver } from './driver.ts';
import { expectationsOf, type Start } from './expected.ts';
import { upAgain } from './faults.ts';
import { Fleet } from './fleet.ts';
import { acceptedOf, judge, readLog } from './history.ts';
import { LIFE_MAX_MS, LIFE_MIN_MS, PROGRESS_PERIOD_MS, RECORD_PERIOD_MS, STILL_MAX_MS } from './limits.ts';
import { Random } from './random.ts';
import { Recorder } from './recorder.ts';
import { entriesIn, finish } from './run.ts';
import { poison } from './workload.ts';

const EXIT_USAGE = 64;
const GUILTY = ['guilty-0', 'guilty-1'] as const;

/** Steps of a second or two, each with a payment that its receiver takes once. */
const neighbour = (random: Random): Start => ({
  definition: 'chaos-transfer',
  input: {
    payments: Array.from({ length: random.between(3, 6) }, () => ({
      by: 'deposit',
      amount: random.between(1, 10_000),
    })),
    flakyAt: -1,
    pauseMs: random.between(500, 2_000),
  },
});

export async function deathsChaos(kind: 'poison' | 'short-lives', args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      workers: { type: 'string', default: '3' },
      runs: { type: 'string', default: '120' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      json: { type: 'boolean', default: false },
    },
  });
  const [workerCount, runCount, seed] = [values.workers, values.runs, values.seed].map(Number) as [
    number,
    number,
    number,
  ];
  if (![workerCount, runCount, seed].every(Number.isSafeInteger) || workerCount < 1 || runCount < 1) {
    process.stderr.write(`usage: npm run chaos -- ${kind} [--workers W] [--runs N] [--seed S] [--json]\n`);
    return EXIT_USAGE;
  }
  const report = new Report(values.json);
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-deaths-'));
  report.note(`seed ${seed}, ${workerCount} workers, ${runCount} workflows; logs in ${folder}`);
  let deaths = 0;
  const fleet = new Fleet({ workerCount, seed, folder, onSurprise: () => deaths++ });
  process.once('exit', () => fleet.killNow());
  try {
    await fleet.start();
    const host = await openCluster(configFromEnv(fleet.env));
    const driver = new Driver(host, new Random(seed), runCount, (what) => report.note(what), neighbour);
    const guilty = kind === 'poison' ? GUILTY : [];
    const recorder = new Recorder(fleet.databaseUrl.href, () => [...driver.live, ...guilty]);
    recorder.start();
    const fill = setInterval(() => {
      if (driver.starts.size < runCount) driver.fill();
    }, RECORD_PERIOD_MS);
    const progress = setInterval(
      () =>
        report.note(
          `${driver.starts.size} started, ${recorder.ends.size} ended, ${recorder.parked.size} parked, ${deaths} deaths`,
        ),
      PROGRESS_PERIOD_MS,
    );
    while (driver.starts.size < runCount / 2) await wait(RECORD_PERIOD_MS);
    await Promise.all(guilty.map((id) => host.client.start(poison, {}, { id })));
    while (driver.starts.size < runCount) await wait(RECORD_PERIOD_MS);
    clearInterval(fill);
    const over = new AbortController();
    const killing =
      kind === 'poison' ? [] : fleet.workers.map((slot, at) => shortLives(slot, new Random(seed + at), over.signal));
    const calmedMs = performance.now();
    await finish(fleet, driver, recorder);
    while (!guilty.every((id) => recorder.parked.has(id)) && recorder.stillSinceMs(calmedMs) < STILL_MAX_MS)
      await wait(RECORD_PERIOD_MS);
    over.abort();
    deaths += (await Promise.all(killing)).reduce((sum, count) => sum + count, 0);
    clearInterval(progress);
    await recorder.stop();
    const streams = acceptedOf(judge(await readLog(host.ports.log)));
    await host.close();
    const ledger = await entriesIn(fleet.ledgerFile);
    const expectations = expectationsOf(driver.starts);
    const parked = handedToPerson(streams).filter(({ workflow }) => driver.starts.has(workflow));
    const open = unfinished(driver.starts, streams);
    const doubled = duplicateEffects(ledger);
    const lost = [
      ...lostCheckpoints(recorder.heads, recorder.ends, streams),
      ...wrongOutputs(expectations, streams, ledger),
      ...falseCommits(expectations, streams, ledger),
    ];
    for (const { workflow, what } of [...parked, ...open, ...lost, ...doubled]) report.note(`${workflow}: ${what}`);
    const isFound = guilty.every((id) => recorder.parked.has(id));
    const add = (name: string, value: number, unit: string): void =>
      report.add(`${kind === 'poison' ? 'poison' : 'short_lives'}.${name}`, value, unit);
    add('deaths', deaths, 'workers');
    if (kind === 'poison') {
      add('neighbours', driver.starts.size, 'workflows');
      add('parked_neighbours', parked.length, 'workflows');
      add('guilty_parked', guilty.filter((id) => recorder.parked.has(id)).length, 'workflows');
    } else {
      add('runs', driver.starts.size, 'workflows');
      add('parked', parked.length, 'workflows');
    }
    add('unfinished', open.length, 'workflows');
    add('lost', lost.length, 'cases');
    add('doubled', doubled.length, 'cases');
    report.print();
    const isSound = isFound && [parked, open, lost, doubled].every((found) => found.length === 0);
    if (isSound) await rm(folder, { recursive: true });
    return isSound ? 0 : 1;
  } finally {
    await fleet.close();
  }
}

/** Kills the worker again and again; how often. */
async function shortLives(slot: Fleet['workers'][number], random: Random, signal: AbortSignal): Promise<number> {
  for (let count = 0; ; count++) {
    await wait(random.between(LIFE_MIN_MS, LIFE_MAX_MS), undefined, { signal }).catch(() => {});
    if (signal.aborted) return count;
    slot.kill();
    await upAgain(slot);
  }
}
