/**
 * Owns the measure of the console in a real browser: how long until the list of workflows is there with nothing cached, and how long the
 * page's own thread was busy at most while a timeline of 5,000 checkpoints is scrolled. Server and browser share this machine.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { builtConsole, type Listening, listenApi, localAuthenticator } from '@tidemark/api';
import { type Host, openEmbedded } from '@tidemark/host';
import { buildConsole, isConsoleStale } from '../../scripts/console.mjs';
import { findBrowser, openBrowser } from '../console/browser.ts';
import { quantile, type Report } from './report.ts';
import { stagedSteps } from './workflows.ts';

const CHECKPOINTS = 5_000;
const WORKFLOWS = 1_000;
const VIEWS = 5;
const SCROLL_MS = 6_000;

export async function measureConsole(report: Report): Promise<void> {
  const executable = await findBrowser();
  if (executable === undefined)
    throw new Error('Chromium is missing: install it, or name it in TIDEMARK_TEST_CHROMIUM.');
  if (isConsoleStale()) buildConsole();
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-bench-console-'));
  const host = await openEmbedded({ folder: path.join(folder, 'state') });
  try {
    await host.startCoordinator();
    await host.startWorker({ definitions: [stagedSteps], concurrency: 20 });
    await fill(host, report);
    const api = await listenApi({
      ...{ place: host, definitions: [stagedSteps], authenticator: localAuthenticator, host: '127.0.0.1', port: 0 },
      consoleFolder: builtConsole(),
      rateMaxCount: 1_000_000,
    });
    try {
      report.add('console.first_view_ms', await firstView(executable, api), 'ms');
      report.add('console.longest_task_ms', await longestTask(executable, api), 'ms');
    } finally {
      await api.close();
    }
  } finally {
    await host.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function fill({ client }: Host, report: Report): Promise<void> {
  report.note(`console: a run of ${CHECKPOINTS} checkpoints, and ${WORKFLOWS} workflows`);
  const long = await client.start(stagedSteps, { steps: CHECKPOINTS, bytes: 64, timed: false }, { id: 'long' });
  await long.result();
  for (let at = 0; at < WORKFLOWS; at += 50) {
    const some = Array.from({ length: 50 }, () => client.start(stagedSteps, { steps: 1, bytes: 64, timed: false }));
    await Promise.all((await Promise.all(some)).map((run) => run.result()));
  }
}

/** From the navigation of a new browser to the first row of the list; the median. */
async function firstView(executable: string, { url }: Listening): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < VIEWS; at++) {
    const { page, close } = await openBrowser(executable);
    await page.goto(`${url}/workflows`, { waitUntil: 'commit' });
    await page.locator('.list-row').first().waitFor();
    times.push(await page.evaluate<number>('performance.now()'));
    await close();
  }
  return quantile(times, 0.5);
}

/** Longest time between two turns of the page's event loop, which is at least its longest task, while the wheel turns. */
async function longestTask(executable: string, { url }: Listening): Promise<number> {
  const { page, close } = await openBrowser(executable);
  await page.goto(`${url}/workflows/long`);
  const timeline = page.getByRole('listbox', { name: 'Timeline' });
  await timeline.getByRole('option').first().waitFor();
  await page.waitForLoadState('networkidle');
  await timeline.hover();
  await page.evaluate(`(() => {
    const { port1, port2 } = new MessageChannel();
    let before = performance.now();
    window.longest = 0;
    port1.onmessage = () => {
      const now = performance.now();
      window.longest = Math.max(window.longest, now - before);
      before = now;
      port2.postMessage(0);
    };
    port2.postMessage(0);
  })()`);
  for (const until = Date.now() + SCROLL_MS; Date.now() < until; ) await page.mouse.wheel(0, 700);
  const longest = await page.evaluate<number>('window.longest');
  await close();
  return longest;
}
