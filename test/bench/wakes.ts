/**
 * `npm run bench -- wakes`: where the time of a wake goes, from the signal that is sent to the step that it unblocks; of runs that are woken
 * at once, and of many sleepers that are woken one after the other. Each has done a step before, and keeps 10 KB.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { WorkflowId } from '@tidemark/core';
import type { Host } from '@tidemark/host';
import type { LogRecord } from '@tidemark/ports';
import { Moments, openWatchedCluster, type PortCall, printMoments, type WatchedCluster } from './moments.ts';
import { median, quantile, type Report } from './report.ts';
import { sleeper, whenWoken } from './sleeper.ts';
import { measureMemory } from './sleepers-memory.ts';

export const wakeParts = ['once', 'sleepers', 'memory'] as const;

/** The moments of a wake, in the order in which they are expected. */
const MOMENTS = [
  'asked', // `signal` was called
  'found', // the client has read the workflow
  'appended', // the signal is in the log
  'shown', // rows show it
  'sent', // a job is in the queue
  'known', // `signal` has resolved
  'taken', // a worker reads the run's rows
  'read', // it has read them
  'claimed', // its claim is in the log
  'step', // its step begins
] as const;
type Wakes = Moments<(typeof MOMENTS)[number]>;

const SLEEPERS_PER_S = 200;
/** Most that are started at once. */
const STARTED_AT_ONCE = 250;

let wakes: Wakes = new Moments();
let sleepingCount = 0;
let wokenCount = 0;

whenWoken((id) => {
  wakes.at(id, 'step');
  wokenCount++;
});

function see({ role, port, operation, args, isAfter }: PortCall): void {
  const called = `${port}.${operation}`;
  if (called === 'store.loadStreams') {
    const moment =
      role === 'worker' ? (isAfter ? 'read' : 'taken') : isAfter && role === 'client' ? 'found' : undefined;
    if (moment !== undefined) for (const workflow of args[0] as readonly WorkflowId[]) wakes.at(workflow, moment);
  }
  if (!isAfter) return;
  if (called === 'log.append') {
    for (const { owner = { workflow: '' }, type } of args[1] as readonly LogRecord[]) {
      if (type === 'SignalReceived') wakes.at(owner.workflow, 'appended');
      if (type === 'LeaseClaimed') wakes.at(owner.workflow, 'claimed');
      if (type === 'LeaseReleased') sleepingCount++;
    }
  }
  if (called === 'store.apply') {
    for (const { workflow } of (args[0] as { streams: readonly { workflow: string }[] }).streams) {
      wakes.at(workflow, 'shown');
    }
  }
  if (called === 'queue.enqueue') {
    for (const { workflow } of args[0] as readonly { workflow: string }[]) wakes.at(workflow, 'sent');
  }
}

/** Resolves once all of them sleep, in the rows too. */
async function put({ client }: Host, ids: readonly string[]): Promise<void> {
  sleepingCount = 0;
  for (let at = 0; at < ids.length; at += STARTED_AT_ONCE) {
    await Promise.all(ids.slice(at, at + STARTED_AT_ONCE).map((id) => client.start(sleeper, { id }, { id })));
  }
  while (sleepingCount < ids.length) await wait(20);
  await wait(1_000);
}

async function wake({ client }: Host, id: string): Promise<void> {
  wakes.of.set(id, { asked: performance.now() });
  await client.signal(id, 'go');
  wakes.at(id, 'known');
}

/** All of them are woken, `perS` a second or at once. */
async function wakeAll(host: Host, ids: readonly string[], perS = Number.POSITIVE_INFINITY): Promise<void> {
  wakes = new Moments();
  wokenCount = 0;
  const beganMs = performance.now();
  const waking: Promise<void>[] = [];
  for (const [at, id] of ids.entries()) {
    const restMs = beganMs + (at * 1_000) / perS - performance.now();
    if (restMs > 0) await wait(restMs);
    waking.push(wake(host, id));
  }
  await Promise.all(waking);
  while (wokenCount < ids.length) await wait(5);
}

const idsOf = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}-${at}`);

async function measureOnce({ client, calls }: WatchedCluster, count: number, report: Report): Promise<void> {
  const rounds: Wakes[] = [];
  for (let at = 0; at < Math.max(5, 100 / count); at++) {
    const ids = idsOf(`c${count}-${at}`, count);
    await put(client, ids);
    calls.clear();
    await wakeAll(client, ids);
    rounds.push(wakes);
  }
  printWakes(`wakes.c${count}`, rounds, report);
  calls.print(`${count} at once, last round`, report);
}

async function measureSleepers({ client, calls }: WatchedCluster, count: number, report: Report): Promise<void> {
  const ids = idsOf('sleeper', count);
  const before = heldBytes();
  await put(client, ids);
  // What rows, hints and heartbeats left behind is collected with the next of theirs.
  await wait(5_000);
  report.add('wakes.sleepers.bytes_each', (heldBytes() - before) / count, 'bytes');
  calls.clear();
  await wakeAll(client, ids, SLEEPERS_PER_S);
  printWakes('wakes.sleepers', [wakes], report);
  calls.print(`${count} at ${SLEEPERS_PER_S}/s`, report);
}

/** Of the coordinator, the worker and the client together: what they hold of each sleeper is less than this grows. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function printWakes(name: string, rounds: readonly Wakes[], report: Report): void {
  const runs = rounds.flatMap(({ of }) => [...of.values()]);
  printMoments(name, runs, { from: 'asked', moments: MOMENTS.slice(1) }, report);
  const fromAsked = runs.map(({ asked, step }) => step! - asked!);
  const fromKnown = runs.map(({ known, step }) => step! - known!);
  report.add(`${name}.asked_to_step.p99_ms`, quantile(fromAsked, 0.99), 'ms');
  report.add(`${name}.known_to_step.median_ms`, median(fromKnown), 'ms');
  report.add(`${name}.known_to_step.p99_ms`, quantile(fromKnown, 0.99), 'ms');
}

/** `counts`: how many are woken at once, and, last, how many sleep. */
export async function measureWakes(report: Report, parts: readonly string[], counts: readonly number[]): Promise<void> {
  if (parts.includes('memory')) await measureMemory(counts.at(-1)!, report);
  if (!parts.some((part) => part !== 'memory')) return;
  const cluster = await openWatchedCluster(sleeper, report, see);
  try {
    for (let at = 0; at < 5; at++) {
      const ids = idsOf(`warm-${at}`, 500);
      await put(cluster.client, ids);
      await wakeAll(cluster.client, ids);
    }
    if (parts.includes('once')) for (const count of counts.slice(0, -1)) await measureOnce(cluster, count, report);
    if (parts.includes('sleepers')) await measureSleepers(cluster, counts.at(-1)!, report);
  } finally {
    await cluster.close();
  }
}
