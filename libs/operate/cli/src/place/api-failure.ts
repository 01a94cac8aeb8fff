/** Owns turning a server's refusal into the kind of error that has the same exit code for a command, by any transport. */

import { OWN_VERSION } from '@tidemark/api/local';
import { TidemarkApiError } from '@tidemark/client';
import {
  AccessError,
  ConfigError,
  CorruptError,
  InvalidError,
  LimitError,
  TidemarkError,
  UnavailableError,
} from '@tidemark/core';
import { NAME_MAX_CHARS } from '../limits.ts';

/** Leaves other errors unchanged. `fault`: this process's own failure, which the answer doesn't contain. */
export function failureOf(error: unknown, fault?: unknown): unknown {
  if (!(error instanceof TidemarkApiError)) return error;
  if (error.status >= 500 && fault !== undefined) return fault;
  // It comes from this process, before the server was called.
  if (error.cause instanceof TidemarkError) return error.cause;
  const { status, code, message, fields, serverVersion } = error;
  const options = { cause: error, fields };
  // This is no mistake of the user: this version calls something that the server doesn't know.
  if (isUnknownThere(error) && serverVersion !== undefined && serverVersion !== OWN_VERSION) {
    throw new ConfigError(
      'server-differs',
      `The server is version ${serverVersion} of Tidemark, this is ${OWN_VERSION}, and it doesn't know this request: ${message} Use a command of its version.`,
      options,
    );
  }
  if (code === 'address-too-long') {
    return new InvalidError(
      code,
      `Something is too long: ids and names have at most ${NAME_MAX_CHARS} characters.`,
      options,
    );
  }
  if (status === 401 || status === 403) return new AccessError(code, message, options);
  if (status === 429 || status === 413) return new LimitError(code, message, options);
  if (status === 503 || status === 0) return new UnavailableError(code, message, options);
  if (status >= 400 && status < 500) return new InvalidError(code, message, options);
  if (DAMAGED.test(code)) return new CorruptError(code, message, options);
  return new TidemarkError(code, message, options);
}

const isUnknownThere = ({ code, fields }: TidemarkApiError): boolean =>
  code === 'route-unknown' || (code === 'request-invalid' && fields.some(({ problem }) => /not known/.test(problem)));

const DAMAGED = /-(?:damaged|missing|wrong|trimmed|incomplete)$/;
