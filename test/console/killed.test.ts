/** A process killed with -9 while the page watches: the page says so, goes on by itself, and shows who took over, without being loaded again. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from '@tidemark/client';
import { noteOutput } from '@tidemark/testkit/evidence';
import { freePort } from '@tidemark/testkit/servers';
import { expect, it, vi } from 'vitest';
import { buildConsole, isConsoleStale } from '../../scripts/console.mjs';
import { findBrowser, openBrowser } from './browser.ts';

vi.setConfig({ testTimeout: 240_000 });

const ROOT = path.resolve(import.meta.dirname, '../..');
const executable = await findBrowser();

it.skipIf(executable === undefined && process.env.CI !== 'true')(
  'shows the take-over of a killed process',
  async (context) => {
    if (isConsoleStale()) buildConsole();
    const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-killed-'));
    const port = await freePort();
    const started: ChildProcess[] = [];
    context.onTestFinished(async () => {
      for (const each of started) each.kill('SIGKILL');
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    const dev = (): ChildProcess => {
      const args = ['libs/operate/cli/src/main.ts', 'dev', '--workflows', 'test/console/agents.ts'];
      const child = spawn(process.execPath, [...args, '--state', folder, '--port', String(port)], {
        cwd: ROOT,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      for (const stream of [child.stdout, child.stderr]) stream.on('data', noteOutput('tidemark dev'));
      started.push(child);
      return child;
    };
    const first = dev();
    const url = `http://127.0.0.1:${port}`;
    const client = connect({ url, tries: 30 });
    await vi.waitFor(() => fetch(`${url}/healthz`), { timeout: 120_000, interval: 100 });
    // However long the browser takes: the run begins when the page is open.
    const { page, close } = await openBrowser(executable!);
    context.onTestFinished(close);
    page.setDefaultTimeout(90_000);
    await page.goto(`${url}/workflows`);
    await client.start('backfill', { steps: 40, pauseMs: 100 }, { id: 'survivor' });
    await page.goto(`${url}/workflows/survivor`);
    await page.evaluate('window.stays = true');
    const timeline = page.getByRole('listbox', { name: 'Timeline' });
    await timeline.getByText('copied rows up to 750').waitFor();
    first.kill('SIGKILL');
    await once(first, 'close');
    await page.getByText('Connection lost, trying again').waitFor();
    dev();
    await page.getByRole('status').getByText('Ended').waitFor();
    await page.keyboard.press('x');
    await page.getByRole('complementary', { name: 'Selected' }).getByText('Worker lost').first().waitFor();
    await timeline.getByText('Taken over').waitFor();
    expect(await page.getByText('lost', { exact: false }).count()).toBeGreaterThan(0);
    // It is the same page: it was never loaded again.
    expect(await page.evaluate('window.stays')).toBe(true);
  },
);
