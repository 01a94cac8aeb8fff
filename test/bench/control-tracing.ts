/**
 * `control.tracing_cost_percent`: steps a second of two embedded hosts in one process, one of which exports traces to a collector of its own
 * process, round by round in turns. The median of the pairs is told; and the processor time of a step, which counts what is sent after a
 * round as well. Says nothing of a collector's own work, which goes on beside it.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type Host, openEmbedded } from '@tidemark/host';
import { traceSettings } from '@tidemark/traces';
import { median, type Report } from './report.ts';
import { concurrent, STEPS_EACH } from './run-steps.ts';
import { durableSteps, stagedSteps } from './workflows.ts';

const WORKFLOWS = 1_000;
const ROUNDS = 7;
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
  const host = await openEmbedded({ folder, traces });
  const onError = (where: string, error: unknown): void => report.note(`${where}: ${error}`);
  await host.startCoordinator({ onError });
  await host.startWorker({ definitions: [durableSteps, stagedSteps], concurrency: WORKFLOWS, onError });
  return host;
}

interface Round {
  readonly stepsPerS: number;
  readonly cpuUsPerStep: number;
}

async function round(host: Host): Promise<Round> {
  const before = process.cpuUsage();
  const stepsPerS = await concurrent(host, durableSteps, WORKFLOWS);
  await host.ports.clock.sleep(SETTLE_MS);
  const { user, system } = process.cpuUsage(before);
  return { stepsPerS, cpuUsPerStep: (user + system) / (WORKFLOWS * STEPS_EACH) };
}

export async function measureTracing(report: Report): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-tracing-'));
  const sink = await startSink();
  try {
    const plain = await openHost(path.join(folder, 'plain'), report, undefined);
    const traced = await openHost(path.join(folder, 'traced'), report, sink.url);
    report.note('tracing: warming up');
    for (const host of [plain, traced, plain, traced]) await round(host);
    const pairs: { readonly plain: Round; readonly traced: Round }[] = [];
    for (let at = 0; at < ROUNDS; at++) {
      // In turns, so that neither is always the first.
      const first = at % 2 === 0 ? await round(plain) : undefined;
      const with_ = await round(traced);
      pairs.push({ plain: first ?? (await round(plain)), traced: with_ });
    }
    await plain.close();
    await traced.close();
    const costs = pairs.map((pair) => (1 - pair.traced.stepsPerS / pair.plain.stepsPerS) * 100);
    const cpu = pairs.map((pair) => (pair.traced.cpuUsPerStep / pair.plain.cpuUsPerStep - 1) * 100);
    report.note(`tracing: cost by round, %: ${costs.map((cost) => cost.toFixed(1)).join(', ')}`);
    report.note(`tracing: processor time by round, %: ${cpu.map((cost) => cost.toFixed(1)).join(', ')}`);
    report.add('control.tracing_plain_steps_per_s', median(pairs.map((pair) => pair.plain.stepsPerS)), 'steps/s');
    report.add('control.tracing_traced_steps_per_s', median(pairs.map((pair) => pair.traced.stepsPerS)), 'steps/s');
    report.add('control.tracing_cost_percent', median(costs), '%');
    report.add('control.tracing_cpu_percent', median(cpu), '%');
  } finally {
    sink.process.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true });
  }
}
