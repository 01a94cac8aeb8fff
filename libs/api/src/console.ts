/** Owns serving the web console's files, where they were built: the page itself for every address of its own, and what it loads. */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';

/** Beside this library, in the repository as well as where packages are installed. */
const BUILT = new URL('../../console/dist/', import.meta.url);

/** Undefined: it was not built. */
export const builtConsole = (): string | undefined =>
  existsSync(new URL('index.html', BUILT)) ? fileURLToPath(BUILT) : undefined;

/** Nothing from elsewhere, and in nobody's frame. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const;

const isPage = (address: string): boolean => !/^\/(v1|openapi\.json|healthz|metrics|assets)(\/|$|\?)/.test(address);

/** Whether the request is one for the console's page at an address of its own. */
export const wantsPage = (method: string, address: string, accept: string | undefined): boolean =>
  method === 'GET' && isPage(address) && (accept ?? '').includes('text/html');

export async function serveConsole(app: FastifyInstance, folder: string): Promise<void> {
  await app.register(fastifyStatic, {
    root: folder,
    wildcard: false,
    setHeaders: (reply, file) => {
      for (const [name, value] of Object.entries(HEADERS)) reply.header(name, value);
      // Names of what the page loads change with what is in them.
      const isFixed = file.includes('/assets/');
      reply.header('cache-control', isFixed ? 'public, max-age=31536000, immutable' : 'no-cache');
    },
  });
}
