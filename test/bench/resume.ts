/**
 * `npm run bench -- resume`: how soon workflows go on elsewhere when their worker is killed or asked to end, whether that
 * depends on their history, and what a checkpoint adds to a step of 100 ms. Real processes on real servers, default settings.
 * Every time runs from the signal to the moment in which another process saw the new holder's checkpoint in the log, and
 * so holds the step that the new holder had to run.
 */

import { memoryBytes, type ServiceProcess } from '@tidemark/testkit/processes';
import { startClusterServers } from '@tidemark/testkit/servers';
import { measureDeploys } from './deploys.ts';
import { rawKafkaAppends } from './raw.ts';
import { median, type Report } from './report.ts';
import { load, type System, withSystem } from './system.ts';

const KILLS = 32;
const STOPS = 16;
const PACED_COUNT = 4;
export const PACED_STEP_MS = 5;
const HISTORIES = [100, 10_000] as const;
const HISTORY_ROUNDS = 10;
const MEMORY_ROUNDS = 3;
const ORPHANS = 1_000;
const ORPHAN_STEP_MS = 1_000;
const OVERHEAD_STEPS = 100;
const OVERHEAD_STEP_MS = 100;
const OVERHEAD_WARM_UP_STEPS = 1_000;
/** About what a checkpoint takes. */
const OVERHEAD_EVENT_BYTES = 1_000;

export const resumeParts = ['overhead', 'kills', 'history', 'memory', 'orphans', 'deploys'] as const;

/** `parts`: of `resumeParts`. */
export async function measureResume(report: Report, parts: readonly string[]): Promise<void> {
  const wants = (part: (typeof resumeParts)[number]): boolean => parts.includes(part);
  const servers = await startClusterServers({ dataIn: 'memory' });
  try {
    report.note(`resume: steps of ${PACED_STEP_MS} ms; broker data in memory; load ${load()}`);
    if (wants('overhead'))
      await withSystem(servers, 'overhead', 8, (system) => overhead(system, servers.kafka.address, report));
    if (wants('kills')) await withSystem(servers, 'kills', 16, (system) => kills(system, report));
    if (wants('history')) await withSystem(servers, 'history', 16, (system) => histories(system, report));
    if (wants('memory')) {
      const bytes: number[] = [];
      for (const [index, history] of HISTORIES.entries()) {
        await withSystem(servers, `rss${index}`, 16, async (system) => {
          bytes.push(await memory(system, history, report));
        });
      }
      report.add('resume.rss_ratio_10k_to_100', bytes[1]! / bytes[0]!, 'ratio');
    }
    if (wants('orphans')) await withSystem(servers, 'orphans', 1_024, (system) => orphans(system, report));
    if (wants('deploys')) await measureDeploys(servers, report);
    report.note(`resume: load at the end ${load()}`);
  } finally {
    await servers.stop();
  }
}

interface Replaced {
  readonly next: ServiceProcess;
  readonly tookMs: ReadonlyMap<string, number>;
}

/** Has the one worker replaced by a fresh one; the milliseconds from the signal to the new checkpoint of each that it held. */
async function replace(
  system: System,
  ids: readonly string[],
  how: 'kill' | 'stop',
  current: ServiceProcess,
): Promise<Replaced> {
  // All are held by the one worker before there is another; what a false alarm moved meanwhile is not counted.
  await system.comeOn(ids, 1);
  const victims = new Set(ids.map((id) => system.watcher.holders.get(id)));
  const next = await system.service('worker');
  await system.warmUp();
  await system.comeOn(ids, 3);
  const held = ids.filter((id) => victims.has(system.watcher.holders.get(id)));
  const resumedAfterUpgrade = system.isUnfinished(held);
  const signalledMs = performance.now();
  const ended = current[how]();
  const seen = await resumedAfterUpgrade;
  await ended;
  return { next, tookMs: new Map(held.map((id, at) => [id, seen[at]!.atMs - signalledMs])) };
}

/** The same so many times, each by the worker that took over the last time. */
export async function replaceOften(
  count: number,
  system: System,
  ids: readonly string[],
  how: 'kill' | 'stop',
  first: ServiceProcess,
  report: Report,
): Promise<{ readonly last: ServiceProcess; readonly rounds: readonly Replaced['tookMs'][] }> {
  let last = first;
  const rounds: Replaced['tookMs'][] = [];
  while (rounds.length < count) {
    const { next, tookMs } = await replace(system, ids, how, last);
    last = next;
    rounds.push(tookMs);
    const took = [...tookMs.values()].map((ms) => ms.toFixed(0));
    report.note(`${how} ${rounds.length}/${count}: ${took.join(' ')} ms`);
  }
  return { last, rounds };
}

