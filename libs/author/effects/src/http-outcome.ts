/** Owns the meaning of a status for a call: done, certainly not done, or unknown. Must not send anything. */

import { REFUSED_STATUSES, retryAfterMs } from '@tidemark/core';
import { FatalError, NotDoneError, UnavailableError } from '@tidemark/sdk';
import { RefusedError } from './refused-error.ts';

/** Characters of that body which the error's message shows. */
export const EXCERPT_MAX_CHARS = 300;

/**
 * `done`: the body is the response. `not-done`: this call certainly changed nothing, another attempt may. `refused`: it
 * changed nothing, and no other attempt will. `fatal`: no attempt will help, and whether something happened is open.
 * `unknown`: it may have happened.
 */
export type HttpOutcome = 'done' | 'not-done' | 'refused' | 'fatal' | 'unknown';

/** A redirect of a call is not followed. All others, 303 and 302 among them, answer a form that was taken, or may have been. */
const REDIRECTS: ReadonlySet<number> = new Set([307, 308]);
/** After these another attempt is allowed: another connection, a little later. */
const NOT_DONE: ReadonlySet<number> = new Set([421, 425, 429]);

/** By the user's table, else by the status: whoever refuses and says when to come back has not refused for good. */
export function outcomeOf(
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  table: Readonly<Record<number, HttpOutcome>>,
): HttpOutcome {
  const own = table[status];
  if (own !== undefined) return own;
  if (status >= 200 && status < 300) return 'done';
  if (NOT_DONE.has(status)) return 'not-done';
  if (REDIRECTS.has(status)) return 'refused';
  if (!REFUSED_STATUSES.has(status)) return 'unknown';
  return retryAfterMs(headers, Date.now(), false) === undefined ? 'refused' : 'not-done';
}

/** The error of an outcome other than done. `excerpt` holds no secrets. */
export function outcomeError(
  operation: string,
  outcome: Exclude<HttpOutcome, 'done'>,
  response: Pick<Response, 'status' | 'headers'>,
  excerpt: string,
): Error {
  const { status, headers } = response;
  const askedMs = retryAfterMs(headers, Date.now(), status === 429);
  const shown = excerpt
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, EXCERPT_MAX_CHARS)
    .toWellFormed();
  const wait = askedMs === undefined ? '' : `, asks to wait ${Math.ceil(askedMs / 1_000)} s`;
  const text = `${operation}: status ${status}${wait}${shown === '' ? '' : `: ${shown}`}`;
  const details = { operation, status, excerpt: shown, ...(askedMs !== undefined && { retryAfterMs: askedMs }) };
  if (outcome === 'refused') return new RefusedError(text, details);
  if (outcome === 'not-done') return new NotDoneError(text, details);
  if (outcome === 'fatal') return new FatalError(text, details);
  return new UnavailableError('http-unknown', `${text}. Whether it was done is unknown.`, details);
}
