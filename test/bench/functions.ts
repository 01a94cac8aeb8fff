/**
 * `npm run bench -- functions`: a recorded call of a function beside a step of a workflow that does the same, one after the other and many at
 * once; how soon a function makes its next call after it was claimed behind so many recorded outcomes, and after a kill −9; and the same
 * function on Restate and DBOS. Rounds of what is compared follow one another.
 */

import type { Host } from '@tidemark/host';
import { startClusterServers } from '@tidemark/testkit/servers';
import { measurePeers } from './peers/peers.ts';
import { median, type Report } from './report.ts';
import { PACED_STEP_MS, replaceOften } from './resume.ts';
import { tickCalls, ticks, waitingCalls } from './resume-workflows.ts';
import { concurrent, sequential } from './run-steps.ts';
import { withEmbedded } from './steps.ts';
import { load, withSystem } from './system.ts';
import { Watcher } from './watcher.ts';
import { closureCalls, durableSteps, effectCalls, effectSteps } from './workflows.ts';

export const functionParts = ['calls', 'replay', 'kills', 'peers'] as const;
/** A call that is a closure, and one of an effect, beside the steps that do the same. */
const KINDS = [
  ['closure', closureCalls, durableSteps],
  ['effect', effectCalls, effectSteps],
] as const;
const SEQUENTIAL_ROUNDS = 11;
const COUNTS = [64, 1_000] as const;
const CONCURRENT_ROUNDS = 9;
const REPLAYED = [10, 100, 1_000] as const;
const REPLAYS = 10;
const KILLS = 16;
const KILLED_OF_EACH = 4;

/** The worse of what embedded and cluster come to, by the figure's name. */
class Worst {
  readonly #values = new Map<string, { value: number; unit: string }>();
  readonly #report: Report;

  constructor(report: Report) {
    this.#report = report;
  }

  add(host: string, name: string, value: number, unit: string, worse: (...values: number[]) => number): void {
    this.#report.add(`functions.${host}.${name}`, value, unit);
    this.#values.set(name, { value: worse(value, this.#values.get(name)?.value ?? value), unit });
  }