async function kills(system: System, report: Report): Promise<void> {
  const ids = Array.from({ length: PACED_COUNT }, (_, n) => `paced-${n}`);
  let current = await system.service('worker');
  await system.start(ids, { history: 0, stepMs: PACED_STEP_MS });
  for (const how of ['kill', 'stop'] as const) {
    const [name, count] = how === 'kill' ? (['kill9', KILLS] as const) : (['sigterm', STOPS] as const);
    const { last, rounds } = await replaceOften(count, system, ids, how, current, report);
    current = last;
    const all = rounds.flatMap((tookMs) => [...tookMs.values()]);
    report.note(`${name}: ${count} times, ${all.length} workflows, load ${load()}`);
    report.add(`resume.${name}_median_ms`, median(all), 'ms');
    report.addTail(`resume.${name}_p99_ms`, all, 'ms');
  }
}

/** Both histories in the same worker at the same time, so that the machine's load is the same for both. */
async function histories(system: System, report: Report): Promise<void> {
  const ids = HISTORIES.map((history) => `history-${history}`);
  const worker = await system.service('worker');
  for (const [index, id] of ids.entries())
    await system.start([id], { history: HISTORIES[index]!, stepMs: PACED_STEP_MS });
  await system.comeOn([ids[1]!], HISTORIES[1]);
  const { rounds } = await replaceOften(HISTORY_ROUNDS, system, ids, 'stop', worker, report);
  const whole = rounds.filter(({ size }) => size === ids.length);
  const [few, many] = ids.map((id) => median(whole.map((tookMs) => tookMs.get(id)!)));
  report.note(
    `history: ${few!.toFixed(1)} ms with ${HISTORIES[0]} checkpoints, ${many!.toFixed(1)} ms with ${HISTORIES[1]}`,
  );
  report.add('resume.ratio_10k_to_100', many! / few!, 'ratio');
}

/** Resident memory of fresh workers that have just resumed one workflow of this history. */
async function memory(system: System, history: number, report: Report): Promise<number> {
  const id = `rss-${history}`;
  let current = await system.service('worker');
  await system.start([id], { history, stepMs: PACED_STEP_MS });
  await system.comeOn([id], history);
  const bytes: number[] = [];
  for (let round = 0; round < MEMORY_ROUNDS; round++) {
    current = (await replace(system, [id], 'stop', current)).next;
    await system.comeOn([id], 50);
    bytes.push((await memoryBytes(current.pid)).now);
  }
  report.note(`memory after ${history} checkpoints: ${bytes.map((n) => (n / 1_048_576).toFixed(0)).join(' ')} MB`);
  return median(bytes);
}

async function orphans(system: System, report: Report): Promise<void> {
  const ids = Array.from({ length: ORPHANS }, (_, n) => `orphan-${n}`);
  const victim = await system.service('worker');
  await system.start(ids, { history: 0, stepMs: ORPHAN_STEP_MS });
  await system.comeOn(ids, 2);
  const victims = new Set(ids.map((id) => system.watcher.holders.get(id)));
  await system.service('worker');
  await system.comeOn(ids, 1);
  const held = ids.filter((id) => victims.has(system.watcher.holders.get(id)));
  const resumedAfterUpgrade = system.isUnfinished(held);
  const killedMs = performance.now();
  await victim.kill();
  const took = (await resumedAfterUpgrade).map(({ atMs }) => atMs - killedMs);
  report.note(`orphans: ${held.length} held, steps of ${ORPHAN_STEP_MS} ms; median ${median(took).toFixed(0)} ms`);
  report.add('resume.orphans1000_s', Math.max(...took) / 1_000, 's');
}

/** On a broker that has run for a while, beside a bare append after the same pause: nothing durable can cost less. */
async function overhead(system: System, broker: string, report: Report): Promise<void> {
  await system.service('worker');
  const steps = OVERHEAD_WARM_UP_STEPS + OVERHEAD_STEPS;
  const given = { history: OVERHEAD_WARM_UP_STEPS, steps, stepMs: OVERHEAD_STEP_MS, timed: true };
  const [run] = await system.start(['overhead'], given);
  const { startedMs, endedMs } = await run!.result();
  const own = startedMs.slice(0, -1).reduce((sum, at, index) => sum + endedMs[index]! - at, 0);
  const whole = startedMs.at(-1)! - startedMs[0]!;
  report.add('overhead.step100ms_percent', (whole / own - 1) * 100, '%');
  const raw = await rawKafkaAppends(broker, OVERHEAD_STEPS, OVERHEAD_EVENT_BYTES, OVERHEAD_STEP_MS);
  report.add('overhead.raw_append_percent', (median(raw) / OVERHEAD_STEP_MS) * 100, '%');
}
