/** The chat example in a browser: the process that answers is killed with -9 in mid-answer, and the page shows no word twice and none too few. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect } from '@tidemark/client';
import { noteOutput } from '@tidemark/testkit/evidence';
import { freePort } from '@tidemark/testkit/servers';
import { expect, it, vi } from 'vitest';
import { findBrowser, openBrowser } from './browser.ts';

vi.setConfig({ testTimeout: 240_000 });

const ROOT = path.resolve(import.meta.dirname, '../..');
const executable = await findBrowser();

/** In the page: keeps every text that the answer has shown. */
const KEEP_STATES = `window.states = [];
  new MutationObserver(() => window.states.push(document.querySelector('#answer').textContent))
    .observe(document.querySelector('#answer'), { childList: true, characterData: true, subtree: true });`;

it.skipIf(executable === undefined && process.env.CI !== 'true')(
  'an answer whose process is killed is shown once, and whole',
  async (context) => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-chat-'));
    const [port, pagePort] = [await freePort(), await freePort()];
    const url = `http://127.0.0.1:${port}`;
    const started: ChildProcess[] = [];
    context.onTestFinished(async () => {
      for (const each of started) each.kill('SIGKILL');
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    const begin = (name: string, args: readonly string[], env: Record<string, string> = {}): ChildProcess => {
      const child = spawn(process.execPath, [...args], {
        cwd: ROOT,
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      for (const stream of [child.stdout, child.stderr]) stream.on('data', noteOutput(name));
      started.push(child);
      return child;
    };
    const dev = (): ChildProcess =>
      begin('tidemark dev', [
        ...['libs/operate/cli/src/main.ts', 'dev', '--workflows', 'examples/chat/src/chat.ts'],
        ...['--state', folder, '--port', String(port)],
      ]);
    const first = dev();
    begin('the page', ['examples/chat/src/server.ts'], { PORT: String(pagePort), TIDEMARK_URL: url });
    const ready = (address: string) => vi.waitFor(() => fetch(address), { timeout: 120_000, interval: 100 });
    await Promise.all([ready(`${url}/healthz`), ready(`http://127.0.0.1:${pagePort}`)]);
    const { page, close } = await openBrowser(executable!);
    context.onTestFinished(close);
    page.setDefaultTimeout(90_000);
    await page.goto(`http://127.0.0.1:${pagePort}`);
    await page.evaluate(KEEP_STATES);
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByText('come and go').waitFor();
    first.kill('SIGKILL');
    await once(first, 'close');
    await page.getByText('Reconnecting').waitFor();
    // What was shown stays meanwhile.
    expect(await page.locator('#answer').textContent()).toContain('come and go');
    const second = dev();
    await page.getByText('Done.').waitFor();
    const states = (await page.evaluate('window.states')) as string[];
    const id = new URL(page.url()).hash.slice(1);
    const { text } = await connect({ url, tries: 30 }).run(id).result<{ text: string }>();
    expect(text).toContain(`Process ${second.pid} answers`);
    expect(states.at(-1)).toBe(text);
    // At each moment the beginning of one attempt: never a word twice, and never words of both.
    const lost = text.replace(String(second.pid), String(first.pid));
    expect(states.filter((state) => !text.startsWith(state) && !lost.startsWith(state))).toEqual([]);
    expect(states.some((state) => state.includes(`Process ${first.pid}`))).toBe(true);
    await page.reload();
    await page.getByText(text).waitFor();
  },
);
