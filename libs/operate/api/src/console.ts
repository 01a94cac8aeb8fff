/**
 * Owns serving the web console's files: the page itself for every address of its own, and what it loads. A checkout builds them beside this
 * process at the first request for the page, so that nobody else waits.
 */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import fastifyStatic from '@fastify/static';
import { UnavailableError } from '@tidemark/core';
import type { FastifyInstance } from 'fastify';
import { PAGE_HEADERS } from './safe-headers.ts';

/** Longest build of the console in a checkout, in milliseconds. */
const CONSOLE_BUILD_TIMEOUT_MS = 120_000;

/** The package of files: where it is installed, or the checkout's. */
const PACKAGE = pathToFileURL(createRequire(import.meta.url).resolve('@tidemark/console/package.json'));
const BUILT = new URL('dist/', PACKAGE);
const BUILDER = new URL('../../../scripts/console.mjs', PACKAGE);

const isBuilt = (): boolean => existsSync(new URL('index.html', BUILT));
/** Only where this runs from source: a folder of that name beside an installed package might be anything. */
const isBuildable = (): boolean => import.meta.url.endsWith('.ts') && existsSync(BUILDER);

/** Where it is, or will be at the first request; undefined: there is none here. */
export const builtConsole = (): string | undefined => (isBuilt() || isBuildable() ? fileURLToPath(BUILT) : undefined);

const isPage = (address: string): boolean => !/^\/(v1|openapi\.json|healthz|metrics|assets)(\/|$|\?)/.test(address);

/** Whether the request is for the console's page at an address of its own. */
export const wantsPage = (method: string, address: string, accept: string | undefined): boolean =>
  method === 'GET' && isPage(address) && (accept ?? '').includes('text/html');

export async function serveConsole(app: FastifyInstance, folder: string): Promise<void> {
  let ready: Promise<void> | undefined;
  app.addHook('onRequest', async ({ method, url, headers }) => {
    if (folder !== fileURLToPath(BUILT) || !wantsPage(method, url, headers.accept)) return;
    ready ??= upToDate();
    await ready.catch((error: unknown) => {
      ready = undefined;
      throw error;
    });
  });
  await app.register(fastifyStatic, {
    root: folder,
    // Files are looked up at each request: a new build brings others.
    wildcard: true,
    dotfiles: 'ignore',
    setHeaders: (reply, file) => {
      for (const [name, value] of Object.entries(PAGE_HEADERS)) reply.header(name, value);
      // Names of files that the page loads change with their content.
      const isFixed = file.includes('/assets/');
      reply.header('cache-control', isFixed ? 'public, max-age=31536000, immutable' : 'no-cache');
    },
  });
}

/** Builds it where its sources are newer. Throws `UnavailableError` (`console-unbuilt`) when there is none at all then. */
async function upToDate(): Promise<void> {
  if (!isBuildable()) return;
  try {
    const options = { timeout: CONSOLE_BUILD_TIMEOUT_MS, killSignal: 'SIGKILL' } as const;
    await promisify(execFile)(process.execPath, [fileURLToPath(BUILDER), '--if-stale'], options);
  } catch (error) {
    // A slightly old build is better than none.
    if (isBuilt()) return;
    throw new UnavailableError(
      'console-unbuilt',
      "The console can't be built here. Run npm run console: it says why.",
      {
        cause: error,
      },
    );
  }
}
