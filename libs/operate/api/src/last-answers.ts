/**
 * Owns the end of a server that has been asked to close: requests in hand are answered before their connections are cut, those that only wait
 * at once, and streams end where their followers can continue. Fastify refuses further requests with 503 meanwhile.
 */

import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';

/** Longest wait for the last answers, in milliseconds; what takes longer is cut off, and a client repeats what may be repeated. */
const LAST_ANSWERS_MS = 5_000;

/** `leave` makes those answer that only wait. It runs before any hook of the same kind that is added later. */
export function answerBeforeClosing(app: FastifyInstance, leave: () => Promise<void>): void {
  const open = new Set<ServerResponse>();
  let emptied = (): void => {};
  app.addHook('onRequest', (_request, { raw }, done) => {
    open.add(raw);
    raw.once('close', () => {
      open.delete(raw);
      if (open.size === 0) emptied();
    });
    done();
  });
  app.addHook('preClose', async () => {
    await leave();
    if (open.size === 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      emptied = resolve;
      timer = setTimeout(resolve, LAST_ANSWERS_MS);
    });
    clearTimeout(timer);
  });
}
