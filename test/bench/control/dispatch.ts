/**
 * `npm run bench -- control --only fairness|signal|timers`: how soon a workflow's step begins: beside another tenant's backlog, after a
 * signal, at a timer. A coordinator and a worker on a cluster whose broker keeps its data in memory.
 */

import { type TenantId, tenantId } from '@tidemark/core';
import { configFromEnv, type Host, openCluster } from '@tidemark/host';
import type { Run } from '@tidemark/runtime';
import { median, quantile, type Report } from '../report.ts';
import { onCluster } from './cluster.ts';
import { asking, dreaming, listening, waking } from './dispatch-workflows.ts';

/** Workflows that the worker runs at once, and how long each waits, as for a model: its slots are what is scarce. */
const WORKER_CONCURRENCY = 64;
const ASK_MS = 1_000;
/** Short enough for two processors to be what is scarce. */
const SATURATING_ASK_MS = 200;
const BACKLOG_COUNT = 10_000;
const STARTS_AT_ONCE = 200;
const SAMPLE_COUNT = 150;
const SAMPLE_PERIOD_MS = 100;

const SIGNAL_COUNT = 300;

const TIMERS_PER_DREAMER = 1_000;
const DREAMER_COUNT = 99;
const WAKER_COUNT = 1_000;
/** Wakers are due over this time, which begins when all of them wait. */
const WAKING_MS = 10_000;
const WAKING_AFTER_MS = 15_000;

function onDispatchCluster(concurrency: number, work: (host: Host) => Promise<void>): Promise<void> {
  const settings = {
    TIDEMARK_PARTITIONS_MAX: '1024',
    TIDEMARK_CONCURRENCY: String(concurrency),
    TIDEMARK_WORKFLOWS: './test/bench/control/dispatch-workflows.ts',
  };
  return onCluster({ worker: true, env: settings }, async ({ env }) => {
    const host = await openCluster(configFromEnv(env));
    try {
      await work(host);
    } finally {
      await host.close();
    }
  });
}

/** Between half of it and one and a half, spread evenly: answers of models don't come in step. */
const varied = (askMs: number, n: number): number => Math.round(askMs * (0.5 + ((n * 0.618_034) % 1)));

/** From the call of `start` to the first step, of one workflow after the other. */
async function startsToSteps(host: Host, tenant: TenantId, askMs: number): Promise<number[]> {
  const took: Promise<number>[] = [];
  for (let n = 0; n < SAMPLE_COUNT; n++) {
    const calledMs = Date.now();
    const run = host.client.start(asking, { askMs: varied(askMs, n) }, { tenant });
    took.push(run.then((started) => beganAt(started)).then((beganMs) => beganMs - calledMs));
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_PERIOD_MS));
  }
  return Promise.all(took);
}

const beganAt = async (run: Run<{ beganMs: number }>): Promise<number> => (await run.result()).beganMs;

export async function measureFairness(report: Report): Promise<void> {
  await fairness(report, 'fairness', ASK_MS);
  await fairness(report, 'fairness_saturated', SATURATING_ASK_MS);
}

function fairness(report: Report, called: string, askMs: number): Promise<void> {
  return onDispatchCluster(WORKER_CONCURRENCY, async (host) => {
    const [small, flood] = [tenantId('small'), tenantId('flood')];
    report.note(
      `${called}: ${BACKLOG_COUNT} of one tenant, each about ${askMs} ms, ${WORKER_CONCURRENCY} at once; another tenant starts one every ${SAMPLE_PERIOD_MS} ms`,
    );
    await startsToSteps(host, small, askMs);
    const idle = await startsToSteps(host, small, askMs);
    const starting: Promise<unknown>[] = [];
    for (let n = 0; n < BACKLOG_COUNT; n += STARTS_AT_ONCE) {
      const page = Array.from({ length: STARTS_AT_ONCE }, (_, at) =>
        host.client.start(asking, { askMs: varied(askMs, n + at) }, { tenant: flood }),
      );
      starting.push(Promise.all(page));
      await Promise.all(page);
    }
    await Promise.all(starting);
    const before = await host.ports.queue.depth(['bench-asking']);
    const loaded = await startsToSteps(host, small, askMs);
    const after = await host.ports.queue.depth(['bench-asking']);
    report.add(`control.${called}.queued_first`, before.get('bench-asking') ?? 0, 'count');
    report.add(`control.${called}.queued_last`, after.get('bench-asking') ?? 0, 'count');
    for (const [name, times] of Object.entries({ idle, loaded })) {
      report.add(`control.${called}.${name}.median_ms`, median(times), 'ms');
      report.addTail(`control.${called}.${name}.p99_ms`, times, 'ms');
    }
    report.add(`control.${called}_ratio`, quantile(loaded, 0.99) / quantile(idle, 0.99), 'ratio');
  });
}

export function measureSignal(report: Report): Promise<void> {
  return onDispatchCluster(1_000, async (host) => {
    report.note(`signal: ${SIGNAL_COUNT} waiting workflows, each sent one, one after the other`);
    const runs: Run<{ beganMs: number }>[] = [];
    for (let n = 0; n < SIGNAL_COUNT; n++) runs.push(await host.client.start(listening, {}));
    // A process that has just begun may be told of its first workflows by a sweep alone.
    for (const run of runs)
      while ((await host.ports.store.workflow(run.id)) === undefined) await host.ports.clock.sleep(50);
    const took: number[] = [];
    for (const run of runs) {
      const sentMs = Date.now();
      await host.client.signal(run.id, 'go', null);
      took.push((await beganAt(run)) - sentMs);
    }
    report.add('control.signal.median_ms', median(took), 'ms');
    report.addTail('control.signal.p99_ms', took, 'ms');
  });
}

export function measureTimers(report: Report): Promise<void> {
  return onDispatchCluster(1_000, async (host) => {
    const pendingCount = DREAMER_COUNT * TIMERS_PER_DREAMER + WAKER_COUNT;
    report.note(`timers: ${pendingCount} pending, ${WAKER_COUNT} of them due over ${WAKING_MS} ms`);
    for (let n = 0; n < DREAMER_COUNT; n++) await host.client.start(dreaming, { timers: TIMERS_PER_DREAMER });
    const firstMs = Date.now() + WAKING_AFTER_MS;
    const due = Array.from({ length: WAKER_COUNT }, (_, n) => firstMs + (n * WAKING_MS) / WAKER_COUNT);
    const runs = await Promise.all(due.map((dueMs) => host.client.start(waking, { dueMs })));
    report.add('control.timers100k.ready_before_ms', firstMs - Date.now(), 'ms');
    const late = await Promise.all(runs.map(async (run, n) => (await beganAt(run)) - due[n]!));
    report.add('control.timers100k.pending', pendingCount, 'count');
    report.add('control.timers100k.lateness_median_ms', median(late), 'ms');
    report.addTail('control.timers100k.lateness_p99_ms', late, 'ms');
  });
}