  print(): void {
    for (const [name, { value, unit }] of this.#values) this.#report.add(`functions.${name}`, value, unit);
  }
}

/** `parts`: of `functionParts`. */
export async function measureFunctions(report: Report, parts: readonly string[]): Promise<void> {
  const worst = new Worst(report);
  const measure = async (name: string, host: Host): Promise<void> => {
    if (parts.includes('calls')) await calls(name, host, report, worst);
    if (parts.includes('replay')) await replays(name, host, report, worst);
  };
  report.note(`functions: load ${load()}`);
  if (parts.includes('calls') || parts.includes('replay')) {
    const definitions = [...KINDS.flatMap(([, ...pair]) => pair), waitingCalls];
    await withEmbedded(report, definitions, (host) => measure('embedded', host));
  }
  if (parts.some((part) => part !== 'peers')) {
    const servers = await startClusterServers({ dataIn: 'memory' });
    try {
      await withSystem(servers, 'functions', 1_024, async (system) => {
        await system.service('worker');
        await measure('cluster', system.host);
      });
      worst.print();
      if (parts.includes('kills')) await kills(servers, report);
    } finally {
      await servers.stop();
    }
  }
  report.note(`functions: load at the end ${load()}`);
  if (parts.includes('peers')) {
    const only = 'tidemark-functions,tidemark-embedded-functions,restate,dbos';
    await measurePeers(report, { only, parts: ['sequential', 'concurrent', 'kill'] });
  }
}

/** Ratios are of rounds that follow one another, and their median counts: what else the machine does changes both. */
async function calls(name: string, host: Host, report: Report, worst: Worst): Promise<void> {
  report.note(`${name}: warming up`);
  for (const [, ...pair] of KINDS) for (const workflow of pair) await concurrent(host, workflow, 1_000);
  const ratios: number[] = [];
  for (const [kind, ofFunction, ofAgent] of KINDS) {
    const [call, step, ratio] = await beside(
      SEQUENTIAL_ROUNDS,
      async () => median(await sequential(host, ofFunction)),
      async () => median(await sequential(host, ofAgent)),
    );
    report.add(`functions.${name}.${kind}.call_ms`, call, 'ms');
    report.add(`functions.${name}.${kind}.step_ms`, step, 'ms');
    report.add(`functions.${name}.${kind}.call_to_step_ratio`, ratio, 'ratio');
    ratios.push(ratio);
  }
  worst.add(name, 'call_to_step_ratio', Math.max(...ratios), 'ratio', Math.max);
  for (const count of COUNTS) {
    const [callRate, stepRate, ratio] = await beside(
      CONCURRENT_ROUNDS,
      () => concurrent(host, closureCalls, count),
      () => concurrent(host, durableSteps, count),
    );
    report.add(`functions.${name}.c${count}.calls_per_s`, callRate, 'calls/s');
    report.add(`functions.${name}.c${count}.steps_per_s`, stepRate, 'steps/s');
    worst.add(name, `c${count}.calls_to_steps_ratio`, ratio, 'ratio', Math.min);
  }
}

/** Medians of both, and of the first to the second in each round. Who begins takes turns. */
async function beside(
  rounds: number,
  first: () => Promise<number>,
  second: () => Promise<number>,
): Promise<readonly [first: number, second: number, ratio: number]> {
  const found: (readonly [number, number])[] = [];
  // The one before them warms up.
  for (let round = 0; round <= rounds; round++) {
    const early = round % 2 === 0 ? await first() : undefined;
    const other = await second();
    const pair = [early ?? (await first()), other] as const;
    if (round > 0) found.push(pair);
  }
  return [
    median(found.map(([value]) => value)),
    median(found.map(([, value]) => value)),
    median(found.map(([value, other]) => value / other)),
  ];
}

/** From the claim of a function that waited until it makes its next call: the outcome of the wait is recorded in between. */
async function replays(name: string, host: Host, report: Report, worst: Worst): Promise<void> {
  const watcher = new Watcher(host);
  await watcher.start();
  try {
    const waiting = REPLAYED.map((outcomes) =>
      Array.from({ length: REPLAYS + 1 }, async (_, round) => {
        const id = `replay-${outcomes}-${round}`;
        const waits = watcher.next(id, ({ type }) => type === 'LeaseReleased');
        const run = await host.client.start(waitingCalls, { calls: outcomes }, { id });
        await waits;
        return run;
      }),
    );
    const runs = await Promise.all(waiting.map((some) => Promise.all(some)));
    const tookMs = REPLAYED.map((): number[] => []);
    for (let round = 0; round <= REPLAYS; round++) {
      for (const [at, some] of runs.entries()) {
        const run = some[round]!;
        const claimed = watcher.next(run.id, ({ type }) => type === 'LeaseClaimed');
        await host.client.signal(run.id, 'go', null);
        const [calledAtMs, { writtenAtMs }] = await Promise.all([run.result(), claimed]);
        // The first one warms up.
        if (round > 0) tookMs[at]!.push(calledAtMs - writtenAtMs);
      }
    }
    for (const [at, outcomes] of REPLAYED.entries()) {
      report.note(`${name}: ${outcomes} outcomes, ms by round: ${tookMs[at]!.join(' ')}`);
      worst.add(name, `replay${outcomes}_ms`, median(tookMs[at]!), 'ms', Math.max);
    }
  } finally {
    await watcher.stop();
  }
}

/** As of `bench -- resume`, of functions and agents that the same worker has. */
async function kills(servers: Parameters<typeof withSystem>[0], report: Report): Promise<void> {
  await withSystem(servers, 'function-kills', 16, async (system) => {
    const worker = await system.service('worker');
    const idsOf = (kind: string) => Array.from({ length: KILLED_OF_EACH }, (_, n) => `${kind}-${n}`);
    const [functions, agents] = [idsOf('function'), idsOf('agent')];
    await system.start(functions, { history: 0, stepMs: PACED_STEP_MS }, tickCalls);
    await system.start(agents, { history: 0, stepMs: PACED_STEP_MS }, ticks);
    const { rounds } = await replaceOften(KILLS, system, [...functions, ...agents], 'kill', worker, report);
    const [call, step] = [functions, agents].map((ids) =>
      median(rounds.flatMap((tookMs) => ids.flatMap((id) => tookMs.get(id) ?? []))),
    );
    report.add('functions.kill9.call_median_ms', call!, 'ms');
    report.add('functions.kill9.step_median_ms', step!, 'ms');
    report.add('functions.kill9.call_to_step_ratio', call! / step!, 'ratio');
  });
}
