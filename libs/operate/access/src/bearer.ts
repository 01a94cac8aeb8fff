/**
 * Owns reading a caller's credentials from a request: one `Authorization: Bearer` header, and nowhere else. Of several authenticators it
 * chooses the one that they fit.
 */

import { InvalidError } from '@tidemark/core';
import type { AccessChanged, Authenticator, Credentials, Principal } from '@tidemark/ports';
import { parseApiKey } from './api-key.ts';
import { credentialsInvalid, credentialsMissing } from './refusals.ts';

/** Longest `Authorization` header that is read, in characters; a longer one is refused unread. */
const AUTHORIZATION_MAX_CHARS = 16_384;

/** RFC 6750, section 2.1: one scheme, one space or more, one token. */
const FORM = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

/** Throws `AccessError` (`credentials-missing`, `credentials-invalid`). */
export function bearerOf({ authorization }: Credentials): string {
  if (authorization === undefined || authorization === '') throw credentialsMissing();
  const token = authorization.length > AUTHORIZATION_MAX_CHARS ? undefined : FORM.exec(authorization)?.[1];
  if (token === undefined) throw credentialsInvalid('no bearer token of the right form');
  return token;
}

/** Names under which callers put credentials into addresses. */
const QUERY_NAMES =
  /^(?:access[_-]?token|id[_-]?token|api[_-]?key|apikey|token|auth|authorization|bearer|jwt|secret|password)$/i;
/** Prefixes of tokens: ours, and JSON Web Tokens. */
const TOKEN_START = /(?:^|[\s])(?:tmk_|eyJ[A-Za-z0-9_-]{10,}\.)/;

/**
 * Addresses end up in logs and histories of browsers, so credentials there are refused even beside valid ones. Throws `InvalidError`
 * (`credentials-in-query`), naming the parameter and never its value.
 */
export function refuseCredentialsInQuery(query: Iterable<readonly [string, string]>): void {
  for (const [name, value] of query) {
    if (!QUERY_NAMES.test(name) && !TOKEN_START.test(value) && parseApiKey(value) === undefined) continue;
    throw new InvalidError(
      'credentials-in-query',
      `query.${printable(name)}: credentials in an address are not accepted, since addresses end up in logs. Send \`Authorization: Bearer …\`, and revoke this key or token: it may have been logged.`,
    );
  }
}

const printable = (name: string): string => (/^[\w-]{1,40}$/.test(name) ? name : '(name)');

export interface Taking extends Authenticator {
  /** Whether the credentials are meant for it; the one that claims them judges them alone. */
  takes(credentials: Credentials): boolean;
}

export class Authenticators implements Authenticator {
  readonly #all: readonly Taking[];

  constructor(all: readonly Taking[]) {
    this.#all = all;
  }

  async authenticate(credentials: Credentials): Promise<Principal> {
    if (credentials.authorization === undefined || credentials.authorization === '') throw credentialsMissing();
    const one = this.#all.find((authenticator) => authenticator.takes(credentials));
    if (one === undefined) throw credentialsInvalid('no way of this kind is configured');
    return one.authenticate(credentials);
  }

  forget(changed: AccessChanged): void {
    for (const one of this.#all) one.forget?.(changed);
  }
}
