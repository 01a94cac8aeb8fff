/** Owns what the refusals of a transit engine mean: which of our errors each becomes, and what a person can do. Holds no token. */

import { ConfigError, UnavailableError } from '@tidemark/core';

/** Longest text of a refusal that is passed on, in characters. */
const SAID_MAX_CHARS = 500;

/** An answer that is no success. */
export interface Refusal {
  readonly status: number;
  /** The server's message; empty: it sent none, or none in the form of its answers. */
  readonly said: string;
}

const TOO_MANY = 429;
/** The server has not yet reached the state that the request rests on. */
const PRECONDITION = 412;

export const isPassing = ({ status }: Refusal): boolean =>
  status >= 500 || status === TOO_MANY || status === PRECONDITION || status === 472 || status === 473;

/** `where`: the key's name in messages. */
export function unavailable(where: string, { status, said }: Refusal): UnavailableError {
  const why =
    status === TOO_MANY
      ? 'the server throttles: it asks for fewer requests'
      : /sealed/i.test(said)
        ? 'the server is sealed'
        : `the server can't answer at the moment (${status})`;
  return new UnavailableError('keys-unavailable', `The transit key ${where}: ${why}.`, {
    key: where,
    status,
    isThrottled: status === TOO_MANY,
  });
}

/** The connection failed, or the answer was unusable. The cause names addresses alone. */
export function unreachable(where: string, why: string, cause?: unknown): UnavailableError {
  const message = `The transit key ${where}: ${why}.`;
  return new UnavailableError('keys-unavailable', message, { key: where, isThrottled: false, cause });
}

export function refused(where: string, { status, said }: Refusal): ConfigError {
  const why =
    status === 403
      ? 'the token may not use it, or is not valid any more'
      : status === 404
        ? 'there is no such key, or no such mount'
        : status >= 300 && status < 400
          ? 'the server sends elsewhere; give the address that it names'
          : `the server does not accept the request (${status})`;
  const message = `The transit key ${where}: ${why}${said === '' ? '' : `: ${said.slice(0, SAID_MAX_CHARS)}`}.`;
  return new ConfigError('key-refused', message, { key: where, status });
}

/** The key exists and can't be used for this. */
export const unfit = (where: string, why: string): ConfigError =>
  new ConfigError('key-refused', `The transit key ${where} ${why}.`, { key: where });

/** The key's settings refuse the ciphertext, which may be sound. */
export const isByPolicy = (said: string): boolean => /disallowed by policy|too old/.test(said);
/** No key has this name. */
export const isWithoutKey = (said: string): boolean => /encryption key not found/.test(said);
