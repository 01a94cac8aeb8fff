/** Owns what a server's refusal is to a command: the kind of error that has the same exit code, whatever way it came. */

import { TidemarkApiError } from '@tidemark/client';
import { AccessError, CorruptError, InvalidError, LimitError, TidemarkError, UnavailableError } from '@tidemark/core';

/** What isn't a server's is left as it is. `fault`: what went wrong in this process, which the answer doesn't say. */
export function failureOf(error: unknown, fault?: unknown): unknown {
  if (!(error instanceof TidemarkApiError)) return error;
  if (error.status >= 500 && fault !== undefined) return fault;
  // Of this process itself, before the server was asked.
  if (error.cause instanceof TidemarkError) return error.cause;
  const { status, code, message, fields } = error;
  const options = { cause: error, fields };
  if (status === 401 || status === 403) return new AccessError(code, message, options);
  if (status === 429 || status === 413) return new LimitError(code, message, options);
  if (status === 503 || status === 0) return new UnavailableError(code, message, options);
  if (status >= 400 && status < 500) return new InvalidError(code, message, options);
  if (DAMAGED.test(code)) return new CorruptError(code, message, options);
  return new TidemarkError(code, message, options);
}

const DAMAGED = /-(?:damaged|missing|wrong|trimmed|incomplete)$/;
