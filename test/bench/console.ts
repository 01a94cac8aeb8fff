/**
 * Owns the measure of the console in a real browser: how long until the list of workflows is there with nothing cached, and how long the
 * page's own thread was busy at most while a timeline of 5,000 checkpoints is scrolled. Server and browser share this machine.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { builtConsole, type Listening, listenApi, localAuthenticator } from '@tidemark/api';
import { openEmbedded } from '@tidemark/host';
import type { CDPSession, Page } from 'playwright-core';
import { buildConsole, isConsoleStale } from '../../scripts/console.mjs';
import { findBrowser, openBrowser } from '../console/browser.ts';
import { onCluster } from './control/cluster.ts';
import { fillRows } from './control/list.ts';
import { quantile, type Report } from './report.ts';
import { stagedSteps } from './workflows.ts';

const CHECKPOINTS = 5_000;
const WORKFLOWS = 100_000;
const VIEWS = 5;
const SCROLL_MS = 6_000;

export async function measureConsole(report: Report): Promise<void> {
  const executable = await findBrowser();
  if (executable === undefined)
    throw new Error('Chromium is missing: install it, or name it in TIDEMARK_TEST_CHROMIUM.');
  if (isConsoleStale()) buildConsole();
  report.note(`console: a list of ${WORKFLOWS} workflows, and a run of ${CHECKPOINTS} checkpoints`);
  await measureList(executable, report);
  await measureTimeline(executable, report);
}

/** A coordinator serves the page, over a store that is as full as a large fleet's. */
function measureList(executable: string, report: Report): Promise<void> {
  return onCluster({ worker: false }, async ({ url, postgresUrl }) => {
    await fillRows(postgresUrl, WORKFLOWS);
    report.add('console.first_view_ms', await firstView(executable, `${url}/workflows`, '.list-row'), 'ms');
    report.add('console.fleet_view_ms', await firstView(executable, url, '.fleet-cards td'), 'ms');
  });
}

async function measureTimeline(executable: string, report: Report): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-bench-console-'));
  const host = await openEmbedded({ folder: path.join(folder, 'state') });
  try {
    await host.startWorker({ definitions: [stagedSteps], concurrency: 20 });
    const long = await host.client.start(stagedSteps, { steps: CHECKPOINTS, bytes: 64, timed: false }, { id: 'long' });
    await long.result();
    const api = await listenApi({
      ...{ place: host, definitions: [stagedSteps], authenticator: localAuthenticator, host: '127.0.0.1', port: 0 },
      consoleFolder: builtConsole(),
      rateMaxCount: 1_000_000,
    });
    try {
      const { wallMs, cpuMs } = await longestTask(executable, api);
      report.add('console.longest_task_ms', wallMs, 'ms');
      report.add('console.longest_task_cpu_ms', cpuMs, 'ms');
    } finally {
      await api.close();
    }
  } finally {
    await host.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** From the navigation of a new browser, with nothing cached, to the first row; the median. */
async function firstView(executable: string, address: string, row: string): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < VIEWS; at++) {
    const { page, close } = await openBrowser(executable);
    await page.goto(address, { waitUntil: 'commit' });
    await page.locator(row).first().waitFor();
    times.push(await page.evaluate<number>('performance.now()'));
    await close();
  }
  return quantile(times, 0.5);
}

interface Busy {
  /** Longest time between two turns of the page's event loop, which is at least its longest task, on the wall's clock. */
  readonly wallMs: number;
  /** Of the longest task as the browser traces them, the time that the thread ran: what others do on the machine is not in it. */
  readonly cpuMs: number;
}

/** While the wheel turns. */
async function longestTask(executable: string, { url }: Listening): Promise<Busy> {
  const { page, context, close } = await openBrowser(executable);
  await page.goto(`${url}/workflows/long`);
  const timeline = page.getByRole('listbox', { name: 'Timeline' });
  await timeline.getByRole('option').first().waitFor();
  await page.waitForLoadState('networkidle');
  await timeline.hover();
  await page.evaluate(`(() => {
    const { port1, port2 } = new MessageChannel();
    let before = performance.now();
    window.longest = 0;
    window.stops = false;
    port1.onmessage = () => {
      const now = performance.now();
      window.longest = Math.max(window.longest, now - before);
      before = now;
      if (!window.stops) port2.postMessage(0);
    };
    port2.postMessage(0);
  })()`);
  await turnWheel(page);
  const wallMs = await page.evaluate<number>('window.stops = true, window.longest');
  await timeline.evaluate('(box) => box.scrollTo(0, 0)');
  const cpuMs = await tracedTask(await context.newCDPSession(page), () => turnWheel(page));
  await close();
  return { wallMs, cpuMs };
}

async function turnWheel(page: Page): Promise<void> {
  for (const until = Date.now() + SCROLL_MS; Date.now() < until; ) await page.mouse.wheel(0, 700);
}

interface TraceEvent {
  readonly ph: string;
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds of the thread. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

async function tracedTask(session: CDPSession, work: () => Promise<void>): Promise<number> {
  const events: TraceEvent[] = [];
  session.on('Tracing.dataCollected', ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['toplevel'], recordMode: 'recordContinuously' },
  });
  await work();
  const complete = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.end');
  await complete;
  const threads = events.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain');
  const isPages = ({ pid, tid }: TraceEvent): boolean => threads.some((each) => each.pid === pid && each.tid === tid);
  const tasks = events.filter(({ ph, name }) => ph === 'X' && name.endsWith('RunTask')).filter(isPages);
  return Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1_000;
}
