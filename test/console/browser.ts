/** Owns the real browser of tests and pictures of the console: Debian's Chromium, installed where it is missing, with a profile of its own. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { requireProgram } from '@tidemark/testkit/servers';
import { type BrowserContext, chromium, type Page } from 'playwright-core';

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface OpenBrowser {
  readonly context: BrowserContext;
  readonly page: Page;
  close(): Promise<void>;
}

/** Path of the browser; undefined: it can't be had here. */
export const findBrowser = (): Promise<string | undefined> =>
  process.env.TIDEMARK_TEST_CHROMIUM === undefined
    ? requireProgram('chromium', { 'apt-get': ['chromium'], dnf: ['chromium'], apk: ['chromium'] })
    : Promise.resolve(process.env.TIDEMARK_TEST_CHROMIUM);

export async function openBrowser(
  executablePath: string,
  options: { readonly dark?: boolean; readonly width?: number; readonly height?: number; readonly scale?: number } = {},
): Promise<OpenBrowser> {
  const { dark = false, width = 1_440, height = 900, scale = 1 } = options;
  const profile = await mkdtemp(path.join(tmpdir(), 'tidemark-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    args: FLAGS,
    viewport: { width, height },
    deviceScaleFactor: scale,
    colorScheme: dark ? 'dark' : 'light',
  });
  const page = context.pages()[0] ?? (await context.newPage());
  return {
    context,
    page,
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
