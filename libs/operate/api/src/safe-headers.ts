/**
 * Owns the headers that restrict what a browser does with an answer: every answer has them, events and refusals included.
 * Strict-Transport-Security is not among them: it would bind every port of the name, and where the API has TLS nothing else is served
 * there.
 */

import type { FastifyInstance } from 'fastify';

/** For anything but pages: nothing in it is run or loaded, no site frames it, and no page of another site can read it. */
export const SAFE_HEADERS = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const;

/** For the console's pages: everything they load comes from here, and they use nothing of the machine. */
export const PAGE_HEADERS = {
  ...SAFE_HEADERS,
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'permissions-policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
} as const;

/** Set from the first hook on, so that refusals have them too; a handler may set others. */
export function addSafeHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers(SAFE_HEADERS);
  });
}
