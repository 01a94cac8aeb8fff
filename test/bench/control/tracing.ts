/**
 * `control.tracing_cost_percent`: what a live export of traces takes of the throughput of steps. Two embedded hosts in one process do short
 * slices of the same work in turns, one of them exporting to a collector in a process of its own; neighbours are compared, and the median of
 * the pairs is told with its quartiles, so that what else the machine does falls on both.
 *
 * Three figures a slice: its steps a second, which is what people see and what noise hits most; the time of the thread that folds and
 * draws, by which throughput is bound; and that of the whole process. The latter two count what is sent after the slice as well, less
 * what two idle hosts take meanwhile. A collector's own work is in none of them.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type Host, openEmbedded } from '@tidemark/host';
import { traceSettings } from '@tidemark/traces';
import { median, quantile, type Report } from '../report.ts';
import { concurrent, STEPS_EACH } from '../run-steps.ts';
import { durableSteps, stagedSteps } from '../workflows.ts';

/** Of one slice. */
const WORKFLOWS = 300;
const PAIRS = 24;
const WARM_UPS = 3;
/** Longer than the export's own period: what a round left to send is sent by then. */
const SETTLE_MS = 1_500;

/** Takes everything, and counts requests. */
const SINK = `
const server = require('node:http').createServer((request, response) => {
  request.resume();
  request.on('end', () => response.end());
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

async function startSink(): Promise<{ readonly process: ChildProcess; readonly url: string }> {
  const sink = spawn(process.execPath, ['-e', SINK], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise<string>((resolve) => sink.stdout.once('data', (text) => resolve(String(text).trim())));
  return { process: sink, url: `http://127.0.0.1:${port}` };
}

async function openHost(folder: string, report: Report, collector: string | undefined): Promise<Host> {
  const traces = collector === undefined ? undefined : traceSettings({}, collector);
  const onError = (where: string, error: unknown): void => report.note(`${where}: ${error}`);
  const host = await openEmbedded({ folder, traces }, { onError });
  await host.startWorker({ definitions: [durableSteps, stagedSteps], concurrency: WORKFLOWS, onError });
  return host;
}

interface Times {
  /** Milliseconds, all of them. */
  readonly wall: number;
  readonly thread: number;
  readonly process: number;
}

const now = (): Times => {
  const [thread, all] = [process.threadCpuUsage(), process.cpuUsage()];
  const ms = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1_000;
  return { wall: performance.now(), thread: ms(thread), process: ms(all) };
};

interface Slice {
  readonly stepsPerS: number;
  readonly threadUsPerStep: number;
  readonly processUsPerStep: number;
}

/** What hosts that do nothing take, a millisecond. */
type Idle = Pick<Times, 'thread' | 'process'>;

async function idleOf(host: Host): Promise<Idle> {
  const before = now();
  await host.ports.clock.sleep(2 * SETTLE_MS);
  const after = now();
  const perMs = (name: 'thread' | 'process'): number => (after[name] - before[name]) / (after.wall - before.wall);
  return { thread: perMs('thread'), process: perMs('process') };
}

async function slice(host: Host, idle: Idle): Promise<Slice> {
  const before = now();
  const stepsPerS = await concurrent(host, durableSteps, WORKFLOWS);
  await host.ports.clock.sleep(SETTLE_MS);
  const after = now();
  const usPerStep = (name: 'thread' | 'process'): number =>
    ((after[name] - before[name] - idle[name] * (after.wall - before.wall)) * 1_000) / (WORKFLOWS * STEPS_EACH);
  return { stepsPerS, threadUsPerStep: usPerStep('thread'), processUsPerStep: usPerStep('process') };
}

interface Pair {
  readonly plain: Slice;
  readonly traced: Slice;
}

async function pairsOf(plain: Host, traced: Host, idle: Idle): Promise<readonly Pair[]> {
  const pairs: Pair[] = [];
  for (let at = 0; at < PAIRS; at++) {
    // In turns, so that neither is always the first.
    const first = at % 2 === 0 ? await slice(plain, idle) : undefined;
    const second = await slice(traced, idle);
    pairs.push({ plain: first ?? (await slice(plain, idle)), traced: second });
  }
  return pairs;
}

export async function measureTracing(report: Report): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-tracing-'));
  const sink = await startSink();
  try {
    const plain = await openHost(path.join(folder, 'plain'), report, undefined);
    const traced = await openHost(path.join(folder, 'traced'), report, sink.url);
    report.note('tracing: warming up');
    const none = { thread: 0, process: 0 };
    for (let round = 0; round < WARM_UPS; round++) for (const host of [plain, traced]) await slice(host, none);
    const pairs = await pairsOf(plain, traced, await idleOf(plain));
    await plain.close();
    await traced.close();
    printResult(report, pairs);
  } finally {
    sink.process.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  }
}

function printResult(report: Report, pairs: readonly Pair[]): void {
  report.add('control.tracing_plain_steps_per_s', median(pairs.map(({ plain }) => plain.stepsPerS)), 'steps/s');
  report.add('control.tracing_traced_steps_per_s', median(pairs.map(({ traced }) => traced.stepsPerS)), 'steps/s');
  const shares: readonly (readonly [string, (pair: Pair) => number])[] = [
    ['control.tracing_cost', ({ plain, traced }) => 1 - traced.stepsPerS / plain.stepsPerS],
    ['control.tracing_thread', ({ plain, traced }) => traced.threadUsPerStep / plain.threadUsPerStep - 1],
    ['control.tracing_cpu', ({ plain, traced }) => traced.processUsPerStep / plain.processUsPerStep - 1],
  ];
  for (const [name, share] of shares) {
    const percents = pairs.map((pair) => share(pair) * 100);
    report.add(`${name}_percent`, median(percents), '%');
    report.add(`${name}_quartile1_percent`, quantile(percents, 0.25), '%');
    report.add(`${name}_quartile3_percent`, quantile(percents, 0.75), '%');
  }
  const loads = os.loadavg().map((load) => load.toFixed(1));
  report.note(`tracing: ${pairs.length} pairs of slices; load of the machine ${loads.join(', ')}`);
}
